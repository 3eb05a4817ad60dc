"""Optimizations and their variants."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from promptlift.schema import limits
from promptlift.schema.columns import Column, Nested
from promptlift.schema.deployments import VariantDeployment
from promptlift.schema.model import (
    ApiModel,
    DisplayedModel,
    Identifier,
    LinkedRequest,
    LinkText,
    LongText,
    PromptText,
    RequestModel,
    ShortText,
    UtcTime,
)
from promptlift.schema.prompts import TextChange
from promptlift.schema.results import VARIANT_STAGES, Effect, OptimizationResults
from promptlift.schema.search import CandidateSearch, Edit, Headroom, SearchPlan, SearchSetting

OptimizationStatus = Literal["queued", "running", "completed", "failed", "stopped"]
OPTIMIZATION_STATUSES: Final[tuple[OptimizationStatus, ...]] = get_args(OptimizationStatus)
OptimizationMode = Literal["exploratory", "validation"]
VariantSource = Literal["prompt", "model", "handed_in"]

# unspecified: how many personas may be named. Far more than a pass can use.
PERSONAS_MAX: Final = 500
# The largest integer that every JSON reader takes exactly.
SEED_MAX: Final = 2**53 - 1
# unspecified: the pace of a rehearsal. An hour is longer than anybody watches one.
REHEARSAL_SECONDS_MAX: Final = 3_600.0
# unspecified: bounds of a goal. The targets that a request may have, and completion; weights only count beside each other.
GOAL_PARTS_MAX: Final = 51
GOAL_WEIGHT_MAX: Final = 1_000.0


class GoalPart(ApiModel):
    """A part of what an optimization is for, with its weight beside the others. Ours."""

    measure: str
    """``taskCompletion``, or one of the target improvements as it stands in the intent."""
    weight: float


class RunSettings(ApiModel):
    """The settings that count for an optimization, as they were when it was asked for. Ours."""

    max_iterations: int | None = None
    variants_per_generation: int | None = None
    search: str | None = None
    """``on`` where candidates may be written in generations, each learning from failures; else ``off``."""
    verification_passes: int | None = None
    """Passes after a win that only measure how large the lift is."""
    persona_count: int | None = None
    scenarios_per_simulation: int | None = None
    max_turns: int | None = None
    confidence_mode: str | None = None
    simulate_tools: bool | None = None
    """Whether the tools of an agent are played."""
    goal: list[GoalPart] | None = None
    """What finalists are chosen by, where it is not task completion alone."""
    deployment_mode: str | None = None
    auto_deploy: Any = None
    """Object with ``enabled`` and ``requireRegressionPass``."""
    rehearsal_seconds: float | None = None
    """Seconds that a rehearsal takes when it needs every pass; ``None`` where it is as fast as it can be."""


class OptimizationUsage(ApiModel):
    """Model calls, tokens and conversations of an optimization. Ours."""

    model_calls: int | None = None
    tokens: int | None = None
    conversations: int | None = None


class OptimizationIntent(ApiModel):
    """The improvements that an optimization was asked for. Ours."""

    target_improvements: list[str] | None = None
    hypothesis: str | None = None


class Optimization(DisplayedModel):
    """A test of variants of a prompt; list items carry fewer fields than ``GET /optimizations/:id``."""

    id: Annotated[str, Column(name="optimization_id")]
    """The optimization's id."""
    status: Annotated[str, Column(categories=OPTIMIZATION_STATUSES)]
    """``queued``, ``running``, ``completed``, ``failed`` or ``stopped``."""
    mode: Annotated[str | None, Column(categories=get_args(OptimizationMode))] = None
    """``exploratory`` or ``validation``."""
    variant_count: Annotated[int | None, Column()] = None
    """Variants that were asked for."""
    results: Annotated[OptimizationResults | None, Nested()] = None
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the optimization was asked for."""
    completed_at: Annotated[UtcTime | None, Column()] = None
    """When it ended."""
    started_at: Annotated[UtcTime | None, Column(meaning="When the first conversation was simulated.")] = None
    """Our service gives it and what follows, others may not."""
    rehearsal: Annotated[bool | None, Column()] = None
    """Whether the built-in rehearsal model is used: the numbers say nothing about a real prompt."""
    intent: OptimizationIntent | None = None
    persona_ids: list[str] | None = None
    seed: int | None = None
    settings: RunSettings | None = None
    failure: str | None = None
    """Why it failed."""
    stop_reason: str | None = None
    """Why it was stopped, as the person said."""
    deployment: Annotated[VariantDeployment | None, Nested()] = None
    usage: OptimizationUsage | None = None
    headroom: Headroom | None = None
    """What could be gained at most, by the logged conversations, as it was known when the optimization was asked for."""
    search_plan: SearchPlan | None = None
    """What search, confirmation and verification may spend; ``None`` without a search."""

    @property
    def sentence(self) -> str:
        """What became of it, or how far it is."""
        return str(self._displayed("verdict_sentence"))


class Intent(RequestModel):
    """The improvements that an optimization is asked for."""

    target_improvements: Annotated[list[LongText], Field(max_length=50)] | None = None
    hypothesis: LongText | None = None


class WeightedMeasure(RequestModel):
    """A part of the goal that a request gives."""

    measure: LongText
    weight: Annotated[float, Field(gt=0, le=GOAL_WEIGHT_MAX, allow_inf_nan=False)]


class CandidateText(RequestModel):
    """A text that somebody wrote, to be tested as a variant."""

    content: PromptText
    name: ShortText | None = None


class OptimizationCreate(LinkedRequest):
    """Body of ``POST /optimizations``."""

    mode: OptimizationMode | None = None
    # unspecified: whether the account's settings or the numbers of this table are the defaults. The settings, whose own
    # default is 3 variants.
    variant_count: Annotated[int, Field(ge=limits.VARIANTS_MIN, le=limits.VARIANTS_MAX)] | None = None
    intent: Intent | None = None
    persona_ids: Annotated[list[Identifier], Field(max_length=PERSONAS_MAX)] | None = None
    seed: Annotated[int, Field(ge=0, le=SEED_MAX)] | None = None
    """Ours: the same seed and the same model answers give the same result."""
    rehearsal_seconds: Annotated[float, Field(ge=0, le=REHEARSAL_SECONDS_MAX)] | None = None
    """Ours: seconds that a rehearsal takes when it needs every pass, so that it can be watched; 0 is as fast as it can be.
    Refused where a language model is configured."""
    search: SearchSetting | None = None
    """Ours: whether candidates are written in generations; the account's setting when it is left out."""
    simulate_tools: bool | None = None
    """Ours: whether the tools of an agent are played; the account's setting when it is left out."""
    goal: Annotated[list[WeightedMeasure], Field(min_length=1, max_length=GOAL_PARTS_MAX)] | None = None
    """Ours: what candidates of a search and finalists are chosen by: ``taskCompletion`` and target improvements of ``intent``,
    each with a weight. Task completion alone when it is left out. Whatever the goal, only a variant that completes more tasks
    is named the winner."""
    candidates: Annotated[list[CandidateText], Field(min_length=1, max_length=limits.VARIANTS_MAX)] | None = (
        None
    )
    """Ours: whole texts to test in place of written variants, so without a search: ``variantCount`` must be their number, or
    be left out. Each differs from the others and from the prompt, and keeps its template variables."""


