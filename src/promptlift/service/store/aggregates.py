"""Figures over many conversations of one prompt, or of all prompts of an account.

They come from the counts by span of time (`conversation_counts`). What began before the first whole minute is read
from the conversations themselves, so a period begins exactly when it says.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from sqlalchemy import and_, bindparam, func, insert, select, union_all

from promptlift.schema.basis import weakest
from promptlift.service import clock
from promptlift.service.store.conversation_counts import COUNTED, FRACTION, SPANS, SUMS, Counts
from promptlift.service.store.tables import (
    conversation_issue_sets,
    conversation_sums,
    conversation_turns,
    conversations,
    insights,
    issue_names,
    prompts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select, Table

    from promptlift.schema.basis import Basis

# Of the sets of issues, the most frequent are read. Only a model that names everything anew comes near to this.
ISSUE_SETS = 20_000

_COUNTED = (
    *("total", "completed", "abandoned", "judged", "task_completed", "by_outcome", "by_learned", "by_words"),
    *("positive", "neutral", "negative", "scored_by_words"),
)
_ENDED = conversations.c.status != "in_progress"


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts and means of some conversations; a mean of none is ``None``.

    Attributes
    ----------
    judged, task_completed
        Conversations that have ended and have a verdict, and those of them with a completed task.
    by_outcome, by_learned, by_words
        Those of the judged whose verdict is the log's outcome, that of a judge that learned from labels, or that of the built-in rules.
    scored, scored_by_words
        Conversations that have insights, ended or not, and those of them whose insights are of the built-in rules.
    sentiment, sentiment_sd
        Mean and standard deviation of their sentiment scores; the latter needs two of them.
    """

    total: int
    completed: int
    abandoned: int
    judged: int
    task_completed: int
    by_outcome: int
    by_learned: int
    by_words: int
    positive: int
    neutral: int
    negative: int
    scored_by_words: int
    sentiment: float | None
    sentiment_sd: float | None
    response_seconds: float | None
    message_count: float | None

    @property
    def scored(self) -> int:
        """Conversations that have insights."""
        return self.positive + self.neutral + self.negative

    @property
    def basis(self) -> Basis | None:
        """What the verdicts rest on, the weakest of several; ``None`` where there are none."""
        counts: dict[Basis, int] = {
            "outcome": self.by_outcome,
            "learned": self.by_learned,
            "words": self.by_words,
        }
        counts["model"] = self.judged - sum(counts.values())
        return weakest(basis for basis, count in counts.items() if count)

    @property
    def analyser(self) -> str | None:
        """Who found the issues and the sentiment: ``lexicon``, ``llm`` or ``mixed``; ``None`` without insights."""
        if not self.scored:
            return None
        return {0: "llm", self.scored: "lexicon"}.get(self.scored_by_words, "mixed")

    def less(self, part: Totals) -> Totals:
        """Return the totals without some of the conversations; times and lengths are left out."""
        counts = {name: getattr(self, name) - getattr(part, name) for name in _COUNTED}
        scored = self.scored - part.scored
        mean, deviation = _mean(self, part, scored)
        return Totals(
            **counts, sentiment=mean, sentiment_sd=deviation, response_seconds=None, message_count=None
        )


def _mean(whole: Totals, part: Totals, scored: int) -> tuple[float | None, float | None]:
    """Return mean and deviation of the sentiment of the rest."""
    if whole.sentiment is None or scored < 1:
        return None, None
    sums, squares = [], []
    for one in (whole, part):
        mean, deviation = one.sentiment or 0.0, one.sentiment_sd or 0.0
        sums.append(mean * one.scored)
        squares.append(deviation**2 * max(0, one.scored - 1) + mean**2 * one.scored)
    mean = (sums[0] - sums[1]) / scored
    return mean, _deviation(squares[0] - squares[1], mean, scored)


def _deviation(squares: float, mean: float, n: int) -> float | None:
    """Return the standard deviation of values by the sum of their squares; it needs two of them."""
    return sqrt(max(0.0, squares - mean**2 * n) / (n - 1)) if n > 1 else None


@dataclass(frozen=True, slots=True)
class IssueSet:
    """The conversations of a prompt that have the same issues together.

    Attributes
    ----------
    titles
        Of the issues.
    scored, judged, failed
        All of them, those that have ended, and those that ended with the task not completed.
    """

    prompt_id: str
    titles: tuple[str, ...]
    scored: int
    judged: int
    failed: int


class JudgedConversation(NamedTuple):
    """A conversation that has ended, with its insights as JSON text."""

    id: str
    task_completed: bool | None
    document: str


