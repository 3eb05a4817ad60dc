"""A table of a snapshot in every engine: exactly the listed files, with the columns of all of them."""

from __future__ import annotations

import sys
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from promptlift import analysis
from promptlift.analysis.reading import collect, names_of
from promptlift.errors import ConfigError, MissingExtra
from promptlift.snapshot.scan import scan
from support.engines import LISTS, Engines, long_tables
from support.synthetic_tables import conversations

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)
SCANNED = ("duckdb", "polars", pytest.param("spark", marks=pytest.mark.slow))
PROMPTS = ("support/eu=1", "007", "sales")


@pytest.fixture(scope="module")
def engines():
    made = Engines()
    yield made
    made.close()


@pytest.fixture(scope="module")
def source():
    table = conversations(900, prompts=PROMPTS, undated=0)
    table["started_at"] = table["started_at"].fillna(table["created_at"])
    return table


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory, source):
    """A snapshot's files, one of them not listed."""
    root = tmp_path_factory.mktemp("it's a snapshot")
    files = []
    tables = {"conversations": source.drop(columns=list(LISTS))} | long_tables(source)
    about = source.set_index("conversation_id")
    for name, table in tables.items():
        keys = table["conversation_id"]
        place = pd.DataFrame(
            {
                "prompt_id": keys.map(about["prompt_id"]),
                "month": keys.map(about["started_at"]).dt.strftime("%Y-%m"),
            }
        )
        for number, ((prompt, month), rows) in enumerate(
            table.groupby([place["prompt_id"], place["month"]], observed=True)
        ):
            part = (
                rows.assign(**{"metadata.plan": "pro"}) if number == 1 and name == "conversations" else rows
            )
            if number == 2 and name == "conversations":
                part = rows.assign(**{"metadata.plan": 7})
            files.append(write(root, f"{name}/prompt_id={quote(prompt, safe='-_.')}/month={month}", part))
    write(
        root,
        "conversations/prompt_id=sales/month=2026-01",
        source.drop(columns=list(LISTS)).head(50),
        name="part-9-old.parquet",
    )
    return root, files


def write(root, folder, table, *, name="part-1-0a1b2c3d.parquet"):
    (root / folder).mkdir(parents=True, exist_ok=True)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    columns = {
        one: arrow[one].cast(pa.string())
        if pa.types.is_dictionary(arrow[one].type) or pa.types.is_large_string(arrow[one].type)
        else arrow[one]
        for one in arrow.column_names
    }
    pq.write_table(pa.table(columns), root / folder / name)
    return f"{folder}/{name}"


def scanned(engines, engine, root, files, table="conversations", **options):
    connection = {"duckdb": lambda: engines.duckdb, "spark": lambda: engines.spark}.get(
        engine, lambda: None
    )()
    return scan(root, files, table, engine=engine, connection=connection, **options)


@pytest.mark.parametrize("engine", SCANNED)
def test_exactly_the_listed_files_are_read(engines, engine, snapshot, source):
    table = scanned(engines, engine, *snapshot)
    assert {"prompt_id", "month", "metadata.plan"} <= set(names_of(table))
    rows = collect(
        table, ["conversation_id", "prompt_id", "month", "task_completed", "metadata.plan"]
    ).sort_values("conversation_id")
    expected = source.sort_values("conversation_id")
    assert rows["conversation_id"].tolist() == expected["conversation_id"].tolist()
    assert rows["prompt_id"].tolist() == expected["prompt_id"].tolist()
    assert rows["month"].tolist() == expected["started_at"].dt.strftime("%Y-%m").tolist()
    assert set(rows["metadata.plan"].dropna()) == {"pro", "7"}


@pytest.mark.parametrize("engine", SCANNED)
@pytest.mark.slow
def test_analyses_of_a_scan_are_those_of_the_table(engines, engine, snapshot, source):
    table, issues, topics = (
        scanned(engines, engine, *snapshot, name) for name in ("conversations", "issues", "topics")
    )
    for result, expected in (
        (analysis.completion_trend(table, by="prompt_id", tz="Europe/Berlin"), analysis.completion_trend(source, by="prompt_id", tz="Europe/Berlin")),
        (analysis.issues(table, mentions=issues, by="prompt_id"), analysis.issues(source, by="prompt_id")),
        (analysis.topics(table, mentions=topics), analysis.topics(source)),
    ):  # fmt: skip
        kept = [name for name in expected if name != "example_id"]
        pd.testing.assert_frame_equal(
            result[kept], expected[kept], check_dtype=False, check_categorical=False
        )


