"""Large files are read a part at a time: the same conversations as at once, and only a part of them is held."""

from __future__ import annotations

import csv
import io
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from promptlift import transcripts
from promptlift.transcripts import collector
from support.traced_memory import MB, memory_below

COLUMNS = ("conversation_id", "role", "content", "created_at", "kind", "prompt_name", "note")


def joined(parts):
    """What the parts of a file say together."""
    parts = list(parts)
    whole = transcripts.Reading(
        parts[-1].format,
        [one for part in parts for one in part.conversations],
        parts[-1].problems,
        parts[-1].dropped,
        parts[-1].notes,
        model_calls=parts[-1].model_calls,
        undated=parts[-1].undated,
        prompts_of_file=parts[-1].prompts_of_file,
    )
    for part in parts:
        assert part.format == whole.format
        whole.system_prompts.merge(part.system_prompts)
        for key, prompts in part.texts_of.items():
            whole.texts_of.setdefault(key, transcripts.SystemPrompts()).merge(prompts)
    return whole, len(parts)


def chat(number, text="Hello"):
    return {
        "messages": [
            {"role": "system", "content": f"You are number {number % 3}."},
            {"role": "user", "content": text},
            {"role": "assistant", "content": f"answer {number % 40}"},
        ],
        "extra": "x",
    }


def table(conversations, *, rows_of=2, text="Hello", mixed=None):
    """Rows of conversations, in order or, with a seed, mixed."""
    rows = [
        (f"c{number}", ("user", "assistant")[turn % 2], f"{text} {turn}", f"2026-01-01T10:{turn:02}:00Z", f"k{number}", f"p{number % 2}", turn)
        for number in range(conversations)
        for turn in range(rows_of)
    ]  # fmt: skip
    if mixed is not None:
        random.Random(mixed).shuffle(rows)
    return rows


def csv_text(rows):
    file = io.StringIO(newline="")
    csv.writer(file).writerows([COLUMNS, *rows])
    return file.getvalue()


def dicts(rows):
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def bad_rows():
    """Rows of a hundred conversations, of which some have no name and one a role that is not known."""
    rows = [list(row) for row in table(100, mixed=1)]
    rows[17][1] = "ghost"
    rows[30][0] = rows[31][0] = ""
    return rows


FILES = {
    "structured.json": [{**chat(number), "status": "completed"} for number in range(100)],
    "problems.jsonl": [chat(1), {"messages": []}, *[chat(number) for number in range(20)], {"messages": "x"}],
    "mixed.csv": csv_text(table(100, rows_of=5, mixed=3)),
    "bad.csv": csv_text(bad_rows()),
    "rows.jsonl": dicts(table(100, mixed=4)),
}


@pytest.mark.parametrize("name", FILES)
def test_the_parts_of_a_file_are_together_what_it_is_at_once(written, monkeypatch, name):
    monkeypatch.setattr(collector, "PART", 7)
    path = written(name, FILES[name])
    at_once = transcripts.read(path)
    whole, count = joined(transcripts.read_in_parts(path))
    assert whole == at_once
    assert whole.texts_of == at_once.texts_of
    # The last part has what is left, and may have no conversation.
    assert count == len(at_once.conversations) // 7 + 1


def test_equal_conversations_of_several_parts_have_fingerprints_of_their_own(written, monkeypatch):
    monkeypatch.setattr(collector, "PART", 2)
    path = written("a.jsonl", [chat(0)] * 7)
    found = [one.fingerprint for part in transcripts.read_in_parts(path) for one in part.conversations]
    assert found == [one.fingerprint for one in transcripts.read(path).conversations]
    assert len(set(found)) == 7


@pytest.mark.parametrize("layout", ["array", "csv", "parquet"])
@pytest.mark.slow
def test_no_more_than_a_part_is_held(tmp_path, monkeypatch, layout):
    """Twelve megabytes in parts of a hundred conversations of 4 KB."""
    monkeypatch.setattr(collector, "PART", 100)
    monkeypatch.setattr(collector, "_PART_CHARS", MB)
    path, count = tmp_path / "file", 3_000
    text = "word " * 400
    if layout == "csv":
        path.write_text(csv_text(table(count, text=text)))
    elif layout == "parquet":
        pq.write_table(pa.Table.from_pylist(dicts(table(count, text=text))), path, row_group_size=200)
    else:
        lines = (json.dumps(chat(number, 2 * text)) for number in range(count))
        path.write_text("[" + ",\n".join(lines) + "]")
    with memory_below(8 * MB):
        assert sum(len(part.conversations) for part in transcripts.read_in_parts(path)) == count


def test_a_large_file_of_a_format_that_is_read_as_a_whole_is_refused(written, monkeypatch):
    monkeypatch.setattr(transcripts, "_WHOLE_FILE_BYTES", 100)
    observation = {"type": "GENERATION", "trace_id": "t", "input": "Hi", "output": "Hello", "id": "a" * 100}
    for reading in (
        transcripts.read(written("traces.jsonl", [observation])),
        *transcripts.read_in_parts(written("traces.jsonl", [observation])),
    ):
        ((problem,)) = reading.problems
        assert "held in memory as a whole" in problem.message
        assert "Export shorter periods" in problem.message
    assert len(transcripts.read(written("chat.jsonl", [chat(0)])).conversations) == 1
