"""Labels behind real, recorded judges: the sign of a true difference is found where the judge has it wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.shared_data import needs_shared

sys.path.insert(0, str(Path(__file__).parent))

import labels_on_real_judges as real

pytestmark = [needs_shared, pytest.mark.benchmark]


@pytest.fixture(scope="module")
def found():
    return list(real.rows(200))


def test_eighty_labels_a_side_find_the_sign_of_a_large_difference(found):
    large = [one for one in found if abs(one.points) >= 15]
    assert len(large) >= 12
    assert min(one.corrected for one in large) >= 0.90
    assert min(one.covered for one in large) >= 0.90


def test_one_recorded_judge_of_four_has_the_sign_wrong_and_its_labels_right(found):
    recorded = [one for one in found if one.comparison == real.RECORDED]
    wrong = [one for one in recorded if one.raw_points < 0 < one.points]
    assert [one.judge for one in wrong] == ["policy_conversation_v1"]
    assert wrong[0].raw < 0.01
    assert wrong[0].corrected >= 0.90


def test_the_corrected_sign_is_right_as_often_as_that_of_labels_alone(found):
    assert all(one.corrected >= one.labels_only - 0.03 for one in found)
