"""The conversations that were assigned in experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import JSON, case, cast, func, select, type_coerce

from promptlift.service.store.tables.conversations import ConversationRow, InsightsRow
from promptlift.service.store.tables.prompts import ExperimentRow, LabelRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


class Assigned(NamedTuple):
    """The conversations of an experiment as columns; while one is in progress nothing is known of it.

    ``label`` is the share of people's answers that it completed its task, if it was drawn for them with a known
    ``chance``.
    """

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
    label: Sequence[float | None] = ()
    chance: Sequence[float | None] = ()


def conversations(connection: Connection, experiment: ExperimentRow) -> Assigned:
    """Return the conversations of an experiment, oldest first, by their start."""
    row, judged = ConversationRow, InsightsRow
    if connection.dialect.name == "sqlite":
        document: Any = type_coerce(judged.document, JSON)
    else:
        document = cast(judged.document, JSON)
    ended = row.status != "in_progress"
    labelled = (
        select(
            LabelRow.conversation_id,
            func.avg(case((LabelRow.value == "yes", 1.0), else_=0.0)).label("label"),
            func.min(LabelRow.chance).label("chance"),
        )
        .where(
            LabelRow.account_id == experiment.account_id,
            LabelRow.prompt_id == experiment.prompt_id,
            LabelRow.question == "task_completed",
            LabelRow.value.in_(("yes", "no")),
            LabelRow.chance.is_not(None),
        )
        .group_by(LabelRow.conversation_id)
        .subquery()
    )
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
            labelled.c.label,
            labelled.c.chance,
        )
        .outerjoin(judged, (judged.conversation_id == row.id) & ended)
        .outerjoin(labelled, labelled.c.conversation_id == row.id)
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