def totals(connection: Connection, account_id: str, prompt_id: str, *, since: int | None = None) -> Totals:
    """Count a prompt's conversations that started at a time or later, or all, and average their scores."""
    wanted = {"account": account_id, "prompt": prompt_id, **_bounds(since)}
    some = connection.execute(_sums(whole=since is None), wanted).mappings().one()
    found = {name: int(value or 0) for name, value in some.items()}
    for numbers in _part(connection, wanted).sums.values():
        for name, value in zip(SUMS, numbers, strict=True):
            found[name] += value
    sentiment = found["sentiment_fractions"] / FRACTION
    squares = found["sentiment_squares"] / FRACTION
    response = found["response_seconds"] + found["response_fractions"] / FRACTION
    scored = found["positive"] + found["neutral"] + found["negative"]
    return Totals(
        **{name: found[name] for name in _COUNTED},
        sentiment=sentiment / scored if scored else None,
        sentiment_sd=_deviation(squares, sentiment / scored, scored) if scored else None,
        response_seconds=response / found["responses"] if found["responses"] else None,
        message_count=found["messages"] / found["total"] if found["total"] else None,
    )


def first(connection: Connection, account_id: str, prompt_id: str) -> int | None:
    """Return when the first conversation of a prompt started."""
    found: int | None = connection.scalar(_FIRST, {"account": account_id, "prompt": prompt_id})
    return found


def dated(
    connection: Connection, account_id: str, prompt_id: str, *, since: int | None
) -> tuple[int, int] | None:
    """Return when the first and the last conversation of a prompt started, of those that started at a time or later."""
    wanted = {"account": account_id, "prompt": prompt_id, "since": -(2**62) if since is None else since}
    first, last = (connection.scalar(one, wanted) for one in _ENDS)
    return None if first is None or last is None else (first, last)


def issue_sets(
    connection: Connection, account_id: str, *, prompt_id: str | None, since: int | None
) -> list[IssueSet]:
    """Count conversations that started at a time or later by the issues that they have together.

    Of one prompt, or of every living prompt of the account where ``prompt_id`` is ``None``.
    """
    wanted = {"account": account_id, "limit": ISSUE_SETS, **_bounds(since)}
    if prompt_id is not None:
        wanted["prompt"] = prompt_id
    part = _part(connection, wanted, of_prompt=prompt_id is not None)
    counts = {(prompt, issues): numbers for (_, prompt, *_, issues), numbers in part.issue_sets.items()}
    for prompt, issues, *numbers in connection.execute(
        _issue_sets(whole=since is None, of_prompt=prompt_id is not None), wanted
    ):
        found = counts.setdefault((prompt, bytes(issues)), [0, 0, 0])
        for number, one in enumerate(numbers):
            found[number] += int(one)
    return [
        IssueSet(prompt, tuple(orjson.loads(issues)), *numbers)
        for (prompt, issues), numbers in counts.items()
    ]


def names_of_issues(connection: Connection, account_id: str) -> dict[str, str]:
    """Return the name of its group for each title of an account."""
    columns = (issue_names.c.title, issue_names.c.name)
    rows = connection.execute(select(*columns).where(issue_names.c.account_id == account_id))
    return {title.decode(): name.decode() for title, name in rows}


def name_issues(connection: Connection, account_id: str, names: Mapping[str, str], *, now: int) -> None:
    """Keep the names of groups by title; a title that has one already keeps it."""
    known = names_of_issues(connection, account_id)
    rows = [
        {
            "account_id": account_id,
            "issue": hashlib.md5(title.encode(), usedforsecurity=False).hexdigest(),
            "title": title.encode(),
            "name": name.encode(),
            "created_at": now,
        }
        for title, name in names.items()
        if title not in known
    ]
    if rows:
        connection.execute(insert(issue_names), rows)


def newest_judged(
    connection: Connection, account_id: str, prompt_id: str, *, since: int | None, limit: int
) -> list[JudgedConversation]:
    """Return the newest conversations that were judged and have ended."""
    started = () if since is None else (conversations.c.started_at >= since,)
    found = connection.execute(
        select(conversations.c.id, insights.c.task_completed, insights.c.document)
        .select_from(_WITH_INSIGHTS)
        .where(
            conversations.c.account_id == account_id, conversations.c.prompt_id == prompt_id, _ENDED, *started
        )
        .order_by(conversations.c.started_at.desc())
        .limit(limit)
    )
    return [JudgedConversation._make(row) for row in found]


def failures_by_turns(
    connection: Connection, account_id: str, prompt_id: str, *, since: int
) -> list[tuple[int, int, int]]:
    """Return, for each number of user turns, how many conversations ended after it and how many of these failed."""
    wanted = {"account": account_id, "prompt": prompt_id, **_bounds(since)}
    part = _part(connection, wanted).turns
    counts = [(turns, *numbers) for (*_, turns), numbers in part.items()]
    reached: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    for turns, count, failures in (*counts, *connection.execute(_turns(), wanted)):
        reached[turns] += int(count)
        failed[turns] += int(failures or 0)
    return [(turns, reached[turns], failed[turns]) for turns in sorted(reached) if reached[turns]]


def completion_by_prompt(
    connection: Connection, account_id: str, *, since: int | None
) -> dict[str, tuple[int, int]]:
    """Count judged conversations that have ended, and those with a completed task, for every prompt that is not deleted."""
    wanted = {"account": account_id, **_bounds(since)}
    judged: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for prompt_id, count, completed in connection.execute(_fleet(whole=since is None), wanted):
        judged[prompt_id] += int(count)
        done[prompt_id] += int(completed or 0)
    for (_, prompt_id, _), numbers in _part(connection, wanted, of_prompt=False).sums.items():
        judged[prompt_id] += numbers[SUMS.index("judged")]
        done[prompt_id] += numbers[SUMS.index("task_completed")]
    return {prompt_id: (count, done[prompt_id]) for prompt_id, count in judged.items() if count}


