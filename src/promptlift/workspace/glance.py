"""What an account holds, at a glance: few requests, and a bounded time whatever the service does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.pages import list_page
from promptlift.client.reads.quick import ask_quickly
from promptlift.client.transport import Call
from promptlift.errors import ApiError
from promptlift.schema import endpoints
from promptlift.schema.insights import PromptInsightsView
from promptlift.schema.naming import link_of
from promptlift.schema.prompts import PromptCompletion
from promptlift.workspace.prompt_names import labels_of_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.client.transport import Transport

    Row = dict[str, Any]

# A cell that shows a workspace waits no longer than this for its service.
_SECONDS: Final = 3.0
_SHOWN: Final = 10
# Prompts of a service whose list has no completion: each of them costs a request.
_VIEWED: Final = 5
# A person types the id of a prompt with a longer name.
_TYPED: Final = 80
_ACTIVE: Final = ("running", "queued")
_COMPLETION: Final = ("conversations", "judged", "rate", "rate_low", "rate_high")
_WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class PromptGlance:
    """One prompt; None stands for what the service does not say.

    Attributes
    ----------
    label
        Its name, told apart from prompts of the same name.
    reference
        What the methods of a workspace take: its name, or its id where another prompt has the name or nobody can type it.
    place
        Its place in the list of prompts, which is newest first.
    without_insights
        Conversations that have no insights, or not yet.
    judged
        Ended conversations with insights, of which ``rate`` percent completed their task.
    weeks
        Judged and completed conversations of each of the last weeks, the oldest first.
    """

    label: str
    reference: str
    place: int
    conversations: int | None = None
    without_insights: int | None = None
    judged: int | None = None
    rate: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None
    weeks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ActiveOptimization:
    """An optimization that runs or waits."""

    optimization_id: str
    label: str
    status: str
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Glance:
    """What an account holds.

    Attributes
    ----------
    place
        Where the data are.
    problem
        Why nothing can be shown; empty where something can.
    prompts
        The prompts with the most conversations.
    prompt_count
        All prompts of the account.
    listed
        Prompts that were looked at: the newest hundred at most.
    weeks_end
        The day after the last of the weeks.
    judge
        Who derived the newest insights; None where nobody did, or the service does not say.
    optimizations
        Those that run or wait; None where they could not be read.
    """

    place: str
    problem: str = ""
    prompts: tuple[PromptGlance, ...] = ()
    prompt_count: int = 0
    listed: int = 0
    weeks_end: date | None = None
    judge: str | None = None
    optimizations: tuple[ActiveOptimization, ...] | None = ()
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def conversations(self) -> int:
        """Conversations of the prompts that are shown."""
        return sum(one.conversations or 0 for one in self.prompts)


def take_glance(transport: Transport, place: str) -> Glance:
    """Look at an account: three requests, and up to five more where the list of prompts has no completion.

    Parameters
    ----------
    place
        Where the data are, in words.

    Raises
    ------
    ApiError
        When the prompts cannot be read. A malformed answer may raise any other error.
    """
    until = time.monotonic() + _SECONDS
    scheme = transport.config.scheme
    calls = [
        Call.to(endpoints.PROMPTS_LIST, scheme, query={"limit": 100, "include_completion": True}),
        Call.to(endpoints.OPTIMIZATIONS_LIST, scheme, query={"limit": 100}),
        Call.to(
            endpoints.CONVERSATIONS_LIST,
            scheme,
            query={"limit": 1, "has_insights": True, "include_insights": True},
        ),
    ]
    listed, optimizations, newest = ask_quickly(transport, calls, until=until)
    if isinstance(listed, ApiError):
        raise listed
    page = list_page(listed, calls[0])
    labels = labels_of_rows(page.rows)
    prompts, weeks_end = _prompts(transport, page.rows, labels, until)
    return Glance(
        place,
        prompts=tuple(sorted(prompts, key=lambda one: -(one.conversations or 0))[:_SHOWN]),
        prompt_count=page.total,
        listed=len(page.rows),
        weeks_end=weeks_end,
        judge=_judge(newest),
        optimizations=_active(optimizations, labels),
    )


def _prompts(
    transport: Transport, rows: Sequence[Row], labels: dict[str, str], until: float
) -> tuple[list[PromptGlance], date | None]:
    """Return the prompts, and the day after the last of their weeks."""
    if not any(isinstance(row.get("completion"), dict) for row in rows):
        return _viewed(transport, rows, labels, until), None
    found, ends = [], None
    for place, row in enumerate(rows):
        completion = PromptCompletion.from_wire(row["completion"])
        if completion.weeks:
            ends = completion.weeks[-1].from_ + _WEEK
        found.append(
            PromptGlance(
                *_named(row, labels),
                place,
                without_insights=completion.conversations - completion.with_insights,
                **{name: getattr(completion, name) for name in _COMPLETION},
                weeks=tuple((week.judged, week.completed) for week in completion.weeks),
            )
        )
    return found, None if ends is None else ends.date()


def _viewed(
    transport: Transport, rows: Sequence[Row], labels: dict[str, str], until: float
) -> list[PromptGlance]:
    """Read the views of the newest prompts. What a view does not say (the number that a rate is of) is not known."""
    scheme = transport.config.scheme
    endpoint = endpoints.PROMPTS_INSIGHTS if scheme.name == "prompt" else endpoints.AGENTS_INSIGHTS
    calls = [Call.to(endpoint, scheme, row["id"], query={"days": "all"}) for row in rows[:_VIEWED]]
    found = []
    for place, data in enumerate(ask_quickly(transport, calls, until=until)):
        known: dict[str, Any] = {}
        if not isinstance(data, ApiError):
            view = PromptInsightsView.from_wire(data)
            known = {
                "conversations": view.summary.total_conversations,
                "rate": view.metrics.task_completion.rate,
            }
        found.append(PromptGlance(*_named(rows[place], labels), place, **known))
    return found


def _named(row: Row, labels: dict[str, str]) -> tuple[str, str]:
    """Return label and reference of a prompt."""
    prompt_id: str = row["id"]
    label = labels.get(prompt_id, prompt_id)
    can_be_typed = label == row.get("name") and label.isprintable() and len(label) <= _TYPED
    return label, label if can_be_typed else prompt_id


def _judge(answer: Any) -> str | None:
    """Return who judged the newest insights: ``outcome`` where the log itself says how the conversation ended."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    newest = rows[0] if isinstance(rows, list) and rows else None
    insights = newest.get("insights") if isinstance(newest, dict) else None
    judge = insights.get("analyser") if isinstance(insights, dict) else None
    if isinstance(insights, dict) and insights.get("basis") == "outcome":
        judge = "outcome"
    return judge if isinstance(judge, str) else None


def _active(answer: Any, labels: dict[str, str]) -> tuple[ActiveOptimization, ...] | None:
    # The specification's list has neither pages nor a total.
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        return None
    return tuple(
        ActiveOptimization(
            str(row["id"]), labels.get(link_of(row), str(link_of(row))), row["status"], row.get("mode")
        )
        for row in rows
        if isinstance(row, dict) and row.get("status") in _ACTIVE and row.get("id")
    )
