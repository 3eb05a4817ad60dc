"""Sample conversations into a service, and the wait until their insights are there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from promptlift.errors import IncompleteError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from promptlift.workspace import Workspace

_EVERY_SECONDS = 0.3


def log_samples(lift: Workspace, *, ending: date | None = None) -> dict[str, str]:
    """Log the bundled sample conversations; what is there already is not logged again.

    Parameters
    ----------
    lift
        Workspace to log to.
    ending
        The conversations end on the day before this one. Today (UTC) when it is left out.

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


def wait_for_insights(
    lift: Workspace, prompt_ids: Iterable[str], *, patience: float = 60.0, progress: bool = True
) -> int:
    """Wait until every conversation of some prompts has its insights.

    Parameters
    ----------
    lift
        Workspace to look in.
    prompt_ids
        The prompts, by name or id.
    patience
        Seconds without a new insight after which it is given up.
    progress
        Whether a progress bar is shown.

    Returns
    -------
    int
        Conversations that have insights: all of them.

    Raises
    ------
    IncompleteError
        Nothing new came for `patience` seconds; ``fetched`` is the number of those that have insights.
    """
    from tqdm.auto import tqdm  # noqa: PLC0415  only a wait needs it

    wanted = list(prompt_ids)
    deadline = time.monotonic() + patience
    with tqdm(desc="insights", unit=" conversations", disable=not progress, leave=False) as bar:
        while True:
            judged, total = _count(lift, wanted)
            if judged > bar.n:
                deadline = time.monotonic() + patience
            bar.total = total
            bar.update(judged - bar.n)
            if judged == total:
                return total
            if time.monotonic() > deadline:
                raise IncompleteError(
                    f"{judged} of {total} conversations have insights, and no other came for {patience:.0f} s. "
                    "Look at service.log in the data folder of the service.",
                    fetched=judged,
                )
            time.sleep(_EVERY_SECONDS)


def _count(lift: Workspace, prompt_ids: list[str]) -> tuple[int, int]:
    """Count the conversations with insights, and all."""
    judged = total = 0
    for prompt_id in prompt_ids:
        has_insights = lift.conversations(prompt_id)["has_insights"]
        judged += int(has_insights.fillna(value=False).sum())
        total += len(has_insights)
    return judged, total
