"""How right four recorded LLM judges are, and what a biased judge does to the lift that it reports.

``python tests/benchmarks/judge_bias.py`` prints the tables in Markdown. The judges are four prompts of one model on
the same conversations of gpt-4o, judged against what the benchmark found in the database afterwards.

A judge that calls a share TPR of the completed conversations completed, and a share TNR of the others not, reports the
rate ``p TPR + (1 - p)(1 - TNR)``. So it reports a difference of two rates times ``J = TPR + TNR - 1`` (Youden 1950),
as long as it errs on both arms alike.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pandas as pd

from benchmarks.tables import markdown
from promptlift.stats import compare_paired, pairs_needed, wilson
from promptlift.stats.agreement import kappa_interval
from promptlift.stats.differences import score_interval
from promptlift.stats.evidence import e_threshold
from support.shared_data import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SETS = ("airline", "retail", "all")
DRAWS = 2_000
# Comparisons whose truth is known: set, control, variant.
PAIRS = (
    ("tau2-airline", "gpt-4o", "claude-sonnet-4-5"),
    ("tau2-airline", "gpt-4o", "button-opus-4.6"),
    ("tau2-airline", "gpt-4o", "qwen2.5-7b"),
    ("tau2-retail", "gpt-4o", "toolorchestra-gpt-5"),
)


@dataclass(frozen=True)
class Judge:
    """How often a judge was right: counts of (truth, verdict)."""

    name: str
    true_pass: int
    false_pass: int
    false_fail: int
    true_fail: int

    @property
    def n(self) -> int:
        return self.true_pass + self.false_pass + self.false_fail + self.true_fail

    @property
    def completed(self) -> int:
        return self.true_pass + self.false_fail

    @property
    def correct(self) -> int:
        return self.true_pass + self.true_fail

    @property
    def tpr(self) -> float:
        return self.true_pass / self.completed

    @property
    def tnr(self) -> float:
        return self.true_fail / (self.n - self.completed)

    @property
    def attenuation(self) -> float:
        """Share of a true difference that the judge reports: TPR + TNR - 1."""
        return self.tpr + self.tnr - 1.0

    def attenuation_interval(self) -> tuple[float, float]:
        """Miettinen and Nurminen's: it is the difference of the pass rates of completed and other conversations."""
        low, high = score_interval(self.true_pass, self.completed, self.false_pass, self.n - self.completed)
        return float(low), float(high)

    def reported(self, rate: float) -> float:
        """Completion rate that the judge reports where the true one is ``rate``."""
        return rate * self.tpr + (1.0 - rate) * (1.0 - self.tnr)

    def says_completed(self, truth: np.ndarray) -> np.ndarray:
        """Chance that the judge calls each of these conversations completed."""
        return np.where(truth, self.tpr, 1.0 - self.tnr)

    def kappa(self) -> tuple[float, float, float]:
        """Cohen's kappa with its 95 % interval."""
        counts = [[self.true_pass, self.false_fail], [self.false_pass, self.true_fail]]
        return kappa_interval(np.array(counts), 0.95)


def verdicts(*, unchanged_only: bool = False) -> pd.DataFrame:
    """One row a recorded verdict: judge, domain, item, verdict, truth."""
    rows = [
        (r["variant"], r["domain"], r["itemId"], r["verdictPass"], r["truth"])
        for r in load("judge-variants")
        if not (unchanged_only and r["goldChangedLater"])
    ]
    return pd.DataFrame(rows, columns=["judge", "domain", "item", "verdict", "truth"])


def judges(table: pd.DataFrame) -> dict[str, Judge]:
    """The judges of a table of verdicts, in the order of the data."""
    found = {}
    for name, rows in table.groupby("judge", sort=False):
        truth, said = rows["truth"].to_numpy(bool), rows["verdict"].to_numpy(bool)
        counts = (truth & said, ~truth & said, truth & ~said, ~truth & ~said)
        found[str(name)] = Judge(str(name), *(int(one.sum()) for one in counts))
    return found


def true_pairs(name: str, control: str, variant: str) -> tuple[np.ndarray, np.ndarray]:
    """Whether variant and control completed each task that both did."""
    rows = [(r["metadata"]["run"], r["metadata"]["taskId"], r["truth"]["taskCompleted"]) for r in load(name)]
    table = pd.DataFrame(rows, columns=["run", "item", "done"]).set_index(["item", "run"])["done"]
    wide = table.unstack("run")[[variant, control]].dropna()  # noqa: PD010
    return wide[variant].to_numpy(bool), wide[control].to_numpy(bool)


def pair_counts(one: np.ndarray, other: np.ndarray) -> tuple[int, int, int, int]:
    counts = (one & other, one & ~other, ~one & other, ~one & ~other)
    return tuple(int(part.sum()) for part in counts)  # type: ignore[return-value]


