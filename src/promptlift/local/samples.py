"""Log the sample conversations, and wait for insights."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.errors import IncompleteError, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from promptlift.workspace import Workspace

_EVERY_SECONDS: Final = 0.3
# The pause between two requests, as a multiple of the time that the last one took.
_SHARE: Final = 4.0
_REASONS: Final = 3
_LOOK_AT_THE_LOG: Final = "Look at service.log in the data folder of the service."
_AGAIN: Final = "To try again: lift.client.conversations.regenerate_insights(conversation_id)."


def log_samples(lift: Workspace, *, ending: date | None = None) -> dict[str, str]:
    """Log the bundled sample conversations; existing ones are not logged again.

    Parameters
    ----------
    lift
        Workspace to log to.
    ending
        The conversations end on the day before this one. By default today (UTC).

    Returns
    -------
    dict[str, str]
        Name of each sample prompt to its id, the older version first.

    Raises
    ------
    IncompleteError
        The service refused a sample conversation.
    """
    from promptlift import samples  # noqa: PLC0415  most who start a service bring their own conversations

    there = lift.prompts()
    known = dict(zip(there["name"], there["prompt_id"], strict=True))
    ids = {}
    for key, body in zip(samples.prompt_keys(), samples.prompts(), strict=True):
        name = body["name"]
        ids[name] = known.get(name) or _make_prompt(lift, body)
        result = lift.log(samples.conversations(key, ending=ending), prompt_id=ids[name])
        if result.failed:
            raise IncompleteError(f"The samples of {name!r} are not all logged: {result}", fetched=result)
    return ids


def _make_prompt(lift: Workspace, body: dict[str, object]) -> str:
    wire_names = {"llmModel": "llm_model", "maxTokens": "max_tokens"}
    return lift.client.prompts.create(**{wire_names.get(name, name): body[name] for name in body}).id  # type: ignore[arg-type]


class InsightsMissing(UserWarning):
    """Some of the conversations could not be judged. The message explains how many, and why."""


def wait_for_insights(
    lift: Workspace, prompt_ids: Iterable[str], *, patience: float = 60.0, progress: bool = True
) -> int:
    """Wait until every conversation of some prompts has insights or could not be judged.

    Only counts are requested, however many conversations there are.

    Parameters
    ----------
    lift
        Workspace to use.
    prompt_ids
        The prompts, by name or id.
    patience
        Seconds without a new insight after which to give up.
    progress
        Whether to show a progress bar.

    Returns
    -------
    int
        Number of conversations with insights.

    Raises
    ------
    NotFound
        There is no such prompt; the message has similar names.
    IncompleteError
        No new insight for `patience` seconds, or none of the conversations could be judged; ``fetched`` is the number of
        conversations with insights.

    Warns
    -----
    InsightsMissing
        Some conversations could not be judged, and why.
    """
    from tqdm.auto import tqdm  # noqa: PLC0415  only a wait needs it

    wanted = [lift.prompt_id(one) for one in prompt_ids]
    deadline = time.monotonic() + patience
    known = 0
    with tqdm(desc="insights", unit=" conversations", disable=not progress, leave=False) as bar:
        while True:
            begun = time.monotonic()
            found = _count(lift, wanted)
            took = time.monotonic() - begun
            if found.ready + found.failed > known:
                deadline = time.monotonic() + patience
            bar.total = found.total
            bar.update(found.ready + found.failed - known)
            known = found.ready + found.failed
            if not found.waiting:
                return _ended(found)
            if time.monotonic() > deadline:
                raise IncompleteError(
                    f"{found.ready} of {found.total} conversations have insights; there was no new one for "
                    f"{patience:.0f} s. {found.reason or _LOOK_AT_THE_LOG}",
                    fetched=found.ready,
                )
            # Polling takes at most a fifth of the service's capacity.
            time.sleep(max(_EVERY_SECONDS, _SHARE * took))


@dataclass(frozen=True)
class _Counts:
    """Conversations with insights, still without, and permanently without."""

    ready: int = 0
    waiting: int = 0
    failed: int = 0
    reasons: tuple[tuple[str, int], ...] = ()

    @property
    def total(self) -> int:
        return self.ready + self.waiting + self.failed

    @property
    def reason(self) -> str:
        """Why conversations have no insights, the most frequent reason first; empty if the service gives none."""
        return "; ".join(f"{reason} ({count:,})" for reason, count in self.reasons[:_REASONS])

    def __add__(self, other: _Counts) -> _Counts:
        reasons = Counter(dict(self.reasons)) + Counter(dict(other.reasons))
        return _Counts(
            self.ready + other.ready,
            self.waiting + other.waiting,
            self.failed + other.failed,
            tuple(reasons.most_common()),
        )


def _count(lift: Workspace, prompt_ids: list[str]) -> _Counts:
    return sum((_count_of(lift, prompt_id) for prompt_id in prompt_ids), _Counts())


def _count_of(lift: Workspace, prompt_id: str) -> _Counts:
    """Return the counts of one prompt, with two requests if the service has no view of them."""
    try:
        counts = lift.client.prompts.status(prompt_id).insights
    except NotFound:  # the agent scheme has no such view
        counts = None
    if counts is not None:
        reasons = tuple((one.reason, one.count) for one in counts.reasons)
        return _Counts(counts.ready, counts.waiting, counts.failed, reasons)
    ready, total = (
        lift.client.conversations.list(prompt_id=prompt_id, has_insights=kind, limit=1).pagination
        for kind in (True, None)
    )
    if ready is None or total is None:
        raise IncompleteError("The service does not report how many conversations it has.", fetched=0)
    return _Counts(ready.total, max(0, total.total - ready.total))


def _ended(found: _Counts) -> int:
    if not found.failed:
        return found.ready
    message = f"{found.failed:,} of {found.total:,} conversations could not be judged: {found.reason}."
    if not found.ready:
        raise IncompleteError(f"{message} {_AGAIN}", fetched=0)
    warnings.warn(
        f"{message} Tables and reports count them as not judged. {_AGAIN}", InsightsMissing, stacklevel=3
    )
    return found.ready
