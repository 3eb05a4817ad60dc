"""The conversations that were assigned in experiments, and their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import JSON, case, cast, select, type_coerce

from promptlift.service.store.tables.conversations import ConversationRow, InsightsRow
from promptlift.service.store.tables.prompts import ExperimentRow, LabelRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


class Assigned(NamedTuple):
    """The conversations of an experiment as columns; while one is in progress nothing is known of it."""

    id: Sequence[str] = ()
    arm: Sequence[int] = ()
    unit: Sequence[str] = ()
    started_at: Sequence[int] = ()
    basis: Sequence[str | None] = ()
    task_completed: Sequence[bool | None] = ()
    sentiment: Sequence[float | None] = ()
    quality: Sequence[float | None] = ()
    abandonment: Sequence[bool | None] = ()
    response_time: Sequence[float | None] = ()
    length: Sequence[int | None] = ()


def conversations(connection: Connection, experiment: ExperimentRow) -> Assigned:
    """Return the conversations of an experiment, oldest first, by their start."""
    row, judged = ConversationRow, InsightsRow
    if connection.dialect.name == "sqlite":
        document: Any = type_coerce(judged.document, JSON)
    else:
        document = cast(judged.document, JSON)
    ended = row.status != "in_progress"
    found = connection.execute(
        select(
            row.id,
            row.arm,
            row.unit,
            row.started_at,
            judged.basis,
            judged.task_completed,
            judged.sentiment_score,
            document["quality"].as_float(),
            case((ended, row.status == "abandoned")),
            case((ended, row.response_seconds)),
            case((ended, row.message_count)),
        )
        .outerjoin(judged, (judged.conversation_id == row.id) & ended)
        .where(
            row.account_id == experiment.account_id,
            row.prompt_id == experiment.prompt_id,
            row.experiment_id == experiment.id,
            row.arm < len(experiment.kept.arms),
        )
        .order_by(row.started_at, row.seq)
    )
    rows = found.all()
    return Assigned(*([one[place] for one in rows] for place in range(len(Assigned._fields))))


class Labelled(NamedTuple):
    """A person's answer whether a conversation completed its task, and the probability with which it was drawn."""

    conversation_id: str
    completed: bool
    chance: float


def labels(connection: Connection, experiment: ExperimentRow) -> Sequence[Labelled]:
    """Return the labels of an experiment's conversations that were drawn with a known probability."""
    found = (
        select(LabelRow.conversation_id, LabelRow.value == "yes", LabelRow.chance)
        .join(ConversationRow, ConversationRow.id == LabelRow.conversation_id)
        .where(
            LabelRow.account_id == experiment.account_id,
            LabelRow.prompt_id == experiment.prompt_id,
            LabelRow.question == "task_completed",
            LabelRow.value.in_(("yes", "no")),
            LabelRow.chance.is_not(None),
            ConversationRow.experiment_id == experiment.id,
        )
    )
    return [Labelled._make(one) for one in connection.execute(found)]
