"""Reading stops where a file cannot become conversations any more: far before its end."""

from __future__ import annotations

import csv
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from promptlift import transcripts
from promptlift.transcripts import recognition, rows, sessions, tables

ROW = {"conversation_id": "a", "role": "user", "content": "hi"}
RUN = {"run_type": "llm", "trace_id": "a", "inputs": {"input": "hi"}, "outputs": {"output": "ho"}}


def as_csv(path, records):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, records[0])
        writer.writeheader()
        writer.writerows(records)


def as_jsonl(path, records):
    path.write_text("\n".join(map(json.dumps, records)))


LAYOUTS = {
    "a.csv": as_csv,
    "a.jsonl": as_jsonl,
    "a.parquet": lambda path, records: pq.write_table(pa.Table.from_pylist(records), path),
}


@pytest.mark.parametrize(
    ("name", "record", "format_name"),
    [
        *((name, ROW, "rows") for name in LAYOUTS),
        *((name, RUN, "langsmith") for name in ("a.jsonl", "a.parquet")),
    ],
)
def test_a_file_that_is_one_endless_conversation_is_refused_after_its_beginning(
    tmp_path, monkeypatch, name, record, format_name
):
    for module in (rows, sessions):
        monkeypatch.setattr(module, "ONE_CONVERSATION", 1_000)
    LAYOUTS[name](tmp_path / name, [record] * 2_000)
    (problem,) = transcripts.read(tmp_path / name, format=format_name).problems
    assert problem.message.startswith("the first 1,00")
    assert "the rest is not read" in problem.message


def test_a_small_parquet_file_of_millions_of_rows_is_hardly_read(tmp_path, monkeypatch):
    path, taken = tmp_path / "a.parquet", []
    convert = tables._rows
    monkeypatch.setattr(
        tables, "_rows", lambda batch, most: taken.append(batch.num_rows) or convert(batch, most)
    )
    pq.write_table(pa.table({name: pa.repeat(value, 1_000_000) for name, value in ROW.items()}), path)
    assert path.stat().st_size < 200_000
    (problem,) = transcripts.read(path).problems
    assert "--column conversation=NAME" in problem.message
    assert sum(taken) < 12_000


def test_more_records_than_so_many_bytes_can_hold_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(recognition, "_RECORDS_FREELY", 1_000)
    monkeypatch.setattr(recognition, "_RECORDS_A_BYTE", 1)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(
        gzip.compress((json.dumps({"messages": [{"role": "user", "content": "hi"}]}) + "\n").encode() * 5_000)
    )
    reading = transcripts.read(path)
    assert 1_000 <= len(reading.conversations) < 2_000
    assert "unpacks to far more than any export does" in reading.problems[0].message
