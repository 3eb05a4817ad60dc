"""``lift.edits``: the edits of searches as a table, by optimization or by prompt."""

from __future__ import annotations

import pandas as pd
import pytest

import promptlift
from promptlift.errors import ConfigError, NotFound
from support.foreign_service import KEY
from support.reviewed_service import ReviewedService
from support.searched_service import TEXTS, SearchedService

pytestmark = pytest.mark.slow


@pytest.fixture
def searched():
    with SearchedService() as running:
        yield running


@pytest.fixture
def lift(searched):
    with promptlift.connect(searched.base_url, KEY, progress=False) as opened:
        yield opened


def test_one_row_an_edit_with_its_reasons_and_what_became_of_it(lift):
    table = lift.edits("o00001").set_index("edit_id")
    assert list(table.index) == ["edt_e1", "edt_e2", "edt_e5", "edt_e3", "edt_e4"]
    columns = [
        "text",
        "won",
        "lost",
        "tied",
        "variant_id",
        "generation",
        "state",
        "variant_ids",
        "conversation_ids",
    ]
    assert table.loc["edt_e1", columns].tolist() == [
        *(TEXTS["e1"], 9, 2, 13, "v1", 1, "kept"), ["v1", "v3", "v5", "v6"], ["cnv_e1_1", "cnv_e1_2"],
    ]  # fmt: skip
    # Earlier candidates kept what the winner left out again.
    assert table.loc["edt_e2", "state"] == "pruned"
    assert table.loc["edt_e5", ["state", "generation"]].tolist() == ["refused", 1]
    assert list(table.index[table["in_winner"]]) == ["edt_e1", "edt_e3", "edt_e4"]


def test_an_optimization_several_and_a_prompt_are_taken(lift):
    whole = lift.edits("o00001")
    read = lift.optimizations["o00001"]
    for table in (read.edits(), lift.edits(["o00001"]), lift.edits(prompt_id="p1")):
        pd.testing.assert_frame_equal(table, whole)
    for wrong in ({}, {"optimization_id": "o00001", "prompt_id": "p1"}):
        with pytest.raises(ConfigError, match="optimization_id"):
            lift.edits(**wrong)
    with pytest.raises(NotFound):
        lift.edits("o99999")


def test_without_a_search_the_table_is_empty_with_the_same_columns(lift):
    whole = lift.edits("o00001")
    with ReviewedService() as running:
        running.add(1)
        with promptlift.connect(running.base_url, KEY, progress=False) as other:
            empty = other.edits("o00001")
            assert other.variants("o00001")["generation"].isna().all()
    assert empty.empty
    assert empty.attrs["promptlift"]["complete"]
    pd.testing.assert_series_equal(empty.dtypes, whole.dtypes)


def test_texts_and_search_are_sent_as_they_are_given(searched, lift):
    lift.optimize("p1", candidates={"Mine": "You help."}, search="off", wait=False)
    lift.optimize("p1", candidates=["You help.", "You serve."], wait=False)
    lift.optimize("p1", wait=False)
    named, unnamed, plain = searched.asked
    assert (named["candidates"], named["search"]) == ([{"name": "Mine", "content": "You help."}], "off")
    assert unnamed["candidates"] == [{"content": "You help."}, {"content": "You serve."}]
    assert plain == {"promptId": "p1"}
    for wrong in ([None], {"Mine": 3}, [{"prompt": "You help."}]):
        with pytest.raises(ConfigError, match="is no text"):
            lift.optimize("p1", candidates=wrong, wait=False)
