"""Prompts, their versions, and people's actions on them."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from sqlalchemy import Index, UniqueConstraint, true
from sqlalchemy.orm import Mapped, mapped_column

from promptlift.schema.experiments import OfferedArm, RampStep
from promptlift.schema.judges import LearnedJudge, LearnedWeights
from promptlift.schema.model import ApiModel
from promptlift.schema.topics import PromptTopics
from promptlift.service.store.rows import (
    Account,
    Base,
    Id,
    Json,
    Kept,
    Key,
    Owned,
    Seq,
    Small,
    only,
    reference,
)


class PromptRow(Owned, Base):
    """A prompt with its current text."""

    __tablename__ = "prompts"
    __table_args__ = (Index("ix_prompts_account_id_seq", "account_id", "seq"),)

    name: Mapped[str]
    content: Mapped[str]
    # False if an import created the prompt and its text was never given.
    content_known: Mapped[bool] = mapped_column(server_default=true())
    llm_model: Mapped[str]
    description: Mapped[str | None]
    tags: Mapped[list[str]] = mapped_column(Json)
    temperature: Mapped[float | None]
    max_tokens: Mapped[Small | None]
    objective: Mapped[str | None]
    # The rule that derives success from metadata; None if the analyser's verdict counts.
    outcome: Mapped[str | None]
    # The completion rate that it should have, since when, and when the alarm that lasts was raised.
    alert_below: Mapped[float | None]
    alert_since: Mapped[int | None]
    alerted_at: Mapped[int | None]
    status: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class VersionRow(Base):
    """A text that a prompt had."""

    __tablename__ = "prompt_versions"

    seq: Mapped[Seq]
    account_id: Mapped[Account]
    prompt_id: Mapped[str] = reference("prompts", index=True)
    content: Mapped[str]
    content_known: Mapped[bool] = mapped_column(server_default=true())
    # Where the text came from: created, updated, applied, auto_deployed, rolled_back, restored.
    origin: Mapped[str]
    optimization_id: Mapped[str | None]
    variant_id: Mapped[str | None]
    created_at: Mapped[int]


class KeptExperiment(ApiModel):
    """The versions of an experiment with their texts at its start and their present weights, and the steps of its ramp."""

    arms: list[OfferedArm]
    ramp: list[RampStep] | None = None


class ExperimentRow(Owned, Base):
    """Versions of a prompt side by side on real users. Who gets which is not stored: it follows from a hash."""

    __tablename__ = "experiments"
    __table_args__ = (
        Index("ix_experiments_prompt_id_seq", "prompt_id", "seq"),
        # A prompt has one running experiment at most, which is found with every text that is resolved.
        Index("uq_experiments_running", "prompt_id", unique=True, **only("status = 'running'")),
    )

    prompt_id: Mapped[str] = reference("prompts")
    status: Mapped[str]
    kept: Mapped[KeptExperiment] = mapped_column(Kept(KeptExperiment))
    reason: Mapped[str | None]
    applied_version_seq: Mapped[int | None]
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class PersonaRow(Base):
    """A persona that an account wrote itself."""

    __tablename__ = "personas"

    seq: Mapped[Seq]
    id: Mapped[Id]
    account_id: Mapped[Account] = mapped_column(index=True)
    name: Mapped[str]
    description: Mapped[str]
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class ReviewRow(Base):
    """People's review of a variant: one verdict and one note."""

    __tablename__ = "variant_reviews"

    account_id: Mapped[Account]
    optimization_id: Mapped[str] = reference("optimizations", primary_key=True)
    variant_id: Mapped[Key]
    verdict: Mapped[str | None]
    note: Mapped[str | None]
    updated_at: Mapped[datetime]


class ActionRow(Owned, Base):
    """A person's action: apply, stop, restore, undo. Written in the transaction of the action; only undoing changes it."""

    __tablename__ = "actions"
    __table_args__ = (
        Index("ix_actions_account_id_seq", "account_id", "seq"),
        Index("ix_actions_prompt_id_seq", "prompt_id", "seq"),
    )

    prompt_id: Mapped[str] = reference("prompts")
    optimization_id: Mapped[str | None]
    variant_id: Mapped[str | None]
    kind: Mapped[str]
    from_version_seq: Mapped[int | None]
    to_version_seq: Mapped[int | None]
    note: Mapped[str | None]
    undoes: Mapped[str | None]
    undone_by: Mapped[str | None]
    undone_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class LearnedJudgeRow(Owned, Base):
    """A version of the judge that learns from labels; the newest of a prompt counts."""

    __tablename__ = "learned_judges"
    __table_args__ = (UniqueConstraint("prompt_id", "version", name="uq_learned_judges_prompt_id_version"),)

    prompt_id: Mapped[str] = reference("prompts")
    version: Mapped[int]
    # Whether it judges: only the newest version, and only if its features are informative.
    judges: Mapped[bool]
    weights: Mapped[LearnedWeights] = mapped_column(Kept(LearnedWeights))
    # Verdicts on the labelled conversations, by models that had not seen their labels.
    chances: Mapped[dict[str, float]] = mapped_column(Json)
    found: Mapped[LearnedJudge] = mapped_column(Kept(LearnedJudge))
    created_at: Mapped[datetime]


class Waiting(TypedDict):
    """Conversations of a prompt that have yet to get their topic: those with some numbers of topics.

    ``below``: the number of the conversation from which on the newer ones have it.
    """

    numbers: list[int]
    below: int | None


class AtlasRow(Owned, Base):
    """The topics of a prompt: found anew from time to time, and changed by a person in between."""

    __tablename__ = "atlases"

    prompt_id: Mapped[str] = reference("prompts", unique=True)
    # Counts every change.
    version: Mapped[int]
    # Judged conversations when the topics were last renewed, and when all were last found anew.
    judged: Mapped[int]
    judged_anew: Mapped[int]
    waiting: Mapped[Waiting | None] = mapped_column(Json)
    found: Mapped[PromptTopics] = mapped_column(Kept(PromptTopics))
    # Where they are; None if there are none.
    space: Mapped[bytes | None]
    next_id: Mapped[int]
    found_at: Mapped[datetime]


class LabelRow(Owned, Base):
    """A person's answer about a conversation. No foreign key: a simulated conversation is in another table."""

    __tablename__ = "labels"
    __table_args__ = (
        UniqueConstraint("account_id", "conversation_id", "question", "labeller", name="uq_labels_answer"),
        Index("ix_labels_account_id_seq", "account_id", "seq"),
        Index("ix_labels_account_id_prompt_id_seq", "account_id", "prompt_id", "seq"),
        Index("ix_labels_conversation_id", "conversation_id"),
    )

    prompt_id: Mapped[str]
    conversation_id: Mapped[str]
    # Only of a simulated conversation.
    optimization_id: Mapped[str | None]
    question: Mapped[str]
    labeller: Mapped[str]
    value: Mapped[str]
    chance: Mapped[float | None]
    draw_id: Mapped[str | None]
    labelled_at: Mapped[datetime]
