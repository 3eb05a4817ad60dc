"""Whole experiments against a known truth: how often the winner is one, and whether its numbers hold.

A logit model with persona and scenario effects says who completes; `promptlift.stats.Experiment` decides.
The usual ways to decide stand beside it in `service_truth`.

    python tests/benchmarks/truth/experiment_truth.py --runs 2000
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.stats import binomtest

from promptlift.stats import Experiment, wilson
from promptlift.stats.budget import VERIFICATION_PASSES
from promptlift.stats.passes import Outcome
from promptlift.stats.shrinkage import VERIFIED_WEIGHT

PERSONA_SD, SCENARIO_SD = 0.8, 1.2
BASE_LOW, BASE_HIGH, RATE_MAX = 0.55, 0.90, 0.97
PERSONAS, SCENARIOS = 5, 3
CELLS = PERSONAS * SCENARIOS
CONFIDENCE_MODES = ("low", "moderate", "high")
MODES = ("exploratory", "validation")
# The most passes that any of these experiments may take, those of the verification included.
PASSES = 20 + VERIFICATION_PASSES
FALSE_WINNERS = {"low": 0.20, "moderate": 0.10, "high": 0.05}
# Share of runs, moderate and three variants, that find the better one.
POWER = {
    ("validation", 0.10): 0.72,
    ("validation", 0.20): 0.95,
    ("exploratory", 0.10): 0.38,
    ("exploratory", 0.20): 0.88,
}
# Points by which the expected lift of winners may be off at each size of effect.
EXPECTED_WITHIN = 2.5
# At +10 points an optimization costs at most so much of a Holm test with the same maximum.
CHEAP = 0.8
# A bound is broken when what was seen would come up this rarely if it held.
SURE = 1e-3
# "drawn": the effect of every variant is drawn from a normal distribution with this deviation.
DRAWN_SD = 0.10
# "leaning": no variant is better on average, but each suits some personas and not others. Not identical
# prompts, so the guarantee does not cover it; said beside the rest.
LEANING_SD = 0.7
TRUTHS: tuple[float | str, ...] = (0.0, 0.05, 0.10, 0.20, "drawn", "leaning")


@lru_cache(maxsize=2)
def _rates_of_shifts(leaning_sd: float) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    shifts = np.linspace(-7, 9, 4001)
    sd = math.hypot(PERSONA_SD, SCENARIO_SD, leaning_sd)
    rates = (weights / weights.sum()) @ (1 / (1 + np.exp(-(shifts[None, :] + sd * nodes[:, None]))))
    return rates, shifts


def shift_for(rate, leaning_sd=0.0):
    """Intercept of the logit model whose mean completion over personas and scenarios is ``rate``."""
    rates, shifts = _rates_of_shifts(leaning_sd)
    return np.interp(rate, rates, shifts)


@dataclass
class World:
    """The rates of one optimization, and every conversation that could be held in it."""

    rates: np.ndarray
    completed: np.ndarray  # passes x cells x arms


def draw_world(rng: np.random.Generator, variants: int, truth: float | str, passes: int) -> World:
    """Draw base rate, effects, personas, scenarios and outcomes. One variant at random has the effect."""
    effects = np.zeros(variants + 1)
    if truth == "leaning":
        base = rng.uniform(BASE_LOW, BASE_HIGH)
    elif truth == "drawn":
        effects[1:] = rng.normal(0, DRAWN_SD, variants)
        base = rng.uniform(BASE_LOW, BASE_HIGH)
    else:
        effects[rng.integers(1, variants + 1)] = truth
        base = rng.uniform(BASE_LOW, min(BASE_HIGH, RATE_MAX - truth))
    rates = np.clip(base + effects, 0.03, RATE_MAX)
    cells = np.repeat(rng.normal(0, PERSONA_SD, (passes, PERSONAS)), SCENARIOS, axis=1)
    cells += rng.normal(0, SCENARIO_SD, (passes, CELLS))
    logits = cells[:, :, None] + shift_for(rates)
    if truth == "leaning":
        leaning = rng.normal(0, LEANING_SD, (passes, PERSONAS, variants))
        logits[:, :, 1:] += np.repeat(leaning, SCENARIOS, axis=1)
        logits[:, :, 1:] += shift_for(rates[1:], LEANING_SD) - shift_for(rates[1:])
    chance = 1 / (1 + np.exp(-logits))
    return World(rates, rng.random(chance.shape) < chance)


@dataclass
class Row:
    """What many optimizations of one kind gave."""

    truth: float | str
    variants: int
    mode: str
    confidence_mode: str
    runs: int = 0
    winners: int = 0
    false_winners: int = 0
    right_winners: int = 0
    conversations: list = field(default_factory=list)  # until the decision
    verification: list = field(default_factory=list)  # conversations after it
    lift_error: list = field(default_factory=list)  # of winners, points
    verified_error: list = field(default_factory=list)  # of winners, points
    expected_error: list = field(default_factory=list)  # of winners, points
    confidence: list = field(default_factory=list)  # of winners
    covered: int = 0
    relative_covered: int = 0
    verified_covered: int = 0  # of winners
    budget: int = 0

    def take(self, world: World, run: Experiment) -> None:
        """Count one finished optimization."""
        verdict = run.verdict()
        analysis = verdict.analysis
        true_points = 100 * (world.rates[verdict.finalist] - world.rates[0])
        true_lift = 100 * (world.rates[verdict.finalist] / world.rates[0] - 1)
        self.runs += 1
        verified = verdict.verification
        self.verification.append(2 * verified.n if verified is not None else 0)
        self.conversations.append(verdict.progress.conversations_done - self.verification[-1])
        self.covered += analysis.lift_points_low <= true_points <= analysis.lift_points_high
        # Where the interval of the ratio is not bounded it excludes nothing.
        self.relative_covered += (
            analysis.lift_low is None or analysis.lift_low <= true_lift <= analysis.lift_high
        )
        self.budget = verdict.progress.conversations_max - 2 * CELLS * run.verification_passes
        if verdict.winner is not None:
            better = true_points > 0
            self.winners += 1
            self.false_winners += not better
            self.right_winners += better and world.rates[verdict.winner] == world.rates[1:].max()
            self.lift_error.append(analysis.lift_points - true_points)
            self.verified_error.append(verified.lift_points - true_points)
            self.verified_covered += verified.lift_points_low <= true_points <= verified.lift_points_high
            self.expected_error.append(analysis.lift_points_expected - true_points)
            self.confidence.append(analysis.confidence)


def play(run: Experiment, world: World) -> None:
    """Let an experiment ask for conversations until it has decided."""
    while (step := run.next_pass()) is not None:
        table = world.completed[step.number - 1][:, step.arms].tolist()
        run.record(
            Outcome(cell.number, arm, done)
            for cell, row in zip(step.cells, table, strict=True)
            for arm, done in zip(step.arms, row, strict=True)
        )


def simulate(
    truth: float | str,
    variants: int,
    mode: str,
    *,
    runs: int,
    seed: int = 0,
    confidence_modes: tuple[str, ...] = CONFIDENCE_MODES,
) -> list[Row]:
    """Many optimizations of one kind, one row for each confidence mode, all on the same worlds."""
    rng = np.random.default_rng((seed, variants, zlib.crc32(f"{truth} {mode}".encode())))
    rows = [Row(truth, variants, mode, confidence_mode) for confidence_mode in confidence_modes]
    for number in range(runs):
        world = draw_world(rng, variants, truth, PASSES)
        for row in rows:
            run = Experiment(variants, mode, row.confidence_mode, PERSONAS, SCENARIOS, seed=number)
            play(run, world)
            row.take(world, run)
    return rows


def _simulate(job: tuple) -> list[Row]:
    truth, variants, mode, runs, seed = job
    return simulate(truth, variants, mode, runs=runs, seed=seed)


def at_most(count: int, n: int, bound: float) -> bool:
    """Whether a count may come from a share of at most ``bound``."""
    return n == 0 or binomtest(int(count), int(n), bound, alternative="greater").pvalue > SURE


def at_least(count: int, n: int, bound: float) -> bool:
    """Whether a count may come from a share of at least ``bound``."""
    return n == 0 or binomtest(int(count), int(n), bound, alternative="less").pvalue > SURE


def mean(values) -> float:
    """Mean, or NaN without values."""
    return float(np.mean(values)) if len(values) else math.nan


def shown(value: float, digits: int = 1) -> str:
    """A number for a table; a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


