"""Decide on an optimization's own conversations as others do: highest mean, z-test with peeking, fixed size with Holm."""

from __future__ import annotations

import math

import known_truth
import numpy as np
from experiment_truth import CELLS, PERSONAS, SCENARIOS, fixed_size_with_holm

Z_NEEDED = 1.959964


def highest_mean(passes: list[dict]) -> int | None:
    """The arm with the highest completion rate over all its conversations; ``None`` when that is the original."""
    done, n = _counts(passes)
    means = {arm: done[arm] / n[arm] for arm in sorted(n)}
    return max(means, key=means.__getitem__) or None


def z_test_with_peeking(passes: list[dict]) -> int | None:
    """After every pass a pooled two-sample z-test at 5 % (two-sided) of the best variant so far."""
    for end in range(1, len(passes) + 1):
        done, n = _counts(passes[:end])
        best = max((arm for arm in n if arm), key=lambda arm: done[arm] / n[arm])
        pooled = (done[best] + done[0]) / (n[best] + n[0])
        error = math.sqrt(pooled * (1 - pooled) * (1 / n[best] + 1 / n[0]))
        if error and (done[best] / n[best] - done[0] / n[0]) / error > Z_NEEDED:
            return best
    return None


def fixed_size(case: known_truth.CaseFile, conversations: float) -> int | None:
    """All variants on as many cells as so many conversations pay for; exact McNemar at 5 %, Holm.

    In the same world: the outcomes are those that the stub would have given, with newly drawn personas.
    """
    passes = max(int(conversations // (CELLS * (case.variants + 1))), 1)
    arms = [case.of_arm(arm) for arm in range(case.variants + 1)]
    completed = [
        [[known_truth.completes(arm, cell, f"new-{cell // SCENARIOS}") for arm in arms] for cell in cells]
        for cells in np.arange(passes * CELLS).reshape(passes, PERSONAS * SCENARIOS).tolist()
    ]
    return fixed_size_with_holm(np.array(completed))


def _counts(passes: list[dict]) -> tuple[dict[int, int], dict[int, int]]:
    done: dict[int, int] = {}
    n: dict[int, int] = {}
    for one in passes:
        for at, arm in enumerate(one["arms"]):
            column = [row[at] for row in one["cells"]]
            done[arm] = done.get(arm, 0) + column.count("1")
            n[arm] = n.get(arm, 0) + len(column) - column.count("-")
    return done, n
