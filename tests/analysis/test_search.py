from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.errors import FrameError
from promptlift.frames import variants_table
from support.searched_service import SearchedService

OPTIMIZATION = {"id": "o1", "promptId": "p1", "status": "completed"}


def table(rows=None, **optimization):
    rows = SearchedService().variants if rows is None else rows
    made, _, about = variants_table(
        [{"id": "o1", "optimization": OPTIMIZATION | optimization, "variants": rows}]
    )
    made.attrs["promptlift"] = {"table": "variants", **about}
    return made


def test_a_rejected_candidate_is_never_the_best():
    rows = [row for row in SearchedService().variants if row["id"] in ("v0", "v6")]
    rows[1]["search"]["state"] = "rejected"
    found = analysis.search(table(rows))
    assert found["best_low"].tolist() == [0.0]
    assert finding(found) == "None of 1 candidate is clearly ahead of the original in the search"


def test_variants_without_a_search_give_an_empty_table_with_the_same_columns():
    rows = [{"id": "v0", "isOriginal": True}, {"id": "v1", "name": "a", "lift": 3.0}]
    found, whole = analysis.search(table(rows)), analysis.search(table())
    assert found.empty
    assert list(found.columns) == list(whole.columns)
    assert finding(found) == "This optimization has no search"


def test_several_searches_are_refused():
    both = pd.concat([table(), table().assign(optimization_id="o2")])
    with pytest.raises(ValueError, match="Choose one"):
        analysis.search(both)
    with pytest.raises(FrameError, match="generation"):
        analysis.search(pd.DataFrame({"variant_id": ["v1"], "name": ["a"]}))
