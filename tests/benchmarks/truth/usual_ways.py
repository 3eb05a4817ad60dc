"""Decide on an optimization's own conversations as others do: highest mean, z-test with peeking."""

from __future__ import annotations

import math

Z_NEEDED = 1.959964


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
