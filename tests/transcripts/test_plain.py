from __future__ import annotations

import pytest

from promptlift import transcripts


@pytest.mark.parametrize(
    ("text", "turns", "joined"),
    [
        (
            "User: who said it?\nAssistant: The log says:\nagent: hello\nuser: lower\nUser: ok\n",
            ["who said it?", "The log says:\nagent: hello\nuser: lower", "ok"],
            2,
        ),
        ("Human: two\r\nlines\r\n\r\nand a gap\r\nAI: fine\r\n", ["two\nlines\n\nand a gap", "fine"], 2),
        ("User: a\n\nAssistant: b\n\n\nUser: c\n\n\n", ["a", "b", "c"], 0),
        ("User: a\n\nAssistant: b\nUser: c\n", ["a\n", "b", "c"], 0),
        ("User: a\rAssistant: b\r", ["a", "b"], 0),
        (
            "User: tab\there nul\0 bell\a \u2028sep \u202bשלום\u202c \x85nel  \nAssistant:   two blanks more\n",
            ["tab\there nul\0 bell\a \u2028sep \u202bשלום\u202c \x85nel  ", "  two blanks more"],
            0,
        ),
    ],
    ids=["written like the first", "without a label", "apart", "blank line", "old Mac", "odd characters"],
)
def test_lines_become_turns(written, said, text, turns, joined):
    reading = transcripts.read(written("a.txt", text))
    assert [one for _, one in said(reading.conversations[0])] == turns
    note = f"Lines without a label, added to the previous message: {joined}."
    assert reading.notes == ([note] if joined else [])


@pytest.mark.parametrize(
    ("text", "line", "label", "pair"),
    [
        ("User: hi\nAgent: hello\n", 2, "Agent", "User/Assistant"),
        ("AI: hi\nHuman: hello\n\nAssistant: no\n", 4, "Assistant", "Human/AI"),
        ("CUSTOMER: hi\nmore\nAI: hello\n", 3, "AI", "Customer/Agent"),
    ],
)
def test_a_file_with_labels_of_two_pairs_is_refused_with_the_line(written, text, line, label, pair):
    reading = transcripts.read(written("a.txt", text))
    assert reading.conversations == []
    (problem,) = reading.problems
    assert problem.message == (
        f"line {line}: the label {label} is not of the pair {pair}, which the previous lines have; use one pair in a file"
    )


def test_text_before_the_first_label_and_bytes_that_are_not_utf8_are_problems(written, said):
    path = written("a.txt", "\nTranscript 7\nof Monday\nUser: hi\nAssistant: hello\n")
    reading = transcripts.read(path)
    assert said(reading.conversations[0]) == [("user", "hi"), ("assistant", "hello")]
    assert str(reading.problems[0]).startswith(
        f"{path}:2: text before the first label is left out ('Transcript 7' and 1 more lines); "
    )
    path = written("a.txt", "User: hi\nAssistant: caf\xe9\n".encode("latin-1"))
    reading = transcripts.read(path)
    assert [str(problem) for problem in reading.problems] == [
        f"{path}:1: message 2 contains the byte 0xE9, which is not UTF-8; save the file as UTF-8"
    ]
    (problem,) = transcripts.read(written("b.txt", "just some text\n"), format="plain").problems
    assert problem.message.startswith("no line starts with a role label; use one of the pairs User/Assistant")