class ApplyRequest(RequestModel):
    """Body of ``POST /optimizations/:id/apply``; without a variant the winner is applied."""

    variant_id: LinkText | None = None
    content: PromptText | None = None
    """Ours: in place of a variant a text that somebody put together from edits. It becomes the current version as an edit of
    the prompt does: nothing was measured of it."""
    if_version_id: LinkText | None = None
    """Ours: apply only while this version of the prompt is live, so that no change by others is overwritten unseen."""
    accept_rehearsal: bool = False
    """Ours: apply the variant even though the optimization was a rehearsal, which says nothing about a real prompt."""
    note: LongText | None = None
    """Ours: kept with the action in ``GET /actions``."""


class StopRequest(RequestModel):
    """Body of ``POST /optimizations/:id/stop``."""

    reason: LongText | None = None
    note: LongText | None = None
    """Ours: kept with the action in ``GET /actions``; the reason is when it is left out."""


class ApplyAnswer(TextChange):
    """Answer of ``POST /optimizations/:id/apply``."""

    applied_variant_id: str | None = None
    changed: bool | None = None
    """Whether the text changed; ``False`` when it was live already. Our service gives it, others may not."""


class StopAnswer(ApiModel):
    """Answer of ``POST /optimizations/:id/stop``."""

    success: bool
    status: str | None = None
    action_id: str | None = None
    """The action in ``GET /actions``. Our service gives it."""


