"""A review as the front end drives it: wishes in, views and dialogs out. Real services answer."""

from __future__ import annotations

import json

import pytest

import promptlift
from promptlift.errors import NotFound
from promptlift.widgets import OptimizationMonitor, VariantReview
from support.deployed import ORIGINAL, TEXTS
from support.hostile import PAYLOADS
from support.reviewed_world import ReviewedWorld


@pytest.fixture
def world(service):
    made = ReviewedWorld.beside(service.data)
    yield made
    made.database.close()


@pytest.fixture
def lift(service, world):
    with promptlift.connect(service.base_url, world.key, progress=False) as opened:
        yield opened


@pytest.fixture
def done(world):
    made = world.optimization()
    world.talk(made, ["a", "b", "c"])
    return made


class Hand:
    """What a person does: each wish has the next number."""

    def __init__(self, widget):
        self.widget = widget
        self.number = 0

    def __call__(self, kind, target="", text=""):
        self.number += 1
        self.widget._wishes = [
            {"client": "t", "number": self.number, "kind": kind, "target": target, "text": text}
        ]
        return self.widget._dialog

    def confirm(self, text=""):
        return self("confirm", self.widget._dialog["token"], text)

    @property
    def notice(self):
        return self.widget._notice.get("words", "")


@pytest.fixture
def review(lift, done):
    return VariantReview(lift, done)


@pytest.fixture
def hand(review):
    return Hand(review)


def test_opening_showing_and_opening_again_does_nothing(lift, review, done, world):
    for one in (review, VariantReview(lift, done)):
        one._repr_mimebundle_()
        assert "Review of prompt variants" in one._repr_html_()
    assert world.text == ORIGINAL
    assert lift.actions().empty
    assert review._dialog == {}


def test_apply_asks_shows_what_changes_and_acts_once(lift, review, hand, done, world):
    variant_id = world.variant(done, 1)
    dialog = hand("apply", variant_id)
    assert world.text == ORIGINAL
    assert "Support" in dialog["lines"][0]
    assert dialog["texts"][0] == ["Live now: Support", ORIGINAL.strip()]
    assert {line[0] for line in dialog["diff"]} >= {"+", "-"}
    token = dialog["token"]
    assert hand("confirm", "another token") == dialog
    hand("confirm", token, "because")
    assert world.text == TEXTS[1]
    assert "is live now" in hand.notice
    hand("confirm", token, "because")
    # The same message again, as a front end that comes back sends it.
    review._wishes = [
        {"client": "t", "number": n, "kind": "confirm", "target": token, "text": ""} for n in (2, 3)
    ]
    assert lift.actions()[["kind", "note"]].to_numpy().tolist() == [["apply", "because"]]
    assert [mark for card in review._view["cards"] for mark in card["marks"] if "live now" in mark[0]]


def test_an_undo_asks_too_and_only_the_newest_change_has_one(lift, review, hand, done, world):
    for number in (1, 2):
        hand("apply", world.variant(done, number))
        hand.confirm()
    assert [row["undo"] for row in review._view["actions"]] == [True, False]
    dialog = hand("undo", review._view["actions"][0]["id"])
    assert dialog["texts"][1][0] == "From before"
    hand.confirm("no")
    assert world.text == TEXTS[1]
    assert lift.actions()["kind"].tolist() == ["undo", "apply", "apply"]


def test_somebody_elses_change_is_refused_and_both_texts_are_shown(lift, hand, done, world):
    lift.client.prompts.update(world.prompt_id, content="Theirs.")
    dialog = hand("apply", world.variant(done, 1))
    assert dialog["texts"] == [["When this review was opened", ORIGINAL.strip()], ["Live now", "Theirs."]]
    assert dialog["token"] == ""
    hand("refresh")
    hand("apply", world.variant(done, 1))
    # The same text again, by somebody else: another version all the same.
    lift.client.prompts.update(world.prompt_id, content="x")
    lift.client.prompts.update(world.prompt_id, content="Theirs.")
    assert hand.confirm()["title"].startswith("Not done")
    assert world.text == "Theirs."
    assert lift.actions().empty


def test_failures_are_said_and_the_widget_goes_on(lift, review, hand, done, world, service):
    with promptlift.connect(service.base_url, "wrong_0123456789abcdef", progress=False) as wrong:
        hand("apply", world.variant(done, 1))
        review._lift = wrong
        hand.confirm()
        assert "does not accept the API key" in hand.notice
        hand("note", world.variant(done, 1), "kept?")
        assert "was not kept" in hand.notice
        hand("refresh")
        assert "does not accept" in hand.notice
    review._lift = lift
    hand("undo", "act_none")
    hand("apply", "nothing")
    assert "press Refresh" in hand.notice
    hand("apply", world.variant(done, 0))
    assert "This text is live" in hand.notice
    assert world.text == ORIGINAL
    hand("apply", world.variant(done, 1))
    hand.confirm()
    assert world.text == TEXTS[1]


