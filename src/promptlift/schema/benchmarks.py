"""Benchmarks: a fixed set of scenarios over several prompts, versions, variants or models.

The specification lists only the paths of benchmarks.
"""

from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from promptlift.schema.columns import Column, Nested
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.judges import TokenPrice
from promptlift.schema.model import (
    RUN_STATUSES,
    ApiModel,
    Identifier,
    LinkedRequest,
    LinkText,
    LongText,
    ModelName,
    Name,
    RequestModel,
    UtcTime,
)
from promptlift.schema.optimizations import SEED_MAX
from promptlift.schema.simulations import (
    ENDED_BY,
    SCENARIO_SOURCES,
    SIMULATION_STATUSES,
    SimulationPersona,
    SimulationScenario,
)

# unspecified: every field of a benchmark, its states, and the actions of the bulk endpoint other than delete.
ScenarioSource = Literal["conversations", "model", "both"]
VERDICTS: Final = ("better", "worse", "unclear")
COST_BASES: Final = ("price", "tokens")

ARMS_MAX: Final = 12
SCENARIOS_DEFAULT: Final = 50
SCENARIOS_MAX: Final = 1_000
JOBS_MAX: Final = 500
PRICED_MODELS_MAX: Final = 200
MARGIN_DEFAULT: Final = 5.0
LEVEL_DEFAULT: Final = 0.95
BASELINE: Final = 0
"""Default number of the arm with which the others are compared: the first."""


class Price(ApiModel):
    """Price of a model, in any currency."""

    input: float
    """Price of a million tokens that the model reads."""
    output: float
    """Price of a million tokens that the model writes."""


class ScenarioSet(ApiModel):
    """One version of a fixed set of scenarios, each with its persona."""

    id: Annotated[str, Column(name="scenario_set_id")]
    """The set's id."""
    version: Annotated[int, Column(name="scenario_set_version")]
    """Version of the set, from 1; a version never changes."""
    name: Annotated[str | None, Column(name="scenario_set")] = None
    """The set's name."""
    source: Annotated[str | None, Column(categories=get_args(ScenarioSource), tables=("scenario_sets",))] = (
        None
    )
    """``conversations``, ``model``, or ``both``: where its scenarios came from."""
    count: Annotated[int | None, Column(name="scenario_count")] = None
    """Number of scenarios."""
    prompt_id: Annotated[str | None, Column(tables=("scenario_sets",))] = None
    """The prompt that provides conversations or the subject for the scenarios."""
    ready: Annotated[bool | None, Column(tables=("scenario_sets",))] = None
    """Whether the scenarios are chosen; the first benchmark with the set chooses them."""
    created_at: Annotated[UtcTime | None, Column(tables=("scenario_sets",))] = None
    """When this version was created."""
    scenarios: list["FixedScenario"] | None = None
    """The scenarios by number; only in ``GET /scenario-sets/:id``."""


class FixedScenario(ApiModel):
    """A scenario of a set."""

    number: Annotated[int, Column(name="cell")]
    """Number of the scenario in its set, from 1: conversations in the same cell have the same scenario."""
    title: Annotated[str, Column(name="scenario")]
    """The scenario in a few words."""
    opening: Annotated[str, Column()]
    """The persona's first message."""
    goal: Annotated[str, Column()]
    """The persona's goal."""
    source: Annotated[str, Column(name="scenario_source", categories=SCENARIO_SOURCES)]
    """``conversation`` when it was taken from a logged one, ``model`` when it was written for the set."""
    persona: Annotated[SimulationPersona | None, Nested()] = None
    conversation_id: Annotated[str | None, Column()] = None
    """The logged conversation from which it was taken."""


class BenchmarkArm(ApiModel):
    """An arm of a benchmark: a text, and the model on which it runs."""

    number: int
    """From 0, which is the baseline."""
    name: str
    prompt_id: str | None = None
    version_id: str | None = None
    variant_id: str | None = None
    llm_model: str | None = None
    """The model on which it runs; ``None`` for the endpoint's default."""
    temperature: float | None = None
    max_tokens: int | None = None
    content: str | None = None
    """The text; only in ``GET /benchmarks/:id``."""


