from __future__ import annotations

import pytest

from promptlift import transcripts


@pytest.mark.parametrize(
    ("user", "assistant"),
    [("User", "Assistant"), ("Human", "AI"), ("Customer", "Agent"), ("USER", "ASSISTANT"), ("human", "ai")],
)
@pytest.mark.parametrize("first", ["user", "assistant"])
def test_each_label_pair_is_read(written, said, user, assistant, first):
    turns = [("user", "Where is my parcel?"), ("assistant", "On its way.")]
    labels = {"user": user, "assistant": assistant}
    turns = turns if first == "user" else turns[::-1]
    path = written("a.txt", "".join(f"{labels[role]}: {text}\n" for role, text in turns))
    reading = transcripts.read(path)
    assert reading.format == "plain"
    assert said(reading.conversations[0]) == turns
    assert reading.problems == []
    assert reading.notes == []
    assert reading.conversations[0].line == 1
    assert reading.conversations[0].source_id is None


def test_only_labels_written_as_the_first_one_count(written, said):
    path = written(
        "a.txt", "User: who said it?\nAssistant: The log says:\nagent: hello\nuser: lower\nUser: ok\n"
    )
    reading = transcripts.read(path)
    assert said(reading.conversations[0]) == [
        ("user", "who said it?"),
        ("assistant", "The log says:\nagent: hello\nuser: lower"),
        ("user", "ok"),
    ]
    assert reading.notes == ["Lines without a label, added to the previous message: 2."]


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


def test_lines_without_a_label_continue_the_turn(written, said):
    path = written("a.txt", "Human: two\r\nlines\r\n\r\nand a gap\r\nAI: fine\r\n")
    reading = transcripts.read(path)
    assert said(reading.conversations[0]) == [("user", "two\nlines\n\nand a gap"), ("assistant", "fine")]
    assert reading.notes == ["Lines without a label, added to the previous message: 2."]


def test_blank_lines_between_all_turns_only_set_them_apart(written, said):
    path = written("a.txt", "User: a\n\nAssistant: b\n\n\nUser: c\n\n\n")
    reading = transcripts.read(path)
    assert said(reading.conversations[0]) == [("user", "a"), ("assistant", "b"), ("user", "c")]
    assert reading.notes == []


def test_a_blank_line_in_front_of_some_turns_is_text(written, said):
    path = written("a.txt", "User: a\n\nAssistant: b\nUser: c\n")
    assert said(transcripts.read(path).conversations[0]) == [
        ("user", "a\n"),
        ("assistant", "b"),
        ("user", "c"),
    ]


def test_text_before_the_first_label_is_a_problem_with_its_line(written, said):
    path = written("a.txt", "\nTranscript 7\nof Monday\nUser: hi\nAssistant: hello\n")
    reading = transcripts.read(path)
    assert said(reading.conversations[0]) == [("user", "hi"), ("assistant", "hello")]
    assert [str(problem) for problem in reading.problems] == [
        (
            f"{path}:2: text before the first label is left out ('Transcript 7' and 1 more lines); "
            "every message starts with a label of one of the pairs User/Assistant, Human/AI, Customer/Agent"
        )
    ]


def test_a_text_without_labels_asked_for_as_plain_says_which_there_are(written):
    path = written("a.txt", "just some text\n")
    reading = transcripts.read(path, format="plain")
    assert reading.conversations == []
    assert [problem.message for problem in reading.problems] == [
        "no line starts with a role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent"
    ]


def test_odd_characters_stay_as_they_are(written, said):
    text = "tab\there nul\0 bell\a \u2028sep \u202bשלום\u202c \x85nel  "
    path = written("a.txt", f"User: {text}\nAssistant:   two blanks more\n")
    assert said(transcripts.read(path).conversations[0]) == [
        ("user", text),
        ("assistant", "  two blanks more"),
    ]


def test_old_mac_line_ends_are_lines(written, said):
    path = written("a.txt", "User: a\rAssistant: b\r")
    assert said(transcripts.read(path).conversations[0]) == [("user", "a"), ("assistant", "b")]


def test_bytes_that_are_not_utf8_name_the_byte_and_the_message(written):
    path = written("a.txt", "User: hi\nAssistant: caf\xe9\n".encode("latin-1"))
    reading = transcripts.read(path)
    assert reading.conversations == []
    assert [str(problem) for problem in reading.problems] == [
        f"{path}:1: message 2 contains the byte 0xE9, which is not UTF-8; save the file as UTF-8"
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_is_understood(written, said, encoding):
    path = written("a.txt", "User: naïve\nAssistant: ü\n".encode(encoding))
    assert said(transcripts.read(path).conversations[0]) == [("user", "naïve"), ("assistant", "ü")]
