"""Labels on simulated conversations in a review: drawn blind, and first on the winner's card."""

from __future__ import annotations

import pytest

from promptlift import analysis
from promptlift.errors import ConfigError, ConnectionFailed
from promptlift.widgets import VariantReview
from promptlift.widgets.review import deciding
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
    shown = there.card().one(".plw-numbers").children
    return [one for one in shown if {"plw-said", "plw-warning"} & {*one.classes}]


def label(lift, there, done, says):
    """Label the whole draw; ``says`` answers for the variant and the cell."""
    table = lift.optimizations[done].simulations()
    plan = analysis.label_plan(table, n=2 * CELLS)
    about = table.set_index("simulation_id").loc[plan["conversation_id"]]
    answers = [says(not one.is_original, int(one.cell)) for one in about.itertuples()]
    lift.labels.add(plan.assign(value=answers))
    there.click("refresh")


def press(there):
    """Press the button that has both arms labelled, and return the front end of the browser that is there then."""
    there.card()
    there.press("label")
    assert there.notice == ""
    return BrowserFrontEnd(there.widget._drawn)


def test_a_winner_that_nobody_labelled_offers_a_draw(there, lift, world):
    (words,) = (one.text for one in labels_say(there))
    assert words == "Nobody has checked these conversations yet: the lift is what the judge says."
    assert there.root.texts(action="label") == ["Label both arms, blind"]
    assert words in there.html
    assert "review.label_draw()" in there.html
    for row in there.root.all(".plw-variant"):
        if "plw-won" not in row.classes:
            card = there.card(row["variant"])
            assert card.all(".plw-said") == card.all(action="label") == []
    with pytest.raises(ConfigError, match="nothing to label yet"):
        VariantReview(lift, world.optimization()).label_draw()
    # One that did not complete offers none.
    stopped = world.optimization(status="stopped", winner=None)
    world.talk(stopped, ["a", "b"])
    there = ReviewFrontEnd(VariantReview(lift, stopped))
    assert not any(there.card(row["variant"]).all(action="label") for row in there.root.all(".plw-variant"))


def test_what_labels_say_comes_first_on_the_card_of_the_winner(lift, there, done):
    """The judge calls all of the variant completed and none of the original."""

    def badges():
        return [(one.text, one.classes[-1]) for one in there.card().all(".plw-badge")]

    # People see no difference.
    label(lift, there, done, lambda _, cell: cell % 2 == 0)
    assert ("not confirmed by labels", "plw-warn") in badges()
    first, second, third = labels_say(there)
    assert first.text.startswith("The judge errs differently on the two arms (p < 0.001): ")
    assert "plw-warning" in first.classes
    assert "Corrected by 80 labels of people: 0.0 points of task completion" in second
    assert "As the judge says: +100.0 points." in second
    assert third.text.startswith("0 is inside the corrected interval")
    assert there.html.count("The judge errs") == 1
    label(lift, there, done, lambda variant, cell: cell % 4 > 0 if variant else cell % 4 == 0)
    assert ("confirmed by labels", "plw-good") in badges()
    assert any("Corrected by 80 labels of people: +50.0 points" in words for words in labels_say(there))
    label(lift, there, done, lambda variant, cell: cell % 4 == 0 if variant else cell % 4 > 0)
    assert ("not confirmed by labels", "plw-warn") in badges()
    assert labels_say(there)[-1].text.startswith("The whole corrected interval is below 0")


def test_a_draw_is_left_with_the_corrected_lift_and_continued(there, lift, done):
    drawn = press(there)
    for place in range(5):
        drawn.label(place, "task_completed", "yes")
    there.click("leave")
    assert there.widget._drawn is None
    assert labels_say(there)[0].text.startswith("Not corrected by labels. ")
    assert there.root.texts(action="label") == ["Continue labelling, blind"]
    assert there.root.all(action="note")
    assert there.root.all(".plw-pair")
    # In another kernel, too: what is labelled is kept, and the first that is not labelled is shown.
    again = ReviewFrontEnd(VariantReview(lift, done))
    drawn = press(again)
    assert drawn.place == 5
    assert drawn.progress.startswith("5 of 80")
    again.click("leave")
    label(lift, again, done, lambda _, cell: cell % 2 == 0)
    # The last label can still be changed, so the way back says that all are labelled, and is not taken by itself.
    assert press(again).place == 0
    assert again.root.texts(action="leave") == ["All labelled: see what the labels say"]
    again.click("leave")
    assert "Corrected by 80 labels of people: 0.0 points" in labels_say(again)[1]


def test_a_draw_is_continued_in_its_size_and_never_mixed_with_another(there):
    BrowserFrontEnd(there.widget.label_draw(20)).label(0, "task_completed", "yes")
    there.click("refresh")
    assert "1 of 20 labelled" in press(there).progress
    there.click("leave")
    BrowserFrontEnd(there.widget.label_draw(20)).label(0, "task_completed", "yes")  # takes it back
    BrowserFrontEnd(there.widget.label_draw(20, seed=3)).label(0, "task_completed", "yes")
    there.click("refresh")
    there.click("label")
    assert "labels of two draws correct nothing together" in there.notice
    assert there.widget._drawn is None
    assert labels_say(there)


def test_labels_that_could_not_be_saved_are_saved_before_the_draw_is_left(there, lift, done, monkeypatch):
    drawn = press(there)

    def away(*_, **__):
        raise ConnectionFailed("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(lift.labels, "add", away)
        drawn.label(0, "task_completed", "yes")
        there.click("leave")
        assert "not saved yet" in there.notice
        assert there.widget._drawn is not None
        assert there.root.all(".plw-card") == there.root.all(".plw-variant") == []
    # A review that cannot be read again comes back as it was.
    monkeypatch.setattr(deciding, "read_review", away)
    there.click("leave")
    assert there.widget._drawn is None
    assert there.card().one(".plw-name").text == "Variant 1"
    assert "from before the labels" in there.notice
    assert lift.labels(optimization_id=done)["value"].tolist() == ["yes"]
