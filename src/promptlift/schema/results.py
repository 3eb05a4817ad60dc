"""Results of an optimization: lift and confidence of the specification, and the fields that our service adds.

Everything beyond ``winnerSelected``, ``winningVariantId``, ``lift`` and ``confidence`` is ours; other services may
leave it out.
"""

from typing import Annotated, Final

from pydantic import Field

from promptlift.schema.columns import Column, Nested
from promptlift.schema.model import ApiModel

VARIANT_STAGES: Final = ("screen", "confirm")
CONFIDENCE_METHODS: Final = ("sequential-likelihood-ratio", "sequential-mixture")
TARGET_CHANGES: Final = ("improved", "worse", "unchanged", "unclear")
LIFT_UNIT: Final = "percent of the original's task completion"


class OptimizationProgress(ApiModel):
    """Progress of an optimization."""

    stage: str | None = None
    """``preparing``, ``screen``, ``confirm``, ``verify`` or ``done``."""
    passes_done: int | None = None
    passes_max: int | None = None
    """The maximum, including those of the verification; most optimizations stop earlier."""
    conversations_done: int | None = None
    conversations_max: int | None = None
    """The maximum, including those lost to errors."""
    fraction: float | None = None
    """Share of the maximum budget, 0 to 1."""


class PairTable(ApiModel):
    """Pairs of conversations: original and variant on the same persona and scenario."""

    n: Annotated[int, Column(name="n_pairs")]
    """Number of pairs that count."""
    n11: Annotated[int | None, Column(tables=("variants",))] = None
    """Both completed the task."""
    n10: Annotated[int | None, Column(tables=("variants",))] = None
    """Only the variant did."""
    n01: Annotated[int | None, Column(tables=("variants",))] = None
    """Only the original did."""
    n00: Annotated[int | None, Column(tables=("variants",))] = None
    """Neither did."""
    dropped: Annotated[int | None, Column(name="n_dropped", tables=("variants",))] = None
    """Pairs lost to errors of the infrastructure."""


class GuardrailResult(ApiModel):
    """A metric that a winner must not harm."""

    name: str
    """``sentiment`` or ``quality``."""
    difference: float | None = None
    """Mean difference of variant and original over the pairs."""
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    """``harmed`` (the winner is withheld), ``ok`` or ``unknown``."""


class TargetResult(ApiModel):
    """One of the targets of an optimization, on the pairs of the confirmation."""

    target: Annotated[str, Column()]
    """The target as its owner wrote it."""
    change: Annotated[
        str | None,
        Column(
            categories=TARGET_CHANGES,
            meaning="``improved`` or ``worse`` if the interval excludes zero; ``unchanged`` if it excludes an improvement of more than a point; else ``unclear``.",
        ),
    ] = None
    """``improved`` or ``worse`` if the interval excludes zero, ``unchanged`` if it excludes an improvement of more than a point, else ``unclear``."""
    original: Annotated[float | None, Column(name="original_met", unit="percent")] = None
    """Percent of the original's conversations that met it."""
    variant: Annotated[float | None, Column(name="variant_met", unit="percent")] = None
    """Percent of the finalist's conversations that met it, on the same pairs."""
    points: Annotated[float | None, Column(unit="percentage points")] = None
    """Difference in percentage points."""
    points_low: Annotated[float | None, Column(unit="percentage points")] = None
    """Lower end of its interval."""
    points_high: Annotated[float | None, Column(unit="percentage points")] = None
    """Upper end of its interval."""
    interval_level: Annotated[float | None, Column()] = None
    """Level of the interval as a fraction; with several targets high enough that all intervals hold jointly."""
    n: Annotated[int | None, Column(name="n_pairs")] = None
    """Pairs in which the judge decided for both conversations whether they met it."""


class HypothesisResult(ApiModel):
    """Whether the hypothesis of an optimization held."""

    text: str
    """The hypothesis as its owner wrote it."""
    held: bool | None = None
    """``True`` if every target improved, ``False`` if one did not or got worse, ``None`` if it is unclear."""
    measured_by: str | None = None
    """``targets``, or ``taskCompletion`` if there were no targets."""


