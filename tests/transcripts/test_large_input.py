"""Files that are too large in one place: a clear problem, little memory, and only that record is lost."""

from __future__ import annotations

import gzip
import io
import itertools
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptlift import transcripts
from promptlift.transcripts.json_layouts import json_records
from promptlift.transcripts.tables import _Feed, csv_records, parquet_records
from support.traced_memory import MB, memory_below

GOOD = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
LONG = "is longer than 16 MB and is left out; a conversation may have 512 KB"


def holes(path, before, size, after):
    """Write a file with a hole of NUL characters that takes no room on the disk."""
    with path.open("wb") as file:
        file.write(before)
        file.seek(size, io.SEEK_CUR)
        file.write(after)
    return path


def packed(path, *pieces):
    """Write a gzip file of pieces: bytes, or bytes and how often they come."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for piece in pieces:
            data, times = piece if isinstance(piece, tuple) else (piece, 1)
            for _ in range(times):
                file.write(data)
    return path


def problems(reading):
    return [(problem.line, problem.message) for problem in reading.problems]


def records(found):
    return [(record.line, record.fault if record.fault is not None else record.value) for record in found]


@pytest.mark.slow
def test_an_endless_line_of_json_lines_costs_that_line_alone(tmp_path):
    good = f"{GOOD}\n".encode()
    path = holes(tmp_path / "a.jsonl", good + b'{"messages": "' + b"a" * 1_000, 100 * MB, b'"}\n' + good)
    with memory_below(100 * MB):
        reading = transcripts.read(path)
    assert [c.line for c in reading.conversations] == [1, 3]
    ((line, message),) = problems(reading)
    assert line == 2
    assert message.startswith(f"the record {LONG}")
    # Plain text is one conversation.
    path = holes(tmp_path / "a.txt", b"User: hi\nAssistant: " + b"a" * 1_000, 100 * MB, b"\n")
    with memory_below(100 * MB):
        reading = transcripts.read(path)
    ((line, message),) = problems(reading)
    assert (line, reading.conversations) == (1, [])
    assert message.startswith(f"the conversation (a file of plain text is one) {LONG}")


@pytest.mark.slow
def test_a_packed_file_of_repeated_conversations_ends_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(transcripts, "_UNPACKED_FREELY", MB)
    path = packed(tmp_path / "a.jsonl.gz", ((f"{GOOD}\n" * 1_000).encode(), 60))
    reading = transcripts.read(path)
    assert 10_000 < len(reading.conversations) < 60_000
    ((line, message),) = problems(reading)
    assert line is None
    assert "unpacks to far more than any export does; the rest is not read" in message


def test_as_many_problems_as_lines_are_not_all_held(written):
    reading = transcripts.read(written("a.jsonl", f"{GOOD}\n{GOOD}\n" + "{\n" * 10_500))
    assert len(reading.conversations) == 2
    assert len(reading.problems) == 10_001
    assert problems(reading)[-1] == (None, "500 more problems in this file are not listed")


@pytest.mark.slow
def test_an_array_may_be_of_any_length_and_loses_only_what_is_too_long(tmp_path):
    """An account export of ChatGPT is one array in one line, of any length."""
    element = (json.dumps({"messages": [{"role": "user", "content": "x" * 50_000}]}) + ",").encode()
    long = (b'{"messages": ["\\"}],\\\\', (b'{[\\"' * (MB // 5), 100), b'"]},')
    path = packed(tmp_path / "a.json.gz", b"[", (element, 400), *long, (element, 3), GOOD.encode() + b"]\n")
    with memory_below(140 * MB):
        reading = transcripts.read(path)
    assert len(reading.conversations) == 404
    ((line, message),) = problems(reading)
    assert line == 1
    assert message.startswith(f"the record {LONG}")


SMALL = 60
WORDS = st.text('ab"\\{}[],\n\u20ac\U0001f600', max_size=40)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, -0.0, 1e300, -12.5, 1234567890]) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@example([{"a": "x" * 52}, 12.5, "y" * 58], None, ",")
@example([{"a": "x" * 53}, 1e300, "y" * 59], None, ",\n")
@given(
    st.lists(VALUES, min_size=1, max_size=6),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([",", ",\n", " ,\n\n "]),
)
def test_the_elements_of_an_array_are_those_of_json_and_long_ones_are_faults(values, indent, between):
    texts = [json.dumps(value, indent=indent) for value in values]
    text = f"[{between.join(texts)}]"
    expected, line = [], 1
    for one in texts:
        fits = len(one) <= SMALL
        expected.append((line, json.loads(one) if fits else "fault"))
        line += one.count("\n") + between.count("\n")
    found = [
        (record.line, "fault" if record.fault else record.value)
        # An array in several lines may look like JSON Lines when its first line is JSON.
        for record in json_records(io.StringIO(f"\n{text}" if text.startswith("[[") else text), most=SMALL)
    ]
    shift = 1 if text.startswith("[[") else 0
    assert [(line - shift, value) for line, value in found] == expected


ROWS = "conversation_id,role,content\n"


def csv_of(text, most=10_000):
    return records(csv_records(io.StringIO(text, newline=""), ",", most=most))


def row(name, text="hi"):
    return {"conversation_id": name, "role": "user", "content": text}


@pytest.mark.parametrize("after", ["", 'e,user,"two\nlines"\nf,user,"x"\n'])
def test_a_quote_that_is_not_closed_costs_its_row_alone(after):
    found = csv_of(f'{ROWS}a,user,hi\nb,user,"open\nc,user,hi\nd,user,hi\n{after}')
    assert [value["conversation_id"] for _, value in found if isinstance(value, dict)] == [
        *"acd", *[line[0] for line in after.splitlines() if line[:1] in ("e", "f")]
    ]  # fmt: skip
    ((line, message),) = [(line, value) for line, value in found if isinstance(value, str)]
    assert line == 3
    assert message.startswith("not a CSV row: ")
    assert "left out" not in message


@pytest.mark.parametrize("line", ["y" * 2_000, "y\n" * 2_000, "y," * 1_000 + "\n"])
def test_a_cell_longer_than_the_bound_costs_its_row_alone(line):
    found = csv_of(f'{ROWS}a,user,hi\nb,user,"{line}"\nc,user,hi\n', most=1_000)
    assert found[0] == (2, row("a"))
    assert found[-1] == (4 + line.count("\n"), row("c"))
    ((place, message),) = found[1:-1]
    assert place == 3
    assert message.startswith("the row is longer than 1,000 characters and is left out")


def test_lines_that_never_close_their_quotes_are_read_a_few_times_at_most(monkeypatch):
    """Every line closes a quote and opens the next one, so that every line could begin a row without an end."""
    fed = itertools.count()
    following = _Feed.__next__
    monkeypatch.setattr(_Feed, "__next__", lambda self: (next(fed), following(self))[1])
    found = csv_of(ROWS + 'b","\n' * 20_000 + 'z,user,"hi"\ny,user,hi\n', most=5_000)
    assert found[-1] == (20_003, row("y"))
    assert next(fed) < 6 * 20_000


@pytest.mark.slow
def test_rows_of_one_conversation_without_end_are_not_held(tmp_path):
    rows = b"a,user,the same again and again and again and again and again\n" * 1_000
    path = packed(tmp_path / "a.csv.gz", ROWS.encode(), (rows, 10), b"b,user,hi\n")
    with memory_below(3 * MB):
        reading = transcripts.read(path)
    assert [c.source_id for c in reading.conversations] == ["b"]
    assert problems(reading) == [
        (2, "the conversation has more than 500 messages, which is the limit; conversation a is left out")
    ]


@pytest.mark.parametrize("coded", [False, True])
def test_a_large_cell_of_a_parquet_file_costs_its_row_alone(tmp_path, coded):
    texts = pa.array(["hi", "x" * 20_000, "ho", "hi"])
    table = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "role": ["user"] * 4,
            "content": texts.dictionary_encode() if coded else texts,
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    found = records(parquet_records(path, most=10_000))
    assert [(line, value["content"]) for line, value in found if isinstance(value, dict)] == [
        (1, "hi"),
        (3, "ho"),
        (4, "hi"),
    ]
    assert found[1][0] == 2
    assert found[1][1].startswith("the row is longer than 10,000 characters")


def test_a_value_that_stands_in_every_row_of_a_parquet_file_is_not_held_once_a_row(tmp_path):
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array(["x" * MB]))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"role": ["user"] * 100, "content": texts}), path)
    with memory_below(40 * MB):
        assert sum(1 for _ in parquet_records(path)) == 100


def test_the_row_is_named_from_which_a_parquet_file_is_damaged(tmp_path):
    path = tmp_path / "a.parquet"
    texts = [f"text {number} " * 50 for number in range(4_000)]
    pq.write_table(
        pa.table({"role": ["user"] * 4_000, "content": texts}), path, row_group_size=1_000, compression="gzip",
        use_dictionary=False,
    )  # fmt: skip
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4_000] = b"\0" * 4_000
    path.write_bytes(data)
    found = list(parquet_records(path))
    assert 1_000 <= len(found) - 1 < 4_000
    assert found[-1].line == len(found)
    assert found[-1].fault.startswith(f"the rows from {len(found):,} on cannot be read: ")


def test_a_packed_parquet_file_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("promptlift.transcripts.tables._PACKED_BYTES", 1_000)
    path = packed(tmp_path / "a.parquet.gz", b"PAR1", (b"\0" * 1_000, 5))
    assert [str(problem) for problem in transcripts.read(path).problems] == [
        f"{path}:1: the Parquet file in it is too large to be read packed; unpack it first"
    ]