def test_an_optimization_that_runs_can_be_stopped_with_a_reason(lift, world):
    running = world.optimization(status="queued", winner=None)
    review = VariantReview(lift, running)
    hand = Hand(review)
    assert review._view["can_stop"]
    hand("stop")
    hand.confirm("too dear")
    assert lift.optimization(running).stop_reason == "too dear"
    assert not review._view["can_stop"]
    hand("stop")
    assert "nothing to stop" in hand.notice


def test_notes_and_verdicts_are_there_again(lift, review, hand, done, world):
    variant_id = world.variant(done, 2)
    hand("note", variant_id, "Too long.\nReally.")
    hand("verdict", variant_id, "reject")
    hand("verdict", variant_id, "no such verdict")
    assert "was not kept" in hand.notice
    again = VariantReview(lift, done)
    assert again._said[variant_id] == ["reject", "Too long.\nReally."]
    assert "Too long. Really." in again._repr_html_()
    hand("verdict", variant_id, "")
    assert review._said[variant_id][0] == ""


def test_examples_are_listed_filtered_and_opened(review, hand, done, world):
    listed = review._examples
    assert (listed["found"], listed["outcome"]) == (3, "disagree")
    hand("pair", "confirm:1")
    sides = review._examples["opened"]["sides"]
    assert [side["completed"] for side in sides] == ["not completed", "completed"]
    assert sides[1]["turns"][0]["content"] == "b"
    hand("examples", world.variant(done, 1), json.dumps({"outcome": "lost"}))
    assert review._examples["found"] == 0
    hand("examples", world.variant(done, 1), json.dumps({"persona": "c"}))
    assert review._examples["found"] == 1


@pytest.mark.parametrize(
    "wish",
    [
        None, 7, {}, {"number": 1}, {"client": "t", "number": True, "kind": "apply"},
        {"client": "t", "number": 1, "kind": "confirm", "target": None},
        {"client": "t", "number": 1, "kind": "__init__", "target": ""},
        {"client": "t", "number": 1, "kind": "confirm", "target": ""},
        {"client": "t", "number": 1, "kind": "pair", "target": "confirm:x"},
        {"client": "t", "number": 1, "kind": "pair", "target": "confirm:99"},
        {"client": "t", "number": 1, "kind": "examples", "target": "", "text": "{"},
        {"client": 3, "number": 1, "kind": "apply"},
    ],
)  # fmt: skip
def test_a_wish_that_is_none_does_nothing(lift, review, world, wish):
    review._wishes = [wish]
    assert world.text == ORIGINAL
    assert review._dialog == {}
    assert lift.actions().empty


def test_what_is_typed_is_no_way_in(lift, hand, done, world):
    for text in [one for one in PAYLOADS if one.strip()][::6]:
        hand("note", text, text)
        hand("apply", text)
        hand("confirm", text, text)
        hand(text, text, text)
    assert world.text == ORIGINAL
    assert lift.actions().empty


def test_an_optimization_that_is_not_there_is_an_error_at_once(lift):
    with pytest.raises(NotFound):
        VariantReview(lift, "opt_none")


def test_the_monitor_looks_at_its_pace_stops_at_the_end_and_can_stop(lift, world):
    running = world.optimization(status="queued", winner=None)
    now = [0.0]
    monitor = OptimizationMonitor(lift, running, clock=lambda: now[0])
    hand = Hand(monitor)
    transport = lift.client.transport
    asked = []
    send = transport.send
    transport.send = lambda call, *rest, **more: asked.append(call.label) or send(call, *rest, **more)
    hand("look")  # too early: another view asked a moment ago
    assert asked == []
    now[0] = 5.0
    hand("look")
    assert len(asked) == 1
    assert monitor._view["pause"] == pytest.approx(0.5)
    now[0] = 80.0
    hand("look")
    assert monitor._view["pause"] == pytest.approx(8.0)
    hand("stop")
    hand.confirm("enough")
    assert monitor._view["ended"]
    assert "enough" in monitor._view["words"]
    before = len(asked)
    now[0] = 500.0
    hand("look")
    assert len(asked) == before
    assert "was stopped" in monitor._repr_html_()
    transport.send = send


def test_a_monitor_without_a_network_says_so_and_asks_less_often(lift, world):
    running = world.optimization(status="queued", winner=None)
    now = [0.0]
    monitor = OptimizationMonitor(lift, running, clock=lambda: now[0])
    hand = Hand(monitor)
    with promptlift.connect("http://127.0.0.1:9", "nobody_0123456789abcdef", progress=False) as nowhere:
        monitor._lift = nowhere
        pauses = []
        for step in range(1, 5):
            now[0] += 100.0 * step
            hand("look")
            pauses.append(monitor._view["pause"])
        assert "cannot be reached" in hand.notice
        assert pauses == sorted(pauses)
        assert pauses[-1] == 60.0
    monitor._lift = lift
    hand("refresh")
    assert hand.notice == ""
