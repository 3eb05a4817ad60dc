"""The conversations that were assigned in experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, case, cast, func, select, true, type_coerce

from promptlift.service import clock
from promptlift.service.store.tables.conversations import ConversationRow, InsightsRow
from promptlift.service.store.tables.prompts import ExperimentRow, LabelRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection


def conversations(connection: Connection, experiment: ExperimentRow) -> Mapping[str, Sequence[Any]]:
    """Return the conversations of an experiment as columns, oldest first by their start; in a ramp, those since its last step.

    Nothing is known of one that is in progress. ``label`` is the share of people's answers that it completed its task, if it
    was drawn for them with a known ``chance``.
    """
    row, judged = ConversationRow, InsightsRow
    if connection.dialect.name == "sqlite":
        document: Any = type_coerce(judged.document, JSON)
    else:
        document = cast(judged.document, JSON)
    ended, ramp = row.status != "in_progress", experiment.kept.ramp
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
            row.arm,
            row.unit,
            row.started_at,
            judged.basis,
            judged.task_completed,
            judged.sentiment_score.label("sentiment"),
            document["quality"].as_float().label("quality"),
            case((ended, row.status == "abandoned")).label("abandonment"),
            case((ended, row.response_seconds)).label("response_time"),
            case((ended, row.message_count)).label("length"),
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
            row.started_at >= clock.from_datetime(ramp[-1].since) if ramp else true(),
        )
        .order_by(row.started_at, row.seq)
    )
    names, rows = found.keys(), found.all()
    return {name: [one[place] for one in rows] for place, name in enumerate(names)}
