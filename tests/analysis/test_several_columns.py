"""Groups by several columns: the same numbers as by a column that joins them, on every engine."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError
from support.synthetic_tables import conversations

BY = ["prompt", "metadata.channel"]
JOINED = "prompt · metadata.channel"


CALLS = {"completion": analysis.completion, "issues": analysis.issues, "compare": analysis.compare}
CHANNELS = ("app", "web", None)


def table(n=120):
    found = conversations(n, prompts=("Sales", "Support")).rename(columns={"prompt_id": "prompt"})
    found["metadata.channel"] = pd.Series([CHANNELS[place % 3] for place in range(n)], dtype="str")
    return found.assign(seats=pd.array([place % 2 + 1 for place in range(n)], dtype="Int64"))


@pytest.mark.parametrize("call", CALLS)
def test_several_columns_group_as_one_that_joins_them(call):
    whole = table()["prompt"] + " · " + table()["metadata.channel"].fillna("(none)")
    control = {"control": "Sales · app"} if call == "compare" else {}
    found = CALLS[call](table(), by=BY, **control)
    expected = CALLS[call](table().assign(**{JOINED: whole}), by=JOINED, **control)
    pd.testing.assert_frame_equal(found, expected)
    assert found.attrs["promptlift"]["by"] == JOINED
    assert {"Sales · web", "Support · (none)"} <= set(found["variant" if call == "compare" else JOINED])


def test_one_column_in_a_list_is_that_column_and_numbers_are_written():
    one = analysis.completion(table(), by=["prompt"])
    pd.testing.assert_frame_equal(one, analysis.completion(table(), by="prompt"))
    seats = analysis.completion(table(), by=["prompt", "seats"])
    assert list(seats.iloc[:, 0]) == ["Sales · 1", "Sales · 2", "Support · 1", "Support · 2"]


@pytest.mark.parametrize(
    ("by", "error", "said"),
    [
        (["prompt", "channel"], FrameError, "no column channel"),
        ([], ValueError, "list of different ones"),
        (["prompt", "prompt"], ValueError, "list of different ones"),
        (["prompt", 5], ValueError, "list of different ones"),
        (5, ValueError, "list of different ones"),
        (["prompt", "issues"], ValueError, "cannot name a group"),
    ],
)
def test_what_cannot_group_is_refused(by, error, said):
    with pytest.raises(error, match=said):
        analysis.completion(table(), by=by)
