"""Labels on simulated conversations in a review: drawn blind, and first on the winner's card."""

from __future__ import annotations

import pytest

from promptlift.errors import ConfigError
from promptlift.widgets import VariantReview
from support.front_end import BrowserFrontEnd, CommandFrontEnd

CELLS = 40


@pytest.fixture
def done(world):
    made = world.optimization()
    world.talk(made, [f"cell {number}" for number in range(CELLS)])
    return made


@pytest.fixture
def there(lift, done):
    return CommandFrontEnd(VariantReview(lift, done))


def winner(there):
    return next(card for card in there.view["cards"] if card["winner"])


def label(lift, there, done, says):
    """Label the whole draw; ``says`` answers for the variant and the cell."""
    drawn = BrowserFrontEnd(there.widget.label_draw(2 * CELLS, labeller="ann"))
    about = lift.simulations(done).set_index("simulation_id")
    for place, one in enumerate(drawn.widget._plan.ids):
        drawn.label(
            place, "task_completed", says(not about.loc[one, "is_original"], int(about.loc[one, "cell"]))
        )
    assert drawn.state("_label_state")["notice"] == ""
    there.click("refresh")
    return drawn


def test_the_winner_of_nobodys_labels_offers_a_draw(there):
    (words,) = winner(there)["labels"]
    assert "review.label_draw()" in words
    assert "review.label_draw()" in there.html
    assert not any(card["labels"] for card in there.view["cards"] if not card["winner"])


def test_a_winner_that_labels_do_not_confirm_says_so_first(lift, there, done):
    """The judge calls all of the variant completed and none of the original; people see no difference."""
    drawn = label(lift, there, done, lambda _, cell: cell % 2 == 0)
    card = winner(there)
    assert ["not confirmed by labels", "warn"] in card["badges"]
    assert card["labels"][0].startswith("The judge errs on the two arms unlike (p 0.000)")
    assert "Corrected by 80 labels: +0.0 points" in card["labels"][1]
    assert "as the judge says: +100.0 points" in card["labels"][1]
    assert card["labels"][2] == "The corrected interval includes no gain."
    assert there.html.count("The judge errs") == 1
    kept = lift.labels(optimization_id=done)
    assert len(kept) == 2 * CELLS
    assert set(kept["labeller"]) == {"ann"}
    # Blind: neither the arm nor the verdict is sent.
    sent = drawn.everything() + drawn.html
    names = [card["name"] for card in there.view["cards"]]
    for secret in (*names, *drawn.widget._plan.ids, done, "is_original", "variant_id", '"chance"', "stratum"):
        assert secret not in sent


def test_a_winner_that_labels_confirm_says_so(lift, there, done):
    label(lift, there, done, lambda variant, cell: cell % 4 > 0 if variant else cell % 4 == 0)
    card = winner(there)
    assert ["confirmed by labels", "good"] in card["badges"]
    assert any("Corrected by 80 labels: +50.0 points" in words for words in card["labels"])


def test_too_few_labels_are_said_in_words(lift, there, done):
    drawn = BrowserFrontEnd(there.widget.label_draw(10))
    drawn.label(0, "task_completed", True)
    there.click("refresh")
    (words,) = winner(there)["labels"]
    assert words.startswith("Not corrected by labels. ")


def test_without_a_confirmation_there_is_nothing_to_draw(lift, world):
    with pytest.raises(ConfigError, match="nothing to label yet"):
        VariantReview(lift, world.optimization()).label_draw()
