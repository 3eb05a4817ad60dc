"""Labels: what people say of conversations, logged and simulated ones. The endpoints are ours."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from promptlift.schema import limits
from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, LinkedModel, RequestModel, UtcTime
from promptlift.schema.texts import LongText, not_blank

__all__ = ["Label", "LabelCreate", "LabelRequest", "LabelsAnswer"]


class Label(LinkedModel):
    """What one person answers to one question about one conversation."""

    id: Annotated[str, Column(name="label_id")]
    """The label's id."""
    conversation_id: Annotated[str, Column()]
    """The conversation, a logged or a simulated one."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization that a simulated conversation is of; ``None`` for a logged one."""
    question: Annotated[str, Column()]
    """What was asked: ``task_completed``, ``sentiment``, ``note``, or a question of one's own."""
    value: Annotated[str, Column()]
    """The answer: ``yes`` or ``no``, a sentiment, or one of one's own."""
    labeller: Annotated[str, Column()]
    """The name of the person who answered."""
    labelled_at: Annotated[UtcTime | None, Column()] = None
    """When."""
    chance: Annotated[float | None, Column(unit="fraction")] = None
    """The chance with which the conversation was drawn; ``None`` where nobody knows, as where it was picked by hand."""
    draw_id: Annotated[str | None, Column()] = None
    """The draw that it belongs to."""


class LabelsAnswer(ApiModel):
    """Answer of ``POST /labels``: the labels as they are kept now, in the order of the request."""

    data: list[Label | None]
    """``null`` where a label was removed."""


_Id = Annotated[str, StringConstraints(max_length=limits.KEY_CHARS), AfterValidator(not_blank)]
_Short = Annotated[str, StringConstraints(max_length=limits.NAME_CHARS), AfterValidator(not_blank)]


class LabelRequest(RequestModel):
    """One label of ``POST /labels``. What the same person said before of the same question is replaced."""

    conversation_id: _Id
    """A logged or a simulated conversation"""
    question: _Short
    """task_completed, sentiment, note, or a question of one's own"""
    value: LongText | None
    """The answer; null or an empty text removes the label"""
    labeller: _Short
    """The name of the person who answers"""
    labelled_at: UtcTime | None = None
    """When; the present when it is left out"""
    chance: Annotated[float | None, Field(gt=0.0, le=1.0)] = None
    """The chance with which the conversation was drawn; what was known before stays when it is left out"""
    draw_id: _Id | None = None
    """The draw that it belongs to; what was known before stays when it is left out"""


class LabelCreate(RequestModel):
    """Body of ``POST /labels``."""

    labels: Annotated[list[LabelRequest], Field(min_length=1, max_length=limits.BULK_ROWS)]
    """All are kept, or none"""
