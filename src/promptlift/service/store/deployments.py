"""Deployments: the fate of a variant after its optimization, and the logged conversations before and after its text went live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, case, cast, func, insert, select, true, type_coerce, update

from promptlift.service.identifiers import new_id
from promptlift.service.store.conversations import judged_of
from promptlift.service.store.leases import Leases, announce
from promptlift.service.store.rows import Json, Rows, newest
from promptlift.service.store.tables.conversations import ContentRow, ConversationRow, InsightsRow
from promptlift.service.store.tables.prompts import PromptRow, VersionRow
from promptlift.service.store.tables.runs import DeploymentRow, OptimizationRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Select, SQLColumnExpression

    # Start and end of a span; ``None`` for no bound.
    Span = tuple[int | None, int | None]

# Conversations to compare on each side: the latest with the previous text, and the latest with the live one.
NEAREST = 2_000
# States from which a variant may still go live.
WAITING = ("staged", "testing")

LEASES = Leases(DeploymentRow, DeploymentRow.state == "testing")
"""Leases of regression tests."""


def add(
    connection: Connection,
    optimization: OptimizationRow,
    variant_id: str,
    *,
    now: int,
    **values: Any,
) -> None:
    """Add a deployment of a variant."""
    connection.execute(
        insert(DeploymentRow).values(
            id=new_id("dep"),
            account_id=optimization.account_id,
            prompt_id=optimization.prompt_id,
            optimization_id=optimization.id,
            variant_id=variant_id,
            checked=0,
            created_at=now,
            updated_at=now,
            **values,
        )
    )
    announce(connection, DeploymentRow)


def change(connection: Connection, deployment: DeploymentRow, *, now: int, **values: Any) -> bool:
    """Change a deployment that is still in the state and verification of the row; return whether it was."""
    same = DeploymentRow.verification.is_not_distinct_from(deployment.verification)
    result = connection.execute(
        update(DeploymentRow)
        .where(DeploymentRow.id == deployment.id, DeploymentRow.state == deployment.state, same)
        .values(updated_at=now, **values)
    )
    announce(connection, DeploymentRow)
    return bool(result.rowcount)


def get(connection: Connection, deployment_id: str) -> DeploymentRow:
    """Return an existing deployment of any account, for background work."""
    return Rows(connection).scalars(select(DeploymentRow).filter_by(id=deployment_id)).one()


def of_optimization(connection: Connection, optimization_id: str) -> Sequence[DeploymentRow]:
    """Return the deployments of an optimization: the live one, then the newest first."""
    is_live = case((DeploymentRow.state == "live", 0), else_=1)
    mine = select(DeploymentRow).filter_by(optimization_id=optimization_id)
    return Rows(connection).all(mine.order_by(is_live, DeploymentRow.seq.desc()))


def of_prompt(connection: Connection, prompt: PromptRow, *states: str) -> Sequence[DeploymentRow]:
    """Return the deployments of a prompt in some states; at most one is live."""
    mine = select(DeploymentRow).filter_by(account_id=prompt.account_id, prompt_id=prompt.id)
    return Rows(connection).all(mine.where(DeploymentRow.state.in_(states)))


def former_of_text(connection: Connection, prompt: PromptRow, content: str) -> DeploymentRow | None:
    """Return the newest superseded deployment that made a text current; ``None`` if there is none.

    The original does not count, because it is not a fix.
    """
    return Rows(connection).find(
        newest(DeploymentRow, account_id=prompt.account_id, prompt_id=prompt.id)
        .join(VersionRow, VersionRow.seq == DeploymentRow.version_seq)
        .where(
            VersionRow.content == content,
            DeploymentRow.state.in_(("superseded", "rolled_back")),
            DeploymentRow.verification.is_not(None),
        )
        .limit(1)
    )


def superseded_version(connection: Connection, version: VersionRow) -> DeploymentRow | None:
    """Return the superseded deployment that had made a version current; ``None`` if there is none."""
    mine = {"account_id": version.account_id, "prompt_id": version.prompt_id, "version_seq": version.seq}
    return Rows(connection).find(newest(DeploymentRow, **mine, state="superseded").limit(1))


def version_before(connection: Connection, deployment: DeploymentRow) -> VersionRow | None:
    """Return the version that was current before a deployment."""
    mine = select(VersionRow).filter_by(account_id=deployment.account_id, prompt_id=deployment.prompt_id)
    return Rows(connection).find(mine.filter_by(seq=deployment.previous_version_seq))


def count(connection: Connection, deployment: DeploymentRow, worker: str, spent: Mapping[str, int]) -> bool:
    """Add a regression test's usage to its optimization, and return whether this worker still holds the test."""
    mine = update(DeploymentRow).filter_by(id=deployment.id, worker=worker, state="testing")
    # An update that changes nothing locks the row until the end of the transaction, on every database.
    if not connection.execute(mine.values(worker=worker)).rowcount:
        return False
    connection.execute(
        update(OptimizationRow)
        .filter_by(id=deployment.optimization_id)
        .values({name: getattr(OptimizationRow, name) + amount for name, amount in spent.items()})
    )
    return True