class LoggedMix(ApiModel):
    """A lift re-weighted to the mix of the logged conversations: failed ones are tested more often than they were logged."""

    is_headline: Annotated[bool | None, Column(name="logged_is_headline")] = None
    """Whether at least half of the pairs come from logged conversations, so that this lift is the one to quote."""
    lift: Annotated[float | None, Column(name="lift_logged", unit=LIFT_UNIT)] = None
    """Percent, relative change of task completion on the mix of the logged conversations."""
    lift_low: Annotated[float | None, Column(name="lift_logged_low", unit="percent")] = None
    """Percent, lower end of its interval; ``None`` if unbounded."""
    lift_high: Annotated[float | None, Column(name="lift_logged_high", unit="percent")] = None
    """Percent, upper end of its interval; ``None`` if unbounded."""
    lift_expected: Annotated[float | None, Column(name="lift_logged_expected", unit="percent")] = None
    """Percent, expected in production on this mix."""
    lift_expected_low: float | None = None
    """Percent, lower end of its 90% interval."""
    lift_expected_high: float | None = None
    lift_verified: Annotated[
        float | None, Column(name="lift_logged_verified", unit="percent", tables=("variants",))
    ] = None
    """Percent, this lift on pairs measured after the decision."""
    lift_verified_low: Annotated[
        float | None, Column(name="lift_logged_verified_low", unit="percent", tables=("variants",))
    ] = None
    """Percent, lower end of its interval; ``None`` if unbounded or unknown."""
    lift_verified_high: Annotated[
        float | None, Column(name="lift_logged_verified_high", unit="percent", tables=("variants",))
    ] = None
    """Percent, upper end of its interval; ``None`` if unbounded or unknown."""
    lift_points: Annotated[
        float | None, Column(name="lift_logged_points", unit="percentage points", tables=("variants",))
    ] = None
    """Percentage points, difference of task completion on this mix."""
    lift_points_low: float | None = None
    lift_points_high: float | None = None
    lift_points_expected: float | None = None
    standard_error_points: float | None = None
    task_completion: Annotated[
        float | None, Column(name="task_completion_logged", unit="fraction", tables=("variants",))
    ] = None
    """Percent, of the variant on this mix."""
    original_task_completion: Annotated[
        float | None, Column(name="original_task_completion_logged", unit="fraction", tables=("variants",))
    ] = None
    """Percent, of the original on this mix and the same pairs."""
    n: Annotated[int | None, Column(name="n_logged", tables=("variants",))] = None
    """Pairs whose scenario comes from a logged conversation."""
    n_effective: Annotated[float | None, Column(name="n_logged_effective", tables=("variants",))] = None
    """Effective number of evenly drawn pairs, by Kish."""
    failed_share_tested: Annotated[float | None, Column(unit="fraction", tables=("variants",))] = None
    """Share of failed conversations among those of the pairs from logs."""
    failed_share_logged: Annotated[float | None, Column(unit="fraction", tables=("variants",))] = None
    """Share of failed conversations among the logged ones."""


