"""Rows of optimizations and their variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, func, or_, select, type_coerce
from sqlalchemy.orm import defer

from promptlift.service.store import runs
from promptlift.service.store.conversations import judged_of
from promptlift.service.store.leases import Leases
from promptlift.service.store.rows import Json, Moment, Rows, newest, wanted
from promptlift.service.store.tables.conversations import ContentRow, ConversationRow, InsightsRow
from promptlift.service.store.tables.runs import DeploymentRow, OptimizationRow, VariantRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

    from promptlift.schema.queries import OptimizationsQuery
    from promptlift.schema.results import OptimizationResults

# Maximum logged conversations for scenarios and failures, newest first.
REMEMBERED = 5_000

LEASES = Leases(OptimizationRow, OptimizationRow.status == "running")
_UNLISTED = (
    OptimizationRow.pool,
    OptimizationRow.experiment,
    OptimizationRow.headroom,
    OptimizationRow.search,
)


def get(connection: Connection, optimization_id: str) -> OptimizationRow:
    """Return an existing optimization of any account, for background work."""
    return Rows(connection).scalars(wanted(OptimizationRow, id=optimization_id)).one()


def pool(connection: Connection, optimization_id: str) -> list[tuple[str, float | None]]:
    """Return the logged conversations for scenarios, with the weights by which they were drawn."""
    return connection.scalar(select(OptimizationRow.pool).filter_by(id=optimization_id)) or []


def page(rows: Rows, account_id: str, query: OptimizationsQuery) -> tuple[Sequence[OptimizationRow], int]:
    """Return one page of optimizations, newest first, and their total number."""
    listed = newest(OptimizationRow, account_id=account_id, prompt_id=query.linked_id, status=query.status)
    return rows.page(listed.options(*(defer(one, raiseload=True) for one in _UNLISTED)), query)


def deployment_states(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the id and state of the newest deployment of each of these, if any."""
    rows = connection.execute(
        select(DeploymentRow.optimization_id, DeploymentRow.id, DeploymentRow.state)
        .where(DeploymentRow.optimization_id.in_(ids))
        .order_by(DeploymentRow.seq)
    )
    return {row.optimization_id: {"id": row.id, "state": row.state} for row in rows}


def running_count(connection: Connection, account_id: str) -> int:
    """Count the running optimizations of the account."""
    statement = select(func.count()).select_from(OptimizationRow)
    return int(connection.scalar(statement.filter_by(account_id=account_id, status="running")) or 0)


def oldest_queued(connection: Connection, account_id: str) -> OptimizationRow | None:
    """Return the optimization that has been queued longest."""
    queued = wanted(OptimizationRow, account_id=account_id, status="queued").order_by(OptimizationRow.seq)
    return Rows(connection).find(queued.limit(1))


def open_of_prompt(connection: Connection, account_id: str, prompt_id: str) -> Sequence[OptimizationRow]:
    """Return the queued and running optimizations of a prompt."""
    mine = wanted(OptimizationRow, account_id=account_id, prompt_id=prompt_id)
    return Rows(connection).all(
        mine.where(OptimizationRow.status.in_(runs.OPEN)).order_by(OptimizationRow.seq)
    )


def open_by_prompt(connection: Connection, account_id: str) -> dict[str, list[str]]:
    """Return the ids of the account's queued and running optimizations by prompt."""
    statement = select(OptimizationRow.prompt_id, OptimizationRow.id).filter_by(account_id=account_id)
    found: dict[str, list[str]] = {}
    for prompt_id, one in connection.execute(statement.where(OptimizationRow.status.in_(runs.OPEN))):
        found.setdefault(prompt_id, []).append(one)
    return found


def last_completed(connection: Connection, account_id: str, prompt_id: str) -> datetime | None:
    """Return when the last optimization of the prompt completed."""
    found: datetime | None = connection.scalar(
        select(func.max(OptimizationRow.completed_at)).filter_by(
            account_id=account_id, prompt_id=prompt_id, status="completed"
        )
    )
    return found


# Variants


def find_variant(connection: Connection, account_id: str, variant_id: str) -> VariantRow | None:
    """Return a variant of the account, ``None`` if there is none with this id."""
    return Rows(connection).find(wanted(VariantRow, account_id=account_id, id=variant_id))


def variants(connection: Connection, optimization_id: str) -> Sequence[VariantRow]:
    """Return the variants of an optimization by number, the original first; empty before they are written."""
    found = wanted(VariantRow, optimization_id=optimization_id).order_by(VariantRow.number)
    return Rows(connection).all(found)