class ArmResult(ApiModel):
    """Scores of one arm, over the cells in which every arm has an outcome."""

    number: Annotated[int, Column(name="arm")]
    """Number of the arm; 0 is the baseline."""
    name: Annotated[str, Column()]
    """The arm's name."""
    llm_model: Annotated[str | None, Column()] = None
    """The model on which it ran."""
    n: Annotated[int, Column()]
    """Number of cells that count."""
    dropped: Annotated[int, Column(name="n_dropped")]
    """Number of conversations lost to errors."""
    task_completion: Annotated[
        float | None, Column(unit="fraction", meaning="Share of conversations that completed the task.")
    ] = None
    """Percent."""
    task_completion_low: Annotated[
        float | None, Column(unit="fraction", meaning="Lower end of its Wilson interval.")
    ] = None
    """Percent."""
    task_completion_high: Annotated[
        float | None, Column(unit="fraction", meaning="Upper end of its Wilson interval.")
    ] = None
    """Percent."""
    sentiment: Annotated[float | None, Column(unit="-1 to 1")] = None
    """Mean sentiment score, -1 to 1."""
    quality: Annotated[float | None, Column(unit="0 to 100")] = None
    """Mean quality, 0 to 100."""
    turns: Annotated[float | None, Column(unit="turns")] = None
    """Mean number of turns."""
    input_tokens: Annotated[float | None, Column(unit="tokens")] = None
    """Mean tokens that the assistant read in a conversation."""
    output_tokens: Annotated[float | None, Column(unit="tokens")] = None
    """Mean tokens that the assistant wrote in a conversation."""
    tokens_estimated: Annotated[bool | None, Column()] = None
    """Whether tokens are estimated as a quarter of the characters, because the endpoint did not count them."""
    cost_per_conversation: Annotated[float | None, Column(unit="currency of the prices")] = None
    """Mean cost of the assistant per conversation, by the price of its model."""
    cost_per_completed: Annotated[float | None, Column(unit="currency of the prices")] = None
    """Cost of the assistant per completed task."""


class MetricDifference(ApiModel):
    """Paired difference of a mean."""

    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """Wilcoxon's signed-rank test, two-sided, not adjusted."""


class ArmDifference(ApiModel):
    """One arm against the reference, on the cells in which both have an outcome."""

    number: int
    reference: Annotated[int, Column()]
    """Number of the arm with which it is compared."""
    n: Annotated[int, Column(name="n_pairs")]
    """Number of pairs that count."""
    n11: Annotated[int, Column()]
    """Both completed the task."""
    n10: Annotated[int, Column()]
    """Only the arm did."""
    n01: Annotated[int, Column()]
    """Only the reference did."""
    n00: Annotated[int, Column()]
    """Neither did."""
    points: Annotated[float | None, Column(name="difference", unit="percentage points")] = None
    """Difference of task completion."""
    points_low: Annotated[float | None, Column(name="difference_low", unit="percentage points")] = None
    """Lower end of its interval (Tango)."""
    points_high: Annotated[float | None, Column(name="difference_high", unit="percentage points")] = None
    """Upper end of its interval (Tango)."""
    p: Annotated[float, Column()]
    """Two-sided p-value of the score test for pairs (Tango), which the interval inverts."""
    p_holm: Annotated[float, Column()]
    """The same, adjusted by Holm over the arms."""
    verdict: Annotated[str, Column(categories=VERDICTS)]
    """``better``, ``worse`` or ``unclear``, by the adjusted p; with fewer than 10 pairs always unclear."""
    not_worse: Annotated[bool, Column()]
    """Whether a loss of the margin or more is excluded."""
    not_worse_p: Annotated[float, Column()]
    """The p-value for such a loss, adjusted by Holm over the arms."""
    sentiment: MetricDifference | None = None
    quality: MetricDifference | None = None


