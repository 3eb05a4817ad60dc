"""Optimizations and their variants."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from promptlift.schema import limits
from promptlift.schema.model import ApiModel, LinkedModel, RequestModel, UtcTime
from promptlift.schema.texts import LongText, visible

OptimizationStatus = Literal["queued", "running", "completed", "failed", "stopped"]
OPTIMIZATION_STATUSES: tuple[OptimizationStatus, ...] = (
    "queued",
    "running",
    "completed",
    "failed",
    "stopped",
)
OptimizationMode = Literal["exploratory", "validation"]
OPTIMIZATION_MODES: tuple[OptimizationMode, ...] = ("exploratory", "validation")


class OptimizationResults(ApiModel):
    """Results of a completed optimization."""

    winner_selected: bool | None = None
    winning_variant_id: str | None = None
    lift: float | None = None
    """Percent, relative change of task completion."""
    confidence: float | None = None
    """0 to 1."""


class Optimization(LinkedModel):
    """A test of variants of a prompt."""

    id: str
    status: str
    mode: str | None = None
    variant_count: int | None = None
    results: OptimizationResults | None = None
    created_at: UtcTime | None = None
    completed_at: UtcTime | None = None


class Intent(RequestModel):
    """What an optimization is to improve."""

    target_improvements: Annotated[list[LongText], Field(max_length=50)] | None = None
    hypothesis: LongText | None = None


class OptimizationCreate(RequestModel):
    """Body of ``POST /optimizations``."""

    prompt_id: str | None = None
    agent_id: str | None = None
    mode: OptimizationMode | None = None
    variant_count: Annotated[int, Field(ge=limits.VARIANTS_MIN, le=limits.VARIANTS_MAX)] = (
        limits.VARIANTS_DEFAULT
    )
    intent: Intent | None = None
    persona_ids: (
        list[Annotated[str, StringConstraints(max_length=limits.KEY_CHARS), AfterValidator(visible)]] | None
    ) = None


class ApplyRequest(RequestModel):
    """Body of ``POST /optimizations/:id/apply``; without a variant the winner is applied."""

    variant_id: str | None = None


class StopRequest(RequestModel):
    """Body of ``POST /optimizations/:id/stop``."""

    reason: LongText | None = None


class ApplyAnswer(ApiModel):
    """Answer of ``POST /optimizations/:id/apply``."""

    success: bool
    prompt_id: str | None = None
    applied_variant_id: str | None = None
    message: str | None = None


class StopAnswer(ApiModel):
    """Answer of ``POST /optimizations/:id/stop``."""

    success: bool
    status: str | None = None


class VariantMetrics(ApiModel):
    """What was measured of a variant."""

    task_completion: float | None = None
    """Percent."""
    sentiment: float | None = None
    """-1 to 1."""
    quality: float | None = None
    """0 to 100."""


class Variant(ApiModel):
    """One text of an optimization; the original is one too."""

    id: str
    name: str | None = None
    is_original: bool = False
    content: str | None = None
    metrics: VariantMetrics | None = None
    lift: float | None = None
    """Percent; not there on the original."""
    is_winner: bool = False