# Conversations with the previous text and with the live one, by their start, not by when they were logged


def watched(connection: Connection) -> Sequence[DeploymentRow]:
    """Return the live deployments of all accounts.

    The original does not count: applying it again changes nothing that could do harm.
    """
    return Rows(connection).all(
        select(DeploymentRow)
        .join(PromptRow, PromptRow.id == DeploymentRow.prompt_id)
        .where(
            DeploymentRow.state == "live",
            DeploymentRow.verification.is_not(None),
            PromptRow.deleted_at.is_(None),
        )
        .order_by(DeploymentRow.seq)
    )


def applied(connection: Connection, account_id: str) -> Sequence[DeploymentRow]:
    """Return the variants of an account that went live, newest first; originals do not count."""
    return Rows(connection).all(
        newest(DeploymentRow, account_id=account_id).where(
            DeploymentRow.state.in_(("live", "superseded", "rolled_back")),
            DeploymentRow.verification.is_not(None),
        )
    )


def _spans(connection: Connection, deployment: DeploymentRow) -> tuple[Span, Span]:
    """Return the spans of time that a look compares: with the previous text, and with the live one.

    Imported conversations are often older than the prompt in this database: they used its first text.
    """
    mine = VersionRow.prompt_id == deployment.prompt_id
    first = connection.scalar(select(func.min(VersionRow.seq)).where(mine))
    before = VersionRow.seq == deployment.previous_version_seq
    since = None
    if deployment.previous_version_seq != first:
        since = connection.scalar(select(VersionRow.created_at).where(mine, before))
    return (since, deployment.applied_at), (deployment.live_since, None)


class JudgedConversation(NamedTuple):
    """A judged conversation with one of the compared texts; its production metrics have their names.

    ``issue`` is the worst issue of a failed conversation.
    """

    id: str
    started_at: int
    task_completion: bool
    sentiment: float
    abandonment: bool = False
    response_time: float | None = None
    length: int | None = None
    quality: float | None = None
    analyser: str | None = None
    issue: str | None = None


def judged(
    connection: Connection, deployment: DeploymentRow, *, excluded: Callable[[str], bool]
) -> list[list[JudgedConversation]]:
    """Return the latest judged conversations with the previous text and with the live one, oldest first.

    Parameters
    ----------
    excluded
        Whether a title of an issue must not be shown.
    """
    details = (
        ConversationRow.id,
        ConversationRow.started_at,
        InsightsRow.task_completed,
        InsightsRow.sentiment_score,
        ConversationRow.status == "abandoned",
        ConversationRow.response_seconds,
        ConversationRow.message_count,
        type_coerce(InsightsRow.document, Json),
    )

    sides: list[list[JudgedConversation]] = []
    for span in _spans(connection, deployment):
        rows = connection.execute(_latest(deployment, span, *details)).all()
        sides.append([])
        for *known, document in reversed(rows):
            _, _, completed, *_ = known
            titles = (one["title"] for one in document["issues"] if not completed)
            issue = next((title for title in titles if not excluded(title)), None)
            judge = document.get("quality"), document.get("analyser")
            sides[-1].append(JudgedConversation._make((*known, *judge, issue)))
    return sides


def figures(connection: Connection, deployment: DeploymentRow) -> list[tuple[int, int]]:
    """Count the conversations of `judged` on both sides, and those of them that completed their task."""
    counts = []
    for span in _spans(connection, deployment):
        some = _latest(deployment, span, InsightsRow.task_completed).subquery()
        completed = func.sum(cast(some.c.task_completed, Integer))
        n, done = connection.execute(select(func.count(), completed).select_from(some)).one()
        counts.append((int(n), int(done or 0)))
    return counts


def _latest(deployment: DeploymentRow, span: Span, *columns: SQLColumnExpression[Any]) -> Select[Any]:
    """Select the ended conversations with a verdict in a span of time."""
    since, until = span
    return (
        judged_of(deployment.account_id, deployment.prompt_id, *columns)
        .where(
            ConversationRow.has_insights.is_(True),
            ConversationRow.status != "in_progress",
            InsightsRow.task_completed.is_not(None),
            true() if since is None else ConversationRow.started_at >= since,
            true() if until is None else ConversationRow.started_at < until,
        )
        .limit(NEAREST)
    )


def content(connection: Connection, conversation_id: str) -> bytes:
    """Return the transcript of a conversation; empty if there is none."""
    content = select(ContentRow.content).filter_by(conversation_id=conversation_id)
    return connection.scalar(content) or b""
