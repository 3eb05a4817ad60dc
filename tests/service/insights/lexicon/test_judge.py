from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlift.schema.transcript import Message, Transcript
from promptlift.service.insights.judge import InsightJudge, JudgeFailed, Judgement
from promptlift.service.insights.lexicon.judge import (
    SUMMARY_CHARS,
    LexiconJudge,
    read_conversation,
)
from promptlift.service.insights.turns import (
    MESSAGE_CHARS,
    MESSAGES_READ,
    TOTAL_CHARS,
    plain_words,
    read_turns,
)

JUDGE: InsightJudge = LexiconJudge()


def talk_of(*texts, first="user"):
    """User and assistant in turn."""
    roles = ("user", "assistant") if first == "user" else ("assistant", "user")
    return Transcript(messages=[Message(role=roles[n % 2], content=text) for n, text in enumerate(texts)])


SOLVED = talk_of(
    "Hi, my order 4711 has not arrived. Where is my package?",
    "It was sent on Monday and arrives tomorrow. Is there anything else I can help with?",
    "Great, thank you, that answers my question!",
    "You're welcome. Have a nice day!",
)


@pytest.mark.parametrize("text", ["I can`t, WAIT!", "I can’t — WAIT…", "¿I can‘t “WAIT”?"])
def test_words_have_no_punctuation_in_any_script(text):
    assert plain_words(text) == " i can't wait "


def test_a_solved_conversation():
    found = JUDGE.judge(SOLVED)
    assert (found.sentiment, found.task_completed, found.issues, found.tokens) == ("positive", True, [], 0)
    assert found.sentiment_score > 0
    assert found.quality > 75
    assert found.summary.startswith("Asked: “Hi, my order 4711")
    assert "satisfied" in found.summary


def evidence(transcript):
    return {issue["title"]: issue["evidence"] for issue in JUDGE.judge(transcript).issues}


def test_what_is_denied_is_no_sign():
    found = JUDGE.judge(
        talk_of("Can I talk to a person?", "Unfortunately I cannot connect you with a colleague.", "OK then")
    )
    titles = [issue["title"] for issue in found.issues]
    assert "Conversation was handed over" not in titles
    assert "Assistant could not do what was asked" in titles
    assert "Conversation was handed over" in evidence(
        talk_of("Hi", "I cannot do that. I will connect you with a colleague.", "OK then")
    )
    assert read_conversation(talk_of("Hi", "Hello", "That is not perfect", "Hm")).signals.solved is None


def test_a_problem_in_the_request_is_no_verdict():
    found = read_conversation(talk_of("My printer is not working.", "Switch it on.", "Thanks!"))
    assert found.signals.not_solved is None
    assert found.completion_score > 0.5
    # Words are found whole: "ty" is thanks, "property" is not.
    assert read_conversation(talk_of("I sell property", "I see")).signals.thanks is None


def test_tool_output_is_nobody_s_voice():
    quiet = Transcript(
        messages=[
            Message(role="user", content="Where is my order?"),
            Message(
                role="assistant", content='[tool call] find_order({"note": "I cannot thank you enough"})'
            ),
            Message(role="system", content="[tool result] Error: no such order, terrible, sorry"),
            Message(role="assistant", content="It is on its way."),
        ]
    )
    found = JUDGE.judge(quiet)
    assert found.sentiment == "neutral"
    assert [issue["title"] for issue in found.issues] == ["A tool call failed"]


def with_tools(*results):
    """A conversation that says nothing about its end, with these answers of a tool."""
    tools = [
        message
        for result in results
        for message in (
            Message(role="assistant", content='[tool call] cancel_order({"order_id": "4711"})'),
            Message(role="system", content=f"[tool result] {result}"),
        )
    ]
    first, last = (
        Message(role="user", content="Cancel order 4711."),
        Message(role="assistant", content="Noted."),
    )
    return read_conversation(Transcript(messages=[first, *tools, last]))


def test_an_error_of_a_tool_counts_against_completion_and_more_when_it_is_the_last_word():
    fine, repaired, broken = (
        with_tools(*results)
        for results in (("ok", "ok"), ("Error: busy", "ok"), ("ok", "Error: not allowed"))
    )
    assert fine.completion_score > repaired.completion_score > broken.completion_score
    assert fine.completion_score >= 0.5 > broken.completion_score
    assert (repaired.signals.last_tool_error, fine.signals.tool_error) == (None, None)
    assert broken.signals.last_tool_error == "[tool result] Error: not allowed"


@pytest.mark.parametrize(
    ("exclusions", "hidden"),
    [
        ("e-mail addresses; competitor pricing", "ann@example.com"),
        ("phone numbers", "+44 20 7946 0958"),
        ("Credit cards and phone numbers", "4111 1111 1111 1111"),
        ("customer names, Ann Smith", "Ann Smith"),
        ("headphone", "headphones"),
    ],
)
def test_excluded_data_do_not_appear(exclusions, hidden):
    text = "I am Ann  Smith, ann@example.com, +44 20 7946 0958, my card 4111 1111 1111 1111 was charged, refund my headphones"
    transcript = talk_of(text, "No.", text)
    shown = str(JUDGE.judge(transcript)).replace("  ", " ")
    assert hidden in shown
    kept = str(JUDGE.judge(transcript, exclusions=exclusions)).replace("  ", " ")
    assert hidden not in kept
    assert "[excluded]" in kept


@pytest.mark.slow
def test_the_same_transcript_always_gets_the_same_judgement():
    code = (
        "from promptlift.schema.transcript import Message, Transcript\n"
        "from promptlift.service.insights.lexicon.judge import LexiconJudge\n"
        "print(LexiconJudge().judge(Transcript(messages=[Message(role='user', content="
        "'cancel the flight, the hotel, the movie, the pizza dinner and my bank loan, refund me')])))"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(max_size=200)), max_size=12)
)
def test_anything_gets_a_valid_judgement(turns):
    transcript = Transcript(messages=[Message(role=role, content=text) for role, text in turns])
    try:
        found = JUDGE.judge(transcript, exclusions="emails, a")
    except JudgeFailed:
        assert not any(text.strip() for _, text in turns)
        return
    assert isinstance(found, Judgement)
    assert len(found.summary) <= SUMMARY_CHARS


HOSTILE = {
    "one message of 512 KB": [("user", "but no good " * 43_690)],
    "500 messages of 1 KB": [
        ("user" if n % 2 else "assistant", "not but so great " * 60) for n in range(500)
    ],
    "100 KB of emoji": [("user", "😁" * 25_600)],
    "numbers without end": [("user", "1-" * 51_200)],
    "addresses without end": [("user", "a.a-" * 25_600), ("user", "a@" * 51_200)],
    "spaces": [("user", " " * 102_000 + "x")],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_is_bounded(name):
    transcript = Transcript(messages=[Message(role=role, content=text) for role, text in HOSTILE[name]])
    turns = read_turns(transcript)
    assert len(turns) <= MESSAGES_READ
    assert all(len(turn.text) <= MESSAGE_CHARS for turn in turns)
    assert sum(len(turn.text) for turn in turns) <= TOTAL_CHARS
    # Some 20 ms are usual; work that grows with the square would run into the suite's time limit.
    found = JUDGE.judge(transcript, exclusions="emails, phone numbers, account numbers, a a a, x")
    assert len(found.summary) <= SUMMARY_CHARS