@dataclass(frozen=True)
class Bias:
    """How far a mean is off, and the standard error of that."""

    points: float
    error: float


def expected_error_without_chance(row: Row) -> np.ndarray:
    """Error of the expected lift of each winner of a row, less the part that is chance alone.

    The fresh pairs were held after the decision, so their own error is 0 on average, whoever won: what it comes to among
    these winners is a control variate. Without it the mean is the same, and a hundred winners say as much as two thousand.
    """
    return np.array(row.expected_error) - VERIFIED_WEIGHT * np.array(row.verified_error)


def bias_of_expected(row: Row) -> Bias:
    """How far the expected lift of the winners of a row is off on average."""
    errors = expected_error_without_chance(row)
    error = float(errors.std(ddof=1)) / math.sqrt(len(errors)) if len(errors) > 1 else math.inf
    return Bias(mean(errors), error)


def table(rows: list[Row]) -> str:
    """Rows as Markdown."""
    head = (
        "truth | variants | mode | confidence | false winner % | right winner % | conversations | of budget % | verification | "
        "expected, points | coverage 90% | mean confidence of winners | truly better"
    )
    lines = [f"| {head} |", "|" + " --- |" * (head.count("|") + 1)]
    for row in rows:
        truth = row.truth if isinstance(row.truth, str) else f"+{100 * row.truth:.0f}" if row.truth else "A/A"
        better = (row.winners - row.false_winners) / row.winners if row.winners else math.nan
        cells = [
            truth,
            str(row.variants),
            row.mode,
            row.confidence_mode,
            shown(100 * row.false_winners / row.runs),
            shown(100 * row.right_winners / row.runs),
            shown(mean(row.conversations), 0),
            shown(100 * mean(row.conversations) / row.budget, 0),
            shown(mean(row.verification), 0),
            shown(mean(row.expected_error)),
            shown(100 * row.covered / row.runs),
            shown(mean(row.confidence), 3),
            shown(better, 3),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def named(row: Row) -> str:
    """A row in the table of bounds."""
    return f"{row.mode}, {row.confidence_mode}, {row.variants} variants"


def operating_characteristics(rows: list[Row]) -> str:
    """The rows that the design bounds, beside their bounds."""
    lines = [
        "| bound | worst row | value |",
        "| --- | --- | --- |",
    ]
    for confidence_mode, bound in FALSE_WINNERS.items():
        mine = [row for row in rows if row.truth == 0.0 and row.confidence_mode == confidence_mode]
        if not mine:
            continue
        worst = max(mine, key=lambda row: row.false_winners / row.runs)
        low, high = wilson(worst.false_winners, worst.runs)
        lines.append(
            f"| false winners, {confidence_mode}: at most {100 * bound:.0f}% | {worst.mode}, {worst.variants} variants | "
            f"{100 * worst.false_winners / worst.runs:.2f}% ({100 * float(low):.2f} to {100 * float(high):.2f}) |"
        )
    worst = min(rows, key=lambda row: row.covered / row.runs)
    lines.append(
        f"| coverage at least 86% | {worst.truth}, {worst.mode}, {worst.confidence_mode}, {worst.variants} variants | "
        f"{100 * worst.covered / worst.runs:.2f}% |"
    )
    for row in rows:
        bound = POWER.get((row.mode, row.truth))
        if bound is not None and (row.confidence_mode, row.variants) == ("moderate", 3):
            lines.append(
                f"| {row.mode}, moderate, 3 variants, +{100 * row.truth:.0f} found: at least {100 * bound:.0f}% | | "
                f"{100 * row.right_winners / row.runs:.1f}% |"
            )
    for truth in (0.05, 0.10, 0.20):
        mine = [row for row in rows if row.truth == truth and row.expected_error]
        if mine:
            worst = max(mine, key=lambda row: abs(bias_of_expected(row).points))
            bias = bias_of_expected(worst)
            lines.append(
                f"| expected lift of winners within {EXPECTED_WITHIN} points at +{100 * truth:.0f} | {named(worst)} | "
                f"{bias.points:+.2f} (standard error {bias.error:.2f}, {len(worst.expected_error)} winners; with the chance "
                f"of their fresh pairs {mean(worst.expected_error):+.2f}) |"
            )
    mine = [row for row in rows if row.truth == 0.10]
    if mine:
        worst = max(mine, key=lambda row: mean(row.conversations) / row.budget)
        lines.append(
            f"| at +10 at most {CHEAP} of the conversations of a Holm test with the same maximum | {named(worst)} | "
            f"{mean(worst.conversations) / worst.budget:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--truths", nargs="*", default=[str(truth) for truth in TRUTHS])
    options = parser.parse_args()
    jobs = [
        (truth, variants, mode, options.runs, options.seed)
        for mode in MODES
        for truth in TRUTHS
        if str(truth) in options.truths
        for variants in (2, 3, 4, 5)
    ]
    rows: list[Row] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for done, part in enumerate(pool.map(_simulate, jobs), start=1):
            rows += part
            print(f"{done} of {len(jobs)} kinds of optimizations", file=sys.stderr, flush=True)
    print(f"{options.runs} optimizations a row, seed {options.seed}.\n")
    print(operating_characteristics(rows), "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
