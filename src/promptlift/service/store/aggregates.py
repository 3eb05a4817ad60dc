"""Figures over many conversations of one prompt, or of all prompts of an account.

They come from the counts by day (`conversation_counts`). The conversations of a first day that is only partly
in a period are read individually, so the start of a period is exact.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from sqlalchemy import bindparam, func, insert, select, union_all

from promptlift.schema.basis import weakest
from promptlift.service import clock
from promptlift.service.store.conversation_counts import ALL_TIME, EACH, FRACTION, SUMS, WITH_INSIGHTS
from promptlift.service.store.conversations import judged_of
from promptlift.service.store.tables import conversations, insights, issue_names, prompts
from promptlift.service.store.tables.conversations import (
    conversation_issue_sets,
    conversation_sums,
    conversation_turns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select, Subquery, Table

    from promptlift.schema.basis import Basis

    Of = Callable[[Table], ColumnElement[bool]]

# Maximum sets of issues read per model and topic, the most frequent first. Only a model that invents a new
# name for everything comes close to this.
ISSUE_SETS = 20_000

_COUNTED = (
    *("total", "completed", "abandoned", "judged", "task_completed", "by_outcome", "by_learned", "by_words"),
    *("positive", "neutral", "negative", "scored_by_words"),
)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts and means of some conversations; a mean of nothing is ``None``.

    Attributes
    ----------
    judged, task_completed
        Ended conversations with a verdict, and those of them with a completed task.
    by_outcome, by_learned, by_words
        Judged conversations whose verdict is the log's outcome, from a judge that learned from labels, or
        from the built-in rules.
    scored, scored_by_words
        Conversations with insights, ended or not, and those of them with insights from the built-in rules.
    sentiment, sentiment_sd
        Mean and standard deviation of their sentiment scores; the latter needs two scores.
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
        """Number of conversations with insights."""
        return self.positive + self.neutral + self.negative

    @property
    def basis(self) -> Basis | None:
        """The basis of the verdicts, the weakest of several; ``None`` if there are none."""
        return _basis(self.judged, self.by_outcome, self.by_learned, self.by_words)

    @property
    def analyser(self) -> str | None:
        """The source of the issues and the sentiment: ``lexicon``, ``llm`` or ``mixed``; ``None`` without insights."""
        if not self.scored:
            return None
        return {0: "llm", self.scored: "lexicon"}.get(self.scored_by_words, "mixed")

    def less(self, part: Totals) -> Totals:
        """Subtract the totals of some of the conversations; times and lengths are left out."""
        counts = {name: getattr(self, name) - getattr(part, name) for name in _COUNTED}
        scored = self.scored - part.scored
        mean, deviation = _mean(self, part, scored)
        return Totals(
            **counts, sentiment=mean, sentiment_sd=deviation, response_seconds=None, message_count=None
        )


def _mean(whole: Totals, part: Totals, scored: int) -> tuple[float | None, float | None]:
    """Return mean and standard deviation of the rest's sentiment."""
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
    """Return the standard deviation of at least two values from the sum of their squares."""
    return sqrt(max(0.0, squares - mean**2 * n) / (n - 1)) if n > 1 else None


@dataclass(frozen=True, slots=True)
class IssueSet:
    """Conversations of one stratum with the same set of issues.

    Attributes
    ----------
    stratum
        Their prompt, model and first topic; the latter two are empty if unknown.
    titles
        Titles of the issues.
    scored, judged, failed
        Number of all, of ended ones, and of ended ones without a completed task.
    """

    stratum: tuple[str, str, str]
    titles: tuple[str, ...]
    scored: int
    judged: int
    failed: int


class JudgedConversation(NamedTuple):
    """An ended conversation, with its insights as JSON text."""

    id: str
    task_completed: bool | None
    document: str


def totals(connection: Connection, account_id: str, prompt_id: str, *, since: int | None = None) -> Totals:
    """Count a prompt's conversations that started at a time or later, or all, and average their scores."""
    wanted = {"account": account_id, "prompt": prompt_id, **_bounds(since)}
    some = connection.execute(_sums(whole=since is None), wanted).mappings().one()
    found = {name: int(value or 0) for name, value in some.items()}
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


