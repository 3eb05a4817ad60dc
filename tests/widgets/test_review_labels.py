"""Labels on simulated conversations in a review: drawn blind, and first on the winner's card."""

from __future__ import annotations

import pytest

from promptlift.errors import ConfigError, ConnectionFailed
from promptlift.widgets import VariantReview
from promptlift.widgets.review import widget as review_widget
from support.deployed import TEXTS
from support.front_end import BrowserFrontEnd, ReviewFrontEnd

pytestmark = pytest.mark.slow

CELLS = 40


@pytest.fixture
def done(world):
    made = world.optimization()
    world.talk(made, [f"cell {number}" for number in range(CELLS)])
    return made


@pytest.fixture
def there(lift, done):
    return ReviewFrontEnd(VariantReview(lift, done))


def labels_say(there):
    """What labels say on the card of the winner: after its badges, before its numbers."""
    return [
        one
        for one in there.card().one(".plw-numbers").children
        if {"plw-said", "plw-warning"} & {*one.classes}
    ]


def badges(there):
    return [(one.text, one.classes[-1]) for one in there.card().all(".plw-badge")]


def label(lift, there, done, says):
    """Label the whole draw; ``says`` answers for the variant and the cell."""
    drawn = BrowserFrontEnd(there.widget.label_draw(2 * CELLS, labeller="ann"))
    about = lift.optimizations[done].simulations().set_index("simulation_id")
    for place, one in enumerate(drawn.widget._plan.ids):
        yes = says(not about.loc[one, "is_original"], int(about.loc[one, "cell"]))
        drawn.label(place, "task_completed", "true" if yes else "false")
    assert drawn.notice == ""
    there.click("refresh")
    return drawn


def test_the_winner_of_nobodys_labels_offers_a_draw(there):
    (words,) = (one.text for one in labels_say(there))
    assert words == "Nobody has checked these conversations yet: the lift is what the judge says."
    assert there.root.texts(action="label") == ["Label both arms, blind"]
    assert words in there.html
    assert "review.label_draw()" in there.html
    for row in there.root.all(".plw-variant"):
        if "plw-won" not in row.classes:
            card = there.card(row["variant"])
            assert card.all(".plw-said") == card.all(action="label") == []


def test_a_winner_that_labels_do_not_confirm_says_so_first(lift, there, done):
    """The judge calls all of the variant completed and none of the original; people see no difference."""
    drawn = label(lift, there, done, lambda _, cell: cell % 2 == 0)
    assert ("not confirmed by labels", "plw-warn") in badges(there)
    first, second, third = labels_say(there)
    assert first.text.startswith("The judge errs differently on the two arms (p < 0.001): ")
    assert "plw-warning" in first.classes
    assert "Corrected by 80 labels of people: +0.0 points of task completion" in second
    assert "As the judge says: +100.0 points." in second
    assert third.text.startswith("0 is inside the corrected interval")
    assert there.html.count("The judge errs") == 1
    kept = lift.labels(optimization_id=done)
    assert len(kept) == 2 * CELLS
    assert set(kept["labeller"]) == {"ann"}
    # Blind: neither the arm nor the verdict is sent.
    sent = drawn.everything() + drawn.html
    names = there.root.texts(".plw-choose")
    for secret in (*names, *drawn.widget._plan.ids, done, "is_original", "variant_id", '"chance"', "stratum"):
        assert secret not in sent


def test_a_winner_that_labels_confirm_says_so(lift, there, done):
    label(lift, there, done, lambda variant, cell: cell % 4 > 0 if variant else cell % 4 == 0)
    assert ("confirmed by labels", "plw-good") in badges(there)
    assert any("Corrected by 80 labels of people: +50.0 points" in words for words in labels_say(there))


def test_a_winner_that_is_worse_by_the_labels_says_so(lift, there, done):
    label(lift, there, done, lambda variant, cell: cell % 4 == 0 if variant else cell % 4 > 0)
    assert ("not confirmed by labels", "plw-warn") in badges(there)
    assert labels_say(there)[-1].text.startswith("The whole corrected interval is below 0")


def test_too_few_labels_are_said_in_words(lift, there, done):
    drawn = BrowserFrontEnd(there.widget.label_draw(10))
    drawn.label(0, "task_completed", "true")
    there.click("refresh")
    (words,) = (one.text for one in labels_say(there))
    assert words.startswith("Not corrected by labels. ")
    assert "of the original (" in words


def test_without_a_confirmation_there_is_nothing_to_draw(lift, world):
    with pytest.raises(ConfigError, match="nothing to label yet"):
        VariantReview(lift, world.optimization()).label_draw()


