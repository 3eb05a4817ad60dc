"""The model names that a prompt may have: the catalogue, and those that the endpoint serves.

The endpoint's list is read in the background, so that no request of a client waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable


_LOG = logging.getLogger(__name__)

# A list is read again when it lacks a name and is older than this; the same goes for a failed read.
REMEMBERED_SECONDS: Final = 10.0
# How long a request with an unknown name waits for a list that is being read, without blocking a thread. A
# nearby endpoint answers in milliseconds; a slower list is available to the next request.
GRACE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class ServedNames:
    """The model names that an endpoint is known to serve.

    Attributes
    ----------
    names
        Names in the last list that could be read.
    doubt
        Why the list may lack a name that the endpoint serves, as a clause; ``None`` if it was just read.
    """

    names: frozenset[str] = frozenset()
    doubt: str | None = None


class ServedModels:
    """The endpoint's list of models, read by one thread at a time and cached, as are failures.

    A list that was read once stays valid until a newer one replaces it, whatever happens to the endpoint.

    Parameters
    ----------
    read
        Queries the endpoint within a bounded time; may raise any exception.
    clock
        Clock in seconds, monotonic.
    """

    def __init__(
        self, read: Callable[[], Iterable[str]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._reading: Future[None] | None = None
        self._names: frozenset[str] = frozenset()
        self._problem: str | None = None
        self._asked_at = -float("inf")

    def refresh(self) -> Future[None] | None:
        """Read the list in the background unless it was just read, or just failed to be read.

        Returns
        -------
        Future or None
            Done when the list was read or could not be; ``None`` when there is nothing to wait for.
        """
        with self._lock:
            if self._reading is not None:
                return self._reading
            if self._clock() - self._asked_at < REMEMBERED_SECONDS:
                return None
            reading = self._reading = Future()
        threading.Thread(
            target=self._read_list, args=(reading,), name="promptlift-llm-models", daemon=True
        ).start()
        return reading

    async def find(self, wanted: str) -> ServedNames:
        """Return the known names, after a short wait for a list that may contain ``wanted``.

        A known name is answered immediately. For another name, the list is read in the background, and the
        coroutine, not a thread, waits for it for at most ``GRACE_SECONDS``.
        """
        if wanted not in self._names and (reading := self.refresh()) is not None:
            await asyncio.wait([asyncio.wrap_future(reading)], timeout=GRACE_SECONDS)
        return self.known()

    def known(self) -> ServedNames:
        """Return the currently known names."""
        with self._lock:
            if self._reading is not None:
                return ServedNames(self._names, "it has not answered yet")
            return ServedNames(self._names, self._problem)

    def _read_list(self, reading: Future[None]) -> None:
        names, problem = None, None
        try:
            names = frozenset(self._read())
        except Exception as error:  # noqa: BLE001 - a dead endpoint must not stop the work on prompts
            problem = str(error).rstrip(".") or type(error).__name__
            _LOG.warning("the language model endpoint does not list its models: %s", error)
        with self._lock:
            self._names = self._names if names is None else names
            self._problem = problem
            self._asked_at = self._clock()
            self._reading = None
        reading.set_result(None)


# Common names of chat models, one per line, in addition to the endpoint's list and PROMPTLIFT_MODELS.
CATALOGUE: Final = frozenset(
    resources.files(__package__).joinpath("catalogue.txt").read_text(encoding="utf-8").split()
)

# An endpoint may list thousands of names; similar ones are searched among this many of them.
_COMPARED: Final = 1_000


# Suffixes of providers for a snapshot of a model: a date, or a three-digit number.
_SNAPSHOT: Final = re.compile(
    r"(?:[-@](?:\d{4}-\d\d-\d\d|20\d{6}|[01]\d[0-3]\d|0\d\d)|-preview-[01]\d-[0-3]\d)$"
)


def is_known(name: str, extra: Container[str] = ()) -> bool:
    """Return whether a model name is valid: in the catalogue, or among the extra names; a dated snapshot like its model."""
    return any(one in CATALOGUE or one in extra for one in (name, _SNAPSHOT.sub("", name)))


def problem_of(name: str, extra: Collection[str] = (), doubt: str | None = None) -> str | None:
    """Return the problem of a model name, with similar names; ``None`` if it is valid.

    Parameters
    ----------
    name
        Model name of a prompt.
    extra
        Valid names in addition to the catalogue.
    doubt
        Why more names may be valid than are known here, as a clause: the endpoint's list could not be read.
    """
    if is_known(name, extra):
        return None
    compared = [*CATALOGUE, *sorted(extra)[:_COMPARED]]
    near = get_close_matches(name.lower(), compared, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "GET /openapi.json names the catalogue;"
    unread = (
        f"The models of the language model endpoint could not be read just now ({doubt}); if it serves this one, try "
        "again in a few seconds. "
        if doubt
        else ""
    )
    return f"Unknown model name; {hint} {unread}PROMPTLIFT_MODELS adds names of your own"
