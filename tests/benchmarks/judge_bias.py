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

import pandas as pd

from benchmarks.tables import markdown
from promptlift.stats import wilson
from promptlift.stats.differences import score_interval
from support.shared_data import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

SETS = ("airline", "retail", "all")
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
                f"{judge.attenuation:+.2f} ({low:+.2f} to {high:+.2f})",
            ]


def lift_rows(table: pd.DataFrame) -> Iterator[list[str]]:
    """True lifts of real pairs, and what each judge would have made of them."""
    for name, control, variant in PAIRS:
        one, other = true_pairs(name, control, variant)
        rates = float(other.mean()), float(one.mean())
        title = f"{name}: {control} → {variant} ({len(one)} pairs)"
        yield _lift_row(title, "the truth", *rates)
        for judge in judges(table[table["domain"] == name.removeprefix("tau2-")]).values():
            yield _lift_row(title, judge.name, *map(judge.reported, rates))


def _lift_row(title: str, judge: str, p0: float, p1: float) -> list[str]:
    return [title, judge, f"{p0:.1%} → {p1:.1%}", f"{100 * (p1 - p0):+.1f}", f"{100 * (p1 / p0 - 1):+.1f}%"]


def _share(hits: int, n: int) -> str:
    low, high = wilson(hits, n)
    return f"{100 * hits / n:.1f}% ({100 * float(low):.1f} to {100 * float(high):.1f})"


def report() -> Iterator[str]:
    """All tables."""
    head = (
        "domain",
        "judge",
        "n",
        "accuracy, 95%",
        "TPR",
        "TNR",
        "share of a true difference it reports",
    )
    yield "### Four judge prompts against the truth: tasks whose expected result was never corrected\n"
    yield from markdown(head, accuracy_rows(verdicts(unchanged_only=True)))
    yield "\n### The same on all tasks\n"
    yield from markdown(head, accuracy_rows(verdicts()))
    yield "\n### What each judge would have reported of lifts whose truth is known\n"
    head = ("comparison", "judge", "rates", "points", "lift")
    yield from markdown(head, lift_rows(verdicts()))


def main() -> None:
    """Print the tables."""
    print(*report(), sep="\n")


if __name__ == "__main__":
    main()
