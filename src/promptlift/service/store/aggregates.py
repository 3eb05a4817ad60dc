"""Figures over many conversations of one prompt, or of all prompts of an account.

They come from the counts by span of time (`conversation_counts`). What began before the first whole minute is read
from the conversations themselves, so a period begins exactly when it says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, and_, bindparam, case, cast, func, or_, select, union_all

from promptlift.service.store.conversation_counts import (
    FRACTION,
    SEVERITIES,
    SPANS,
    issue_key,
    issues_of,
)
from promptlift.service.store.tables import (
    conversation_issues,
    conversation_sums,
    conversation_turns,
    conversations,
    insights,
    prompts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select, Table

_ENDED = conversations.c.status != "in_progress"
_JUDGED_ENDED = case((_ENDED, insights.c.task_completed), else_=None)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts and means of some conversations; a mean of none is ``None``.

    Attributes
    ----------
    judged, task_completed
        Conversations that have ended and have insights, and those of them with a completed task.
    scored
        Conversations that have insights, ended or not.
    """

    total: int
    completed: int
    abandoned: int
    judged: int
    task_completed: int
    positive: int
    neutral: int
    negative: int
    sentiment: float | None
    response_seconds: float | None
    message_count: float | None

    @property
    def scored(self) -> int:
        """Conversations that have insights."""
        return self.positive + self.neutral + self.negative


@dataclass(frozen=True, slots=True)
class IssueCount:
    """The conversations that have an issue, by severity, and how many of them did not complete their task."""

    title: str
    severities: Mapping[str, int]
    failed: int

    @property
    def frequency(self) -> int:
        """Conversations that have it."""
        return sum(self.severities.values())


def totals(connection: Connection, account_id: str, prompt_id: str, *, since: int | None = None) -> Totals:
    """Count a prompt's conversations that started at a time or later, or all, and average their scores."""
    wanted = {"account": account_id, "prompt": prompt_id, **_bounds(since)}
    some = connection.execute(_sums(whole=since is None), wanted).mappings().one()
    found = {name: int(value or 0) for name, value in some.items()}
    sentiment = found["sentiment_fractions"] / FRACTION
    response = found["response_seconds"] + found["response_fractions"] / FRACTION
    if since is not None:
        part = connection.execute(_PART_OF_TOTALS, wanted).mappings().one()
        for name in found.keys() & part.keys():
            found[name] += int(part[name] or 0)
        sentiment += part["sentiment"] or 0.0
        response += part["response"] or 0.0
    scored = found["positive"] + found["neutral"] + found["negative"]
    return Totals(
        **{name: found[name] for name in ("total", "completed", "abandoned", "judged", "task_completed")},
        **{name: found[name] for name in ("positive", "neutral", "negative")},
        sentiment=sentiment / scored if scored else None,
        response_seconds=response / found["responses"] if found["responses"] else None,
        message_count=found["messages"] / found["total"] if found["total"] else None,
    )


def first(connection: Connection, account_id: str, prompt_id: str) -> int | None:
    """Return when the first conversation of a prompt started."""
    found: int | None = connection.scalar(_FIRST, {"account": account_id, "prompt": prompt_id})
    return found


def issues(
    connection: Connection, account_id: str, prompt_id: str, *, since: int | None, limit: int
) -> list[IssueCount]:
    """Return the most frequent issues of the conversations that started at a time or later."""
    wanted = {"account": account_id, "prompt": prompt_id, **_bounds(since)}
    severities: defaultdict[str, Counter[str]] = defaultdict(Counter)
    failed: Counter[str] = Counter()
    if since is not None:
        for document, completed in connection.execute(_DOCUMENTS, wanted):
            for title, severity in issues_of(document).items():
                severities[title][severity] += 1
                failed[title] += not completed
    # Of all other issues only the most frequent can be among the most frequent here: what was added above makes
    # none of them rarer.
    keys = [issue_key(title) for title in severities]
    for row in connection.execute(
        _issues(whole=since is None), {**wanted, "limit": limit, "keys": keys}
    ).mappings():
        title = bytes(row["title"]).decode()
        severities[title].update({name: int(row[name]) for name in SEVERITIES if row[name]})
        failed[title] += int(row["failed"])
    counts = [IssueCount(title, some, failed[title]) for title, some in severities.items()]
    return sorted(counts, key=lambda issue: (-issue.frequency, issue.title))[:limit]


