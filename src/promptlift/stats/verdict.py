"""The result of an experiment: the decision, every variant's numbers, and why there is no winner."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from promptlift.stats.differences import sign_test_p
from promptlift.stats.pairs import analyse_pairs
from promptlift.stats.passes import PairTally
from promptlift.stats.planning import pairs_needed, smallest_findable_points

if TYPE_CHECKING:
    from promptlift.stats.evidence import ConfidenceMethod
    from promptlift.stats.pairs import PairAnalysis
    from promptlift.stats.passes import Stage
    from promptlift.stats.scores import Guardrail


@dataclass(slots=True)
class Confirmation:
    """The confirmation of one finalist.

    Attributes
    ----------
    arm
        The finalist.
    max_looks
        Maximum number of looks within the budget.
    tally
        Pairs that decide.
    trace, lift_trace
        Confidence, and lift in percent, after every pass.
    verification
        Pairs after the decision. They do not decide, so they are not selected for being lucky.
    """

    arm: int
    max_looks: int
    tally: PairTally = field(default_factory=PairTally)
    trace: list[float] = field(default_factory=list)
    lift_trace: list[float | None] = field(default_factory=list)
    verification: PairTally = field(default_factory=PairTally)

    @property
    def look(self) -> int:
        """Number of passes so far."""
        return len(self.trace)

    def analysis(self, *, estimand: Estimand, theta: float | None, prior_sd_points: float) -> PairAnalysis:
        """Analyse the pairs that decide; those of the verification only enter the expected lift."""
        verified = self.verified(estimand=estimand)
        return analyse_pairs(
            *self.tally.counts,
            look=max(self.look, 1),
            max_looks=self.max_looks,
            prior_sd_points=prior_sd_points,
            clusters=_clusters(self.tally, estimand),
            theta=theta,
            verified_points=None if verified is None else verified.lift_points,
            verified_error_points=None if verified is None else verified.standard_error_points,
        )

    def verified(self, *, estimand: Estimand) -> PairAnalysis | None:
        """Analyse the pairs after the decision, in a single look; ``None`` while there are none."""
        if not self.verification.n:
            return None
        return analyse_pairs(*self.verification.counts, clusters=_clusters(self.verification, estimand))

    def to_state(self) -> dict[str, Any]:
        """Return the confirmation as plain JSON."""
        tallies = {"tally": self.tally.to_state(), "verification": self.verification.to_state()}
        return {**asdict(self), **tallies}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild a confirmation from `to_state`."""
        tallies = {name: PairTally.from_state(state[name]) for name in ("tally", "verification")}
        traces = {name: list(state[name]) for name in ("trace", "lift_trace")}
        return cls(**{**state, **tallies, **traces})


def _clusters(tally: PairTally, estimand: Estimand) -> Any:
    # unspecified: the diagnostic by persona in a panel. There the personas are fixed, so that differences
    # between them are not an error of the result.
    return tally.completed_by_persona() if estimand == "population" else None


Status = Literal["running", "winner", "no_winner"]
Reason = Literal["threshold", "futility", "budget", "guardrail", "stopped"]
Estimand = Literal["population", "panel"]

CLUSTERED: Final = "Pairs of one persona are correlated; the interval is the wider one, clustered by persona."
_POWER: Final = 0.80
_DROPPED_SHARE: Final = 0.10


