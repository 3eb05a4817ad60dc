from __future__ import annotations

import gzip
import json

import pytest

from promptlift import transcripts
from promptlift.errors import TranscriptError

GOOD = {"messages": [{"role": "user", "content": "hi"}]}
ROLES = (
    "user, human, customer, visitor, end-user, end_user, lead, contact, assistant, ai, gpt, agent, bot, model, chatbot, "
    "chatgpt, operator, admin, staff, representative, team, system, developer, tool, function, observation, tool_result, "
    "function_response, function_call, tool_call"
)


def one(content, role="user"):
    return {"messages": [{"role": role, "content": content}]}


BAD_RECORDS = [
    ("{oops", "not valid JSON: Expecting property name enclosed in double quotes, column 2"),
    (json.dumps(GOOD)[:-3], "not valid JSON: Expecting ',' delimiter, column 47"),
    ("[1, 2]", "message 1 is not an object with role and content"),
    ("7", "the record is not an object with messages or content"),
    ("{}", "the record has no messages; it needs messages or content"),
    ('{"messages": "x"}', "the record has messages that are not a list; it needs messages or content"),
    ('{"messages": []}', "the conversation has no messages; nothing to import"),
    ('{"messages": [null]}', "message 1 is not an object with role and content"),
    ('{"messages": [{"role": "user"}]}', "message 1 has no content"),
    (json.dumps(one(5)), "message 1 has a number as content; it must be text"),
    (json.dumps(one(True)), "message 1 has a boolean as content; it must be text"),
    (
        json.dumps(one("x", "narrator")),
        f"message 1 has the role 'narrator'; known roles are {ROLES}; say what it means: --role \"narrator=user\"",
    ),
    (json.dumps(one("x", None)), f"message 1 has no role; known roles are {ROLES}"),
    (json.dumps(one("x", ["user"])), f"message 1 has the role \"['user']\"; known roles are {ROLES}"),
    (
        '{"messages": [{"role": "user", "content": "\\ud83d!"}]}',
        "message 1 contains half of a surrogate pair (\\ud83d), which is not a character",
    ),
    (
        '{"messages": [{"role": "assistant", "content": null, "tool_calls": ["x"]}]}',
        "a tool call is not an object: x",
    ),
    ('{"content": ""}', "content is empty or not text"),
    ('{"content": 3}', "content is empty or not text"),
    (
        '{"content": "{\\"messages\\": ["}',
        "content looks like JSON but is not: Expecting value: line 1 column 15 (char 14)",
    ),
    (
        '{"content": "no labels"}',
        "no line starts with a role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
    ),
    ("[" * 100_000, "nested too deeply to be read"),
    (
        json.dumps(GOOD | {"metadata": json.loads('{"a":' * 100 + "1" + "}" * 100)}),
        "metadata is nested deeper than 64 levels",
    ),
    (json.dumps(one("x" * 102_401)), "message 1 has 102401 bytes; the limit is 102400"),
    (json.dumps(one("ü" * 51_201)), "message 1 has 102402 bytes; the limit is 102400"),
    (
        json.dumps({"messages": [one("x")["messages"][0]] * 501}),
        "the conversation has more than 500 messages, which is the limit",
    ),
    (
        json.dumps({"messages": [one("x" * 100_000)["messages"][0]] * 6}),
        "the conversation has 600188 bytes of content; the limit is 524288",
    ),
]


@pytest.mark.parametrize(("line", "message"), BAD_RECORDS, ids=range(len(BAD_RECORDS)))
def test_a_bad_line_is_reported_with_its_number_and_the_rest_goes_in(written, line, message):
    good = json.dumps(GOOD)
    path = written("a.jsonl", f"{good}\n{line}\n{good}\n")
    reading = transcripts.read(path)
    assert [str(problem) for problem in reading.problems] == [f"{path}:2: {message}"]
    assert [c.line for c in reading.conversations] == [1, 3]


def test_a_bad_first_line_does_not_hide_the_rest(written):
    path = written("a.jsonl", '{"messages": [\n' + json.dumps(GOOD) + "\n" + json.dumps(GOOD) + "\n")
    reading = transcripts.read(path)
    assert [c.line for c in reading.conversations] == [2, 3]
    assert [str(problem) for problem in reading.problems] == [
        f"{path}:1: not valid JSON: Expecting value, column 15"
    ]


def test_a_line_in_another_encoding_is_reported_and_the_rest_goes_in(written):
    good = json.dumps(GOOD).encode()
    bad = json.dumps(one("café"), ensure_ascii=False).encode("latin-1")
    reading = transcripts.read(written("a.jsonl", good + b"\n" + bad + b"\n" + good))
    assert len(reading.conversations) == 2
    assert [(p.line, p.message) for p in reading.problems] == [
        (2, "message 1 contains the byte 0xE9, which is not UTF-8; save the file as UTF-8")
    ]