@pytest.mark.slow
def test_a_mention_whose_conversation_is_elsewhere_is_not_lost(engines, snapshot, source):
    """Partitions are joined one by one only where each holds the conversations of its mentions."""
    root, files = snapshot
    issues = scanned(engines, "duckdb", root, files, "issues")
    moved = engines.duckdb.sql("SELECT * REPLACE ('2026-02' AS month) FROM issues")
    table = scanned(engines, "duckdb", root, files)
    pd.testing.assert_frame_equal(
        analysis.issues(table, mentions=moved), analysis.issues(table, mentions=issues)
    )


@pytest.mark.parametrize("engine", SCANNED)
@pytest.mark.parametrize("table", ["conversations", "issues", "topics"])
def test_a_table_without_files_is_an_empty_one(engines, engine, table, tmp_path):
    found = {name: scanned(engines, engine, tmp_path, [], name) for name in ("conversations", table)}
    assert len(collect(found[table], ["conversation_id"])) == 0
    if table == "conversations":
        assert analysis.completion(found[table])["n"].tolist() == [0]
    else:
        assert getattr(analysis, table)(found["conversations"], mentions=found[table]).empty


def put_into(store, root, files):
    """Copy the files of a snapshot into a bucket of their own."""
    fsspec = pytest.importorskip("fsspec", reason="the extra s3 is not installed")
    address = f"{store.new_bucket()}/january"
    bucket = fsspec.filesystem("s3", **store.storage_options)
    for path in files:
        bucket.pipe_file(f"{address}/{path}", (root / path).read_bytes())
    return address


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_tables_in_an_object_store_are_joined_like_those_of_a_folder(
    engines, engine, snapshot, source, object_store
):
    root, files = snapshot
    address = put_into(object_store, root, files)
    options = {"storage_options": object_store.storage_options}
    table, issues = (
        scanned(engines, engine, address, files, name, **options) for name in ("conversations", "issues")
    )
    result = analysis.issues(table, mentions=issues, by="prompt_id")
    kept = [name for name in result if name != "example_id"]
    expected = analysis.issues(source, by="prompt_id")
    pd.testing.assert_frame_equal(result[kept], expected[kept], check_dtype=False, check_categorical=False)


def test_two_stores_are_read_side_by_side_on_one_connection(engines, snapshot, object_store):
    from support.object_store import running_object_store

    root, files = snapshot
    one_prompt = [path for path in files if "prompt_id=sales" in path]
    with running_object_store() as other:
        tables = [
            scanned(
                engines,
                "duckdb",
                put_into(store, root, listed),
                listed,
                storage_options=store.storage_options,
            )
            for store, listed in ((object_store, files), (other, one_prompt))
        ]
        counts = [len(collect(table, ["conversation_id"])) for table in (*tables, tables[0])]
    assert counts[0] == counts[2] > counts[1] > 0


@pytest.mark.slow
def test_spark_without_a_connector_for_the_store_says_what_to_configure(engines, snapshot):
    _, files = snapshot
    with pytest.raises(ConfigError, match=r"no connector for s3a://.*hadoop-aws.*connection="):
        scanned(engines, "spark", "s3://bucket/january", files)


def test_another_engine_is_refused(tmp_path):
    with pytest.raises(ValueError, match="duckdb, polars, spark"):
        scan(tmp_path, [], engine="dask")


def test_a_missing_extra_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtra, match=r'pip install "promptlift\[duckdb\]"'):
        scan(tmp_path, [])


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.slow
def test_what_the_files_have_beside_the_table_is_no_segment(engines, engine, snapshot):
    root, files = snapshot
    topics = scanned(engines, engine, root, files, "topics")
    found = analysis.segments(scanned(engines, engine, root, files), topics=topics)
    about = found.attrs["promptlift"]
    assert {"topics", "llm_model", "hour"} <= {*found["column"], *about["left_out"]}
    assert "month" not in {*found["column"], *about["left_out"]}
