"""Whether corrected numbers are right whatever the judge, and what labels are worth: draws with a known truth.

``python tests/benchmarks/labels_truth.py`` prints the tables in Markdown (2,000 draws a row, some minutes).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from promptlift.stats.differences import newcombe
from promptlift.stats.intervals import mean_interval, wilson
from promptlift.stats.judge_errors import pooled_difference, rogan_gladen
from promptlift.stats.label_planning import completed_by_verdict, neyman_allocation
from promptlift.stats.labels import (
    LabelledGroup,
    corrected_difference,
    corrected_paired_difference,
    corrected_rate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DRAWS = 2_000
JUDGED = 2_000
SIZES = (30, 50, 100, 200, 400)


class Judge(NamedTuple):
    tpr: float
    tnr: float

    def reported(self, rate: float) -> float:
        return rate * self.tpr + (1.0 - rate) * (1.0 - self.tnr)

    def says(self, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.random(truth.shape) < np.where(truth, self.tpr, 1.0 - self.tnr)

    def __str__(self) -> str:
        return f"{self.tpr:g}/{self.tnr:g}"


GOOD, FAIR, WEAK, USELESS = Judge(0.95, 0.95), Judge(0.85, 0.8), Judge(0.6, 0.6), Judge(0.5, 0.5)
LENIENT, STRICT = Judge(0.95, 0.6), Judge(0.6, 0.95)
JUDGES = (GOOD, FAIR, LENIENT, STRICT, WEAK)
# Of the control, of the variant: alike, and different by arm.
TWO_JUDGES = (
    (GOOD, GOOD),
    (FAIR, FAIR),
    (WEAK, WEAK),
    (STRICT, LENIENT),
    (LENIENT, STRICT),
    (FAIR, Judge(0.95, 0.65)),
)


@dataclass(frozen=True)
class Row:
    """What many draws of one world say, rates as fractions."""

    draws: int
    answered: float
    cover95: float
    cover90: float
    bias: float
    raw_bias: float
    higher: float
    raw_higher: float
    width: float


def group(rate: float, judge: Judge, n: int, judged: int, rng: np.random.Generator) -> LabelledGroup:
    """Draw a group of ``judged`` conversations, ``n`` of which are labelled."""
    truth = rng.random(judged) < rate
    said = judge.says(truth, rng)
    return LabelledGroup(truth[:n], said[:n], said[n:])


def by_verdict(rate: float, judge: Judge, n: int, judged: int, rng: np.random.Generator) -> LabelledGroup:
    """Draw a group whose labels are stratified by the verdict, as ``analysis.label_plan`` with a stated judge."""
    truth = rng.random(judged) < rate
    said = judge.says(truth, rng)
    sizes = np.array([(~said).sum(), said.sum()])
    shares = completed_by_verdict(float(said.mean()), tpr=0.8, tnr=0.8)[::-1]
    spreads = [np.sqrt(share * (1.0 - share)) for share in shares]
    drawn = neyman_allocation(sizes, spreads, n=n, least=10)
    labelled = np.zeros(judged, bool)
    for verdict in (0, 1):
        places = np.flatnonzero(said == bool(verdict))
        labelled[rng.permutation(places)[: drawn[verdict]]] = True
    chances = (drawn / sizes)[said[labelled].astype(int)]
    return LabelledGroup(truth[labelled], said[labelled], said[~labelled], chances=chances)


def paired(
    rates: tuple[float, float], judges: tuple[Judge, Judge], n: int, judged: int, rng: np.random.Generator
) -> tuple[LabelledGroup, LabelledGroup]:
    """Draw pairs whose arms go together: half of the items are as hard for one as for the other."""
    luck, own = rng.random(judged), rng.random((2, judged))
    shared = rng.random(judged) < 0.5
    truths = [np.where(shared, luck, own[arm]) < rates[arm] for arm in (0, 1)]
    said = [judge.says(truth, rng) for judge, truth in zip(judges, truths, strict=True)]
    control, variant = (
        LabelledGroup(truth[:n], verdict[:n], verdict[n:])
        for truth, verdict in zip(truths, said, strict=True)
    )
    return variant, control


def one_rate(
    rate: float,
    judge: Judge,
    n: int,
    *,
    draws: int,
    seed: int = 1,
    draw: Callable[..., LabelledGroup] = group,
    correct: Callable[..., object] = corrected_rate,
    judged: int = JUDGED,
) -> Row:
    """Correct one rate in many draws. The width is against Wilson's interval from as many labels alone."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        sample = draw(rate, judge, n, judged, rng)
        wide, narrow = correct(sample, level=0.95), correct(sample, level=0.90)
        if wide.rate is None:
            continue
        low, high = wilson(round(rate * n), n)
        raw = sample.judged_rate
        found.append(
            (
                wide.low <= rate <= wide.high,
                narrow.low <= rate <= narrow.high,
                wide.rate - rate,
                raw - rate,
                (wide.high - wide.low) / (high - low),
            )
        )
    if not found:
        return Row(draws, 0.0, *[np.nan] * 7)
    cover95, cover90, bias, raw, width = np.mean(found, axis=0)
    return Row(draws, len(found) / draws, cover95, cover90, bias, raw, np.nan, np.nan, width)


