"""The step in which a conversation first went wrong, in written conversations and in those of real agents."""

from __future__ import annotations

import json

import pytest

from promptlift.schema.transcript import parse_content
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.lexicon.judge import LexiconJudge
from promptlift.service.insights.lexicon.steps import NO_SIGN, find_steps
from promptlift.service.insights.turns import read_turns


def steps_of(*messages, completed=False):
    content = json.dumps({"messages": [{"role": role, "content": text} for role, text in messages]})
    return find_steps(read_turns(parse_content(content)), completed=completed)


ASKS = ("user", "Please cancel my order 4711.")
CALL = ("assistant", '[tool call] cancel_order({"id": 4711})')
ERROR = ("system", "[tool result] Error: order already shipped")
DONE = ("system", '[tool result] {"status": "cancelled"}')
END = ("user", "Okay then, that is all.")

# What was said, and step, kind and place of the first failure.
FAILURES = {
    "a tool that fails": ([ASKS, CALL, ERROR, ("assistant", "Hm."), END], "tool:cancel_order", "tool_error", 2),
    "a tool that hands over": (
        [ASKS, ("assistant", "One moment."), ("assistant", "[tool call] transfer_to_human_agents({})"), END],
        "tool:transfer_to_human_agents",
        "hand_over",
        2,
    ),
    "a refusal at once": (
        [ASKS, ("assistant", "Hello. I'm unable to cancel orders. Bye."), END],
        "opening",
        "refusal",
        1,
    ),
    "a refusal after a tool": (
        [ASKS, CALL, DONE, ("assistant", "I cannot refund it."), ("user", "Why?"), ("assistant", "Rules."), END],
        "answer",
        "refusal",
        3,
    ),
    "a question that cannot be answered": (
        [ASKS, ("assistant", "Sure."), ("user", "And?"), ("assistant", "I don't know, do you?"), END],
        "clarification",
        "refusal",
        3,
    ),
    "a user who gives up": (
        [ASKS, ("assistant", "Why?"), ("user", "Forget it."), ("assistant", "Fine."), END],
        "opening",
        "gave_up",
        2,
    ),
    "a request for a person": ([("user", "I want to talk to a human agent."), ("assistant", "No.")], "opening", "asked_for_person", 0),
    "a repeated request": (
        [ASKS, ("assistant", "Hi."), ("user", "Please cancel my order 4711 now."), ("assistant", "Yes."), END],
        "opening",
        "repeat",
        2,
    ),
    "nobody answers": ([ASKS, ("assistant", "Yes?"), ("user", "Did you hear me?")], "closing", "unanswered", 2),
    "nothing to be seen": ([ASKS, ("assistant", "It is done."), END], "closing", NO_SIGN, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_the_first_failure_is_found(name):
    said, step, kind, turn = FAILURES[name]
    failed = steps_of(*said)[1]
    assert (failed.step, failed.kind, failed.turn) == (step, kind, turn)
    assert failed.quote in said[turn][1]
    assert steps_of(*said, completed=True)[1] is None


def test_a_tool_that_works_later_did_not_break_the_conversation():
    lookup = ("assistant", '[tool call] find_user_by_email({"email": "a"})')
    again = ("assistant", '[tool call] find_user_by_name({"name": "a"})')
    said = [ASKS, lookup, ERROR, again, DONE, ("assistant", "I'm unable to cancel it."), END]
    failed = steps_of(*said)[1]
    assert (failed.kind, failed.turn) == ("refusal", 5)
    assert steps_of(*said[:3], END)[1].kind == "tool_error"


def test_a_system_message_that_no_tool_wrote_is_no_step_of_its_own():
    rules = ("system", "You are a helpful agent of the shop.")
    said = [ASKS, ("assistant", "Which one?"), rules, ("assistant", "And why?"), ("assistant", "Here."), END]
    plain = steps_of(*(one for one in said if one != rules), completed=True)[0]
    assert (
        steps_of(rules, *said, completed=True)[0]
        == plain
        == ["opening", "clarification", "answer", "closing"]
    )
    # A result without the mark, and an error of nobody knows which tool.
    assert steps_of(ASKS, CALL, ("system", "cancelled"), END, completed=True)[0][1] == "tool:cancel_order"
    failed = steps_of(ASKS, ("system", "Error: timeout"), ("assistant", "Hm."), END)[1]
    assert (failed.step, failed.kind) == ("tool:unknown", "tool_error")


def test_the_quotation_is_the_sentence_that_shows_it():
    text = "Thank you for waiting. I am afraid that I cannot cancel it. Have a seat."
    assert steps_of(ASKS, ("assistant", text), END)[1].quote == "I am afraid that I cannot cancel it."
    # The first sentence denies what the second one says.
    text = "I cannot transfer you to sales. Someone will contact you."
    assert steps_of(ASKS, ("assistant", text), END)[1].quote == "Someone will contact you."


def test_excluded_data_is_not_quoted():
    content = "User: cancel it\nAssistant: I cannot, write to anna@example.com instead.\nUser: no"
    judged = LexiconJudge().judge(parse_content(content), exclusions="e-mail addresses, email")
    assert "anna@example.com" not in judged.failed_step.quote
    assert "[excluded]" in judged.failed_step.quote
    assert read_exclusions(None).applied(judged) == judged
    # Places count empty messages, as the table of messages does.
    assert steps_of(ASKS, ("assistant", " "), ("assistant", "I cannot."), END)[1].turn == 2
    assert find_steps([], completed=False) == ([], None)