@dataclass(frozen=True, slots=True)
class VariantStats:
    """One variant against the original on its own stage.

    Attributes
    ----------
    arm
        Number of the variant, from 1.
    stage
        ``confirm`` for the finalist, otherwise ``screen``. The two stages ran on different cells: not
        comparable.
    is_finalist
        Whether it is the finalist.
    screened_out_after
        Number of the pass after which it was dropped; ``None`` if it never was.
    analysis
        Pair table, rates, lift, interval. Its ``confidence`` is meaningless for a variant that was only
        screened; use the one here.
    confidence
        Of the confirmation; ``None`` for a variant that was only screened.
    sentiment, quality, original_sentiment, original_quality
        Means over the pairs in which both arms have the metric; ``None`` without any.
    n_pairs, n_dropped
        Pairs that count, and pairs lost to infrastructure errors.
    warnings
        Caveats about the numbers.
    goal_points
        Paired difference of the goal in percentage points; ``None`` without a goal.
    """

    arm: int
    stage: Stage
    is_finalist: bool
    screened_out_after: int | None
    analysis: PairAnalysis
    confidence: float | None
    sentiment: float | None
    quality: float | None
    original_sentiment: float | None
    original_quality: float | None
    n_pairs: int
    n_dropped: int
    warnings: tuple[str, ...]
    goal_points: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an experiment.

    Attributes
    ----------
    stage
        The stage of the next pass, or of the last one.
    passes_done, passes_max
        Passes recorded, and their maximum, including those of the verification. Most runs stop earlier.
    passes_left
        Maximum number of passes still to come.
    conversations_done, conversations_max
        The same in simulated conversations, including those lost to errors.
    """

    stage: Stage
    passes_done: int
    passes_max: int
    passes_left: int
    conversations_done: int
    conversations_max: int


@dataclass(frozen=True, slots=True)
class WhyNoWinner:
    """Why there is no winner, in numbers and in words.

    Attributes
    ----------
    smallest_findable_points
        Smallest true difference that this many pairs detect with 80% probability; ``None`` if there is none.
    pairs_needed
        Pairs that detect a true difference of the measured size with 80% probability; ``None`` if it is not
        above 0.
    text
        The same in words.
    """

    smallest_findable_points: float | None
    pairs_needed: int | None
    text: str


@dataclass(frozen=True)
class Verdict:
    """State of an experiment at one time.

    Attributes
    ----------
    status
        ``running``, ``winner`` or ``no_winner``.
    reason
        Why it ended: ``threshold``, ``futility``, ``budget``, ``guardrail`` or ``stopped``; ``None`` while
        running.
    winner, finalist
        Numbers of the winning variant and of the finalist, if any.
    analysis
        The finalist against the original, confirmation pairs only; ``None`` before the first of them. Its
        expected lift also uses the pairs of the verification.
    verification
        The winner against the original on the pairs after the decision; ``None`` without any.
    confidence_method, theta
        The basis of the confidence; ``theta`` is ``None`` for the mixture.
    confidence_needed
        Confidence at which this finalist wins.
    trace
        Confidence after every pass of the confirmation of this finalist.
    lift_trace
        Lift in percent after the same passes; ``None`` if the original had completed nothing.
    variants
        Every variant on its own stage, in the order of their numbers.
    guardrails
        Sentiment and quality of the finalist.
    progress
        Its progress.
    estimand
        ``population``: valid for users in general. ``panel``: for these personas only.
    n_dropped
        Pairs of the confirmation lost to infrastructure errors.
    n_dropped_verifying
        The same of the verification.
    warnings
        Caveats about the numbers.
    """

    status: Status
    reason: Reason | None
    winner: int | None
    finalist: int | None
    analysis: PairAnalysis | None
    verification: PairAnalysis | None
    confidence_method: ConfidenceMethod
    theta: float | None
    confidence_needed: float
    trace: tuple[float, ...]
    lift_trace: tuple[float | None, ...]
    variants: tuple[VariantStats, ...]
    guardrails: tuple[Guardrail, ...]
    progress: Progress
    estimand: Estimand
    n_dropped: int
    n_dropped_verifying: int
    warnings: tuple[str, ...]

    @property
    def winner_selected(self) -> bool:
        """Whether there is a winner."""
        return self.winner is not None

    @property
    def confidence(self) -> float:
        """Confidence that the finalist is better; 0.5 before the first pair of the confirmation."""
        return self.analysis.confidence if self.analysis is not None else 0.5

    @cached_property
    def why_no_winner(self) -> WhyNoWinner | None:
        """Explain an end without a winner: the detectable difference, and the pairs needed."""
        if self.status != "no_winner" or self.reason is None:
            return None
        return why_no_winner(
            self.reason,
            self.analysis,
            confidence_needed=self.confidence_needed,
            harmed=tuple(rail.name for rail in self.guardrails if rail.verdict == "harmed"),
        )


def dropped_warnings(tally: PairTally) -> tuple[str, ...]:
    """Return warnings about pairs lost to infrastructure errors: many of them, or more in one arm."""
    warnings = []
    asked = tally.n + tally.dropped
    if tally.dropped > _DROPPED_SHARE * asked:
        warnings.append(
            f"{tally.dropped} of {asked} pairs were lost to infrastructure errors, more than 10%."
        )
    if sign_test_p(tally.dropped_variant, tally.dropped_original) < 0.05:
        warnings.append(
            f"Infrastructure errors are uneven: {tally.dropped_variant} pairs were lost by the "
            f"variant alone, {tally.dropped_original} by the original alone."
        )
    return tuple(warnings)


def variant_stats(
    arm: int,
    tally: PairTally,
    *,
    stage: Stage,
    analysis: PairAnalysis | None = None,
    look: int = 1,
    max_looks: int = 1,
    prior_sd_points: float,
    is_finalist: bool = False,
    screened_out_after: int | None = None,
) -> VariantStats:
    """Compute the numbers of one variant from its tally, reusing an existing ``analysis``."""
    if analysis is None:
        analysis = analyse_pairs(
            *tally.counts, look=look, max_looks=max_looks, prior_sd_points=prior_sd_points
        )
    sentiment, original_sentiment = tally.sentiment.means()
    quality, original_quality = tally.quality.means()
    return VariantStats(
        arm=arm,
        stage=stage,
        is_finalist=is_finalist,
        screened_out_after=screened_out_after,
        analysis=analysis,
        confidence=analysis.confidence if stage == "confirm" else None,
        sentiment=sentiment,
        quality=quality,
        original_sentiment=original_sentiment,
        original_quality=original_quality,
        n_pairs=tally.n,
        n_dropped=tally.dropped,
        warnings=dropped_warnings(tally),
        goal_points=None if tally.goal_difference is None else 100.0 * tally.goal_difference,
    )


def why_no_winner(
    reason: Reason,
    analysis: PairAnalysis | None,
    *,
    confidence_needed: float,
    harmed: tuple[str, ...] = (),
) -> WhyNoWinner:
    """Explain an end without a winner: the detectable difference, and the pairs needed.

    Power is that of a single look at the last pair for the required e-value; see `power_of_pairs`. The share
    of discordant pairs is that of the futility rule, ``(n10 + n01 + 1)/(n + 3)``.
    """
    e_needed = confidence_needed / (1.0 - confidence_needed)
    n = analysis.n if analysis is not None else 0
    discordant = analysis.n10 + analysis.n01 if analysis is not None else 0
    discordance = (discordant + 1) / (n + 3)
    points = analysis.lift_points if analysis is not None else None
    theta = analysis.theta if analysis is not None else None
    confidence = analysis.confidence if analysis is not None else None
    findable = (
        smallest_findable_points(n, discordance=discordance, power=_POWER, e_threshold=e_needed, theta=theta)
        if n
        else None
    )
    needed = (
        pairs_needed(points, discordance=discordance, power=_POWER, e_threshold=e_needed, theta=theta)
        if points is not None and points > 0.0
        else None
    )
    words = [_first_sentence(reason, confidence, confidence_needed, harmed)]
    if points is not None:
        measured = f"{points:+.1f}".replace("-", "−")
        words.append(f"Measured over {n} pairs: {measured} points.")
        if findable is not None:
            words.append(
                f"With {n} pairs the smallest true difference found in 80% of runs is {findable:.1f} points."
            )
        if needed is not None:
            words.append(f"A true difference of {points:.1f} points needs about {needed} pairs.")
    return WhyNoWinner(findable, needed, " ".join(words))


def _first_sentence(reason: Reason, confidence: float | None, needed: float, harmed: tuple[str, ...]) -> str:
    if confidence is None:
        return "Stopped before the confirmation started, so nothing is known about the finalist."
    reached = f"Confidence reached {confidence:.2f}; {needed:.2f} was needed."
    if reason == "futility":
        return f"Stopped early: the variant was unlikely to win any more. {reached}"
    if reason == "guardrail":
        return f"The variant completes more tasks but lowers {' and '.join(harmed) or 'a second metric'}."
    if reason == "stopped":
        return f"Stopped by request. {reached}"
    return f"The budget was used up. {reached}"