def two_rates(
    rates: tuple[float, float],
    judges: tuple[Judge, Judge],
    n: int,
    *,
    draws: int,
    seed: int = 1,
    kind: str = "independent",
    judged: int = JUDGED,
) -> Row:
    """Correct a difference in many draws; ``rates`` and ``judges`` are of the control and of the variant."""
    rng = np.random.default_rng(seed)
    truth = rates[1] - rates[0]
    found = []
    for _ in range(draws):
        if kind == "paired":
            variant, control = paired(rates, judges, n, judged, rng)
            correct = corrected_paired_difference
        else:
            draw = by_verdict if kind == "by verdict" else group
            control, variant = (
                draw(rate, judge, n, judged, rng) for rate, judge in zip(rates, judges, strict=True)
            )
            correct = (
                (lambda *pair, level: pooled_difference(*pair, level=level)[0])
                if kind == "pooled"
                else corrected_difference
            )
        wide, narrow = correct(variant, control, level=0.95), correct(variant, control, level=0.90)
        if wide.difference is None:
            continue
        counts = [(int(one.judged.sum() + one.unlabelled.sum()), judged) for one in (variant, control)]
        raw_low, _ = newcombe(*counts[0], *counts[1])
        low, high = newcombe(round(rates[1] * n), n, round(rates[0] * n), n)
        if kind == "paired":
            within = variant.labels - control.labels
            low, high = mean_interval(0.0, float(within.std(ddof=1)), n)
        found.append(
            (
                wide.low <= truth <= wide.high,
                narrow.low <= truth <= narrow.high,
                wide.difference - truth,
                wide.judged_difference - truth,
                wide.low > 0.0,
                float(raw_low) > 0.0,
                (wide.high - wide.low) / float(high - low),
            )
        )
    if not found:
        return Row(draws, 0.0, *[np.nan] * 7)
    return Row(draws, len(found) / draws, *np.mean(found, axis=0))


# True rates that leave at most some draws of so few labels without ten of either outcome.
RATES = {30: (0.5,), 50: (0.4, 0.6), 100: (0.3, 0.5, 0.8), 200: (0.2, 0.8), 400: (0.2, 0.8)}


def rate_rows(draws: int, **how: object) -> Iterator[tuple[str, Row]]:
    for n in SIZES:
        for rate in RATES[n]:
            for judge in JUDGES:
                yield f"{n} | {rate:g} | {judge}", one_rate(rate, judge, n, draws=draws, **how)


def difference_rows(draws: int, kind: str) -> Iterator[tuple[str, Row]]:
    for n in SIZES:
        few = n < 100
        for rates in ((0.5, 0.5), (0.45, 0.6) if few else (0.5, 0.7)):
            for judges in TWO_JUDGES:
                if kind == "pooled" and judges[0] != judges[1]:
                    continue
                name = f"{n} | {rates[0]:g} → {rates[1]:g} | {judges[0]} → {judges[1]}"
                yield name, two_rates(rates, judges, n, draws=draws, kind=kind)


def worth_rows(draws: int) -> Iterator[tuple[str, Row]]:
    for n in (50, 100, 400):
        for judge in (Judge(0.95, 0.95), Judge(0.9, 0.9), FAIR, WEAK, USELESS):
            yield f"{n} | 0.6 | {judge}", one_rate(0.6, judge, n, draws=draws, judged=4_000 + n)


def lines(rows: Iterator[tuple[str, Row]], head: Sequence[str]) -> Iterator[str]:
    columns = (
        *head, "answered", "covers 95 %", "covers 90 %", "bias, points", "raw bias, points", "clearly higher",
        "raw says clearly higher", "width to labels alone",
    )  # fmt: skip
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for name, row in rows:
        rates = [f"{value:.1%}" for value in (row.answered, row.cover95, row.cover90)]
        biases = [f"{100 * value:+.1f}" for value in (row.bias, row.raw_bias)]
        verdicts = ["" if np.isnan(value) else f"{value:.1%}" for value in (row.higher, row.raw_higher)]
        yield f"| {name} | {' | '.join([*rates, *biases, *verdicts, f'{row.width:.2f}'])} |"


def sections(draws: int) -> dict[str, tuple[str, Iterator[tuple[str, Row]], Sequence[str]]]:
    """Return the title, the rows and the first columns of each table."""
    one = ("labels", "true rate", "judge TPR/TNR")
    two = ("labels of each arm", "true rates", "judge of control → variant")
    return {
        "rate": ("One rate, labels drawn with equal chances", rate_rows(draws), one),
        "rate-by-verdict": (
            "One rate, labels drawn by verdict (Neyman)",
            rate_rows(draws, draw=by_verdict),
            one,
        ),
        "rogan-gladen": ("One rate, Rogan-Gladen", rate_rows(draws, correct=rogan_gladen), one),
        "worth": ("What labels and a judge of 4,000 conversations are worth", worth_rows(draws), one),
        **{
            kind.replace(" ", "-"): (f"Difference of two arms: {kind}", difference_rows(draws, kind), two)
            for kind in ("independent", "by verdict", "paired", "pooled")
        },
    }


def report(draws: int = DRAWS, names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of all tables, or of those that are named."""
    yield f"{draws:,} draws a row, {JUDGED:,} judged conversations of each group."
    tables = sections(draws)
    for name in names or tables:
        title, rows, head = tables[name]
        yield f"\n### {title}\n"
        yield from lines(rows, head)


def main() -> None:
    """Print the tables; the arguments are the number of draws and the names of `sections`, by default all."""
    for line in report(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS, sys.argv[2:]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