@pytest.mark.parametrize(
    ("tail", "line", "message"),
    [
        ("", 3, "not valid JSON: the array does not end; nothing after it can be read"),
        (' {"x": 1}]', 3, "not valid JSON: a comma is missing; nothing after it can be read"),
        (
            ", {oops}]",
            3,
            "not valid JSON: Expecting property name enclosed in double quotes; nothing after it can be read",
        ),
        ("]\n\n3", 5, "not valid JSON: something follows the end of the array"),
    ],
    ids=["cut", "comma", "element", "after"],
)
def test_a_damaged_array_gives_what_is_before_the_damage(written, tail, line, message):
    path = written("a.json", "[\n" + json.dumps(GOOD) + "\n" + tail)
    reading = transcripts.read(path)
    assert len(reading.conversations) == 1
    assert [str(problem) for problem in reading.problems] == [f"{path}:{line}: {message}"]


ODD_FILES = [
    ("empty.jsonl", b"", "the file is empty"),
    ("blank.txt", b"\xef\xbb\xbf \r\n\n", "the file is empty"),
    ("empty.gz", b"", "the file is empty"),
    (
        "export.zip",
        b"PK\x03\x04....",
        "a ZIP archive or an Excel file; unpack it, or save the sheet as CSV, and read that",
    ),
    ("a.pdf", b"%PDF-1.7", "a PDF; export the conversations as text, CSV or JSON"),
    ("a.db", b"SQLite format 3\0", "a SQLite database; export the messages as CSV"),
    ("a.zst", b"\x28\xb5\x2f\xfd..", "packed with zstd; unpack it first"),
    (
        "utf16-without-mark.txt",
        "User: hi\nAssistant: hello\n".encode("utf-16-le"),
        "neither UTF-8 text nor a known binary format; save the file as UTF-8 text",
    ),
    (
        "cut.txt",
        "User: hi\n".encode("utf-16")[:-1],
        "not valid utf-16-le (truncated data); save the file as UTF-8",
    ),
    ("empty.json", b"[]", "the file has no records"),
]


@pytest.mark.parametrize(("name", "data", "message"), ODD_FILES, ids=[name for name, _, _ in ODD_FILES])
def test_a_file_that_is_no_export_says_what_it_is(written, name, data, message):
    path = written(name, data)
    reading = transcripts.read(path)
    assert reading.conversations == []
    assert [str(problem) for problem in reading.problems] == [f"{path}: {message}"]


def test_a_damaged_gzip_gives_what_was_read(tmp_path):
    packed = gzip.compress(b"".join(json.dumps(one(str(i) * 50)).encode() + b"\n" for i in range(4_000)))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    reading = transcripts.read(path)
    assert 1000 < len(reading.conversations) < 4_000
    assert [str(problem) for problem in reading.problems] == [
        (
            f"{path}: the compressed data is damaged or ends early "
            "(Compressed file ended before the end-of-stream marker was reached); compress the file again"
        )
    ]


@pytest.mark.parametrize(
    ("name", "text", "line", "step"),
    [
        ("a.txt", "Dear diary,\nnothing.\n", None, "A text needs a label before each turn"),
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
    assert not any(text in problem.message for text in transcripts.FORMATS.values())


def test_a_file_read_as_another_format_is_a_problem(written):
    path = written("a.txt", "User: hi\nAssistant: hello\n")
    assert [str(p) for p in transcripts.read(path, format="openai").problems] == [
        f"{path}:1: this is not openai: {transcripts.FORMATS['openai']}"
    ]
    path = written("b.jsonl", [GOOD])
    assert [p.message for p in transcripts.read(path, format="chatgpt").problems] == [
        "the record has no mapping of messages"
    ]
    assert [p.message for p in transcripts.read(path, format="sharegpt").problems] == [
        "the record has no list of conversations"
    ]


def test_a_missing_file_and_an_unknown_format_are_errors(tmp_path):
    with pytest.raises(TranscriptError, match=r"^There is no file .*nowhere\.jsonl$"):
        transcripts.read(tmp_path / "nowhere.jsonl")
    with pytest.raises(
        TranscriptError, match=r"^There is no format 'xml'\. Known formats: structured, plain, openai"
    ):
        transcripts.read(tmp_path, format="xml")


def test_a_directory_is_a_problem(tmp_path):
    assert [str(p) for p in transcripts.read(tmp_path).problems] == [
        f"{tmp_path}: a directory, not a file; pass the files in it"
    ]


def test_a_damaged_parquet_file_is_a_problem(written):
    path = written("a.parquet", b"PAR1 and nothing more")
    reading = transcripts.read(path)
    (problem,) = reading.problems
    assert str(problem).startswith(f"{path}:1: not a readable Parquet file: ")


def test_limits_exactly_reached_are_not_over_them(written):
    records = [one("x" * 102_400), {"messages": [one("x")["messages"][0]] * 500}]
    reading = transcripts.read(written("a.jsonl", records))
    assert (len(reading.conversations), reading.problems) == (2, [])
