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

APPLIED = "is now the current version"
RESTORED = "The previous text is the current version again"


@pytest.fixture
def done(world):
    made = world.optimization()
    world.talk(made, ["a", "b", "c"])
    return made


@pytest.fixture
def there(lift, done):
    return ReviewFrontEnd(VariantReview(lift, done))


def test_nothing_happens_without_a_confirmed_click(lift, there, done, world):
    for one in (there.widget, VariantReview(lift, done)):
        one._repr_mimebundle_()
        assert "Review of prompt variants" in one._repr_html_()
    messages = [
        None, 7, [], {}, {"action": None}, {"action": ["apply"]}, {"action": "__init__"}, {"action": "confirm", "token": ""},
        {"action": "confirm", "token": None}, {"action": "pair", "cell": "x"}, {"action": "pair", "stage": "confirm", "cell": "99"},
        {"action": "pair", "cell": 1}, {"action": "apply", "variant": ["x"]}, {"action": "examples", "variant": {}},
    ]  # fmt: skip
    for message in messages:
        there.receive(message)
        assert there.dialog is None
    for text in [one for one in PAYLOADS if one.strip()][::12]:
        there.click("note", text, note=text)
        there.click("apply", text)
        there.send("confirm", token=text, text=text)
        there.click(text, text, note=text)
    assert world.text == ORIGINAL
    assert lift.actions().empty
    with pytest.raises(NotFound):
        VariantReview(lift, "opt_none")


def test_apply_asks_acts_once_and_can_be_undone(lift, there, done, world):
    """Both clicks of an apply make 5 requests together; a note or a verdict makes one."""
    one, other = world.variant(done, 1), world.variant(done, 2)
    with requests_of(lift) as made:
        dialog = there.click("apply", one)
        assert world.text == ORIGINAL
        assert "current version of the prompt Support" in dialog
        assert there.texts()[0] == ["Current version: Support", ORIGINAL.strip()]
        assert {*dialog.texts(".plw-sign")} >= {"+", "−"}
        token = dialog.one(".plw-confirm")["token"]
        for wrong in ("another token", "ü", ""):
            there.send("confirm", token=wrong, text="no")
        assert there.dialog.text == dialog.text
        there.confirm("because")
        assert len(made) <= 5, made
    assert world.text == TEXTS[1]
    assert APPLIED in there.notice
    for _ in range(2):  # the same message again, as a second click sends it
        there.send("confirm", token=token, text="because")
    assert lift.actions()[["kind", "note"]].to_numpy().tolist() == [["apply", "because"]]
    assert "● current version" in there.card(one).texts(".plw-badge")
    # Only the newest change has an undo, which the notice offers too.
    there.click("apply", other)
    there.confirm()
    assert [bool(undo) for undo in there.undos()] == [True, False]
    undo = there.root.one(".plw-notice").one(".plw-undo")["of"]
    assert undo == there.undos()[0]
    with requests_of(lift) as made:
        there.click("undo", of=undo)
        assert there.texts()[1][0] == "Previous text"
        there.confirm("no")
        assert len(made) <= 6, made
    assert RESTORED in there.notice
    assert there.root.one(".plw-notice").all(".plw-undo") == []
    assert world.text == TEXTS[1]
    assert lift.actions()["kind"].tolist() == ["undo", "apply", "apply"]
    assert [action.texts("b")[0] for action in there.root.all(".plw-action")] == ["undo", "apply", "apply"]


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
    assert there.dialog.text.startswith("Not done")
    assert world.text == "Theirs."
    assert lift.actions().empty


def test_failures_are_explained_and_the_widget_stays_usable(lift, done, world, service):
    switched = SwitchedWorkspace(lift)
    there = ReviewFrontEnd(VariantReview(switched, done))
    one, other = world.variant(done, 1), world.variant(done, 2)
    with promptlift.connect(service.base_url, "wrong_0123456789abcdef", progress=False) as wrong:
        there.click("apply", one)
        switched.to(wrong)
        there.confirm()
        assert "does not accept the API key" in there.notice
        there.click("note", one, note="kept?")
        assert "was not saved" in there.notice
        there.click("refresh")
        assert "does not accept the API key" in there.notice
    switched.to(lift)
    there.click("undo", of="act_none")
    there.click("apply", "nothing")
    assert "press Refresh" in there.notice
    there.click("apply", world.variant(done, 0))
    assert "This is the current version" in there.notice
    assert world.text == ORIGINAL
    # An apply is reported even when nothing can be read after it.
    there.click("apply", one)
    with promptlift.connect("http://127.0.0.1:9", "nobody_0123456789abcdef", progress=False) as nowhere:
        switched.after("apply", nowhere)
        there.confirm()
    assert world.text == TEXTS[1]
    assert APPLIED in there.notice
    assert "out of date" in there.notice
    # What this review knew of the prompt is old by its own doing, so it asks for a Refresh and blames nobody.
    switched.to(lift)
    there.click("apply", other)
    assert "press Refresh" in there.notice
    there.click("refresh")
    assert "Apply Variant 2?" in there.click("apply", other)


