"""A judge that learns from labels: right where features tell, refusing where they do not, blind to its own labels."""

from __future__ import annotations

import json

import numpy as np
import pytest

from promptlift.stats.intervals import wilson
from promptlift.stats.learned import CANNOT, FittedJudge, accuracy_of, auc_of, learn, unlike


def conversations(n, seed=0, *, signal=1.5):
    """Conversations that fail more often the more tools fail in them, and say one word more often."""
    rng = np.random.default_rng(seed)
    errors, noise = rng.normal(size=n), rng.normal(size=(n, 5))
    done = rng.random(n) < 1.0 / (1.0 + np.exp(signal * errors))
    rows = [
        {"tool errors": error, **{f"noise {at}": value for at, value in enumerate(others)}}
        | ({"last user word:thanks": 0.5} if rng.random() < 0.3 + 0.4 * bool(signal) * yes else {})
        | {f"tool:{rng.integers(8)}": 1.0}
        for error, others, yes in zip(errors, noise, done, strict=True)
    ]
    return rows, done


def test_a_judge_learns_what_features_tell_and_judges_others():
    rows, done = conversations(600)
    found = learn(rows, range(100), done[:100])
    assert not found.refusal
    assert found.auc.low > 0.6
    assert found.accuracy.low < found.accuracy.value < found.accuracy.high
    others = found.judge.chances(rows[100:])
    assert ((others >= 0.5) == done[100:]).mean() > found.majority + 0.1
    assert others.mean() == pytest.approx(done[:100].mean(), abs=0.1)
    assert ((others - done[100:]) ** 2).mean() < 0.85 * done[100:].var()
    again = FittedJudge.from_dict(json.loads(json.dumps(found.judge.to_dict())))
    assert again.chances(rows[100:]) == pytest.approx(others, abs=1e-4)
    now, then = found.half_width(others), found.half_width(others, more=20)
    assert then < now < 1.96 * np.sqrt(done[:100].mean() * (1 - done[:100].mean()) / 100)


@pytest.mark.slow
def test_permuted_labels_teach_nothing_and_nothing_is_judged():
    aucs, refused = [], 0
    for seed in range(30):
        rows, done = conversations(200, seed)
        mixed = np.random.default_rng(seed).permutation(done)
        found = learn(rows, range(60), mixed[:60], np.arange(60) // 3, seed=seed)
        aucs.append(auc_of(mixed[60:] * 1.0, found.judge.chances(rows[60:]), np.arange(140)).value)
        refused += found.refusal == CANNOT
    assert np.mean(aucs) == pytest.approx(0.5, abs=0.03)
    assert refused >= 28


def test_a_label_has_no_say_in_its_own_verdict_nor_in_that_of_its_group():
    rows, done = conversations(80)
    groups = np.arange(40) // 2
    found = learn(rows, range(40), done[:40], groups)
    turned = done[:40].copy()
    turned[:2] = ~turned[:2]
    # Folds keep outcomes even, so that of a group with one label of each both say the same.
    if done[0] != done[1]:
        other = learn(rows, range(40), turned, groups)
        assert other.chances[:2] == pytest.approx(found.chances[:2])


def test_the_auc_is_that_of_pairs_in_order_and_groups_widen_its_interval():
    y, scores = np.array([1, 1, 0, 0, 1.0]), np.array([0.9, 0.4, 0.4, 0.1, 0.8])
    alone = auc_of(y, scores, np.arange(5))
    assert alone.value == pytest.approx(5.5 / 6)
    perfect = auc_of(np.repeat([1.0, 0.0], [24, 12]), np.arange(36)[::-1], np.arange(36))
    assert perfect == pytest.approx((1.0, float(wilson(12, 12)[0]), 1.0))
    rng = np.random.default_rng(1)
    y = np.repeat(rng.integers(0, 2, 40), 3) * 1.0
    scores = y + np.repeat(rng.normal(size=40), 3)
    whole, clustered = auc_of(y, scores, np.arange(120)), auc_of(y, scores, np.arange(120) // 3)
    assert clustered.high - clustered.low > 1.3 * (whole.high - whole.low)
    # Wilson's interval of accuracy; conversations of one group that are alike count once.
    right = np.repeat([True, False], [30, 10])
    ends = [float(end) for end in wilson(30, 40)]
    assert accuracy_of(right, np.arange(40)) == pytest.approx((0.75, *ends))
    assert accuracy_of(right, np.arange(40) // 4)[1] == pytest.approx(float(wilson(7.5, 10)[0]), abs=0.03)
    with pytest.raises(ValueError, match="Label conversations of both outcomes"):
        auc_of(np.ones(5), scores[:5], np.arange(5))


def test_conversations_unlike_the_labelled_ones_are_noticed():
    rows, _ = conversations(300)
    alike = unlike(rows[:60], rows[60:])
    assert not alike.drifted
    moved = [row | {"tool errors": row["tool errors"] + 3} for row in rows[60:]]
    found = unlike(rows[:60], moved)
    assert found.drifted
    assert found.differing[0][0] == "tool errors"


def test_labels_of_one_group_are_refused():
    rows, done = conversations(40)
    with pytest.raises(ValueError, match="label conversations of others"):
        learn(rows, range(20), done[:20], np.zeros(20))