def failures_by_turns(
    connection: Connection, account_id: str, prompt_id: str, *, since: int
) -> list[tuple[int, int, int]]:
    """Return, for each number of user turns, how many conversations ended after it and how many of these failed."""
    wanted = {"account": account_id, "prompt": prompt_id, **_bounds(since)}
    reached: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    for statement in (_turns(), _PART_OF_TURNS):
        for turns, count, failures in connection.execute(statement, wanted):
            reached[turns] += int(count)
            failed[turns] += int(failures or 0)
    return [(turns, reached[turns], failed[turns]) for turns in sorted(reached) if reached[turns]]


def completion_by_prompt(
    connection: Connection, account_id: str, *, since: int | None
) -> dict[str, tuple[int, int]]:
    """Judged conversations that have ended, and those with a completed task, for every prompt that is not deleted."""
    wanted = {"account": account_id, **_bounds(since)}
    judged: Counter[str] = Counter()
    done: Counter[str] = Counter()
    statements = [_fleet(whole=since is None), *([] if since is None else [_PART_OF_FLEET])]
    for statement in statements:
        for prompt_id, count, completed in connection.execute(statement, wanted):
            judged[prompt_id] += int(count)
            done[prompt_id] += int(completed or 0)
    return {prompt_id: (count, done[prompt_id]) for prompt_id, count in judged.items() if count}


# A period as spans of time: to the next whole minute by the rows themselves, from there to the next whole hour by
# minutes, to the next whole day by hours, and so on; the longest spans have no end.