class ComparedArm(ArmResult):
    """One arm with its comparison: a row of the table of arms."""

    comparison: Annotated[ArmDifference | None, Nested()] = None


class CheapestArm(ApiModel):
    """The cheapest of the arms that are not worse than the reference by the margin or more."""

    number: int
    name: str
    basis: Annotated[str, Field(examples=list(COST_BASES))]
    """``price``, or ``tokens`` if one of these arms has no price: then the number of tokens decides."""
    cost_per_conversation: float | None = None
    tokens_per_conversation: float | None = None


class BenchmarkResults(ApiModel):
    """Results of a benchmark so far."""

    arms: list[ArmResult]
    comparisons: list[ArmDifference]
    reference: int
    """Number of the arm with which the others are compared."""
    margin: float
    """Percentage points of task completion; a smaller loss is acceptable."""
    level: float
    """Level of the intervals and of the decisions."""
    acceptable: list[int]
    """The reference, and the arms for which a loss of the margin or more is excluded."""
    cheapest: CheapestArm | None = None
    """``None`` if no arm is acceptable or costs are unknown."""
    final: bool
    """Whether the benchmark has completed."""
    warnings: list[str]
    rehearsal: bool


class BenchmarkProgress(ApiModel):
    """Progress of a benchmark."""

    conversations_done: Annotated[int, Column()]
    """Number of simulated conversations that ended."""
    conversations_total: Annotated[int, Column()]
    """Total number of simulated conversations: scenarios times arms."""
    fraction: float


class BenchmarkUsage(ApiModel):
    """Model calls and tokens of a benchmark, including those of personas and judge."""

    model_calls: int
    tokens: int


class Benchmark(ApiModel):
    """A benchmark; all fields that a service sends are kept."""

    id: Annotated[str, Column(name="benchmark_id")]
    """The benchmark's id."""
    name: Annotated[str | None, Column()] = None
    """The benchmark's name."""
    status: Annotated[str | None, Column(categories=RUN_STATUSES)] = None
    """``queued``, ``running``, ``completed``, ``failed`` or ``stopped``."""
    scenario_set: Annotated[ScenarioSet | None, Nested()] = None
    arms: list[BenchmarkArm] | None = None
    objective: str | None = None
    """Objective for judging every conversation, the same for all arms."""
    max_turns: int | None = None
    prices: dict[str, Price] | None = None
    """Prices by model."""
    seed: int | None = None
    progress: Annotated[BenchmarkProgress | None, Nested()] = None
    results: BenchmarkResults | None = None
    """``None`` until the first conversation has ended; in lists until the benchmark has."""
    failure: Annotated[str | None, Column()] = None
    """Why it failed."""
    stop_reason: str | None = None
    usage: BenchmarkUsage | None = None
    rehearsal: Annotated[bool | None, Column()] = None
    """Whether the built-in rehearsal model is used: the numbers say nothing about real prompts."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When it was requested."""
    started_at: Annotated[UtcTime | None, Column()] = None
    """When work on it began."""
    completed_at: Annotated[UtcTime | None, Column()] = None
    """When it ended."""


