"""A review as the front end drives it: commands in, views and dialogs out. Real services answer."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import promptlift
from promptlift.errors import NotFound
from promptlift.widgets import VariantReview
from support.deployed import ORIGINAL, TEXTS
from support.front_end import CommandFrontEnd
from support.hostile import PAYLOADS
from support.request_log import requests_of
from support.switched_workspace import SwitchedWorkspace

pytestmark = pytest.mark.slow

# What the widget says, in one place.
SAID = {
    "applied": "is now the current version",
    "bad key": "does not accept the API key",
    "current already": "This is the current version",
    "not saved": "was not saved",
    "nothing to stop": "there is nothing to stop",
    "refresh": "press Refresh",
    "refused": "Not done",
    "restored": "The previous text is the current version again",
}


@pytest.fixture
def done(world):
    made = world.optimization()
    world.talk(made, ["a", "b", "c"])
    return made


@pytest.fixture
def there(lift, done):
    return CommandFrontEnd(VariantReview(lift, done))


def test_opening_showing_and_opening_again_does_nothing(lift, there, done, world):
    for one in (there.widget, VariantReview(lift, done)):
        one._repr_mimebundle_()
        assert "Review of prompt variants" in one._repr_html_()
    assert world.text == ORIGINAL
    assert lift.actions().empty
    assert there.dialog == {}


def test_apply_asks_shows_what_changes_and_acts_once(lift, there, done, world):
    variant_id = world.variant(done, 1)
    dialog = there.click("apply", variant_id)
    assert world.text == ORIGINAL
    assert "Support" in dialog["lines"][0]
    assert dialog["texts"][0] == ["Current version: Support", ORIGINAL.strip()]
    assert {line[0] for line in dialog["diff"]} >= {"+", "-"}
    token = dialog["token"]
    assert there.confirm(token="another token") == dialog
    there.confirm("because")
    assert world.text == TEXTS[1]
    assert SAID["applied"] in there.notice
    there.confirm("because", token=token)
    # The same message again, as a front end that comes back sends it.
    again = {"kind": "confirm", "target": token, "text": ""}
    there.receive([there.command(number=number, **again) for number in (2, 3)])
    assert lift.actions()[["kind", "note"]].to_numpy().tolist() == [["apply", "because"]]
    assert "● current version" in there.badges()


def test_an_undo_asks_too_and_only_the_newest_change_has_one(lift, there, done, world):
    for number in (1, 2):
        there.click("apply", world.variant(done, number))
        there.confirm()
    assert [row["undo"] for row in there.view["actions"]] == [True, False]
    dialog = there.click("undo", there.view["actions"][0]["id"])
    assert dialog["texts"][1][0] == "Previous text"
    there.confirm("no")
    assert SAID["restored"] in there.notice
    assert world.text == TEXTS[1]
    assert lift.actions()["kind"].tolist() == ["undo", "apply", "apply"]


def test_somebody_elses_change_is_refused_and_both_texts_are_shown(lift, there, done, world):
    lift.client.prompts.update(world.prompt_id, content="Theirs.")
    dialog = there.click("apply", world.variant(done, 1))
    assert dialog["texts"] == [
        ["When this review was opened", ORIGINAL.strip()],
        ["Current version", "Theirs."],
    ]
    assert dialog["token"] == ""
    there.click("refresh")
    there.click("apply", world.variant(done, 1))
    # The same text again, by somebody else: another version all the same.
    lift.client.prompts.update(world.prompt_id, content="x")
    lift.client.prompts.update(world.prompt_id, content="Theirs.")
    assert there.confirm()["title"].startswith(SAID["refused"])
    assert world.text == "Theirs."
    assert lift.actions().empty


def test_failures_are_explained_and_the_widget_goes_on(lift, done, world, service):
    switched = SwitchedWorkspace(lift)
    there = CommandFrontEnd(VariantReview(switched, done))
    with promptlift.connect(service.base_url, "wrong_0123456789abcdef", progress=False) as wrong:
        there.click("apply", world.variant(done, 1))
        switched.to(wrong)
        there.confirm()
        assert SAID["bad key"] in there.notice
        there.click("note", world.variant(done, 1), "kept?")
        assert SAID["not saved"] in there.notice
        there.click("refresh")
        assert SAID["bad key"] in there.notice
    switched.to(lift)
    there.click("undo", "act_none")
    there.click("apply", "nothing")
    assert SAID["refresh"] in there.notice
    there.click("apply", world.variant(done, 0))
    assert SAID["current already"] in there.notice
    assert world.text == ORIGINAL
    there.click("apply", world.variant(done, 1))
    there.confirm()
    assert world.text == TEXTS[1]


def test_an_apply_is_reported_also_when_nothing_can_be_read_after_it(lift, done, world):
    switched = SwitchedWorkspace(lift)
    there = CommandFrontEnd(VariantReview(switched, done))
    there.click("apply", world.variant(done, 1))
    with promptlift.connect("http://127.0.0.1:9", "nobody_0123456789abcdef", progress=False) as nowhere:
        switched.after("apply", nowhere)
        there.confirm()
    assert world.text == TEXTS[1]
    assert SAID["applied"] in there.notice
    assert "out of date" in there.notice
    # What this review knew of the prompt is old by its own doing, so it asks for a Refresh and blames nobody.
    switched.to(lift)
    there.click("apply", world.variant(done, 2))
    assert SAID["refresh"] in there.notice
    there.click("refresh")
    assert there.click("apply", world.variant(done, 2))["title"] == "Apply Variant 2?"


def test_an_optimization_that_runs_can_be_stopped_with_a_reason(lift, world):
    running = world.optimization(status="queued", winner=None)
    there = CommandFrontEnd(VariantReview(lift, running))
    assert there.view["can_stop"]
    there.click("stop")
    there.confirm("too dear")
    assert lift.optimizations[running].stop_reason == "too dear"
    assert not there.view["can_stop"]
    assert [row["kind"] for row in there.view["actions"]] == ["stop"]
    there.click("stop")
    assert SAID["nothing to stop"] in there.notice


def test_notes_and_verdicts_are_there_again(lift, there, done, world):
    variant_id = world.variant(done, 2)
    there.click("note", variant_id, "Too long.\nReally.")
    there.click("verdict", variant_id, "reject")
    there.click("verdict", variant_id, "no such verdict")
    assert SAID["not saved"] in there.notice
    assert there.reviews[variant_id] == ["reject", "Too long.\nReally."]
    again = CommandFrontEnd(VariantReview(lift, done))
    assert again.reviews[variant_id] == ["reject", "Too long.\nReally."]
    assert "Too long. Really." in again.html
    there.click("verdict", variant_id, "")
    assert there.reviews[variant_id] == ["", "Too long.\nReally."]


def test_a_click_makes_few_requests(lift, there, done, world):
    """Both clicks of an apply make 5 requests together; a note or a verdict makes one."""
    variant_id = world.variant(done, 1)
    with requests_of(lift) as made:
        there.click("apply", variant_id)
        there.confirm()
        assert SAID["applied"] in there.notice
        assert len(made) <= 5, made
        made.clear()
        there.click("note", variant_id, "short")
        there.click("verdict", variant_id, "keep")
        assert len(made) <= 2, made
        made.clear()
        there.click("undo", there.view["actions"][0]["id"])
        there.confirm()
        assert SAID["restored"] in there.notice
        assert len(made) <= 6, made
    assert there.reviews[variant_id] == ["keep", "short"]
    assert [row["kind"] for row in there.view["actions"]] == ["undo", "apply"]


def test_opening_and_refreshing_ask_for_nothing_twice(done, service, world):
    """Each part of the page is one request; opening reads the transcripts of one pair too, and asks whether the service keeps reviews."""
    parts = Counter(
        [
            f"GET /optimizations/{done}",
            f"GET /optimizations/{done}/variants",
            f"GET /optimizations/{done}/simulations",
            f"GET /optimizations/{done}/review",
            "GET /actions",
            "GET /labels",
            f"GET /prompts/{world.prompt_id}",
            f"GET /prompts/{world.prompt_id}/versions",
        ]
    )
    transcripts = Counter({f"GET /optimizations/{done}/simulations": 2})
    whether_kept = Counter({"GET /actions": 1})
    with promptlift.connect(service.base_url, world.key, progress=False) as fresh:
        with requests_of(fresh) as made:
            there = CommandFrontEnd(VariantReview(fresh, done))
        assert Counter(made) == parts + transcripts + whether_kept
        with requests_of(fresh) as made:
            there.click("refresh")
        assert Counter(made) == parts


def test_a_stop_reads_neither_the_prompt_nor_the_notes_again(lift, world):
    running = world.optimization(status="queued", winner=None)
    there = CommandFrontEnd(VariantReview(lift, running))
    with requests_of(lift) as made:
        there.click("stop")
        there.confirm()
    assert len(made) <= 5, made
    assert not [one for one in made if "/prompts/" in one or one.endswith("/review")]


def test_examples_are_listed_filtered_and_opened(there, done, world):
    assert (there.examples["found"], there.examples["outcome"]) == (3, "disagree")
    there.click("pair", "confirm:1")
    sides = there.examples["opened"]["sides"]
    assert [side["completed"] for side in sides] == ["not completed", "completed"]
    assert sides[1]["turns"][0]["content"] == "b"
    there.click("examples", world.variant(done, 1), json.dumps({"outcome": "lost"}))
    assert there.examples["found"] == 0
    there.click("examples", world.variant(done, 1), json.dumps({"persona": "c"}))
    assert there.examples["found"] == 1


def test_calls_of_tools_are_shown_with_what_they_gave_and_how(lift, world):
    made = world.optimization()
    world.talk(
        made,
        ["Where is it?"],
        after=[
            {"role": "assistant", "content": '[tool call] find_parcel({"id": 7})'},
            {
                "role": "system",
                "content": '[tool result] {"status": "<b>Lyon</b>"}',
                "toolResult": "replayed",
            },
            {"role": "assistant", "content": "[tool call] call_me({})"},
            {"role": "system", "content": "[tool result] Error: no", "toolResult": "likeness"},
        ],
    )
    there = CommandFrontEnd(VariantReview(lift, made))
    there.click("pair", "confirm:0")
    for side in there.examples["opened"]["sides"]:
        assert [(turn["role"], turn["content"], turn["detail"]) for turn in side["turns"][1:]] == [
            ("tool call", "find_parcel\n  id: 7", ""),
            ("tool result", '{"status": "<b>Lyon</b>"}', "replayed from a logged conversation"),
            ("tool call", "call_me()", ""),
            ("tool result", "Error: no", "imitated from logged calls"),
        ]
    page = there.widget._repr_html_()
    for words in (
        "tool call",
        "replayed from a logged conversation",
        "imitated from logged calls",
    ):
        assert words in page
    assert "<b>Lyon" not in page
    assert "[tool" not in page


def test_what_is_no_command_does_nothing(lift, there, world):
    messages = [
        None, 7, {}, {"number": 1}, {"client": "t", "number": True, "kind": "apply"},
        {"client": "t", "number": 1, "kind": "confirm", "target": None},
        {"client": "t", "number": 1, "kind": "__init__", "target": ""},
        {"client": "t", "number": 1, "kind": "confirm", "target": ""},
        {"client": "t", "number": 1, "kind": "pair", "target": "confirm:x"},
        {"client": "t", "number": 1, "kind": "pair", "target": "confirm:99"},
        {"client": "t", "number": 1, "kind": "examples", "target": "", "text": "{"},
        {"client": 3, "number": 1, "kind": "apply"},
    ]  # fmt: skip
    for number, message in enumerate(messages, start=1):
        is_numbered = isinstance(message, dict) and type(message.get("number")) is int
        there.receive([{**message, "number": number} if is_numbered else message])
        assert there.dialog == {}
    assert world.text == ORIGINAL
    assert lift.actions().empty


def test_the_notice_after_an_apply_leads_back(there, done, world):
    there.click("apply", world.variant(done, 1))
    there.confirm()
    undo = there.state("_notice")["undo"]
    assert undo == there.view["actions"][0]["id"]
    there.click("undo", undo)
    there.confirm()
    assert world.text == ORIGINAL
    assert there.state("_notice")["undo"] == ""


def test_the_confirmation_and_the_screening_are_never_counted_together(lift, world):
    made = lift.optimize(world.prompt_id, mode="exploratory", variants=3, seed=6, wait=False).wait(
        timeout=120
    )
    there = CommandFrontEnd(VariantReview(lift, made.id))
    groups = {group["key"]: group["ids"] for group in there.view["groups"]}
    assert list(groups) == ["confirm", "screen"]
    assert groups["confirm"] == [made.results.finalist_variant_id]
    assert len(groups["screen"]) == 2
    cards = {card["id"]: card for card in there.view["cards"]}
    assert {cards[one]["outcome"] for one in groups["screen"]} == {"screened only"}
    assert not any(cards[one]["confidence"] for one in groups["screen"])
    assert there.html.index("Screening") > there.html.index("Confirmation")
    # The finalist has conversations of both stages: each list, and each count in it, is of one.
    finalist = made.results.finalist_variant_id
    table = made.simulations(variant_id=finalist)
    for stage in ("confirm", "screen"):
        there.click("examples", finalist, json.dumps({"stage": stage, "outcome": ""}))
        assert there.examples["stages"] == [["confirm", "confirmation"], ["screen", "screening"]]
        assert there.examples["total"] == table["stage"].eq(stage).sum()
        assert (
            sum(count for name, _, count in there.examples["outcomes"] if name != "disagree")
            <= there.examples["total"]
        )
        assert {pair["stage"] for pair in there.examples["pairs"]} == {stage}
    there.click("examples", finalist, "{}")
    assert there.examples["stage"] == "confirm"


def test_what_is_typed_is_no_way_in(lift, there, done, world):
    for text in [one for one in PAYLOADS if one.strip()][::6]:
        there.click("note", text, text)
        there.click("apply", text)
        there.confirm(text, token=text)
        there.click(text, text, text)
    assert world.text == ORIGINAL
    assert lift.actions().empty


def test_an_optimization_that_is_not_there_is_an_error_at_once(lift):
    with pytest.raises(NotFound):
        VariantReview(lift, "opt_none")