def dated(
    connection: Connection, account_id: str, prompt_id: str, *, since: int | None = None
) -> tuple[int, int] | None:
    """Return the start of the first and the last conversation of a prompt since a time."""
    wanted = {"account": account_id, "prompt": prompt_id, "since": -(2**62) if since is None else since}
    first, last = (connection.scalar(one, wanted) for one in _ENDS)
    return None if first is None or last is None else (first, last)


def issue_sets(
    connection: Connection, account_id: str, *, prompt_id: str | None, since: int | None
) -> list[IssueSet]:
    """Count conversations since a time by their set of issues; a set may occur twice.

    For one prompt, or for every living prompt of the account if ``prompt_id`` is ``None``.
    """
    wanted = {"account": account_id, "limit": ISSUE_SETS, **_bounds(since)}
    if prompt_id is not None:
        wanted["prompt"] = prompt_id
    statement = _issue_sets(whole=since is None, of_prompt=prompt_id is not None)
    titles = cache(lambda issues: tuple(orjson.loads(issues)))
    return [
        IssueSet((prompt, model, topic), titles(issues), *map(int, counts))
        for prompt, model, topic, issues, *counts in connection.execute(statement, wanted).all()
    ]


def names_of_issues(connection: Connection, account_id: str) -> dict[str, str]:
    """Return the name of its group for each title of an account."""
    columns = (issue_names.c.title, issue_names.c.name)
    rows = connection.execute(select(*columns).where(issue_names.c.account_id == account_id))
    return {title.decode(): name.decode() for title, name in rows}


def name_issues(connection: Connection, account_id: str, names: Mapping[str, str], *, now: int) -> None:
    """Store the names of groups by title; titles that already have one keep it."""
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
    """Return the newest judged conversations that have ended."""
    columns = (conversations.c.id, insights.c.task_completed, insights.c.document)
    query = judged_of(account_id, prompt_id, *columns).where(conversations.c.status != "in_progress")
    if since is not None:
        query = query.where(conversations.c.started_at >= since)
    return [JudgedConversation._make(row) for row in connection.execute(query.limit(limit))]


def failures_by_turns(
    connection: Connection, account_id: str, prompt_id: str, *, since: int
) -> list[tuple[int, int, int]]:
    """Return, for each number of user turns, how many conversations ended after it and how many of these failed."""
    wanted = {"account": account_id, "prompt": prompt_id, **_bounds(since)}
    statement = _judged(conversation_turns, "user_turns", "failed", _of_prompt, whole=False)
    return [
        (turns, int(reached), int(failed)) for turns, reached, failed in connection.execute(statement, wanted)
    ]


def completion_by_prompt(
    connection: Connection, account_id: str, *, since: int | None
) -> dict[str, tuple[int, int]]:
    """Count ended judged conversations, and those with a completed task, for every living prompt."""
    statement = _judged(conversation_sums, "prompt_id", "task_completed", _of_living, whole=since is None)
    found = connection.execute(statement, {"account": account_id, **_bounds(since)})
    return {prompt_id: (int(judged), int(completed)) for prompt_id, judged, completed in found}


@dataclass(frozen=True, slots=True)
class Completion:
    """Counts of a prompt's conversations: over all time, and of ended judged ones by day."""

    total: int
    scored: int
    judged: int
    completed: int
    basis: Basis | None
    days: dict[int, tuple[int, int]]


def completion_by_day(
    connection: Connection, account_id: str, prompt_ids: Sequence[str], *, days: int, today: int
) -> tuple[int | None, dict[str, Completion]]:
    """Count the conversations of some prompts, and the judged ones in their last days up to today.

    Returns
    -------
    tuple
        Start of the last of the days, ``None`` without conversations; and the counts of each prompt with
        conversations.
    """
    wanted = {"account": account_id, "prompts": list(prompt_ids), "today": today}
    last: int | None = connection.scalar(_LAST_DAY, wanted)
    by_day: dict[str, dict[int, tuple[int, int]]] = {}
    if last is not None:
        since = {"since": last - (days - 1) * clock.DAY}
        for prompt_id, start, judged, completed in connection.execute(_DAYS, wanted | since):
            by_day.setdefault(prompt_id, {})[start] = (judged, completed)
    found = {}
    for prompt_id, *counts in connection.execute(_WHOLE, wanted):
        total, scored, judged, completed, *by_basis = map(int, counts)
        basis = _basis(judged, *by_basis)
        found[prompt_id] = Completion(total, scored, judged, completed, basis, by_day.get(prompt_id, {}))
    return last, found