def test_an_optimization_that_runs_can_be_stopped_with_a_reason(lift, world):
    running = world.optimization(status="queued", winner=None)
    there = ReviewFrontEnd(VariantReview(lift, running))
    assert there.root.all(action="stop")
    with requests_of(lift) as made:
        there.click("stop")
        there.confirm("too dear")
    # Neither the prompt nor the notes are read again.
    assert len(made) <= 5, made
    assert not [one for one in made if "/prompts/" in one or one.endswith("/review")]
    assert lift.optimizations[running].stop_reason == "too dear"
    assert not there.root.all(action="stop")
    assert there.root.one(".plw-action").texts("b") == ["stop"]
    there.click("stop")
    assert "there is nothing to stop" in there.notice


def test_notes_and_verdicts_are_there_again(lift, there, done, world):
    variant_id = world.variant(done, 2)
    with requests_of(lift) as made:
        there.click("note", variant_id, note="Too long.\nReally.")
        there.click("verdict", variant_id, verdict="reject")
        assert len(made) <= 2, made
    there.click("verdict", variant_id, verdict="no such verdict")
    assert "was not saved" in there.notice
    again = ReviewFrontEnd(VariantReview(lift, done))
    for one in (there, again):
        assert one.decided(variant_id) == (["reject"], "Too long.\nReally.")
    assert "Too long. Really." in again.html
    there.press("verdict", verdict="reject")
    assert there.decided(variant_id) == ([], "Too long.\nReally.")


def test_opening_and_refreshing_ask_for_nothing_twice(done, service, world):
    """Each part of the page is one request; opening reads the transcripts of one pair too, and asks whether reviews are kept."""
    of_it, of_prompt = f"GET /optimizations/{done}", f"GET /prompts/{world.prompt_id}"
    paths = (
        of_it,
        f"{of_it}/variants",
        f"{of_it}/simulations",
        f"{of_it}/review",
        of_prompt,
        f"{of_prompt}/versions",
        f"{of_prompt}/experiments",
    )
    parts = Counter((*paths, "GET /actions", "GET /labels"))
    with promptlift.connect(service.base_url, world.key, progress=False) as fresh:
        with requests_of(fresh) as made:
            there = ReviewFrontEnd(VariantReview(fresh, done))
        assert Counter(made) - parts == Counter({f"{of_it}/simulations": 2, "GET /actions": 1})
        with requests_of(fresh) as made:
            there.click("refresh")
        assert Counter(made) == parts


def test_examples_are_listed_filtered_and_opened_with_calls_of_tools(lift, world):
    made = world.optimization()
    after = [
        {"role": "assistant", "content": '[tool call] find_parcel({"id": 7})'},
        {"role": "system", "content": '[tool result] {"status": "<b>Lyon</b>"}', "toolResult": "replayed"},
    ]
    world.talk(made, ["a", "b", "c"], after=after)
    there = ReviewFrontEnd(VariantReview(lift, made))
    assert there.found == "3 of 3 pairs"
    assert there.root.one("select", name="outcome")["value"] == "disagree"
    there.press("pair", cell=1)
    opened = there.root.one(".plw-sides")
    assert opened.texts(".plw-badge") == ["not completed", "completed"]
    for side in opened.all(".plw-side"):
        assert side.texts(".plw-turn") == [
            "userb",
            "tool callfind_parcel\n  id: 7",
            'tool result · replayed from a logged conversation{"status": "<b>Lyon</b>"}',
        ]
    assert "replayed from a logged conversation" in there.html
    assert "<b>Lyon" not in there.html
    there.press("examples", outcome="lost", name="outcome")
    assert there.found == "0 of 3 pairs"
    there.click("examples", world.variant(made, 1), persona="c")
    assert there.found == "1 of 3 pairs"


def test_the_confirmation_and_the_screening_are_never_counted_together(lift, world):
    made = lift.optimize(world.prompt_id, mode="exploratory", variants=3, seed=6, wait=False).wait(
        timeout=120
    )
    there = ReviewFrontEnd(VariantReview(lift, made.id))
    bodies = {one["stage"]: one.all(".plw-variant") for one in there.root.all("tbody") if one["stage"]}
    groups = {stage: [one["variant"] for one in rows] for stage, rows in bodies.items()}
    finalist = made.results.finalist_variant_id
    assert list(groups) == ["confirm", "screen"]
    original = there.root.all(".plw-variant")[0]["variant"]
    assert groups["confirm"] == [original, finalist]
    assert len(groups["screen"]) == 2
    for one in groups["screen"]:
        assert there.root.one(".plw-variant", variant=one).one(".plw-verdict").text.strip() == "screened only"
        assert "confidence" not in there.card(one)
    assert "2 more variants, screened only" in there.html
    # The finalist has conversations of both stages: each list, and each count in it, is of one.
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
