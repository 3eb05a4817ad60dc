"""Optimizations and their variants."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import Field

from promptlift.schema import limits
from promptlift.schema.columns import Column, Nested
from promptlift.schema.deployments import VariantDeployment
from promptlift.schema.model import (
    RUN_STATUSES,
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

OptimizationMode = Literal["exploratory", "validation"]
VariantSource = Literal["prompt", "model", "handed_in"]

# unspecified: how many personas may be given. Far more than a pass can use.
PERSONAS_MAX: Final = 500
# The largest integer that every JSON reader represents exactly.
SEED_MAX: Final = 2**53 - 1
# unspecified: the pace of a rehearsal. An hour is longer than anybody watches one.
REHEARSAL_SECONDS_MAX: Final = 3_600.0
# unspecified: bounds of a goal. The targets that a request may have, and completion; only relative weights
# matter.
GOAL_PARTS_MAX: Final = 51
GOAL_WEIGHT_MAX: Final = 1_000.0


class GoalPart(ApiModel):
    """A part of an optimization's goal, with its relative weight. Ours."""

    measure: str
    """``taskCompletion``, or one of the target improvements of the intent, verbatim."""
    weight: float


class RunSettings(ApiModel):
    """The settings of an optimization at the time of its request. Ours."""

    max_iterations: int | None = None
    variants_per_generation: int | None = None
    search: str | None = None
    """``on`` if candidates may be written in generations, each learning from failures; otherwise ``off``."""
    verification_passes: int | None = None
    """Passes after a win that only measure how large the lift is."""
    persona_count: int | None = None
    scenarios_per_simulation: int | None = None
    max_turns: int | None = None
    confidence_mode: str | None = None
    simulate_tools: bool | None = None
    """Whether the tools of an agent are simulated."""
    goal: list[GoalPart] | None = None
    """The goal by which finalists are chosen, if not task completion alone."""
    deployment_mode: str | None = None
    auto_deploy: Any = None
    """Object with ``enabled`` and ``requireRegressionPass``."""
    rehearsal_seconds: float | None = None
    """Duration of a rehearsal that needs every pass, in seconds; ``None`` for as fast as possible."""


class OptimizationUsage(ApiModel):
    """Model calls, tokens and conversations of an optimization. Ours."""

    model_calls: int | None = None
    tokens: int | None = None
    conversations: int | None = None


class OptimizationIntent(ApiModel):
    """The improvements requested of an optimization. Ours."""

    target_improvements: list[str] | None = None
    hypothesis: str | None = None


class Optimization(DisplayedModel):
    """A test of variants of a prompt; list items have fewer fields than ``GET /optimizations/:id``."""

    id: Annotated[str, Column(name="optimization_id")]
    """The optimization's id."""
    status: Annotated[str, Column(categories=RUN_STATUSES)]
    """``queued``, ``running``, ``completed``, ``failed`` or ``stopped``."""
    mode: Annotated[str | None, Column(categories=get_args(OptimizationMode))] = None
    """``exploratory`` or ``validation``."""
    variant_count: Annotated[int | None, Column()] = None
    """Number of variants requested."""
    results: Annotated[OptimizationResults | None, Nested()] = None
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the optimization was requested."""
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
    """Why it was stopped, according to the person."""
    deployment: Annotated[VariantDeployment | None, Nested()] = None
    usage: OptimizationUsage | None = None
    headroom: Headroom | None = None
    """The maximum gain according to the logged conversations, as known at the time of the request."""
    search_plan: SearchPlan | None = None
    """The budgets of search, confirmation and verification; ``None`` without a search."""

    @property
    def sentence(self) -> str:
        """Its outcome, or its progress."""
        return str(self._displayed("verdict_sentence"))


class Intent(RequestModel):
    """The improvements requested of an optimization."""

    target_improvements: Annotated[list[LongText], Field(max_length=50)] | None = None
    hypothesis: LongText | None = None


class WeightedMeasure(RequestModel):
    """A part of the goal in a request."""

    measure: LongText
    weight: Annotated[float, Field(gt=0, le=GOAL_WEIGHT_MAX, allow_inf_nan=False)]


class CandidateText(RequestModel):
    """A submitted text, to be tested as a variant."""

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
    """Ours: duration of a rehearsal that needs every pass, in seconds, so that it can be watched; 0 for as fast as possible. Refused if a language model is configured."""
    search: SearchSetting | None = None
    """Ours: whether candidates are written in generations; by default the account's setting."""
    simulate_tools: bool | None = None
    """Ours: whether the tools of an agent are simulated; by default the account's setting."""
    goal: Annotated[list[WeightedMeasure], Field(min_length=1, max_length=GOAL_PARTS_MAX)] | None = None
    """Ours: the goal by which candidates of a search and finalists are chosen: ``taskCompletion`` and target improvements of ``intent``, each with a weight. By default task completion alone. Whatever the goal, only a variant that completes more tasks can win."""
    candidates: Annotated[list[CandidateText], Field(min_length=1, max_length=limits.VARIANTS_MAX)] | None = (
        None
    )
    """Ours: complete texts to test instead of written variants, so without a search: ``variantCount`` must be their number, or be omitted. Each differs from the others and from the prompt, and keeps its template variables."""


class ApplyRequest(RequestModel):
    """Body of ``POST /optimizations/:id/apply``; without a variant the winner is applied."""

    variant_id: LinkText | None = None
    content: PromptText | None = None
    """Ours: instead of a variant, a text composed from edits. It becomes the current version like an edit of the prompt: nothing was measured for it."""
    if_version_id: LinkText | None = None
    """Ours: apply only while this version of the prompt is live, so that no change by others is overwritten unseen."""
    accept_rehearsal: bool = False
    """Ours: apply the variant even though the optimization was a rehearsal, which proves nothing about a real prompt."""
    note: LongText | None = None
    """Ours: stored with the action in ``GET /actions``."""


