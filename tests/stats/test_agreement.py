"""Agreement of people against published examples, and its intervals against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from promptlift.stats.agreement import kappa_interval, krippendorff_alpha

# K. Krippendorff (2011), Computing Krippendorff's alpha-reliability, examples B and C.
TWO = ("a a b b d c c c e d d a", "b a b b b c c c e d d d")
FOUR = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


def counted(people):
    rows = list(zip(*(one.split() for one in people), strict=True))
    kinds = sorted({answer for row in rows for answer in row} - {"."})
    return [[row.count(kind) for kind in kinds] for row in rows]


@pytest.mark.parametrize(
    ("people", "alpha", "units", "values"), [(TWO, 0.692, 12, 24), (FOUR, 0.743, 11, 40)]
)
def test_alpha_is_that_of_the_published_examples(people, alpha, units, values):
    found = krippendorff_alpha(counted(people))
    assert (found.n_units, found.n_values) == (units, values)
    assert round(found.alpha, 3) == alpha
    assert found.low < found.alpha < found.high <= 1.0


def test_the_interval_of_kappa_covers_it_as_often_as_it_says():
    shares = [0.45, 0.1, 0.05, 0.4]
    true = (0.85 - (0.55 * 0.5 + 0.45 * 0.5)) / 0.5
    drawn = np.random.default_rng(1).multinomial(150, shares, 600).reshape(-1, 2, 2)
    ends = [kappa_interval(counts, 0.9)[1:] for counts in drawn]
    assert 0.87 < np.mean([low <= true <= high for low, high in ends]) < 0.93


def test_what_cannot_be_told_is_said():
    everyone_says_yes = krippendorff_alpha([[3, 0]] * 5)
    assert np.isnan(everyone_says_yes.alpha)
    assert everyone_says_yes.n_units == 5
    assert krippendorff_alpha([[1, 0], [0, 1]]).n_units == 0
    assert krippendorff_alpha([[2, 0], [0, 2]]).alpha == 1.0
    with pytest.raises(ValueError, match="table of counts"):
        krippendorff_alpha([[-1, 2]])