def relabel(drawn, place, yes):
    """Label a conversation that may be labelled already."""
    drawn.go("open", place=place)
    value = "true" if yes else "false"
    if not drawn.root.all(action="label", value=value, aria_pressed="true"):
        drawn.press("label", value=value)


def press(there):
    """Press the button that has both arms labelled, and return the front end of the browser that is there then."""
    there.card()
    there.press("label")
    assert there.notice == ""
    return BrowserFrontEnd(there.widget._drawn)


def secrets_of(there, world, done):
    numbers = range(len(TEXTS))
    return [
        *(world.variant(done, one) for one in numbers),
        "Variant 1",
        "Support",
        "You h",
        "winner",
        "lift ",
    ]


def test_the_button_shows_the_draw_and_nothing_of_the_review(there, world, done, lift):
    """A front end holds the whole state: what is not to be seen is not in it."""
    variant = world.variant(done, 1)
    lift.optimizations[done].mark(variant, verdict="keep", note="Support: the winner")
    there.click("refresh")
    there.click("apply", variant)
    before = there.everything() + there.html
    secrets = secrets_of(there, world, done)
    assert all(one in before for one in secrets)
    drawn = press(there)
    # Nothing that another view or a late message asks for brings it back.
    for kind in ("examples", "switch", "apply", "verdict", "refresh", "pair", "choose", "cancel"):
        there.click(kind, variant)
    shown = there.everything() + there.html + drawn.everything() + drawn.html
    assert not [one for one in secrets if one in shown]
    assert f"0 of {2 * CELLS} labelled" in drawn.progress
    assert there.root.all(widget=f"anywidget:{drawn.widget.model_id}")


def test_a_draw_is_left_with_the_corrected_lift_and_gone_on_with(there, lift, done):
    drawn = press(there)
    for place in range(5):
        drawn.label(place, "task_completed", "true")
    there.click("leave")
    assert there.widget._drawn is None
    assert labels_say(there)[0].text.startswith("Not corrected by labels. ")
    assert there.root.texts(action="label") == ["Go on labelling, blind"]
    assert there.root.all(action="note")
    assert there.root.all(".plw-pair")
    # In another kernel, too: what is labelled is kept, and the first that is not labelled is shown.
    again = ReviewFrontEnd(VariantReview(lift, done))
    drawn = press(again)
    assert drawn.place == 5
    assert drawn.progress.startswith("5 of 80")
    about = lift.optimizations[done].simulations().set_index("simulation_id")
    for place, one in enumerate(drawn.widget._plan.ids):
        relabel(drawn, place, int(about.loc[one, "cell"]) % 2 == 0)
    again.click("leave")
    assert "Corrected by 80 labels of people: +0.0 points" in labels_say(again)[1]
    assert press(again).place == 0


def test_the_button_goes_on_with_the_draw_whose_labels_are_there(there, lift, done):
    BrowserFrontEnd(there.widget.label_draw(20)).label(0, "task_completed", "true")
    there.click("refresh")
    assert "1 of 20 labelled" in press(there).progress


def test_a_draw_that_cannot_be_drawn_again_is_not_mixed_with_another(there):
    BrowserFrontEnd(there.widget.label_draw(20, seed=3)).label(0, "task_completed", "true")
    there.click("refresh")
    there.click("label")
    assert "labels of two draws correct nothing together" in there.notice
    assert there.widget._drawn is None
    assert labels_say(there)


def test_labels_that_could_not_be_kept_are_kept_before_the_draw_is_left(there, lift, done, monkeypatch):
    drawn = press(there)

    def away(*_, **__):
        raise ConnectionFailed("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(lift.labels, "add", away)
        drawn.label(0, "task_completed", "true")
        there.click("leave")
        assert "not kept yet" in there.notice
        assert there.widget._drawn is not None
        assert there.root.all(".plw-card") == there.root.all(".plw-variant") == []
    there.click("leave")
    assert there.widget._drawn is None
    assert lift.labels(optimization_id=done)["value"].tolist() == ["yes"]


def test_a_review_that_cannot_be_read_again_comes_back_as_it_was(there, monkeypatch):
    press(there)

    def away(*_):
        raise ConnectionFailed("no answer")

    monkeypatch.setattr(review_widget, "read_review", away)
    there.click("leave")
    assert there.widget._drawn is None
    assert there.card().one(".plw-name").text == "Variant 1"
    assert "from before the labels" in there.notice


def test_an_optimization_that_did_not_complete_offers_no_draw(lift, world):
    stopped = world.optimization(status="stopped", winner=None)
    world.talk(stopped, [f"cell {number}" for number in range(CELLS)])
    there = ReviewFrontEnd(VariantReview(lift, stopped))
    assert [there.card(row["variant"]).all(action="label") for row in there.root.all(".plw-variant")] == [
        [],
        [],
        [],
    ]