class Effect(ApiModel):
    """A lift with its interval, in percent and in percentage points."""

    lift: Annotated[
        float | None,
        Column(name="lift_pct", unit=LIFT_UNIT, tables=("optimizations",)),
        Column(unit=LIFT_UNIT, tables=("variants",)),
    ] = None
    """Percent, relative change of task completion. ``None`` if the original completed nothing (unspecified)."""
    lift_low: Annotated[float | None, Column(unit="percent")] = None
    """Percent, lower end of the interval; ``None`` if unbounded or unknown."""
    lift_high: Annotated[float | None, Column(unit="percent")] = None
    """Percent, upper end of the interval; ``None`` if unbounded or unknown."""
    lift_expected: Annotated[float | None, Column(unit="percent")] = None
    """Percent, expected in production."""
    lift_expected_low: float | None = None
    """Percent, lower end of its 90% interval."""
    lift_expected_high: float | None = None
    lift_verified: Annotated[float | None, Column(unit="percent")] = None
    """Percent, lift of the winner on pairs measured after the decision; ``None`` if there are none."""
    lift_verified_low: Annotated[float | None, Column(unit="percent", tables=("variants",))] = None
    """Percent, lower end of its interval; ``None`` if unbounded or unknown."""
    lift_verified_high: Annotated[float | None, Column(unit="percent", tables=("variants",))] = None
    """Percent, upper end of its interval; ``None`` if unbounded or unknown."""
    lift_points: Annotated[float | None, Column(unit="percentage points", tables=("variants",))] = None
    """Percentage points, difference of task completion."""
    lift_points_low: float | None = None
    lift_points_high: float | None = None
    lift_points_expected: float | None = None
    lift_points_verified: float | None = None
    lift_points_verified_low: float | None = None
    lift_points_verified_high: float | None = None
    verified_pairs: PairTable | None = None
    """Number of pairs measured after the decision."""
    verified_by: str | None = None
    """``verification``, or ``regression-test`` if one ran."""
    standard_error_points: float | None = None
    interval_level: Annotated[float | None, Column(tables=("variants",))] = None
    """Level of the interval as a fraction, such as 0.9."""
    confidence: Annotated[float | None, Column(unit="0 to 1")] = None
    """Confidence that the variant is better than the original, 0 to 1; ``None`` before the first look (unspecified)."""
    log_e_value: float | None = None
    """Natural logarithm of the e-value from which the confidence is derived."""
    look: Annotated[int | None, Column(tables=("variants",))] = None
    """Number of the look at the data."""
    max_looks: Annotated[int | None, Column(tables=("variants",))] = None
    """The maximum number of looks."""
    pairs: Annotated[PairTable | None, Nested()] = None
    logged_mix: Annotated[LoggedMix | None, Nested()] = None
    """The lift on the mix of the logged conversations; ``None`` if no scenario comes from them."""
    warnings: Annotated[list[str], Column(kind="text", tables=("variants",))] = Field(default_factory=list)
    """Caveats about the numbers."""
    rehearsal: Annotated[bool | None, Column(tables=("variants",))] = None
    """Whether the built-in rehearsal model produced the conversations: the numbers say nothing about a real prompt."""

    @property
    def headline(self) -> "Effect | LoggedMix":
        """The lift to show first: that on the mix of the logged conversations if scenarios come from them."""
        mix = self.logged_mix
        return mix if mix is not None and mix.is_headline and mix.lift is not None else self


class OptimizationResults(Effect):
    """Results of an optimization. While it runs, they contain only the measurements so far."""

    winner_selected: Annotated[bool | None, Column()] = None
    """Whether there is a winner. Present once completed."""
    winning_variant_id: Annotated[str | None, Column()] = None
    """The winner, if any."""
    finalist_variant_id: str | None = None
    """The variant that was compared with the original, whether it won or not."""
    e_value: float | None = None
    """Also ``None`` if it is too large for JSON; see ``log_e_value``."""
    confidence_method: Annotated[str | None, Column()] = None
    """``sequential-likelihood-ratio`` with ``theta``, or ``sequential-mixture``: the basis of the confidence."""
    theta: Annotated[float | None, Column()] = None
    """Share of the pairs with exactly one completed task that a variant worth finding wins, fixed before the run."""
    confidence_needed: float | None = None
    """Confidence at which a winner is declared."""
    confidence_calibrated: float | None = None
    """Confidence according to the account's own record of winners that held; ``None`` without a record."""
    estimand: str | None = None
    """``population``, or ``panel`` if it applies only to the given personas."""
    reason: Annotated[str | None, Column()] = None
    """Why it ended: ``threshold``, ``futility``, ``budget``, ``guardrail``, ``stopped`` or ``failed``."""
    explanation: str | None = None
    """Why there is no winner, in words and numbers."""
    smallest_findable_points: float | None = None
    """Smallest true lift in percentage points that this many pairs detect with 80% probability."""
    pairs_needed: int | None = None
    """Pairs needed to detect a true lift of the measured size with 80% probability."""
    trace: list[float | None] = Field(default_factory=list)
    """Confidence after each pass of the confirmation."""
    lift_trace: list[float | None] = Field(default_factory=list)
    """Lift in percent after each pass of the confirmation; ``None`` if the original had completed nothing."""
    guardrails: list[GuardrailResult] = Field(default_factory=list)
    targets: list[TargetResult] | None = None
    """Results of the intent's targets; ``None`` without targets."""
    hypothesis: HypothesisResult | None = None
    """Result of the intent's hypothesis; ``None`` without a hypothesis."""
    variants_tested: int | None = None
    progress: OptimizationProgress | None = None