@dataclass(frozen=True, slots=True)
class Completion:
    """Counts of a prompt's conversations: over all time, and of those that have ended and were judged by day."""

    total: int
    scored: int
    judged: int
    completed: int
    days: dict[int, tuple[int, int]]


def completion_by_day(
    connection: Connection, account_id: str, prompt_ids: Sequence[str], *, days: int, today: int
) -> tuple[int | None, dict[str, Completion]]:
    """Count the conversations of some prompts, and those judged in the last days that any of them has, up to today.

    Returns
    -------
    tuple
        When the last of the days began, ``None`` without conversations; and the counts of each prompt that has some.
    """
    wanted = {"account": account_id, "prompts": list(prompt_ids), "today": today}
    last: int | None = connection.scalar(_LAST_DAY, wanted)
    by_day: dict[str, dict[int, tuple[int, int]]] = {}
    if last is not None:
        since = {"since": last - (days - 1) * clock.DAY}
        for prompt_id, start, judged, completed in connection.execute(_DAYS, wanted | since):
            by_day.setdefault(prompt_id, {})[start] = (judged, completed)
    return last, {
        prompt_id: Completion(int(total), int(scored), int(judged), int(completed), by_day.get(prompt_id, {}))
        for prompt_id, total, scored, judged, completed in connection.execute(_WHOLE, wanted)
    }


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
    """Return the condition that a row is of a living prompt. Not as a join: SQLite would begin it with all conversations of the account."""
    living = select(prompts.c.id).where(
        prompts.c.account_id == bindparam("account"), prompts.c.deleted_at.is_(None)
    )
    return table.c.prompt_id.in_(living)


@cache
def _sums(*, whole: bool) -> Select[Any]:
    some = _counted(conversation_sums, SUMS, _of_prompt(conversation_sums), whole=whole)
    return select(*(func.sum(some.c[name]).label(name) for name in SUMS))


@cache
def _issue_sets(*, whole: bool, of_prompt: bool) -> Select[Any]:
    table = conversation_issue_sets
    names = ("scored", "judged", "failed")
    of = _of_prompt(table) if of_prompt else _of_living(table)
    some = _counted(table, ("prompt_id", "issue_set", "issues", *names), of, whole=whole)
    scored = func.sum(some.c.scored)
    return (
        select(some.c.prompt_id, some.c.issues, *(func.sum(some.c[name]) for name in names))
        .group_by(some.c.prompt_id, some.c.issue_set, some.c.issues)
        .having(scored > 0)
        .order_by(scored.desc(), some.c.prompt_id, some.c.issue_set)
        .limit(bindparam("limit"))
    )


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

_PARTS = {
    True: COUNTED.where(*_PART, _OF_PROMPT),
    False: COUNTED.where(*_PART, _of_living(conversations)),
}


def _part(connection: Connection, wanted: Mapping[str, Any], *, of_prompt: bool = True) -> Counts:
    """Count the conversations of a period that began before its first whole minute; none without a beginning."""
    counts = Counts()
    if "since" in wanted:
        counts.count(connection.execute(_PARTS[of_prompt], wanted).mappings(), 1)
    return counts


_OF_PROMPTS = (
    conversation_sums.c.account_id == bindparam("account"),
    conversation_sums.c.prompt_id.in_(bindparam("prompts", expanding=True)),
)
_OF_DAY = (
    *_OF_PROMPTS,
    conversation_sums.c.span == clock.DAY,
    conversation_sums.c.start <= bindparam("today"),
)
_LAST_DAY = select(func.max(conversation_sums.c.start)).where(*_OF_DAY, conversation_sums.c.total > 0)
_DAYS = select(
    *(conversation_sums.c[name] for name in ("prompt_id", "start", "judged", "task_completed"))
).where(*_OF_DAY, conversation_sums.c.start >= bindparam("since"))
_WHOLE = (
    select(
        conversation_sums.c.prompt_id,
        func.sum(conversation_sums.c.total),
        func.sum(conversation_sums.c.positive + conversation_sums.c.neutral + conversation_sums.c.negative),
        func.sum(conversation_sums.c.judged),
        func.sum(conversation_sums.c.task_completed),
    )
    .where(*_OF_PROMPTS, conversation_sums.c.span == SPANS[-1])
    .group_by(conversation_sums.c.prompt_id)
)
# Two statements: each is one look into the index.
_ENDS = tuple(
    select(end(conversations.c.started_at)).where(
        conversations.c.account_id == bindparam("account"),
        _OF_PROMPT,
        conversations.c.started_at >= bindparam("since"),
    )
    for end in (func.min, func.max)
)
_FIRST = select(func.min(conversations.c.started_at)).where(
    conversations.c.account_id == bindparam("account"), _OF_PROMPT
)