def decision(counts: Sequence[int]) -> str:
    """Say what ``analysis.compare`` says of one pair table, at moderate confidence."""
    n11, n10, n01, n00 = counts
    if n01 > n10:
        return {"winner": "worse"}.get(decision((n11, n01, n10, n00)), "no winner")
    result = compare_paired(*counts)
    return "winner" if result.p < 0.05 and result.analysis.e_value >= e_threshold("moderate") else "no winner"


def judged_discordance(judge: Judge, one: np.ndarray, other: np.ndarray) -> float:
    """Share of pairs in which exactly one is called completed, when the judge errs on both independently."""
    said, said_other = judge.says_completed(one), judge.says_completed(other)
    return float((said * (1.0 - said_other) + said_other * (1.0 - said)).mean())


def redraw(
    judge: Judge, one: np.ndarray, other: np.ndarray, draws: int = DRAWS
) -> list[tuple[int, int, int, int]]:
    """Pair tables that the judge would have seen: real pairs, its errors drawn anew."""
    rng = np.random.default_rng(20260101)
    said = rng.random((draws, len(one))) < judge.says_completed(one)
    said_other = rng.random((draws, len(other))) < judge.says_completed(other)
    return [pair_counts(a, b) for a, b in zip(said, said_other, strict=True)]


def accuracy_rows(table: pd.DataFrame) -> Iterator[list[str]]:
    for domain in SETS:
        part = table if domain == "all" else table[table["domain"] == domain]
        for judge in judges(part).values():
            low, high = judge.attenuation_interval()
            yield [
                domain,
                judge.name,
                str(judge.n),
                _share(judge.correct, judge.n),
                _share(judge.true_pass, judge.completed),
                _share(judge.true_fail, judge.n - judge.completed),
                "{:.2f} ({:.2f} to {:.2f})".format(*judge.kappa()),
                f"{judge.attenuation:+.2f} ({low:+.2f} to {high:+.2f})",
            ]


def lift_rows(table: pd.DataFrame, draws: int = DRAWS) -> Iterator[list[str]]:
    """True lifts of real pairs, and what each judge would have made of them."""
    for name, control, variant in PAIRS:
        one, other = true_pairs(name, control, variant)
        counts = pair_counts(one, other)
        p1, p0 = float(one.mean()), float(other.mean())
        n10, n01 = counts[1:3]
        title = f"{name}: {control} → {variant} ({len(one)} pairs)"
        yield _lift_row(title, "the truth", p1, p0, (n10 + n01) / len(one), decision(counts))
        domain = name.removeprefix("tau2-")
        for judge in judges(table[table["domain"] == domain]).values():
            found = [decision(seen) for seen in redraw(judge, one, other, draws)]
            shares = [
                f"{label} {found.count(label) / len(found):.0%}"
                for label in ("winner", "worse")
                if found.count(label) / len(found) >= 0.005
            ]
            said = ", ".join(shares) or "never decided"
            discordance = judged_discordance(judge, one, other)
            yield _lift_row(title, judge.name, judge.reported(p1), judge.reported(p0), discordance, said)


def _lift_row(title: str, judge: str, p1: float, p0: float, discordance: float, said: str) -> list[str]:
    points = 100.0 * (p1 - p0)
    needed = pairs_needed(abs(points), discordance=discordance, e_threshold=e_threshold("moderate"))
    return [
        title,
        judge,
        f"{p0:.1%} → {p1:.1%}",
        f"{points:+.1f}",
        f"{100 * (p1 / p0 - 1):+.1f} %",
        "over 200,000" if needed is None else f"{needed:,}",
        said,
    ]


def _share(hits: int, n: int) -> str:
    low, high = wilson(hits, n)
    return f"{100 * hits / n:.1f}% ({100 * float(low):.1f} to {100 * float(high):.1f})"


def report(draws: int = DRAWS) -> Iterator[str]:
    """All tables."""
    head = (
        "domain",
        "judge",
        "n",
        "accuracy, 95 %",
        "TPR",
        "TNR",
        "kappa",
        "share of a true difference it reports",
    )
    yield "### Four judge prompts against the truth: tasks whose expected result was never corrected\n"
    yield from markdown(head, accuracy_rows(verdicts(unchanged_only=True)))
    yield "\n### The same on all tasks\n"
    yield from markdown(head, accuracy_rows(verdicts()))
    yield "\n### What each judge would have reported of lifts whose truth is known\n"
    yield f"Rates by formula; verdicts from {draws:,} draws of the judge's errors on the real pairs.\n"
    head = ("comparison", "judge", "rates", "points", "lift", "pairs needed for 80 %", "verdict")
    yield from markdown(head, lift_rows(verdicts(), draws))


def main() -> None:
    """Print the tables."""
    print(*report(), sep="\n")


if __name__ == "__main__":
    main()
