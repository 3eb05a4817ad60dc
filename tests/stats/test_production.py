"""Production metrics: the tests are SciPy's, the levels add up, harm is found early and late, quiet texts are left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import fisher_exact, mannwhitneyu

from promptlift.stats.production import (
    METRICS,
    look_level,
    look_number,
    metric_changes,
    windows,
)
from support.production import draw


def test_looks_have_no_end_and_each_comes_once():
    numbers = [look_number(n) for n in range(5_000)]
    assert numbers[29:31] == [0, 1]
    assert sorted(set(numbers)) == list(range(max(numbers) + 1))
    assert numbers == sorted(numbers)
    assert [n for n in range(1, 300) if numbers[n] > numbers[n - 1]] == [30, 60, 120, 180, 240]


@pytest.mark.slow
def test_all_looks_together_spend_the_level_and_no_more():
    spent = math.fsum(look_level(look) for look in range(1, 200_000))
    assert 0.036 < spent < 0.04
    assert look_level(1, alpha=0.4) == pytest.approx(10 * look_level(1))
    levels = [look_level(look) for look in range(1, 1_000)]
    assert levels == sorted(levels, reverse=True)
    with pytest.raises(ValueError, match="at least 1"):
        look_level(0)


@pytest.mark.parametrize("n", [1, 29, 30, 31, 60, 61, 999, 2_000])
def test_the_windows_share_the_level_of_a_look(n):
    found = windows(n)
    assert found[0][0] == n
    assert math.fsum(share for _, share in found) == pytest.approx(1.0)
    assert len({size for size, _ in found}) == len(found)
    assert all(30 <= size < n for size, _ in found[1:])


def by_name(changes):
    return {change.metric: change for change in changes}


@pytest.mark.parametrize("seed", range(4))
def test_the_p_values_are_those_of_scipy(seed):
    random = np.random.default_rng(seed)
    before, after = (
        draw(random, 150, completion=0.7),
        draw(random, 30, completion=0.5, slower=1.6, longer=1.5),
    )
    after["sentiment"] -= 0.2
    after["quality"] -= 10.0
    raw = []
    for metric in METRICS:
        old, new = before[metric.name], after[metric.name]
        sign = 1 if metric.higher_is_worse else -1
        if metric.is_share:
            bad = [int(side.sum()) if sign > 0 else int((1 - side).sum()) for side in (new, old)]
            p = fisher_exact(
                [[bad[0], len(new) - bad[0]], [bad[1], len(old) - bad[1]]], alternative="greater"
            ).pvalue
        else:
            p = mannwhitneyu(sign * new, sign * old, alternative="greater").pvalue
        moved = sign * (new.mean() - old.mean())
        raw.append(p if moved > metric.margin * (old.mean() if metric.relative else 1.0) else 1.0)
    order = np.argsort(raw)
    adjusted = np.empty(6)
    adjusted[order] = np.minimum(np.maximum.accumulate(np.array(raw)[order] * np.arange(6, 0, -1)), 1.0)
    found = metric_changes(before, after, look=1)
    assert [change.metric for change in found] == [metric.name for metric in METRICS]
    assert [change.p for change in found] == pytest.approx(list(adjusted), rel=1e-9)
    assert {change.level for change in found} == {look_level(1)}


@pytest.mark.parametrize(
    ("metric", "slight", "grave"),
    [("sentiment", -0.09, -0.2), ("quality", -2.9, -9.0), ("response_time", 0.3, 1.0), ("length", 0.9, 3.0)],
)
def test_a_slight_change_is_no_harm_however_sure_it_is(metric, slight, grave):
    random = np.random.default_rng(5)
    spread = {"sentiment": 0.1, "quality": 5.0, "response_time": 0.1, "length": 0.2}[metric]
    level = {"sentiment": 0.2, "quality": 70.0, "response_time": 2.0, "length": 6.0}[metric]
    before, after = draw(random, 2_000), draw(random, 2_000)
    before[metric] = level + spread * random.standard_normal(2_000)
    for change, harmful in ((slight, False), (grave, True)):
        after[metric] = level + change + spread * random.standard_normal(2_000)
        found = by_name(metric_changes(before, after, look=30))
        assert found[metric].is_harm is harmful
        assert not any(one.is_harm for name, one in found.items() if name != metric)


def test_a_text_that_loses_what_it_had_gained_is_not_worse_than_the_one_before():
    random = np.random.default_rng(8)
    before = draw(random, 500, completion=0.5)
    after = {
        name: np.concatenate([good, worse])
        for (name, good), worse in zip(
            draw(random, 600, completion=0.9).items(),
            draw(random, 240, completion=0.65).values(),
            strict=True,
        )
    }
    assert not by_name(metric_changes(before, after, look=15))["task_completion"].is_harm


def test_values_that_are_missing_are_left_out():
    random = np.random.default_rng(9)
    before, after = draw(random, 200), draw(random, 60)
    before["quality"][:] = np.nan
    after["response_time"][::2] = np.nan
    found = by_name(metric_changes(before, after, look=2))
    assert (found["quality"].before, found["quality"].n_before, found["quality"].p) == (None, 0, 1.0)
    assert (
        found["response_time"].n_after
        == np.isfinite(after["response_time"][-found["response_time"].window :]).sum()
    )
