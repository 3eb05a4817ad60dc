from __future__ import annotations

import gzip
import json

import pytest

from promptlift import transcripts
from promptlift.errors import TranscriptError

GOOD = {"messages": [{"role": "user", "content": "hi"}]}


def one(content, role="user"):
    return {"messages": [{"role": role, "content": content}]}


def problems(reading):
    return [(problem.line, problem.message) for problem in reading.problems]


BAD_RECORDS = {
    "{oops": "not valid JSON: Expecting property name enclosed in double quotes, column 2",
    "[1, 2]": "message 1 is not an object with role and content",
    "7": "the record is not an object with messages or content",
    "{}": "the record has no messages; it needs messages or content",
    '{"messages": "x"}': "the record has messages that are not a list; it needs messages or content",
    '{"messages": []}': "the conversation has no messages; nothing to import",
    '{"messages": [{"role": "user"}]}': "message 1 has no content",
    json.dumps(one(5)): "message 1 has a number as content; it must be text",
    json.dumps(
        one("x", "narrator")
    ): "message 1 has the role 'narrator'; known roles are user, human, customer",
    json.dumps(one("x", None)): "message 1 has no role; known roles are user, human, customer",
    json.dumps(
        one("x", ["user"])
    ): "message 1 has the role \"['user']\"; known roles are user, human, customer",
    '{"messages": [{"role": "user", "content": "\\ud83d!"}]}': (
        "message 1 contains half of a surrogate pair (\\ud83d), which is not a character"
    ),
    '{"messages": [{"role": "assistant", "content": null, "tool_calls": ["x"]}]}': (
        "a tool call is not an object: x"
    ),
    '{"content": ""}': "content is empty or not text",
    '{"content": "{\\"messages\\": ["}': "content looks like JSON but is not: Expecting value: line 1 column 15",
    '{"content": "no labels"}': "no line starts with a role label; use one of the pairs User/Assistant, Human/AI",
    "[" * 100_000: "nested too deeply to be read",
    json.dumps(GOOD | {"metadata": json.loads('{"a":' * 100 + "1" + "}" * 100)}): (
        "metadata is nested deeper than 64 levels"
    ),
    json.dumps(one("ü" * 51_201)): "message 1 has 102402 bytes; the limit is 102400",
    json.dumps({"messages": GOOD["messages"] * 501}): "the conversation has more than 500 messages",
    json.dumps({"messages": one("x" * 100_000)["messages"] * 6}): (
        "the conversation has 600188 bytes of content; the limit is 524288"
    ),
    '{"a": "b': "not valid JSON: Unterminated string, column 7",
}


def test_bad_lines_are_reported_with_their_numbers_and_the_rest_goes_in(written):
    good = json.dumps(GOOD)
    lines = [line for bad in BAD_RECORDS for line in (bad, good)]
    path = written("a.jsonl", "\n".join(lines))
    reading = transcripts.read(path)
    for number, (problem, said) in enumerate(zip(reading.problems, BAD_RECORDS.values(), strict=True)):
        assert str(problem).startswith(f"{path}:{2 * number + 1}: {said}")
    assert reading.problems[8].message.endswith('; say what it means: --role "narrator=user"')
    assert [c.line for c in reading.conversations] == [*range(2, len(lines) + 1, 2)]


def test_a_line_in_another_encoding_is_reported_and_the_rest_goes_in(written):
    good = json.dumps(GOOD).encode()
    bad = json.dumps(one("café"), ensure_ascii=False).encode("latin-1")
    reading = transcripts.read(written("a.jsonl", good + b"\n" + bad + b"\n" + good))
    assert len(reading.conversations) == 2
    assert problems(reading) == [
        (2, "message 1 contains the byte 0xE9, which is not UTF-8; save the file as UTF-8")
    ]


@pytest.mark.parametrize(
    ("tail", "line", "message"),
    [
        ("", 3, "the array does not end; nothing after it can be read"),
        (' {"x": 1}]', 3, "a comma is missing; nothing after it can be read"),
        (", {oops}]", 3, "Expecting property name enclosed in double quotes; nothing after it can be read"),
        ("]\n\n3", 5, "something follows the end of the array"),
    ],
)
def test_a_damaged_array_gives_what_is_before_the_damage(written, tail, line, message):
    reading = transcripts.read(written("a.json", "[\n" + json.dumps(GOOD) + "\n" + tail))
    assert len(reading.conversations) == 1
    assert problems(reading) == [(line, f"not valid JSON: {message}")]