def _basis(judged: int, by_outcome: int, by_learned: int, by_words: int) -> Basis | None:
    """Return the weakest basis of judged conversations; those of no other basis were judged by a model."""
    counts: dict[Basis, int] = {"outcome": by_outcome, "learned": by_learned, "words": by_words}
    counts["model"] = judged - sum(counts.values())
    return weakest(basis for basis, count in counts.items() if count)


def _bounds(since: int | None) -> dict[str, int]:
    """Return the start of a period, and its first full day."""
    return {} if since is None else {"since": since, "day": -(-since // clock.DAY) * clock.DAY}


def _counted(table: Table, columns: Sequence[str], of: Of, *, whole: bool) -> Subquery:
    """Return the counts of a period: those of its full days, and each conversation that started before them."""
    days = select(*(table.c[name] for name in columns)).where(
        table.c.account_id == bindparam("account"), of(table)
    )
    if whole:
        return days.where(table.c.start == ALL_TIME).subquery()
    before = (
        select(*(EACH[name].label(name) for name in columns))
        .select_from(WITH_INSIGHTS)
        .where(
            conversations.c.account_id == bindparam("account"),
            of(conversations),
            conversations.c.started_at >= bindparam("since"),
            conversations.c.started_at < bindparam("day"),
        )
    )
    return union_all(days.where(table.c.start >= bindparam("day")), before).subquery()


def _of_prompt(table: Table) -> ColumnElement[bool]:
    return table.c.prompt_id == bindparam("prompt")


def _of_living(table: Table) -> ColumnElement[bool]:
    """Return the condition that a row belongs to a living prompt. Not as a join, which SQLite would start from all conversations of the account."""
    living = select(prompts.c.id).where(
        prompts.c.account_id == bindparam("account"), prompts.c.deleted_at.is_(None)
    )
    return table.c.prompt_id.in_(living)


@cache
def _sums(*, whole: bool) -> Select[Any]:
    some = _counted(conversation_sums, SUMS, _of_prompt, whole=whole)
    return select(*(func.sum(some.c[name]).label(name) for name in SUMS))


@cache
def _issue_sets(*, whole: bool, of_prompt: bool) -> Select[Any]:
    # The hash first: it alone determines the groups.
    keys = ("issue_set", "prompt_id", "llm_model", "topic", "issues")
    counts = ("scored", "judged", "failed")
    of = _of_prompt if of_prompt else _of_living
    some = _counted(conversation_issue_sets, (*keys, *counts), of, whole=whole)
    by = [some.c[name] for name in keys]
    scored = func.sum(some.c.scored)
    return (
        select(*by[1:], *(func.sum(some.c[name]) for name in counts))
        .group_by(*by)
        .having(scored > 0)
        .order_by(scored.desc(), *by)
        .limit(bindparam("limit"))
    )


@cache
def _judged(table: Table, key: str, done: str, of: Of, *, whole: bool) -> Select[Any]:
    """Count judged conversations, and some of them, by a column."""
    some = _counted(table, (key, "judged", done), of, whole=whole)
    by, judged = some.c[key], func.sum(some.c.judged)
    return select(by, judged, func.sum(some.c[done])).group_by(by).having(judged > 0).order_by(by)


_OF_PROMPTS = (
    conversation_sums.c.account_id == bindparam("account"),
    conversation_sums.c.prompt_id.in_(bindparam("prompts", expanding=True)),
)
_OF_DAY = (
    *_OF_PROMPTS,
    conversation_sums.c.start > ALL_TIME,
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
        *(
            func.sum(conversation_sums.c[name])
            for name in ("judged", "task_completed", "by_outcome", "by_learned", "by_words")
        ),
    )
    .where(*_OF_PROMPTS, conversation_sums.c.start == ALL_TIME)
    .group_by(conversation_sums.c.prompt_id)
)
# Two statements: each is one index look-up.
_ENDS = tuple(
    select(end(conversations.c.started_at)).where(
        conversations.c.account_id == bindparam("account"),
        _of_prompt(conversations),
        conversations.c.started_at >= bindparam("since"),
    )
    for end in (func.min, func.max)
)