# The data of an optimization: conversations that existed at a time. The latest ones come first, by their own
# time, so that the order of logging does not affect a run.


class Logged(NamedTuple):
    """A logged conversation, and whether its task was completed; ``None`` before it is judged."""

    id: str
    task_completed: bool | None


class JudgedConversation(NamedTuple):
    """A judged conversation with its insights."""

    id: str
    task_completed: bool
    insights: dict[str, Any]

    @property
    def issues(self) -> list[str]:
        """Titles of issues, worst first."""
        return [one["title"] for one in self.insights.get("issues") or []]


_LAST_FIRST = (ConversationRow.started_at.desc(), ConversationRow.seq.desc())
_CREATED_AT = type_coerce(ConversationRow.created_at, Moment)
_INSIGHTS = type_coerce(InsightsRow.document, Json)


def _there(account_id: str, prompt_id: str, before: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        ConversationRow.account_id == account_id,
        ConversationRow.prompt_id == prompt_id,
        before >= _CREATED_AT,
    )


def logged(connection: Connection, account_id: str, prompt_id: str, *, before: datetime) -> Sequence[Logged]:
    """Return conversations of a prompt with their insights."""
    rows = connection.execute(
        select(ConversationRow.id, InsightsRow.task_completed)
        .select_from(ConversationRow)
        .outerjoin(InsightsRow, InsightsRow.conversation_id == ConversationRow.id)
        .where(*_there(account_id, prompt_id, before))
        .order_by(*_LAST_FIRST)
        .limit(REMEMBERED)
    )
    return [Logged._make(row) for row in rows]


def traffic(
    connection: Connection, account_id: str, prompt_id: str, *, since: int
) -> tuple[int, float | None]:
    """Count the conversations of a prompt since a time; and the mean number of user turns in its last ones."""
    mine = (ConversationRow.account_id == account_id, ConversationRow.prompt_id == prompt_id)
    count = select(func.count()).where(*mine, ConversationRow.started_at >= since)
    newest_first = select(ConversationRow.user_turns).where(*mine).order_by(*_LAST_FIRST)
    turns = connection.scalars(newest_first.limit(REMEMBERED)).all()
    return connection.scalar(count) or 0, sum(turns) / len(turns) if turns else None


def judged(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    *,
    before: datetime,
    task_completed: bool | None = None,
    limit: int = REMEMBERED,
) -> Sequence[JudgedConversation]:
    """Return the judged conversations among those of `logged`, or only those with one outcome."""
    outcome = InsightsRow.task_completed
    query = judged_of(account_id, prompt_id, ConversationRow.id, outcome, _INSIGHTS).where(
        before >= _CREATED_AT,
        outcome.is_not(None) if task_completed is None else outcome.is_(task_completed),
    )
    return [JudgedConversation._make(row) for row in connection.execute(query.limit(limit))]


def transcripts(
    connection: Connection, account_id: str, prompt_id: str, *, before: datetime
) -> Iterator[str]:
    """Return the contents of the same conversations as `logged`, one at a time."""
    rows = connection.execution_options(yield_per=100).scalars(
        select(ContentRow.content)
        .join(ConversationRow, ConversationRow.id == ContentRow.conversation_id)
        .where(*_there(account_id, prompt_id, before))
        .order_by(*_LAST_FIRST)
        .limit(REMEMBERED)
    )
    for content in rows:
        yield content.decode("utf-8", "replace")


def finished(connection: Connection, account_id: str) -> list[OptimizationResults]:
    """Return the results of the account's completed optimizations that are not rehearsals."""
    rows = connection.scalars(
        select(OptimizationRow.results).filter_by(account_id=account_id, status="completed", rehearsal=False)
    )
    return [kept.results for kept in rows if kept is not None]


def held_in_production(connection: Connection, account_id: str) -> tuple[int, int]:
    """Count the applied winners confirmed in production, and all with a verdict from production."""
    # A text rolled back before its verdict did harm: a manual restore would make it confounded instead.
    harmed = and_(DeploymentRow.verification == "pending", DeploymentRow.state == "rolled_back")
    verdict = DeploymentRow.verification.in_(("verified", "not_fixed", "regressed"))
    rows = connection.execute(
        select(DeploymentRow.verification, func.count())
        .where(DeploymentRow.account_id == account_id, or_(verdict, harmed))
        .group_by(DeploymentRow.verification)
    )
    counts = dict(rows.all())
    return counts.get("verified", 0), sum(counts.values())
