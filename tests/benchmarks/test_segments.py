"""How often segments are found that are there, and named that are not: the figures of measured.md."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from promptlift import analysis
from support.segmented import segmented

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(7200)]


def test_at_most_one_table_in_twenty_names_a_segment_that_is_not_there():
    rng, tables = np.random.default_rng(11), 2000
    alarms = sum(
        analysis.segments(segmented(rng, rate=0.825))["verdict"].ne("unclear").any() for _ in range(tables)
    )
    print(f"{alarms} of {tables} tables without effects name a segment")
    assert alarms <= binom.ppf(0.999, tables, 0.05)


def test_a_segment_of_300_with_15_points_less_is_found_in_nine_of_ten_tables():
    rng, tables = np.random.default_rng(13), 300
    found = 0
    for _ in range(tables):
        table = analysis.segments(segmented(rng, planted="metadata.returning"))
        yes = table[(table["column"] == "metadata.returning") & (table["segment"] == "yes")]
        found += yes["verdict"].tolist() == ["lower"]
    print(f"{found} of {tables} planted segments are found")
    assert found >= binom.ppf(0.001, tables, 0.9)
