"""Whether labels find the sign of a true difference behind four recorded judges, beside the judge and labels alone.

``python tests/benchmarks/labels_on_real_judges.py`` prints the table. A side is 1,000 conversations drawn from the real ones,
80 of which are labelled. *Recorded*: gpt-4o on airline and on retail, each conversation with its truth and the verdict that
the judge gave. *Agents*: the true outcomes of two agents on the same tasks, with the judge's recorded rates of error.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks import judge_bias
from benchmarks.tables import markdown
from promptlift.stats.labels import LabelledGroup, corrected_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]

SIDE = 1_000
LABELS = 80
RECORDED = "recorded: airline → retail, gpt-4o"


@dataclass(frozen=True)
class Found:
    """Shares of the draws whose sign is right."""

    comparison: str
    judge: str
    points: float
    raw_points: float
    raw: float
    labels_only: float
    corrected: float
    covered: float


def rows(draws: int) -> Iterator[Found]:
    """Every comparison with every judge."""
    table = judge_bias.verdicts()
    truth = table.drop_duplicates("item").groupby("domain")["truth"].mean()
    for judge, mine in table.groupby("judge", sort=False):
        sides = [recorded(part) for _, part in sorted(mine.groupby("domain"))]
        yield _found(RECORDED, str(judge), truth["retail"] - truth["airline"], (sides[0], sides[1]), draws)
    for name, control, variant in judge_bias.PAIRS:
        one, other = judge_bias.true_pairs(name, control, variant)
        domain = table[table["domain"] == name.removeprefix("tau2-")]
        for judge, errors in judge_bias.judges(domain).items():
            sides = [with_errors(truth, errors) for truth in (other, one)]
            yield _found(
                f"{name}: {control} → {variant}",
                judge,
                float(one.mean() - other.mean()),
                (sides[0], sides[1]),
                draws,
            )


def recorded(part: object) -> Draw:
    """Draw conversations with the verdicts that they had."""
    truth, said = part["truth"].to_numpy(bool), part["verdict"].to_numpy(bool)

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        places = rng.integers(len(truth), size=SIDE)
        return truth[places], said[places]

    return draw


def with_errors(truth: np.ndarray, judge: judge_bias.Judge) -> Draw:
    """Draw conversations, and the judge's errors on them."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        drawn = truth[rng.integers(len(truth), size=SIDE)]
        return drawn, rng.random(SIDE) < judge.says_completed(drawn)

    return draw


def _found(comparison: str, judge: str, truth: float, sides: tuple[Draw, Draw], draws: int) -> Found:
    rng = np.random.default_rng(20261122)
    said = []
    for _ in range(draws):
        control, variant = (draw(rng) for draw in sides)
        one, other = (
            LabelledGroup(done[:LABELS], verdict[:LABELS], verdict[LABELS:])
            for done, verdict in (variant, control)
        )
        found = corrected_difference(one, other)
        if found.difference is None:
            continue
        alone = float(one.labels.mean() - other.labels.mean())
        said.append((found.judged_difference, alone, found.difference, found.low <= truth <= found.high))
    table = np.array(said, np.float64)
    signs = (np.sign(table[:, :3]) == np.sign(truth)).mean(axis=0)
    raw = float(table[:, 0].mean())
    return Found(comparison, judge, 100 * truth, 100 * raw, *map(float, signs), float(table[:, 3].mean()))


def report(draws: int) -> Iterator[str]:
    """The table in Markdown."""
    head = (
        "comparison", "judge", "true points", "judge's points", "sign right: judge", "labels alone", "corrected",
        "95 % covers",
    )  # fmt: skip
    cells = (
        [one.comparison, one.judge, f"{one.points:+.1f}", f"{one.raw_points:+.1f}"]
        + [f"{share:.1%}" for share in (one.raw, one.labels_only, one.corrected, one.covered)]
        for one in rows(draws)
    )
    yield from markdown(head, cells)


if __name__ == "__main__":
    print(*report(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000), sep="\n")
