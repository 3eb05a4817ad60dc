"""Every analysis gives in an engine what it gives from pandas, within 1e-9: all of them in DuckDB, shared paths in each."""

from __future__ import annotations

import copy
import io
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.analysis.engines import count_by, open_table
from promptlift.errors import FrameError
from support.engines import ENGINES, LISTS, Engines, Tables, as_kept_by, long_tables
from support.synthetic_tables import conversations, small
from support.synthetic_versions import variants, versions

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)

# Engines keep no order of rows, so "the first that has it" is another one of them.
OF_ORDER = ("example_id",)
SAME_FACTS = {
    "n_judged", "n_titles", "n_undated", "n_tests", "n_before", "n_after", "left_out", "freq", "control", "n_without_variant",
    "kind", "summary", "first_reaches_back", "strata", "n_left_out",
}  # fmt: skip


def rich(n):
    """Return conversations with every kind of column that an analysis reads."""
    return _rich(n).copy()


@cache
def _rich(n):
    rng = np.random.default_rng(5)
    table = conversations(n)
    channel = rng.choice(["web", "app", None], n) if n else []
    table["metadata.channel"] = pd.Series(channel, dtype="str")
    # One to one with the model: its segments are the same conversations, so the same tests.
    table["metadata.vendor"] = table["llm_model"].map({"gpt-4o": "one", "claude": "other"}).astype("str")
    table["metadata.beta"] = pd.array(rng.choice([True, False], n), dtype="boolean")
    table["n_turns"] = pd.array(rng.integers(1, 15, n), dtype="Int64")
    table["cost"] = rng.lognormal(-4, 1, n)
    table["tokens"] = pd.array(np.where(rng.random(n) < 0.1, None, rng.integers(50, 4_000, n)), dtype="Int64")
    # The long tables name only what insights found.
    table["topics"] = table["topics"].where(table["has_insights"].to_numpy(dtype=bool), None)
    table.loc[table.index[: n // 50], ["started_at", "created_at"]] = pd.NaT
    return table


def _variants(t):
    rows = [
        {"optimization_id": "o1", "variant_id": f"v{k}", "name": f"n{k}", "is_original": k == 0, "lift": 5.0 * k, "lift_low": k - 1.0,
         "lift_high": 9.0 + k, "interval_level": 0.9, "n_pairs": 80, "lift_points": 3.0 * k, "confidence": 0.9}
        for k in range(3)
    ]  # fmt: skip
    return t.put(variants(rows))


def _labels(t):
    labels = t.source[["conversation_id", "task_completed", "sentiment"]].head(100).copy()
    labels["task_completed"] = labels["task_completed"].fillna(value=True)
    labels["sentiment"] = labels["sentiment"].astype("str").fillna("neutral")
    return labels


def _items(t):
    """Return conversations of which the first with one prompt is about the same as the first with another."""
    kept = t.source.drop(columns=list(LISTS))
    return t.put(kept.assign(item=kept.groupby("prompt_id").cumcount()))


def _by_score(t, **options):
    return analysis.sentiment_distribution(
        t.put(t.source.drop(columns=list(LISTS)).assign(analyser="lexicon")), **options
    )


CHANGED = {"at": "2026-02-10"}
# Functions that an engine counts for, called in the ways that read differently; the others read whole columns, as variant_lift does.
RUNS = {
    "compare": [
        lambda t: analysis.compare(t.conversations, by="prompt_id"),
        lambda t: analysis.compare(t.conversations, by=["prompt_id", "metadata.beta"], control="a · True"),
        lambda t: analysis.compare(t.conversations, by="metadata.channel", outcome="sentiment_score"),
        lambda t: analysis.compare(t.conversations, by="prompt_id", outcome="sentiment"),
        lambda t: analysis.compare(t.conversations, by="prompt_id", outcome="metadata.channel"),
        lambda t: analysis.compare(_items(t), by="prompt_id", pair="item"),
    ],
    "completion": [
        lambda t: analysis.completion(t.conversations),
        lambda t: analysis.completion(t.conversations, by=["prompt_id", "metadata.channel"]),
        lambda t: analysis.completion(t.conversations, by=["metadata.beta", "llm_model"]),
    ],
    "completion_trend": [
        lambda t: analysis.completion_trend(t.conversations),
        lambda t: analysis.completion_trend(t.conversations, freq="W", by="metadata.channel", tz="Asia/Kolkata"),
        lambda t: analysis.completion_trend(t.conversations, freq="h", tz="Australia/Adelaide"),
    ],
    "conversations_of": [
        lambda t: _rows(t, analysis.issues(t.conversations, **t.mentions(mentions="issues")), "Long wait", **t.mentions(mentions="issues")),
        lambda t: _rows(t, analysis.completion(t.conversations, by="llm_model"), "claude"),
    ],
    "headroom": [
        lambda t: analysis.headroom(t.conversations, **t.mentions(mentions="issues")),
    ],
    "changes": [
        lambda t: analysis.changes(t.conversations, **CHANGED, **t.mentions(mentions="issues")),
        lambda t: analysis.changes(t.conversations, window="9D", **t.mentions(mentions="issues")),
        lambda t: analysis.changes(t.conversations, of="topics", **CHANGED, **t.mentions(mentions="topics")),
    ],
    "issues": [
        lambda t: analysis.issues(t.conversations, **t.mentions(mentions="issues")),
        lambda t: analysis.issues(t.conversations, by=["prompt_id", "metadata.beta"], **t.mentions(mentions="issues")),
    ],
    "judge_agreement": [lambda t: analysis.judge_agreement(_labels(t), t.conversations)],
    "label_plan": [
        lambda t: analysis.label_plan(t.conversations, n=40),
        lambda t: analysis.label_plan(t.conversations, by="llm_model", n=60, tpr=0.9, tnr=0.8, seed=3),
    ],
    "measures": [
        lambda t: analysis.measures(t.conversations),
        lambda t: analysis.measures(t.conversations, by="metadata.channel"),
    ],
    "prompt_overview": [
        lambda t: analysis.prompt_overview(t.conversations),
        lambda t: analysis.prompt_overview(t.conversations, by="metadata.channel"),
    ],
    "prompt_timeline": [
        lambda t: analysis.prompt_timeline(t.of("a"), versions=t.put(versions(["2026-01-20", "2026-02-01", "2026-02-12"])))
    ],
    "segments": [
        lambda t: analysis.segments(t.conversations, **t.mentions("topics")),
        lambda t: analysis.segments(t.conversations, tz="Asia/Kolkata", by=["hour", "cost", "metadata.channel"]),
        lambda t: analysis.segments(t.conversations, by=["llm_model"], pairs=[("metadata.channel", "n_turns")]),
        lambda t: analysis.segments(t.conversations, outcome="metadata.beta", **t.mentions("topics")),
    ],
    "sentiment_distribution": [
        lambda t: _by_score(t, by="metadata.channel"),
        lambda t: analysis.sentiment_distribution(t.conversations, by="metadata.channel"),
    ],
    "sentiment_trend": [
        lambda t: analysis.sentiment_trend(t.conversations, freq="auto"),
        lambda t: analysis.sentiment_trend(t.conversations, freq="W", by="prompt_id", tz="Asia/Kathmandu"),
    ],
    "topics": [
        lambda t: analysis.topics(t.conversations, **t.mentions(mentions="topics")),
    ],
    "variant_lift": [lambda t: analysis.variant_lift(_variants(t))],
}  # fmt: skip
# SQLite has no quantiles and no lists, and Ibis knows its times to the second.
NOT_IN_SQLITE = {"measures"}
# Every kind of path that analyses share on their way through an engine: the other engines prove these.
SHARED = (
    "changes", "compare", "completion", "completion_trend", "conversations_of", "headroom", "issues", "label_plan",
    "measures", "prompt_overview", "segments", "sentiment_distribution", "sentiment_trend",
)  # fmt: skip
CASES = [("duckdb", name, place) for name, runs in RUNS.items() for place in range(len(runs))] + [
    (engine, name, 0) for name in SHARED for engine in ENGINES if engine != "duckdb"
]


def _rows(t, table, *mark, **more):
    """Return which conversations a number counts."""
    from promptlift.analysis.reading import collect

    found = collect(analysis.conversations_of(table, t.conversations, *mark, **more), ["conversation_id"])
    return found.sort_values("conversation_id", ignore_index=True)


def _as_known_to(engine, name, source):
    """Return the table as an engine knows it, where the engine has what the analysis needs."""
    if engine == "ibis on sqlite":
        if name in NOT_IN_SQLITE:
            pytest.skip(f"SQLite has not what {name} needs")
        if name == "prompt_overview" and len(source) == 1:
            pytest.skip("SQLite raises where a deviation is asked of one number")
    return as_kept_by(engine, source)


def assert_same(result, expected):
    assert list(result.columns) == list(expected.columns)
    kept = [name for name in expected if name not in OF_ORDER]
    pd.testing.assert_frame_equal(
        _plain(result[kept]),
        _plain(expected[kept]),
        check_dtype=False,
        check_categorical=False,
        rtol=0,
        atol=1e-9,
    )
    for name in set(OF_ORDER) & set(expected):
        assert result[name].isna().tolist() == expected[name].isna().tolist()
    facts, wanted = (table.attrs.get("promptlift", {}) for table in (result, expected))
    for name in SAME_FACTS & set(wanted):
        assert facts[name] == wanted[name], name


def _plain(table):
    """Return a table whose texts and missing values are alike, whatever they are stored as."""
    columns = {
        name: column if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
        else column.astype(object).where(column.notna(), None)
        for name, column in table.items()
    }  # fmt: skip
    return pd.DataFrame(columns).astype(
        {n: "float64" for n, c in columns.items() if pd.api.types.is_numeric_dtype(c.dtype)}
    )


@pytest.mark.parametrize(("engine", "name", "place"), CASES)
@pytest.mark.slow
def test_every_analysis_gives_what_pandas_gives(engines, engine, name, place):
    source = _as_known_to(engine, name, rich(600))
    result = RUNS[name][place](Tables(engines, engine, source))
    assert_same(result, _in_pandas(name, place, is_exact=engine != "ibis on sqlite"))


@cache
def _in_pandas(name, place, *, is_exact):
    """Return what an analysis gives from pandas; all engines are compared with the same result."""
    source = as_kept_by("pandas" if is_exact else "ibis on sqlite", rich(600))
    return RUNS[name][place](Tables(Engines(), "pandas", source))


@pytest.mark.parametrize("name", RUNS)
def test_every_table_can_be_kept(name):
    """What a table says of itself is plain data: it goes into a file, to another process and into a copy."""
    made = _in_pandas(name, 0, is_exact=True)
    file = io.BytesIO()
    made.to_parquet(file)
    for again in (pd.read_parquet(file), pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert again.attrs.keys() == made.attrs.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "size"), [("duckdb", "nulls"), ("spark", "nulls"), ("polars", "one"), ("duckdb", "none")]
)
@pytest.mark.parametrize("name", [name for name in SHARED if name not in ("compare", "conversations_of")])
def test_none_one_and_only_nulls(engines, engine, name, size):
    source = rich({"none": 0, "one": 1, "nulls": 5}[size])
    if size == "nulls":
        for column in set(source) - {"conversation_id", "prompt_id", *LISTS}:
            source[column] = source[column].mask(np.ones(len(source), bool))
        for column in LISTS:
            source[column] = pd.Series([None] * len(source), dtype=object)
    run = RUNS[name][0]
    assert_same(run(Tables(engines, engine, source)), run(Tables(engines, "pandas", source)))


@pytest.mark.parametrize(
    ("function", "name"), [("issues", "issues"), ("topics", "topics"), ("headroom", "issues")]
)
def test_lists_in_an_engine_are_refused_with_the_way_out(engines, function, name):
    table = engines.table(conversations(20), "duckdb")
    with pytest.raises(ValueError, match=rf"holds lists.*mentions=snapshot.scan\('{name}'"):
        getattr(analysis, function)(table)
    bare = engines.table(conversations(20).drop(columns=list(LISTS)), "duckdb")
    with pytest.raises(FrameError, match=r"mentions=snapshot.scan"):
        getattr(analysis, function)(bare)


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_a_draw_is_the_same_in_any_order_of_rows_and_refuses_a_conversation_twice(engines, engine):
    source = conversations(300)
    shuffled = Tables(engines, engine, source.sample(frac=1, random_state=1))
    drawn = analysis.label_plan(shuffled.conversations, by="prompt_id", n=50)
    expected = analysis.label_plan(source, by="prompt_id", n=50)
    assert drawn["conversation_id"].tolist() == expected["conversation_id"].tolist()
    judged = source[source["task_completed"].notna() & (source["status"] == "completed")]
    twice = Tables(engines, engine, pd.concat([source, judged.tail(1)]))
    with pytest.raises(ValueError, match="more than once"):
        analysis.label_plan(twice.conversations)


@pytest.mark.parametrize("engine", ["spark", "duckdb"])
def test_ids_of_any_letters_have_one_order(engines, engine):
    source = conversations(300)
    ids = ["abc"[: number % 3] + ("é🎈" if number % 2 else "Ü") + str(number) for number in range(300)]
    source["conversation_id"] = pd.Series(ids, dtype="str")
    drawn = analysis.label_plan(Tables(engines, engine, source).conversations, by="prompt_id", n=60, seed=2)
    assert_same(drawn, analysis.label_plan(source, by="prompt_id", n=60, seed=2))


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_missing_group_to_label_is_one_group_whatever_stands_for_it(engines, engine):
    source = conversations(300).assign(
        weight=lambda table: np.where(table["llm_model"] == "claude", 0.5, np.nan)
    )
    drawn = analysis.label_plan(Tables(engines, engine, source).conversations, by="weight", n=50)
    assert_same(drawn, analysis.label_plan(source, by="weight", n=50))
    assert {one["group"] for one in drawn.attrs["promptlift"]["strata"]} == {0.5, None}


def test_tables_of_two_engines_are_refused(engines):
    source = conversations(20)
    long = long_tables(source)["issues"]
    with pytest.raises(ValueError, match="tables of one engine"):
        analysis.issues(engines.table(source.drop(columns=list(LISTS)), "duckdb"), mentions=long)


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_spellings_of_a_title_in_one_conversation_count_once(engines, engine):
    source = small(conversation_id=["1", "2"], task_completed=[True, False], has_insights=[True, True])
    long = pd.DataFrame(
        {
            "conversation_id": ["1", "1", "2", "9", "2"],
            "title": ["Wait", " Wait\n", "Wait  long", "Wait", None],
            "severity": ["low", "Critical", None, "high", "low"],
        }
    ).astype("str")
    result = analysis.issues(engines.table(source, engine), mentions=engines.table(long, engine))
    assert result[["issue", "n", "total", "n_worst"]].to_numpy().tolist() == [
        ["Wait", 1, 2, 1],
        ["Wait long", 1, 2, 0],
    ]
    assert result["severity"].astype("str").tolist()[0] == "high"
    assert result["example_id"].tolist() == ["1", "2"]


# One engine for each way to make an instant of a time.
CLOCKS = ("polars", "duckdb", "ibis on duckdb", "spark")


# A zone, and the days on which its clock changes: by half an hour, at midnight, over a whole day.
CHANGES = [
    *((engine, "Australia/Lord_Howe", "2026-04-04") for engine in CLOCKS),
    ("duckdb", "America/Santiago", "2026-04-04"),
    ("duckdb", "Pacific/Apia", "2011-12-29"),
]


@pytest.mark.parametrize(("engine", "zone", "day"), CHANGES)
@pytest.mark.slow
def test_periods_are_those_of_the_zone_where_its_clock_changes(engines, engine, zone, day):
    at = pd.date_range(f"{day} 00:00", periods=4 * 24 * 5, freq="15min", tz=zone).tz_convert("UTC")
    # One second before and at each quarter of an hour: the border of a bucket is where a wrong cut shows.
    at = at.append(at - pd.Timedelta(seconds=1)).as_unit("us")
    source = small(
        conversation_id=[f"c{k}" for k in range(len(at))],
        started_at=at,
        task_completed=[k % 3 > 0 for k in range(len(at))],
        issues=[[] for _ in at],
        topics=[[] for _ in at],
    )
    for freq in ("h", "D", "W"):
        runs = [
            analysis.completion_trend(Tables(engines, which, source).conversations, freq=freq, tz=zone)
            for which in (engine, "pandas")
        ]
        pd.testing.assert_frame_equal(*runs)
        local = pd.Series(1, at).tz_convert(zone)
        if freq == "D":
            by_hand = local.groupby(local.index.strftime("%Y-%m-%d")).sum()
            assert runs[0]["n"].tolist() == by_hand.tolist()


@pytest.mark.parametrize("engine", CLOCKS)
def test_times_without_a_zone_and_dates_are_utc_whatever_the_clock_of_the_session(engines, engine):
    def put(table):
        return Tables(engines, engine, table).conversations

    source, times = conversations(200), ["started_at", "created_at"]
    naive = source.assign(**{name: source[name].dt.tz_localize(None) for name in times})
    expected = analysis.completion_trend(source, freq="h", tz="Asia/Kathmandu")
    result = analysis.completion_trend(put(naive), freq="h", tz="Asia/Kathmandu")
    pd.testing.assert_frame_equal(result, expected)
    first = analysis.prompt_overview(source)["first_at"].tolist()
    assert analysis.prompt_overview(put(naive))["first_at"].tolist() == first
    days = source.assign(**{name: source[name].dt.floor("D") for name in times})
    dates = days.assign(**{name: days[name].dt.date for name in times})
    pd.testing.assert_frame_equal(
        analysis.completion_trend(put(dates), freq="D"), analysis.completion_trend(days, freq="D")
    )


@pytest.mark.parametrize(
    "keys", [["c", "d"], ["metadata.x", "n"]], ids=["by codes", "more cells than a million"]
)
def test_rows_of_pandas_are_counted_as_a_group_by_counts_them(keys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "metadata.x": pd.Series(rng.integers(0, 1_200, 5_000))
            .astype("str")
            .where(rng.random(5_000) < 0.9),
            "n": rng.integers(0, 1_200, 5_000),
            "c": pd.Categorical(rng.choice(["x", "y", None], 5_000)),
            "d": pd.array(rng.choice([True, False, None], 5_000), dtype="boolean"),
        }
    )
    found = count_by(open_table(table), keys).groupby(keys, observed=True, dropna=False)["_rows"].agg(list)
    expected = table.groupby(keys, observed=True, dropna=False).size()
    assert found.sort_index().tolist() == [[n] for n in expected.sort_index()]
