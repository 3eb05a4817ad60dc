"""Log the sample conversations, and wait for insights."""

from __future__ import annotations

import time
import warnings
from collections import Counter
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

    from promptlift.workspace.prompt_names import id_of  # noqa: PLC0415

    wanted = [id_of(lift, one) for one in prompt_ids]
    deadline = time.monotonic() + patience
    known = 0
    with tqdm(desc="insights", unit=" conversations", disable=not progress, leave=False) as bar:
        while True:
            begun = time.monotonic()
            counts, reason = _count(lift, wanted)
            took = time.monotonic() - begun
            ready, settled = counts["ready"], counts["ready"] + counts["failed"]
            if settled > known:
                deadline = time.monotonic() + patience
            bar.total = counts.total()
            bar.update(settled - known)
            known = settled
            if not counts["waiting"]:
                return _ended(ready, counts["failed"], reason)
            if time.monotonic() > deadline:
                raise IncompleteError(
                    f"{ready} of {counts.total()} conversations have insights; there was no new one for "
                    f"{patience:.0f} s. {reason or _LOOK_AT_THE_LOG}",
                    fetched=ready,
                )
            # Polling takes at most a fifth of the service's capacity.
            time.sleep(max(_EVERY_SECONDS, _SHARE * took))


def _count(lift: Workspace, prompt_ids: list[str]) -> tuple[Counter[str], str]:
    """Count conversations that are ready, waiting and failed; return also why they have no insights, if the service says so."""
    counts, reasons = Counter[str](), Counter[str]()
    for prompt_id in prompt_ids:
        try:
            known = lift.client.prompts.status(prompt_id).insights
        except NotFound:  # the agent scheme has no such view
            known = None
        if known is not None:
            counts.update(ready=known.ready, waiting=known.waiting, failed=known.failed)
            reasons.update({one.reason: one.count for one in known.reasons})
            continue
        ready, total = (
            lift.client.conversations.list(prompt_id=prompt_id, has_insights=kind, limit=1).pagination
            for kind in (True, None)
        )
        if ready is None or total is None:
            raise IncompleteError("The service does not report how many conversations it has.", fetched=0)
        counts.update(ready=ready.total, waiting=max(0, total.total - ready.total))
    return counts, "; ".join(f"{reason} ({count:,})" for reason, count in reasons.most_common(_REASONS))


def _ended(ready: int, failed: int, reason: str) -> int:
    if not failed:
        return ready
    message = f"{failed:,} of {ready + failed:,} conversations could not be judged: {reason}."
    if not ready:
        raise IncompleteError(f"{message} {_AGAIN}", fetched=0)
    warnings.warn(
        f"{message} Tables and reports count them as not judged. {_AGAIN}", InsightsMissing, stacklevel=3
    )
    return ready