def _bounds(since: int | None) -> dict[str, int]:
    if since is None:
        return {}
    bounds = {"since": since}
    start = since
    for number, span in enumerate(SPANS):
        start = -(-start // span) * span
        bounds[f"start_{number}"] = start
    return bounds


def _spans(table: Table, *, whole: bool) -> list[ColumnElement[bool]]:
    """Return a condition for each length of span; for all time the longest spans are enough."""
    last = len(SPANS) - 1
    if whole:
        return [table.c.span == SPANS[last]]
    conditions = []
    for number, span in enumerate(SPANS):
        wanted = [table.c.span == span, table.c.start >= bindparam(f"start_{number}")]
        if number < last:
            wanted.append(table.c.start < bindparam(f"start_{number + 1}"))
        conditions.append(and_(*wanted))
    return conditions


def _counted(table: Table, columns: Sequence[str], of: ColumnElement[bool], *, whole: bool) -> Any:
    """Return the rows of a table of counts for a period. One range of its key for each length of span."""
    selects = [
        select(*(table.c[name] for name in columns)).where(
            table.c.account_id == bindparam("account"), of, condition
        )
        for condition in _spans(table, whole=whole)
    ]
    return union_all(*selects).subquery()


def _of_prompt(table: Table) -> ColumnElement[bool]:
    return table.c.prompt_id == bindparam("prompt")


def _of_living(table: Table) -> ColumnElement[bool]:
    """Of any living prompt. Not as a join: SQLite would begin it with all conversations of the account."""
    living = select(prompts.c.id).where(
        prompts.c.account_id == bindparam("account"), prompts.c.deleted_at.is_(None)
    )
    return table.c.prompt_id.in_(living)


_SUMMED = tuple(column.name for column in conversation_sums.c)[4:]


@cache
def _sums(*, whole: bool) -> Select[Any]:
    some = _counted(conversation_sums, _SUMMED, _of_prompt(conversation_sums), whole=whole)
    return select(*(func.sum(some.c[name]).label(name) for name in _SUMMED))


@cache
def _issues(*, whole: bool) -> Select[Any]:
    columns = ("issue", "title", *SEVERITIES, "failed")
    some = _counted(conversation_issues, columns, _of_prompt(conversation_issues), whole=whole)
    frequency = func.sum(some.c.high + some.c.medium + some.c.low)
    grouped = (
        select(
            some.c.issue,
            some.c.title,
            *(func.sum(some.c[name]).label(name) for name in (*SEVERITIES, "failed")),
            frequency.label("frequency"),
            func.row_number().over(order_by=(frequency.desc(), some.c.title)).label("rank"),
        )
        .group_by(some.c.issue, some.c.title)
        .subquery()
    )
    named = or_(grouped.c.rank <= bindparam("limit"), grouped.c.issue.in_(bindparam("keys", expanding=True)))
    return select(grouped).where(grouped.c.frequency > 0, named)


@cache
def _turns() -> Select[Any]:
    columns = ("user_turns", "judged", "failed")
    some = _counted(conversation_turns, columns, _of_prompt(conversation_turns), whole=False)
    return select(some.c.user_turns, func.sum(some.c.judged), func.sum(some.c.failed)).group_by(
        some.c.user_turns
    )


@cache
def _fleet(*, whole: bool) -> Select[Any]:
    columns = ("prompt_id", "judged", "task_completed")
    some = _counted(conversation_sums, columns, _of_living(conversation_sums), whole=whole)
    return select(some.c.prompt_id, func.sum(some.c.judged), func.sum(some.c.task_completed)).group_by(
        some.c.prompt_id
    )


# The part of a minute.
_PART = (
    conversations.c.account_id == bindparam("account"),
    conversations.c.started_at >= bindparam("since"),
    conversations.c.started_at < bindparam("start_0"),
)
_OF_PROMPT = _of_prompt(conversations)
_WITH_INSIGHTS = conversations.join(insights, insights.c.conversation_id == conversations.c.id)

_PART_OF_TOTALS = (
    select(
        func.count().label("total"),
        func.count(case((conversations.c.status == "completed", 1))).label("completed"),
        func.count(case((conversations.c.status == "abandoned", 1))).label("abandoned"),
        func.sum(conversations.c.message_count).label("messages"),
        func.count(conversations.c.response_seconds).label("responses"),
        func.sum(conversations.c.response_seconds).label("response"),
        func.count(_JUDGED_ENDED).label("judged"),
        func.sum(cast(_JUDGED_ENDED, Integer)).label("task_completed"),
        *(
            func.count(case((insights.c.sentiment == name, 1))).label(name)
            for name in ("positive", "neutral", "negative")
        ),
        func.sum(insights.c.sentiment_score).label("sentiment"),
    )
    .select_from(conversations.outerjoin(insights, insights.c.conversation_id == conversations.c.id))
    .where(*_PART, _OF_PROMPT)
)
_DOCUMENTS = (
    select(insights.c.document, insights.c.task_completed)
    .select_from(_WITH_INSIGHTS)
    .where(*_PART, _OF_PROMPT)
)
_PART_OF_TURNS = (
    select(
        conversations.c.user_turns,
        func.count(),
        func.sum(case((insights.c.task_completed.is_(False), 1), else_=0)),
    )
    .select_from(_WITH_INSIGHTS)
    .where(*_PART, _OF_PROMPT, _ENDED)
    .group_by(conversations.c.user_turns)
)
_PART_OF_FLEET = (
    select(conversations.c.prompt_id, func.count(), func.sum(cast(insights.c.task_completed, Integer)))
    .select_from(_WITH_INSIGHTS)
    .where(*_PART, _ENDED, _of_living(conversations))
    .group_by(conversations.c.prompt_id)
)
_FIRST = select(func.min(conversations.c.started_at)).where(
    conversations.c.account_id == bindparam("account"), _OF_PROMPT
)
