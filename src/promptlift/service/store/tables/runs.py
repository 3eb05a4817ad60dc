"""Runs, their output, and the deployments of variants."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field
from sqlalchemy import Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from promptlift.schema.deployments import ProductionCheck, RegressionTest
from promptlift.schema.model import ApiModel
from promptlift.schema.optimizations import OptimizationMode, Variant
from promptlift.schema.results import OptimizationResults
from promptlift.schema.search import Headroom
from promptlift.service.store.rows import Account, Base, Id, Json, Kept, Owned, Small, reference

# A run's usage, recorded by the worker that holds it.
Spent = Annotated[int, mapped_column(default=0)]


class Working:
    """What every run has: its settings at the time of the request, its state, and its usage."""

    status: Mapped[str] = mapped_column(default="queued")
    settings: Mapped[dict[str, Any]] = mapped_column(Json)
    seed: Mapped[int]
    rehearsal: Mapped[bool]
    failure: Mapped[str | None]
    stop_reason: Mapped[str | None]
    model_calls: Mapped[Spent]
    tokens: Mapped[Spent]
    # The worker that holds it.
    worker: Mapped[str | None]
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]


class Simulated:
    """What every simulated conversation has, with its judgement; never changed after it was written."""

    status: Mapped[str]
    task_completed: Mapped[bool | None]
    sentiment: Mapped[str | None]
    sentiment_score: Mapped[float | None]
    quality: Mapped[float | None]
    turns: Mapped[Small]
    ended_by: Mapped[str | None]
    error: Mapped[str | None]
    content: Mapped[bytes | None]
    created_at: Mapped[datetime]


class RunRow(Working, Owned, Base):
    """A run that calls a model in the background: a benchmark, or a backfill or an alignment of a judge."""

    __tablename__ = "runs"
    __table_args__ = (
        Index("ix_runs_account_id_kind_seq", "account_id", "kind", "seq"),
        Index("ix_runs_status", "status"),
        Index("ix_runs_subject_id", "subject_id"),
    )

    kind: Mapped[str]
    # The version of the scenario set, or of the judge.
    subject_id: Mapped[str]
    # Its state so far, and its results.
    state: Mapped[dict[str, Any] | None] = mapped_column(Json)
    results: Mapped[dict[str, Any] | None] = mapped_column(Json)
    # Of its tokens, if the run has a price.
    input_tokens: Mapped[Spent]
    output_tokens: Mapped[Spent]

    @property
    def noun(self) -> str:
        """What users call it."""
        return "benchmark" if self.kind == "benchmark" else "run"


class KeptResults(ApiModel):
    """The measurements of an optimization so far: its results, the figures of its variants, and warnings about the run."""

    results: OptimizationResults
    variants: list[Variant] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)

    def variant(self, number: int) -> Variant | None:
        """Return the figures of a variant, ``None`` before there are any."""
        return next((one for one in self.variants if one.number == number), None)


class KeptProduction(ProductionCheck):
    """The stored state of looks at a deployment: the figures of the last look, and input of the next."""

    verified_at: int = 0
    """Number of conversations after the change when the fix was verified."""
    live_since: int | None = None
    """When the text went live again, if another one was live in between."""


class OptimizationRow(Working, Owned, Base):
    """An optimization with its settings, its state and its results."""

    __tablename__ = "optimizations"
    __table_args__ = (
        Index("ix_optimizations_account_id_seq", "account_id", "seq"),
        Index("ix_optimizations_prompt_id_seq", "prompt_id", "seq"),
        Index("ix_optimizations_status", "status"),
    )
    noun: ClassVar = "optimization"

    prompt_id: Mapped[str] = reference("prompts")
    mode: Mapped[OptimizationMode] = mapped_column(Text)
    variant_count: Mapped[Small]
    intent: Mapped[dict[str, Any] | None] = mapped_column(Json)
    persona_ids: Mapped[list[str] | None] = mapped_column(Json)
    # The prompt at the time of the request.
    prompt: Mapped[dict[str, Any]] = mapped_column(Json)
    # Logged conversations for scenarios, in order, each with the weight by which it was drawn; written when
    # the run begins.
    pool: Mapped[list[tuple[str, float]] | None] = mapped_column(Json)
    experiment: Mapped[dict[str, Any] | None] = mapped_column(Json)
    # The headroom according to the logged conversations; and the search with its candidates, edits and
    # outcomes.
    headroom: Mapped[Headroom | None] = mapped_column(Kept(Headroom))
    search: Mapped[dict[str, Any] | None] = mapped_column(Json)
    results: Mapped[KeptResults | None] = mapped_column(Kept(KeptResults))


class VariantRow(Base):
    """A text of an optimization; the original is number 0."""

    __tablename__ = "optimization_variants"

    id: Mapped[Id]
    account_id: Mapped[Account]
    optimization_id: Mapped[str] = reference("optimizations", primary_key=True)
    number: Mapped[Small] = mapped_column(primary_key=True)
    name: Mapped[str]
    content: Mapped[str]
    rationale: Mapped[str | None]
    created_at: Mapped[datetime]


class CellRow(Base):
    """The persona and scenario of a cell, written before its first conversation."""

    __tablename__ = "optimization_cells"

    account_id: Mapped[Account]
    optimization_id: Mapped[str] = reference("optimizations", primary_key=True)
    number: Mapped[Small] = mapped_column(primary_key=True)
    pass_number: Mapped[Small]
    stage: Mapped[str]
    persona: Mapped[dict[str, str]] = mapped_column(Json)
    # Including its origin.
    scenario: Mapped[dict[str, Any]] = mapped_column(Json)


class SimulationRow(Simulated, Base):
    """A simulated conversation of an optimization."""

    __tablename__ = "simulations"

    id: Mapped[Id]
    account_id: Mapped[Account]
    optimization_id: Mapped[str] = reference("optimizations", primary_key=True)
    cell: Mapped[Small] = mapped_column(primary_key=True)
    arm: Mapped[Small] = mapped_column(primary_key=True)
    pass_number: Mapped[Small]
    stage: Mapped[str]
    # Whether the conversation met each target of the optimization; empty without targets.
    criteria: Mapped[list[bool] | None] = mapped_column(Json)
    # Titles of the issues that the judge found, if any.
    issues: Mapped[list[str] | None] = mapped_column(Json)


class DeploymentRow(Owned, Base):
    """A variant after its optimization: staged, tested, live, rolled back."""

    __tablename__ = "deployments"
    __table_args__ = (
        Index("ix_deployments_optimization_id_seq", "optimization_id", "seq"),
        Index("ix_deployments_prompt_id_seq", "prompt_id", "seq"),
        Index("ix_deployments_state", "state"),
    )

    prompt_id: Mapped[str] = reference("prompts")
    optimization_id: Mapped[str] = reference("optimizations")
    variant_id: Mapped[str]
    state: Mapped[str]
    origin: Mapped[str]
    regression: Mapped[RegressionTest | None] = mapped_column(Kept(RegressionTest))
    production: Mapped[KeptProduction | None] = mapped_column(Kept(KeptProduction))
    verification: Mapped[str | None]
    # Number of conversations after the change at the last check.
    checked: Mapped[Small]
    version_seq: Mapped[int | None]
    previous_version_seq: Mapped[int | None]
    applied_at: Mapped[int | None]
    rolled_back_at: Mapped[int | None]
    reason: Mapped[str | None]
    # The worker that runs its regression test.
    worker: Mapped[str | None]
    created_at: Mapped[int]
    updated_at: Mapped[int]

    @property
    def kept(self) -> KeptProduction:
        """The stored state of earlier looks."""
        return self.production or KeptProduction()

    @property
    def live_since(self) -> int:
        """Since when the text has been live; later than its change if another text was live in between."""
        return self.kept.live_since or self.applied_at or 0


class ScenarioSetRow(Owned, Base):
    """One version of a fixed set of scenarios; `set_id` is the same in all its versions."""

    __tablename__ = "scenario_sets"
    __table_args__ = (
        Index("ix_scenario_sets_account_id_seq", "account_id", "seq"),
        Index("uq_scenario_sets_set_id_version", "set_id", "version", unique=True),
    )

    set_id: Mapped[str]
    version: Mapped[Small]
    name: Mapped[str]
    source: Mapped[str]
    prompt_id: Mapped[str]
    size: Mapped[Small]
    # Conversations for scenarios; empty if any may be used.
    conversation_ids: Mapped[list[str] | None] = mapped_column(Json)
    # The version with whose scenarios it begins.
    grows_from: Mapped[str | None]
    # The personas and scenarios by number: written once, by the first benchmark with this version.
    cells: Mapped[list[dict[str, Any]] | None] = mapped_column(Json)
    created_at: Mapped[datetime]


class BenchmarkConversationRow(Simulated, Base):
    """A simulated conversation of a benchmark."""

    __tablename__ = "benchmark_conversations"

    id: Mapped[Id]
    account_id: Mapped[Account]
    benchmark_id: Mapped[str] = reference("runs", primary_key=True)
    cell: Mapped[Small] = mapped_column(primary_key=True)
    arm: Mapped[Small] = mapped_column(primary_key=True)
    # Of the assistant alone; estimated if the endpoint did not count them.
    input_tokens: Mapped[Small]
    output_tokens: Mapped[Small]
    tokens_estimated: Mapped[bool]


class JudgeRow(Owned, Base):
    """One version of a judge, which never changes; `judge_id` is the same in all its versions."""

    __tablename__ = "judges"
    __table_args__ = (
        Index("ix_judges_account_id_name_seq", "account_id", "name", "seq"),
        Index("uq_judges_judge_id_version", "judge_id", "version", unique=True),
    )

    judge_id: Mapped[str]
    version: Mapped[Small]
    name: Mapped[str]
    question: Mapped[str]
    rubric: Mapped[str | None]
    # Each with text, answer and reason.
    examples: Mapped[list[dict[str, Any]]] = mapped_column(Json)
    llm_model: Mapped[str | None]
    origin: Mapped[str]
    created_at: Mapped[datetime]


class VerdictRow(Base):
    """A judge version's answer for a conversation, or why there is none."""

    __tablename__ = "judge_verdicts"
    __table_args__ = (
        Index("ix_judge_verdicts_conversation_id", "conversation_id"),
        Index("ix_judge_verdicts_run_id", "run_id"),
    )

    account_id: Mapped[Account]
    judge_row_id: Mapped[str] = reference("judges", primary_key=True)
    conversation_id: Mapped[str] = reference("conversations", primary_key=True)
    run_id: Mapped[str]
    verdict: Mapped[bool | None]
    reason: Mapped[str | None]
    problem: Mapped[str | None]
    analyser: Mapped[str]
    created_at: Mapped[int]
