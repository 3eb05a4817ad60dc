"""A running experiment in a review: its versions on real users."""

from __future__ import annotations

import pytest

from promptlift.schema.experiments import ASSIGNMENT, Assignment
from promptlift.service import clock
from promptlift.widgets import VariantReview
from support.deployed import Logged
from support.front_end import ReviewFrontEnd

pytestmark = pytest.mark.slow


@pytest.fixture
def done(world):
    return world.optimization()


@pytest.fixture
def live(lift, world, done):
    return lift.live(world.prompt_id, {world.variant(done, 1): 0.5})


def log(world, live, completed, *, basis="outcome"):
    """Log a conversation for each unit of each version."""
    world.log_each(
        [
            Logged(
                completed=one, basis=basis, metadata={ASSIGNMENT: Assignment(live.id, arm, f"{unit:016x}").id}
            )
            for arm, some in enumerate(completed)
            for unit, one in enumerate(some)
        ],
        at=clock.now() - clock.DAY,
    )


def opened(lift, done):
    return ReviewFrontEnd(VariantReview(lift, done))


def rows(there):
    return [row.texts(".plw-cell") for row in there.root.one(".plw-arms").all("tr")][1:]


def test_its_versions_have_units_completion_and_difference_until_the_text_changes(lift, world, done, live):
    log(world, live, [[n % 2 == 0 for n in range(200)], [n % 5 > 0 for n in range(200)]])
    there = opened(lift, done)
    found = live.refresh().state
    assert found.sentence in there.root.one(".plw-experiment").text
    assert live.id in there.root.one(".plw-experiment").text
    current, variant = rows(there)
    assert current[1:] == ["50%", "200", "50% (43% to 57%)", "", "current version"]
    assert variant[1:4] == ["50%", "200", "80% (74% to 85%)"]
    assert "+30 points measured" in variant[4]
    assert variant[5] == "better"
    assert found.sentence in there.html
    assert there.root.one(".plw-arms").all(".plw-soft") == []
    there.press("apply")
    there.confirm()
    assert there.root.all(".plw-experiment") == []
    assert live.refresh().state.status == "stopped"


def test_on_words_nothing_is_compared(lift, world, done, live):
    log(world, live, [[False] * 100, [True] * 100], basis="words")
    there = opened(lift, done)
    assert "cannot be told without outcomes, labels or a model" in there.root.one(".plw-experiment").text
    _, variant = rows(there)
    assert variant[3].endswith(", of what a word list can see")
    assert variant[4:6] == ["", "cannot be told"]
    assert there.root.one(".plw-arms").all(".plw-soft") != []
