"""Other table engines give what pandas gives."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from promptlift import analysis
from promptlift.errors import FrameError
from support.synthetic_tables import conversations


def as_polars(table):
    return pl.from_pandas(table)


def as_lazy_polars(table):
    return as_polars(table).lazy()


def as_arrow(table):
    return pa.Table.from_pandas(table, preserve_index=False)


def as_arrow_backed_pandas(table):
    return as_arrow(table).to_pandas(types_mapper=pd.ArrowDtype)


RUNS = {
    "completion": lambda t, by: analysis.completion(t, by=by),
    "trend": lambda t, by: analysis.completion_trend(t, by=by, freq="D"),
    "trend in Berlin": lambda t, by: analysis.completion_trend(t, by=by, tz="Europe/Berlin", freq="W"),
    "trend in Kolkata": lambda t, by: analysis.completion_trend(t, by=by, tz="Asia/Kolkata", freq="h"),
    "sentiment": lambda t, by: analysis.sentiment_distribution(t, by=by),
    "sentiment trend": lambda t, by: analysis.sentiment_trend(t, by=by, freq="W", tz="Asia/Kolkata"),
    "issue changes": lambda t, by: (
        analysis.issue_changes(t, at="2026-02-01") if by is None else analysis.topic_changes(t, window="9D")
    ),
    "issues": lambda t, by: analysis.issues(t, by=by),
    "topics": lambda t, by: analysis.topics(t, by=by),
    "measures": lambda t, by: analysis.measures(t, by=by, of=["sentiment_score"]),
    "overview": lambda t, by: analysis.prompt_overview(t, by=by),
}


@pytest.mark.parametrize("engine", [as_polars, as_lazy_polars, as_arrow, as_arrow_backed_pandas])
@pytest.mark.parametrize("by", [None, "llm_model"])
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("n", [400, 0])
def test_every_engine_gives_what_pandas_gives(engine, by, run, n):
    table = conversations(n)
    table.loc[table.index[:5], "created_at"] = pd.NaT
    expected = RUNS[run](table, by)
    result = RUNS[run](engine(table), by)
    pd.testing.assert_frame_equal(result, expected, check_dtype=False, check_categorical=False)
    numbers = expected.columns.difference([by] if by else [])
    assert result[numbers].dtypes.astype(str).to_dict() == expected[numbers].dtypes.astype(str).to_dict()


def test_missing_columns_are_named_for_every_engine():
    with pytest.raises(FrameError, match="no column task_completed"):
        analysis.completion(pa.table({"status": ["completed"]}))


def test_the_analyser_column_is_read_in_every_engine():
    table = conversations(20, analyser=None).assign(analyser=["lexicon"] * 10 + ["llm:x"] * 10)
    for engine in (as_polars, as_lazy_polars, as_arrow):
        assert analysis.completion(engine(table)).attrs["promptlift"]["analyser"] == "mixed"
