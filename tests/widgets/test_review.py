"""A review as the front end drives it: commands in, views and dialogs out. Real services answer."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import promptlift
from promptlift.errors import NotFound
from promptlift.widgets import VariantReview
from support.deployed import ORIGINAL, TEXTS
from support.front_end import ReviewFrontEnd
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
    return ReviewFrontEnd(VariantReview(lift, done))


def test_opening_showing_and_opening_again_does_nothing(lift, there, done, world):
    for one in (there.widget, VariantReview(lift, done)):
        one._repr_mimebundle_()
        assert "Review of prompt variants" in one._repr_html_()
    assert world.text == ORIGINAL
    assert lift.actions().empty
    assert there.dialog is None


def test_apply_asks_shows_what_changes_and_acts_once(lift, there, done, world):
    variant_id = world.variant(done, 1)
    dialog = there.click("apply", variant_id)
    assert world.text == ORIGINAL
    assert "current version of the prompt Support" in dialog
    assert there.texts()[0] == ["Current version: Support", ORIGINAL.strip()]
    assert {*dialog.texts(".plw-sign")} >= {"+", "−"}
    token = dialog.one(".plw-confirm")["token"]
    for wrong in ("another token", "ü", ""):
        there.send("confirm", token=wrong, text="no")
    assert there.dialog.text == dialog.text
    there.confirm("because")
    assert world.text == TEXTS[1]
    assert SAID["applied"] in there.notice
    # The same message again, as a second click sends it.
    for _ in range(2):
        there.send("confirm", token=token, text="because")
    assert lift.actions()[["kind", "note"]].to_numpy().tolist() == [["apply", "because"]]
    assert "● current version" in there.card(variant_id).texts(".plw-badge")


def test_an_undo_asks_too_and_only_the_newest_change_has_one(lift, there, done, world):
    for number in (1, 2):
        there.click("apply", world.variant(done, number))
        there.confirm()
    assert [bool(one) for one in there.undos()] == [True, False]
    there.click("undo", of=there.undos()[0])
    assert there.texts()[1][0] == "Previous text"
    there.confirm("no")
    assert SAID["restored"] in there.notice
    assert world.text == TEXTS[1]
    assert lift.actions()["kind"].tolist() == ["undo", "apply", "apply"]


def test_somebody_elses_change_is_refused_and_both_texts_are_shown(lift, there, done, world):
    lift.client.prompts.update(world.prompt_id, content="Theirs.")
    dialog = there.click("apply", world.variant(done, 1))
    assert there.texts() == [
        ["When this review was opened", ORIGINAL.strip()],
        ["Current version", "Theirs."],
    ]
    assert dialog.all(".plw-confirm") == []
    there.click("refresh")
    there.click("apply", world.variant(done, 1))
    # The same text again, by somebody else: another version all the same.
    lift.client.prompts.update(world.prompt_id, content="x")
    lift.client.prompts.update(world.prompt_id, content="Theirs.")
    there.confirm()
    assert there.dialog.text.startswith(SAID["refused"])
    assert world.text == "Theirs."
    assert lift.actions().empty


def test_failures_are_explained_and_the_widget_goes_on(lift, done, world, service):
    switched = SwitchedWorkspace(lift)
    there = ReviewFrontEnd(VariantReview(switched, done))
    with promptlift.connect(service.base_url, "wrong_0123456789abcdef", progress=False) as wrong:
        there.click("apply", world.variant(done, 1))
        switched.to(wrong)
        there.confirm()
        assert SAID["bad key"] in there.notice
        there.click("note", world.variant(done, 1), note="kept?")
        assert SAID["not saved"] in there.notice
        there.click("refresh")
        assert SAID["bad key"] in there.notice
    switched.to(lift)
    there.click("undo", of="act_none")
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
    there = ReviewFrontEnd(VariantReview(switched, done))
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
    assert "Apply Variant 2?" in there.click("apply", world.variant(done, 2))


def test_an_optimization_that_runs_can_be_stopped_with_a_reason(lift, world):
    running = world.optimization(status="queued", winner=None)
    there = ReviewFrontEnd(VariantReview(lift, running))
    assert there.root.all(action="stop")
    there.click("stop")
    there.confirm("too dear")
    assert lift.optimizations[running].stop_reason == "too dear"
    assert not there.root.all(action="stop")
    assert there.root.one(".plw-action").texts("b") == ["stop"]
    there.click("stop")
    assert SAID["nothing to stop"] in there.notice


def test_notes_and_verdicts_are_there_again(lift, there, done, world):
    variant_id = world.variant(done, 2)
    there.click("note", variant_id, note="Too long.\nReally.")
    there.click("verdict", variant_id, verdict="reject")
    there.click("verdict", variant_id, verdict="no such verdict")
    assert SAID["not saved"] in there.notice
    assert there.decided(variant_id) == (["reject"], "Too long.\nReally.")
    again = ReviewFrontEnd(VariantReview(lift, done))
    assert again.decided(variant_id) == (["reject"], "Too long.\nReally.")
    assert "Too long. Really." in again.html
    there.press("verdict", verdict="reject")
    assert there.decided(variant_id) == ([], "Too long.\nReally.")


def test_a_click_makes_few_requests(lift, there, done, world):
    """Both clicks of an apply make 5 requests together; a note or a verdict makes one."""
    variant_id = world.variant(done, 1)
    with requests_of(lift) as made:
        there.click("apply", variant_id)
        there.confirm()
        assert SAID["applied"] in there.notice
        assert len(made) <= 5, made
        made.clear()
        there.click("note", variant_id, note="short")
        there.click("verdict", variant_id, verdict="keep")
        assert len(made) <= 2, made
        made.clear()
        there.click("undo", of=there.undos()[0])
        there.confirm()
        assert SAID["restored"] in there.notice
        assert len(made) <= 6, made
    assert there.decided(variant_id) == (["keep"], "short")
    assert [one.texts("b")[0] for one in there.root.all(".plw-action")] == ["undo", "apply"]


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
            there = ReviewFrontEnd(VariantReview(fresh, done))
        assert Counter(made) == parts + transcripts + whether_kept
        with requests_of(fresh) as made:
            there.click("refresh")
        assert Counter(made) == parts


def test_a_stop_reads_neither_the_prompt_nor_the_notes_again(lift, world):
    running = world.optimization(status="queued", winner=None)
    there = ReviewFrontEnd(VariantReview(lift, running))
    with requests_of(lift) as made:
        there.click("stop")
        there.confirm()
    assert len(made) <= 5, made
    assert not [one for one in made if "/prompts/" in one or one.endswith("/review")]


def test_examples_are_listed_filtered_and_opened(there, done, world):
    assert there.found == "3 of 3 pairs"
    assert there.root.one("select", name="outcome")["value"] == "disagree"
    there.press("pair", cell=1)
    opened = there.root.one(".plw-sides")
    assert opened.texts(".plw-badge") == ["not completed", "completed"]
    assert opened.all(".plw-side")[1].all(".plw-turn")[0].texts(".plw-foreign") == ["b"]
    there.press("examples", outcome="lost", name="outcome")
    assert there.found == "0 of 3 pairs"
    there.click("examples", world.variant(done, 1), persona="c")
    assert there.found == "1 of 3 pairs"


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
    there = ReviewFrontEnd(VariantReview(lift, made))
    there.press("pair", cell=0)
    for side in there.root.all(".plw-side"):
        assert [turn.text for turn in side.all(".plw-turn")[1:]] == [
            "tool callfind_parcel\n  id: 7",
            'tool result · replayed from a logged conversation{"status": "<b>Lyon</b>"}',
            "tool callcall_me()",
            "tool result · imitated from logged callsError: no",
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
        None, 7, [], {}, {"action": None}, {"action": ["apply"]}, {"action": "__init__"}, {"action": "confirm", "token": ""},
        {"action": "confirm", "token": None}, {"action": "pair", "cell": "x"}, {"action": "pair", "stage": "confirm", "cell": "99"},
        {"action": "pair", "cell": 1}, {"action": "apply", "variant": ["x"]}, {"action": "examples", "variant": {}},
    ]  # fmt: skip
    for message in messages:
        there.receive(message)
        assert there.dialog is None
    assert world.text == ORIGINAL
    assert lift.actions().empty


def test_the_notice_after_an_apply_leads_back(there, done, world):
    there.click("apply", world.variant(done, 1))
    there.confirm()
    undo = there.root.one(".plw-notice").one(".plw-undo")["of"]
    assert undo == there.undos()[0]
    there.click("undo", of=undo)
    there.confirm()
    assert world.text == ORIGINAL
    assert there.root.one(".plw-notice").all(".plw-undo") == []


def test_the_confirmation_and_the_screening_are_never_counted_together(lift, world):
    made = lift.optimize(world.prompt_id, mode="exploratory", variants=3, seed=6, wait=False).wait(
        timeout=120
    )
    there = ReviewFrontEnd(VariantReview(lift, made.id))
    groups = {
        body["stage"]: [one["variant"] for one in body.all(".plw-variant")]
        for body in there.root.all("tbody")
        if body["stage"]
    }
    assert list(groups) == ["confirm", "screen"]
    assert groups["confirm"] == [made.results.finalist_variant_id]
    assert len(groups["screen"]) == 2
    for one in groups["screen"]:
        assert there.root.one(".plw-variant", variant=one).one(".plw-verdict").text.strip() == "screened only"
        assert "confidence" not in there.card(one)
    assert there.html.index("Screening") > there.html.index("Confirmation")
    # The finalist has conversations of both stages: each list, and each count in it, is of one.
    finalist = made.results.finalist_variant_id
    table = made.simulations(variant_id=finalist)
    for stage in ("confirm", "screen"):
        there.click("examples", finalist, stage=stage, outcome="")
        assert there.options("stage") == ["confirmation", "screening"]
        total = table["stage"].eq(stage).sum()
        assert there.found == f"{total} of {total} pairs"
        counts = [int(re.search(r"\((\d+)\)", one)[1]) for one in there.options("outcome")[2:]]
        assert sum(counts) <= total
        assert {pair["stage"] for pair in there.root.all(".plw-pair")} == {stage}
    there.click("examples", finalist)
    assert there.root.one("select", name="stage")["value"] == "confirm"


def test_what_is_typed_is_no_way_in(lift, there, done, world):
    for text in [one for one in PAYLOADS if one.strip()][::6]:
        there.click("note", text, note=text)
        there.click("apply", text)
        there.send("confirm", token=text, text=text)
        there.click(text, text, note=text)
    assert world.text == ORIGINAL
    assert lift.actions().empty


def test_an_optimization_that_is_not_there_is_an_error_at_once(lift):
    with pytest.raises(NotFound):
        VariantReview(lift, "opt_none")