class VariantMetrics(ApiModel):
    """Measurements of a variant."""

    task_completion: Annotated[
        float | None, Column(unit="fraction", meaning="Share of conversations that completed the task.")
    ] = None
    """Percent; ``None`` before anything is measured (unspecified)."""
    sentiment: Annotated[float | None, Column(unit="-1 to 1")] = None
    """Mean sentiment score, -1 to 1; ``None`` before anything is measured (unspecified)."""
    quality: Annotated[float | None, Column(unit="0 to 100")] = None
    """Mean quality, 0 to 100; ``None`` before anything is measured (unspecified)."""


class Variant(Effect):
    """One text of an optimization; the original is one too. The lift is of its own stage and its own pairs."""

    id: Annotated[str, Column(name="variant_id")]
    """The variant's id."""
    name: Annotated[str | None, Column()] = None
    """The variant's name."""
    is_original: Annotated[bool, Column()] = False
    """Whether it is the original, the prompt as it was."""
    content: Annotated[str | None, Column()] = None
    """The text."""
    metrics: Annotated[VariantMetrics | None, Nested()] = None
    is_winner: Annotated[bool, Column()] = False
    """Whether the optimization named it the winner."""
    number: Annotated[int | None, Column(meaning="Number of the variant; 0 is the original.")] = None
    """0 is the original. Our service gives it and what follows, others may not."""
    rationale: str | None = None
    """Why the text was written so."""
    source: Annotated[str | None, Column(categories=get_args(VariantSource))] = None
    """Who wrote the text: ``prompt`` for the original, ``model``, or ``handed_in`` for a candidate of the request."""
    stage: Annotated[str | None, Column(categories=VARIANT_STAGES)] = None
    """``screen`` or ``confirm``: the two ran on different cells and cannot be compared."""
    n: Annotated[int | None, Column()] = None
    """Pairs that count."""
    original_task_completion: Annotated[
        float | None,
        Column(
            unit="fraction", meaning="Share of conversations that the original completed on the same pairs."
        ),
    ] = None
    """Percent, of the original on the same pairs."""
    original_sentiment: float | None = None
    original_quality: float | None = None
    is_finalist: bool | None = None
    is_staged: bool | None = None
    screened_out_after: int | None = None
    """Number of the pass after which it was left out."""
    goal_points: Annotated[float | None, Column(unit="percentage points")] = None
    """Percentage points, weighted difference of the goal to the original on its own stage; ``None`` without a goal."""
    generation: Annotated[int | None, Column()] = None
    """Generation of the search that wrote it, from 1; 0 for the original. ``None`` without a search, as what follows."""
    parent_variant_id: Annotated[str | None, Column()] = None
    """The candidate that it was made from."""
    other_parent_variant_id: Annotated[str | None, Column()] = None
    """The second one, of a merge."""
    edits: list[Edit] | None = None
    """What was changed in the original, oldest first; refused edits of its generation are there too."""
    search: Annotated[CandidateSearch | None, Nested()] = None


Verdict = Literal["keep", "reject"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)


class VariantReview(ApiModel):
    """People's review of one variant."""

    variant_id: Annotated[str, Column()]
    """The variant."""
    verdict: Annotated[str | None, Column(categories=VERDICTS)] = None
    """``keep``, ``reject``, or ``None`` while undecided."""
    note: Annotated[str | None, Column()] = None
    """What people noted."""
    updated_at: Annotated[UtcTime | None, Column()] = None
    """When the verdict or the note last changed."""


class ReviewUpdate(RequestModel):
    """Body of ``PATCH /optimizations/:id/review``: the variant, and what of it changes."""

    variant_id: Identifier
    verdict: Verdict | None = None
    """``null`` removes the verdict."""
    note: LongText | None = None
    """``null`` or blank removes the note."""