class StopRequest(RequestModel):
    """Body of ``POST /optimizations/:id/stop``."""

    reason: LongText | None = None
    note: LongText | None = None
    """Ours: stored with the action in ``GET /actions``; by default the reason."""


class ApplyAnswer(TextChange):
    """Answer of ``POST /optimizations/:id/apply``."""

    applied_variant_id: str | None = None
    changed: bool | None = None
    """Whether the text changed; ``False`` if it was already live. Our service provides it, others may not."""


class StopAnswer(ApiModel):
    """Answer of ``POST /optimizations/:id/stop``."""

    success: bool
    status: str | None = None
    action_id: str | None = None
    """The action in ``GET /actions``. Our service provides it."""


class VariantMetrics(ApiModel):
    """Measurements of a variant."""

    task_completion: Annotated[
        float | None, Column(unit="fraction", meaning="Share of conversations that completed the task.")
    ] = None
    """Percent; ``None`` before any measurement (unspecified)."""
    sentiment: Annotated[float | None, Column(unit="-1 to 1")] = None
    """Mean sentiment score, -1 to 1; ``None`` before any measurement (unspecified)."""
    quality: Annotated[float | None, Column(unit="0 to 100")] = None
    """Mean quality, 0 to 100; ``None`` before any measurement (unspecified)."""


# A rough estimate of tokens, where no model counts them.
CHARS_A_TOKEN: Final = 4


class TextLength(ApiModel):
    """Length of a prompt's text and what it costs, as far as it is known. Ours."""

    words: Annotated[int | None, Column()] = None
    """Words of the text."""
    tokens_per_conversation: Annotated[float | None, Column(unit="tokens")] = None
    """Tokens of the text in one conversation, a quarter of its characters for each answer; ``None`` without logged conversations."""
    cost_per_month: Annotated[float | None, Column(unit="currency of the prices")] = None
    """Cost of these tokens in the conversations of the last 30 days; ``None`` without any, or without a price of the model."""

    @classmethod
    def of(cls, text: str, *, answers: float | None, monthly: int = 0, price: float | None = None) -> Self:
        """Measure a text that is sent for each of so many answers, in so many conversations, at a price of a million tokens."""
        tokens = None if answers is None else answers * len(text) / CHARS_A_TOKEN
        cost = None if tokens is None or price is None or not monthly else tokens * monthly * price / 1e6
        return cls(words=len(text.split()), tokens_per_conversation=tokens, cost_per_month=cost)


_LENGTH_UNITS: Final = {
    "words": (",.0f", "words"),
    "tokens_per_conversation": (",.0f", "tokens a conversation"),
    "cost_per_month": (",.2f", "a month"),
}


def length_in_words(row: Mapping[str, Any], original: Mapping[str, Any] | None = None) -> str:
    """Describe what a row has of `TextLength`, and how much more it is than the original's."""
    parts = []
    for name, (form, unit) in _LENGTH_UNITS.items():
        value, before = row.get(name), (original or {}).get(name)
        if value is not None and not math.isnan(value):
            more = "" if before is None else f" ({value - before:+{form}})".replace("-", "\N{MINUS SIGN}")
            parts.append(f"{value:{form}} {unit}{more}")
    return ", ".join(parts)


class Variant(Effect):
    """One text of an optimization, including the original. The lift is from its own stage and its own pairs."""

    id: Annotated[str, Column(name="variant_id")]
    """The variant's id."""
    name: Annotated[str | None, Column()] = None
    """The variant's name."""
    is_original: Annotated[bool, Column()] = False
    """Whether it is the original, the unchanged prompt."""
    content: Annotated[str | None, Column()] = None
    """The text."""
    metrics: Annotated[VariantMetrics | None, Nested()] = None
    is_winner: Annotated[bool, Column()] = False
    """Whether it is the winner."""
    number: Annotated[int | None, Column(meaning="Number of the variant; 0 is the original.")] = None
    """0 is the original. Our service provides it and the following fields, others may not."""
    rationale: str | None = None
    """The rationale of the text."""
    source: Annotated[str | None, Column(categories=get_args(VariantSource))] = None
    """The author of the text: ``prompt`` for the original, ``model``, or ``handed_in`` for a candidate of the request."""
    stage: Annotated[str | None, Column(categories=VARIANT_STAGES)] = None
    """``screen`` or ``confirm``: the two ran on different cells and cannot be compared."""
    n: Annotated[int | None, Column()] = None
    """Number of pairs that count."""
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
    """Number of the pass after which it was dropped."""
    goal_points: Annotated[float | None, Column(unit="percentage points")] = None
    """Percentage points, weighted difference of the goal from the original on its own stage; ``None`` without a goal."""
    generation: Annotated[int | None, Column()] = None
    """Generation of the search that wrote it, from 1; 0 for the original. ``None`` without a search, like the following fields."""
    parent_variant_id: Annotated[str | None, Column()] = None
    """The candidate from which it was made."""
    other_parent_variant_id: Annotated[str | None, Column()] = None
    """The second parent of a merge."""
    length: Annotated[TextLength | None, Nested()] = None
    edits: list[Edit] | None = None
    """The edits of the original, oldest first, including refused edits of its generation."""
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
    """People's note."""
    updated_at: Annotated[UtcTime | None, Column()] = None
    """When the verdict or the note last changed."""


class ReviewUpdate(RequestModel):
    """Body of ``PATCH /optimizations/:id/review``: the variant, and the changed fields."""

    variant_id: Identifier
    verdict: Verdict | None = None
    """``null`` removes the verdict."""
    note: LongText | None = None
    """``null`` or blank removes the note."""
