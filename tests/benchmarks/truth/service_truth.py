"""Whole optimizations over HTTP against a stub model with a known truth, as a table beside the usual ways to decide.

    python tests/benchmarks/truth/service_truth.py --runs 20

Starts a service and a stub of its own. Rows are effect × mode × confidence mode; the variants, 2 to 5, take turns inside a row.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

# Run as a program, it finds the tests' shared modules two floors up.
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.tables import markdown
from benchmarks.truth.experiment_truth import CONFIDENCE_MODES, MODES, mean, shown
from benchmarks.truth.model_stub import TruthModel
from benchmarks.truth.optimization_runs import OptimizationRuns, Wanted
from support.optimizing_caller import calling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

EFFECTS = (0.0, 0.05, 0.10, 0.20)
# Numbers of runs in one row; a run's number says its row, so that no two share a world.
RUNS_MAX = 10_000
CALLS_AT_A_TIME = "16"
Z_NEEDED = 1.959964


@dataclass(frozen=True)
class Finished:
    """One optimization and its truth; ``record`` is as `optimization_runs` gives it."""

    record: dict

    @cached_property
    def wanted(self) -> Wanted:
        names = ("run", "effect", "variants", "mode", "confidence_mode")
        return Wanted(**{name: self.record[name] for name in names})

    def is_better(self, arm: int | None) -> bool:
        """Whether an arm is truly better than the original."""
        return arm is not None and arm == self.wanted.case.better_arm

    def is_false(self, arm: int | None) -> bool:
        """Whether an arm is named that is not truly better."""
        return arm is not None and not self.is_better(arm)

    @cached_property
    def deciding_passes(self) -> list[dict]:
        """The passes until the decision."""
        return [one for one in self.record["passes"] if one["stage"] != "verify"]

    @property
    def named(self) -> dict[str, int | None]:
        """The arm that the service names, and those that the usual ways name on the same conversations."""
        passes = self.deciding_passes
        return {
            "service": self.record["winner"],
            "highest mean": highest_mean(passes),
            "z": z_test_with_peeking(passes),
        }

    @property
    def conversations(self) -> int:
        """Conversations until the decision."""
        verified = [one for one in self.record["passes"] if one["stage"] == "verify"]
        return self.record["conversations"] - sum(len(one["arms"]) * len(one["cells"]) for one in verified)

    @property
    def covers_points(self) -> bool:
        """Whether the interval of the finalist's lift has the true one."""
        case, results = self.wanted.case, self.record["results"]
        true_points = 100 * (case.of_arm(self.record["finalist"]).rate - case.of_arm(0).rate)
        return results["liftPointsLow"] <= true_points <= results["liftPointsHigh"]


def highest_mean(passes: list[dict]) -> int | None:
    """The arm with the highest completion rate over all its conversations; ``None`` when that is the original."""
    done, n = _counts(passes)
    means = {arm: done[arm] / n[arm] for arm in sorted(n)}
    return max(means, key=means.__getitem__) or None


def z_test_with_peeking(passes: list[dict]) -> int | None:
    """After every pass a pooled two-sample z-test at 5% (two-sided) of the best variant so far."""
    for end in range(1, len(passes) + 1):
        done, n = _counts(passes[:end])
        best = max((arm for arm in n if arm), key=lambda arm: done[arm] / n[arm])
        pooled = (done[best] + done[0]) / (n[best] + n[0])
        error = math.sqrt(pooled * (1 - pooled) * (1 / n[best] + 1 / n[0]))
        if error and (done[best] / n[best] - done[0] / n[0]) / error > Z_NEEDED:
            return best
    return None


def _counts(passes: list[dict]) -> tuple[dict[int, int], dict[int, int]]:
    done: dict[int, int] = {}
    n: dict[int, int] = {}
    for one in passes:
        for at, arm in enumerate(one["arms"]):
            column = [row[at] for row in one["cells"]]
            done[arm] = done.get(arm, 0) + column.count("1")
            n[arm] = n.get(arm, 0) + len(column) - column.count("-")
    return done, n


def plan(runs: int) -> list[Wanted]:
    """The optimizations to run."""
    kinds = list(product(EFFECTS, MODES, CONFIDENCE_MODES))
    return [
        Wanted(number * RUNS_MAX + at, effect, 2 + at % 4, mode, confidence_mode)
        for at in range(runs)
        for number, (effect, mode, confidence_mode) in enumerate(kinds)
    ]


def table(records: Iterable[dict]) -> Iterator[str]:
    """One row an effect, mode and confidence mode, as Markdown."""
    head = (
        "truth, mode, confidence", "runs", "false winner %", "right winner %", "highest mean false / right %",
        "z with peeking false / right %", "conversations", "coverage of the 90% interval",
    )  # fmt: skip
    rows: dict[str, list[Finished]] = {}
    for record in sorted(records, key=lambda one: one["run"]):
        effect = f"+{100 * record['effect']:.0f}" if record["effect"] else "A/A"
        name = f"{effect}, {record['mode']}, {record['confidence_mode']}"
        rows.setdefault(name, []).append(Finished(record))
    yield from markdown(head, (_row(name, runs) for name, runs in rows.items()))


def _row(name: str, runs: Sequence[Finished]) -> list[str]:
    named = [one.named for one in runs]

    def shares(way: str) -> list[float]:
        both = zip(runs, (one[way] for one in named), strict=True)
        found = [(run.is_false(arm), run.is_better(arm)) for run, arm in both]
        return [100 * mean(column) for column in zip(*found, strict=True)]

    return [
        name,
        str(len(runs)),
        *map(shown, shares("service")),
        *(" / ".join(f"{share:.0f}" for share in shares(way)) for way in ("highest mean", "z")),
        shown(mean([one.conversations for one in runs]), 0),
        f"{100 * mean([one.covers_points for one in runs]):.0f}",
    ]


def main() -> None:
    """Run them, and print the table; fails where the service shows what cannot be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60, help="optimizations a row")
    wanted, records, model = plan(parser.parse_args().runs), [], TruthModel()
    with (
        tempfile.TemporaryDirectory(prefix="promptlift-truth-") as folder,
        calling(model, Path(folder), PROMPTLIFT_LLM_CONCURRENCY=CALLS_AT_A_TIME) as caller,
    ):
        for record in OptimizationRuns(caller).results(wanted):
            records.append(record)
            print(f"{len(records)} of {len(wanted)}", *record["problems"][:1], file=sys.stderr, flush=True)
    print(*table(records), sep="\n")
    assert not model.leaks, f"{model.leaks} requests gave an arm away that must not know it"
    assert not model.not_understood, f"{model.not_understood} requests were not understood"
    wrong = [one for one in records if one["problems"]]
    assert not wrong, (
        f"{len(wrong)} runs show what cannot be, run {wrong[0]['run']}: {wrong[0]['problems'][0]}"
    )


if __name__ == "__main__":
    main()
