"""The base of every part of a workspace: the client, tables with a record of how they were read, and progress bars."""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from promptlift.client import Client, ClientConfig
from promptlift.client.reads.optimizations import read_offered
from promptlift.client.reads.read_list import RowsRead, no_progress
from promptlift.client.retry import ONCE
from promptlift.client.transport import Task
from promptlift.errors import ApiError, IncompleteError
from promptlift.workspace.prompt_names import PromptNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    import pandas as pd

    from promptlift.schema.endpoints import Endpoint

# A shorter read or run shows no progress bar.
SILENT_SECONDS: Final = 1.0
# Where a user waits, as for the text of a prompt: seconds until the service counts as away, and until it is asked again.
_QUICK_CONNECT_SECONDS: Final = 1.0
_QUICK_READ_SECONDS: Final = 2.0
_AWAY_SECONDS: Final = 5.0


class Session:
    """One account on one service.

    Parameters
    ----------
    config
        Address, key and naming scheme.
    progress
        Whether reads that take longer than a second show a progress bar.
    client
        A client to use instead of a new one.
    """

    def __init__(self, config: ClientConfig, *, progress: bool = True, client: Client | None = None) -> None:
        self.client = client or Client(config)
        self._progress = progress
        self._names = PromptNames(self.client.transport)
        self._away_until = float("-inf")

    @cached_property
    def _quick(self) -> Session:
        """The same account for requests that somebody waits for: they fail soon, and are not repeated."""
        config = replace(
            self.client.config, connect_timeout=_QUICK_CONNECT_SECONDS, read_timeout=_QUICK_READ_SECONDS
        )
        quick = Session(config)
        quick.client.transport.policy, quick.client.transport.clock = ONCE, self.client.transport.clock
        return quick

    @property
    def _is_away(self) -> bool:
        """Whether the service could not answer a moment ago."""
        return self.client.transport.clock.now() < self._away_until

    def _note_away(self) -> None:
        self._away_until = self.client.transport.clock.now() + _AWAY_SECONDS

    def _table(
        self,
        name: str,
        read: Callable[[], RowsRead],
        filters: dict[str, Any] | None = None,
        *,
        make: Callable[..., Any] | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Read rows and make the table of this name, with a record of the read.

        An incomplete read carries its part as a table.

        Parameters
        ----------
        make
            Makes the table of rows, with counts of unusable values; by default the function in ``frames``. ``options``
            are its own.
        """
        make = make or getattr(frames(), f"{name}_table")

        def finished(rows: RowsRead) -> pd.DataFrame:
            frame, warnings, *about = make(rows.rows, **options)
            return with_read_record(self._named(frame), name, filters or {}, rows, warnings, **dict(*about))

        return self._existing(_read_or_finish(read, finished), filters or {})

    def _offered(
        self,
        name: str,
        endpoint: Endpoint[Any],
        identifier: str | None = None,
        asked: dict[str, Any] | None = None,
        *,
        filters: dict[str, Any] | None = None,
        unit: str | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Make the table of a list that the embedded service offers beyond the specification.

        Parameters
        ----------
        asked
            The filters of the list, and of the table where ``filters`` says nothing else.
        unit
            What a progress bar counts; without it none is shown.
        """

        def read() -> RowsRead:
            with self._bar(unit, None) if unit else contextlib.nullcontext(no_progress) as move:
                return read_offered(
                    self.client.transport, endpoint, identifier, filters=asked, task=Task(), progress=move
                )

        return self._table(name, read, asked if filters is None else filters, **options)

    def _named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Put the names of prompts into a table, as far as they are known without a request."""
        named: pd.DataFrame = frames().with_prompt_names(frame, self._names.known())
        return named

    def _labels_of(self, prompt_ids: Iterable[str]) -> dict[str, str]:
        """Return the names of prompts by id, as tables and legends show them.

        Names are told apart where several prompts share one. Prompts that are not there any more have none, and so
        have all of a service that does not list them.
        """
        wanted = set(prompt_ids)
        with contextlib.suppress(ApiError):
            return self._names.labels(wanted) if wanted else {}
        return {}

    def _existing(self, frame: pd.DataFrame, filters: dict[str, Any]) -> pd.DataFrame:
        """Return a table, unless it is empty because there is no such prompt."""
        if not len(frame) and filters.get("prompt_id") is not None:
            given = filters["prompt_id"]
            for prompt_id in [given] if isinstance(given, str) else given:
                self._names.check_empty(prompt_id)
        return frame

    @contextlib.contextmanager
    def _bar(self, unit: str, total: int | None) -> Iterator[Callable[[int, int | None], None]]:
        """Show a progress bar while the block runs, if that takes longer than a second."""
        if not self._progress:
            yield lambda _done, _total: None
            return
        from tqdm.auto import tqdm  # noqa: PLC0415 - looks for widgets when it is loaded

        with tqdm(total=total, desc=unit, unit="", delay=SILENT_SECONDS, leave=False) as bar:

            def move(done: int, total: int | None) -> None:
                if bar.total != total:
                    bar.total = total
                bar.update(done - bar.n)

            yield move


class Room(Session):
    """A part of a workspace with methods of its own, on the same client.

    Parameters
    ----------
    lift
        The workspace.
    """

    def __init__(self, lift: Session) -> None:
        self._lift: Any = lift
        self.client, self._progress, self._names = lift.client, self._lift._progress, self._lift._names  # noqa: SLF001

    def _named(self, frame: pd.DataFrame) -> pd.DataFrame:
        named: pd.DataFrame = self._lift._named(frame)  # noqa: SLF001 - a snapshot knows all names
        return named


def frames() -> ModuleType:
    """Load the tables on first use: pandas takes longer to load than everything else combined."""
    return importlib.import_module("promptlift.frames")


def with_read_record(
    frame: pd.DataFrame,
    name: str,
    filters: dict[str, Any],
    rows: RowsRead,
    warnings: dict[str, int],
    **about: Any,
) -> pd.DataFrame:
    """Record on a table how it was read."""
    frame.attrs["promptlift"] = {
        "table": name,
        "rows": len(frame),
        "total": rows.total,
        "filters": {key: value for key, value in filters.items() if value is not None},
        "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "requests": rows.requests,
        "complete": rows.complete,
        "analyser": frames().analyser_of(frame),
        "basis": frames().basis_of(frame),
        "deleted_meanwhile": rows.dropped,
        "warnings": warnings,
        **({"insights_errors": frames().insights_errors(frame)} if "insights_error" in frame else {}),
        **about,
        **rows.facts,
    }
    return frame


def _read_or_finish(
    read: Callable[[], RowsRead], finished: Callable[[RowsRead], pd.DataFrame]
) -> pd.DataFrame:
    """Read rows and make the table; an incomplete read carries the table of its part."""
    try:
        rows = read()
    except IncompleteError as error:
        if isinstance(error.fetched, RowsRead):
            error.fetched = finished(error.fetched)
        raise
    return finished(rows)