class BenchmarkConversation(ApiModel):
    """One simulated conversation of a benchmark: an arm on a cell."""

    id: Annotated[str, Column(name="simulation_id")]
    """The simulated conversation's id."""
    benchmark_id: Annotated[str, Column()]
    """The benchmark to which it belongs."""
    cell: Annotated[int, Column()]
    """Number of the cell, which is the scenario's number in its set."""
    arm: Annotated[int, Column()]
    """Number of the arm that answered."""
    arm_name: Annotated[str, Column(name="arm_name")]
    """The arm's name."""
    persona: Annotated[SimulationPersona | None, Nested()] = None
    scenario: Annotated[SimulationScenario | None, Nested()] = None
    status: Annotated[str, Column(categories=SIMULATION_STATUSES)]
    """``completed``, or ``dropped`` if it was lost to an error."""
    task_completed: Annotated[bool | None, Column()] = None
    """Whether the conversation completed the persona's task; ``None`` if it was dropped."""
    sentiment: Annotated[str | None, Column(categories=SENTIMENTS)] = None
    """``negative``, ``neutral`` or ``positive``."""
    sentiment_score: Annotated[float | None, Column(unit="-1 to 1")] = None
    """Sentiment of the persona, -1 to 1."""
    quality: Annotated[float | None, Column(unit="0 to 100")] = None
    """Quality of the answers, 0 to 100."""
    turns: Annotated[int | None, Column()] = None
    """Number of turns."""
    ended_by: Annotated[str | None, Column(categories=ENDED_BY)] = None
    """``persona``, or ``turns`` if the turns ran out."""
    input_tokens: Annotated[int | None, Column()] = None
    """Tokens that the assistant read."""
    output_tokens: Annotated[int | None, Column()] = None
    """Tokens that the assistant wrote."""
    tokens_estimated: bool | None = None
    error: Annotated[str | None, Column()] = None
    """The error that caused its loss."""
    content: Annotated[str | None, Column()] = None
    """Transcript as structured JSON text, if requested."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When it was simulated."""


class ArmCreate(LinkedRequest):
    """One arm of a requested benchmark."""

    name: Name | None = None
    version_id: LinkText | None = None
    """An earlier text of the prompt; by default the current one."""
    variant_id: LinkText | None = None
    """A variant of an optimization; then the prompt may be omitted."""
    llm_model: ModelName | None = None
    """The model on which to run it; by default the prompt's model."""


class ScenarioSetRequest(LinkedRequest):
    """The scenarios of a benchmark: those of a set, or a new set for the first arm's prompt or another one."""

    id: LinkText | None = None
    """An existing set; by default a new one is created."""
    version: Annotated[int, Field(ge=1)] | None = None
    """Its version; by default the newest."""
    name: Name | None = None
    source: ScenarioSource | None = None
    """``both``, the default: logged conversations first, then the model."""
    count: Annotated[int, Field(ge=1, le=SCENARIOS_MAX)] | None = None
    """Number of scenarios in a new set; with ``id`` the set grows to this number and becomes a new version."""
    conversation_ids: Annotated[list[Identifier], Field(min_length=1, max_length=SCENARIOS_MAX)] | None = None
    """The only logged conversations from which to take scenarios."""


class BenchmarkCreate(RequestModel):
    """Body of ``POST /benchmarks``."""

    name: Name | None = None
    arms: Annotated[list[ArmCreate], Field(min_length=1, max_length=ARMS_MAX)]
    """The first is the baseline."""
    scenario_set: ScenarioSetRequest | None = None
    objective: LongText | None = None
    """Objective for judging every conversation; by default that of the scenarios' prompt."""
    max_turns: Annotated[int, Field(ge=1, le=50)] | None = None
    """By default the account's setting."""
    prices: Annotated[dict[ModelName, TokenPrice], Field(max_length=PRICED_MODELS_MAX)] | None = None
    """Prices by model, for the costs of the results."""
    seed: Annotated[int, Field(ge=0, le=SEED_MAX)] | None = None
    """The same seed, scenario set and model answers give the same result."""


class BulkRequest(RequestModel):
    """Body of ``POST /benchmarks/bulk``."""

    action: Literal["delete"]
    job_ids: Annotated[list[LinkText], Field(min_length=1, max_length=JOBS_MAX)]


class BulkAnswer(ApiModel):
    """Answer of ``POST /benchmarks/bulk``."""

    success: bool
    message: str | None = None
    deleted: list[str] | None = None
    """Ids of the deleted benchmarks; running ones were stopped first."""
    not_found: list[str] | None = None
    """Ids that belong to no benchmark of the account."""
