"""Corrected rates and differences: values worked by hand, refusals, and draws with a known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from benchmarks import labels_truth as truth
from promptlift.stats import labels_needed
from promptlift.stats.judge_errors import equal_error_test, pooled_difference, rogan_gladen
from promptlift.stats.label_planning import completed_by_verdict, neyman_allocation
from promptlift.stats.labels import (
    LabelledGroup,
    corrected_difference,
    corrected_paired_difference,
    corrected_rate,
    quantile_of,
)
from support.cases import slow_except


def group(n11, n10, n01, n00, ones, zeros, **how):
    """Labelled conversations by (person, judge), and unlabelled ones by the judge."""
    labels = [1] * (n11 + n10) + [0] * (n01 + n00)
    judged = [1] * n11 + [0] * n10 + [1] * n01 + [0] * n00
    return LabelledGroup(labels, judged, [1] * ones + [0] * zeros, **how)


# 50 labels: 27 completed and called so, 3 completed and not called so, 6 called so wrongly, 14 rightly not.
AT_RANDOM = "Draw at random; do not look for them."
WORKED = group(27, 3, 6, 14, 700, 300)


def test_a_rate_is_corrected_as_worked_by_hand():
    found = corrected_rate(WORKED)
    covariance = (27 / 50 - 0.6 * 0.66) * 50 / 49
    variance_y, variance_f = 0.6 * 0.4 * 50 / 49, 0.66 * 0.34 * 50 / 49
    tuning = covariance / ((1 + 50 / 1000) * variance_f)
    variance = (variance_y - 2 * tuning * covariance + tuning**2 * variance_f) / 50
    variance += tuning**2 * 0.7 * 0.3 * 1000 / 999 / 1000
    assert found.tuning == pytest.approx(tuning) == pytest.approx(0.611154, abs=1e-6)
    # The same as the mean of both verdicts' labels, each with its share of all conversations.
    assert found.rate == pytest.approx(0.6 + tuning * (0.7 - 0.66))
    assert found.rate == pytest.approx(733 / 1050 * 27 / 33 + 317 / 1050 * 3 / 17)
    assert found.se == pytest.approx(math.sqrt(variance)) == pytest.approx(0.055632, abs=1e-6)
    assert found.n_effective == pytest.approx(variance_y / variance)
    assert found.worth == "50 labels and 1,000 judged conversations are as good as 79 labels."
    # One Jeffreys interval a verdict, put together with what the verdicts' shares leave to chance (MOVER).
    called, others = beta(27.5, 6.5), beta(3.5, 14.5)
    of_judge = 1.959964**2 * (27 / 33 - 3 / 17) ** 2 * 733 * 317 / 1050**3
    lower = (733 / 1050 * (27 / 33 - called.ppf(0.025))) ** 2 + (
        317 / 1050 * (3 / 17 - others.ppf(0.025))
    ) ** 2
    upper = (733 / 1050 * (called.ppf(0.975) - 27 / 33)) ** 2 + (
        317 / 1050 * (others.ppf(0.975) - 3 / 17)
    ) ** 2
    assert found.rate - found.low == pytest.approx(math.sqrt(lower + of_judge), rel=1e-6)
    assert found.high - found.rate == pytest.approx(math.sqrt(upper + of_judge), rel=1e-6)


def test_a_judge_that_is_left_out_leaves_the_jeffreys_interval_of_the_labels():
    found = corrected_rate(group(15, 15, 12, 8, 500, 500))  # errs more often than not
    assert (found.rate, found.tuning) == (0.6, 0.0)
    assert [found.low, found.high] == pytest.approx(beta(30.5, 20.5).ppf([0.025, 0.975]))


def test_below_thirty_labels_the_interval_is_students():
    few = corrected_rate(group(11, 1, 2, 10, 100, 100))
    assert few.n_labels == 24
    assert quantile_of(24, 0.95) == pytest.approx(2.068658, abs=1e-6)
    assert quantile_of(30, 0.95) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (group(0, 0, 0, 0, 5, 5), "No labels: at least 20 are needed."),
        (group(12, 0, 0, 4, 5, 5), f"Too few labels (16): 4 more are needed. {AT_RANDOM}"),
        (group(19, 0, 0, 0, 5, 5), f"Too few labels (19): 1 more is needed. {AT_RANDOM}"),
    ],
)
def test_too_few_labels_are_refused_in_words(sample, words):
    found = corrected_rate(sample)
    assert (found.rate, found.low, found.high, found.refusal) == (None, None, None, words)
    both = corrected_difference(WORKED, sample)
    assert both.difference is None
    assert both.refusal == words.replace("labels", "labels of the control", 1)


def test_labels_are_answered_whatever_they_say():
    """Else those that are answered would be a selection, of which no interval holds what it promises."""
    for ones in range(21):
        found = corrected_rate(group(ones, 0, 0, 20 - ones, 500, 500))
        assert found.refusal == ""
        assert found.low < found.high
    agreed = corrected_rate(group(20, 0, 0, 0, 900, 100))
    assert (agreed.rate, agreed.high, agreed.n_effective) == (1.0, 1.0, 20.0)
    assert agreed.low == pytest.approx(beta(20.5, 0.5).ppf(0.025))
    assert agreed.worth == "20 labels and 1,000 judged conversations are as good as 20 labels."


def test_a_judges_errors_need_labels_of_either_outcome():
    words = "Too few labels{} to count the judge's errors: 16 completed and 4 not completed, and at least 10 of either are needed."
    few = group(16, 0, 0, 4, 5, 5)
    found = rogan_gladen(few)
    assert (found.rate, found.tpr, found.refusal) == (None, None, words.format(""))
    assert equal_error_test(WORKED, few).refusal == words.format(" of the control")
    assert pooled_difference(few, group(1, 0, 0, 1, 5, 5))[0].refusal.startswith(
        "Too few labels of both together"
    )


def test_two_arms_have_their_own_rectifier_and_their_variances_are_added():
    other = group(20, 6, 2, 22, 400, 600)
    found = corrected_difference(WORKED, other)
    one, two = corrected_rate(WORKED), corrected_rate(other)
    assert found.difference == pytest.approx(one.rate - two.rate)
    assert found.se == pytest.approx(math.hypot(one.se, two.se))
    assert found.judged_difference == pytest.approx(733 / 1050 - 422 / 1050)
    assert found.difference - found.low == pytest.approx(math.hypot(one.rate - one.low, two.high - two.rate))
    assert found.high - found.difference == pytest.approx(math.hypot(one.high - one.rate, two.rate - two.low))


def test_pairs_are_corrected_by_their_differences():
    rng = np.random.default_rng(3)
    variant, control = truth.paired((0.5, 0.7), (truth.FAIR, truth.LENIENT), 80, 900, rng)
    found = corrected_paired_difference(variant, control)
    y, f, rest = (one - other for one, other in zip(parts(variant), parts(control), strict=True))
    tuning = np.cov(y, f)[0, 1] / ((1 + 80 / 820) * f.var(ddof=1))
    assert found.difference == pytest.approx(tuning * rest.mean() + (y - tuning * f).mean())
    assert found.se**2 == pytest.approx(
        (y - tuning * f).var(ddof=1) / 80 + tuning**2 * rest.var(ddof=1) / 820
    )
    with pytest.raises(ValueError, match="as many labels"):
        corrected_paired_difference(variant, WORKED)


def parts(one):
    return one.labels, one.judged, one.unlabelled


def test_equal_chances_say_nothing_and_unequal_ones_weight():
    alike = group(27, 3, 6, 14, 700, 300, chances=[0.05] * 50)
    assert corrected_rate(alike) == corrected_rate(WORKED)
    # Half of what the judge calls completed was left out of the draw by design: 33 of 733, 17 of 317.
    chances = [33 / 733] * 27 + [17 / 317] * 3 + [33 / 733] * 6 + [17 / 317] * 14
    found = corrected_rate(group(27, 3, 6, 14, 700, 300, chances=chances))
    by_hand = (27 / 33 * 733 + 3 / 17 * 317) / 1050
    assert found.rate == pytest.approx(by_hand)
    stratified = (733 / 1050) ** 2 * (27 / 33 * 6 / 33) / 33 + (317 / 1050) ** 2 * (3 / 17 * 14 / 17) / 17
    of_judge = (27 / 33 - 3 / 17) ** 2 * (733 * 317 / 1050**2) / 1050
    assert found.se**2 == pytest.approx(stratified + of_judge, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.5], [1], [1]), "labels must be true and false"),
        (([1, 0], [1], [1]), "2 labels and 1 verdicts"),
        (([1], [2.0], [1]), "judged must be"),
        (([1], [1], [np.nan]), "unlabelled must be"),
    ],
)
def test_what_cannot_be_read_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        LabelledGroup(*arguments)
    for chances in ([0.0], [0.5, 0.5], [1.5]):
        with pytest.raises(ValueError, match="chances must be"):
            LabelledGroup([1], [1], [1], chances=chances)


@given(st.lists(st.integers(5, 40), min_size=4, max_size=4), st.integers(0, 300), st.integers(0, 300))
def test_an_interval_holds_its_rate_and_is_never_much_wider_than_labels_alone(counts, ones, zeros):
    found = corrected_rate(group(*counts, ones, zeros))
    assert 0.0 <= found.low <= found.rate <= found.high <= 1.0
    n, completed = sum(counts), counts[0] + counts[1]
    alone = math.sqrt(completed / n * (1 - completed / n) / (n - 1))
    assert found.se <= alone * 1.05


# Errors of the judge


def test_rogan_gladen_as_worked_by_hand():
    found = rogan_gladen(WORKED)
    assert (found.tpr, found.tnr) == (0.9, 0.7)
    assert found.rate == pytest.approx((733 / 1050 + 0.7 - 1) / 0.6) == pytest.approx(0.663492, abs=1e-6)
    assert found.low < found.rate < found.high


def test_errors_that_differ_by_arm_are_found_and_alike_ones_are_not():
    strict, lenient = group(60, 40, 5, 95, 500, 500), group(95, 5, 40, 60, 500, 500)
    found = equal_error_test(lenient, strict)
    assert (found.tpr_difference, found.tnr_difference) == (pytest.approx(0.35), pytest.approx(-0.35))
    assert found.tpr_low > 0.2
    assert found.tnr_high < -0.2
    assert found.p < 1e-6
    assert equal_error_test(strict, strict).p == 1.0


# Planning


def test_labels_needed_inverts_the_variance():
    assert labels_needed(0.05) == 385
    needed = labels_needed(0.05, rate=0.6, tpr=0.9, tnr=0.85, judged=4000)
    assert needed == 171
    rng = np.random.default_rng(5)
    widths = [corrected_rate(truth.group(0.6, truth.Judge(0.9, 0.85), needed, 4000, rng)) for _ in range(200)]
    assert np.mean([1.959964 * one.se for one in widths]) == pytest.approx(0.05, rel=0.03)


def test_labels_needed_says_when_there_are_too_few_conversations():
    assert labels_needed(0.05, judged=300) is None
    assert labels_needed(0.3) == 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"half_width": 5}, "half_width must be a fraction"),
        ({"half_width": 0.1, "tpr": 0.9}, "tpr and tnr together"),
        ({"half_width": 0.1, "tpr": 1.9, "tnr": 0.9}, "tpr must be a fraction"),
        ({"half_width": 0.1, "pilot": group(5, 0, 0, 5, 1, 1)}, "at least 10 of either"),
        ({"half_width": 0.1, "arms": 3}, "arms must be 1"),
    ],
)
def test_labels_needed_refuses_what_it_cannot_use(options, words):
    with pytest.raises(ValueError, match=words):
        labels_needed(options.pop("half_width"), **options)


def test_neyman_gives_more_to_larger_and_less_sure_strata():
    assert neyman_allocation([600, 400], [0.2, 0.4], n=70).tolist() == [30, 40]
    assert neyman_allocation([5, 400], [0.4, 0.4], n=70, least=5).tolist() == [5, 65]
    assert neyman_allocation([20, 30], [0.4, 0.4], n=100).tolist() == [20, 30]
    assert neyman_allocation([500, 0], [0.0, 0.0], n=10).tolist() == [10, 0]


def test_what_a_verdict_means_follows_from_the_judge():
    yes, no = completed_by_verdict(0.55, tpr=0.9, tnr=0.8)
    assert yes == pytest.approx(0.5 * 0.9 / 0.55)
    assert no == pytest.approx(0.5 * 0.1 / 0.45)
    with pytest.raises(ValueError, match="sum to more than 1"):
        completed_by_verdict(0.5, tpr=0.5, tnr=0.5)


# Draws with a known truth: a few rows of benchmarks/labels_truth.py, with a fixed seed.

DRAWS = 600


@pytest.mark.parametrize("draw", slow_except([truth.group], [truth.group, truth.by_verdict]))
@pytest.mark.parametrize(
    ("rate", "judge", "n"),
    slow_except(
        [(0.5, truth.LENIENT, 50)],
        [(0.5, truth.LENIENT, 50), (0.7, truth.STRICT, 100), (0.6, truth.FAIR, 60)],
    ),
)
def test_a_corrected_rate_is_right_whatever_the_judge(rate, judge, n, draw):
    row = truth.one_rate(rate, judge, n, draws=DRAWS, draw=draw)
    # Two points, and what 600 draws leave to chance.
    assert 0.92 <= row.at95 <= 0.99
    assert 0.86 <= row.at90 <= 0.95
    assert abs(row.bias) < 0.01
    assert judge is truth.FAIR or abs(row.raw_bias) > 0.1


# Corrected rates, and differences of independent groups and of pairs, from as few labels as are answered.
FEW = [(n, rate) for n in (20, 30, 60) for rate in (0.5, 0.8, 0.95)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rate"), FEW)
def test_answers_to_few_labels_cover_at_any_rate(n, rate):
    found = [
        truth.one_rate(rate, judge, n, draws=DRAWS) for judge in (truth.GOOD, truth.LENIENT, truth.STRICT)
    ]
    found += [
        truth.two_rates((rate - 0.1, rate), (truth.FAIR, truth.STRICT), n, draws=DRAWS, kind=kind)
        for kind in ("independent", "paired")
    ]
    for row in found:
        # Of 600 draws 2.7 points are three standard errors.
        assert row.at95 > 0.91
        assert row.at90 > 0.85