ODD_FILES = [
    ("blank.txt", b"\xef\xbb\xbf \r\n\n", "the file is empty"),
    ("empty.gz", b"", "the file is empty"),
    ("export.zip", b"PK\x03\x04....", "a ZIP archive or an Excel file; unpack it"),
    ("a.pdf", b"%PDF-1.7", "a PDF; export the conversations as text, CSV or JSON"),
    ("a.db", b"SQLite format 3\0", "a SQLite database; export the messages as CSV"),
    ("a.zst", b"\x28\xb5\x2f\xfd..", "packed with zstd; unpack it first"),
    (
        "no-mark.txt",
        "User: hi\nAssistant: hello\n".encode("utf-16-le"),
        "neither UTF-8 text nor a known binary",
    ),
    (
        "cut.txt",
        "User: hi\n".encode("utf-16")[:-1],
        "not valid utf-16-le (truncated data); save the file as UTF-8",
    ),
    ("empty.json", b"[]", "the file has no records"),
    ("a.csv", b"conversation_id,role,content\n", "the file has no records"),
]


def test_a_file_that_is_no_export_says_what_it_is(written, tmp_path):
    for name, data, message in ODD_FILES:
        path = written(name, data)
        reading = transcripts.read(path)
        assert (reading.conversations, len(reading.problems)) == ([], 1)
        assert str(reading.problems[0]).startswith(f"{path}: {message}")
    assert problems(transcripts.read(tmp_path)) == [(None, "a directory, not a file; pass the files in it")]
    ((line, message),) = problems(transcripts.read(written("a.parquet", b"PAR1 and nothing more")))
    assert line == 1
    assert message.startswith("not a readable Parquet file: ")


def test_a_damaged_gzip_gives_what_was_read(tmp_path):
    packed = gzip.compress(b"".join(json.dumps(one(str(i) * 50)).encode() + b"\n" for i in range(4_000)))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    reading = transcripts.read(path)
    assert 1000 < len(reading.conversations) < 4_000
    ((line, message),) = problems(reading)
    assert line is None
    assert message.startswith("the compressed data is damaged or ends early (Compressed file ended before")


@pytest.mark.parametrize(
    ("name", "text", "line", "step"),
    [
        ("a.txt", "Dear diary, it is\nnothing, or, well.\n", None, "A text needs a label before each turn"),
        ("a.csv", "a,b\n1,2\n", None, "The columns or fields are a, b."),
        ("a.csv", "a,b\n", None, "--column role=NAME --column text=NAME --column conversation=NAME"),
        ("a.json", '{"a": 1}', 1, "--column role=NAME"),
    ],
)
def test_an_unknown_format_names_the_one_step_that_helps(written, name, text, line, step):
    reading = transcripts.read(written(name, text))
    assert (reading.format, reading.conversations) == ("", [])
    (problem,) = reading.problems
    assert problem.line == line
    assert problem.message.startswith("the format is not recognised. ")
    assert step in problem.message


def test_a_file_read_as_another_format_is_a_problem(written):
    path = written("a.txt", "User: hi\nAssistant: hello\n")
    assert problems(transcripts.read(path, format="openai")) == [
        (None, f"this is not openai: {transcripts.FORMATS['openai']}")
    ]
    path = written("b.jsonl", [GOOD])
    for name, message in (("chatgpt", "no mapping of messages"), ("sharegpt", "no list of conversations")):
        assert problems(transcripts.read(path, format=name)) == [(1, f"the record has {message}")]


def test_a_missing_file_and_an_unknown_format_are_errors(tmp_path):
    with pytest.raises(TranscriptError, match=r"^There is no file .*nowhere\.jsonl$"):
        transcripts.read(tmp_path / "nowhere.jsonl")
    with pytest.raises(
        TranscriptError, match=r"^There is no format 'xml'\. Known formats: structured, plain"
    ):
        transcripts.read(tmp_path, format="xml")


def test_limits_exactly_reached_are_not_over_them(written):
    records = [one("x" * 102_400), {"messages": GOOD["messages"] * 500}]
    reading = transcripts.read(written("a.jsonl", records))
    assert (len(reading.conversations), reading.problems) == (2, [])
