"""A running experiment in a review: its versions on real users, stopped and applied after a question."""

from __future__ import annotations

import pytest

from promptlift.schema.experiments import ASSIGNMENT, Assignment
from promptlift.service import clock
from promptlift.widgets import VariantReview
from promptlift.widgets.word_diff import describe_difference
from support.deployed import ORIGINAL, TEXTS, Logged
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


def test_its_versions_have_units_completion_and_difference_and_apply_asks(lift, world, done, live):
    log(world, live, [[n % 2 == 0 for n in range(200)], [n % 5 > 0 for n in range(200)]])
    there = opened(lift, done)
    found = live.refresh().state
    assert found.sentence in there.root.one(".plw-experiment").text
    current, variant = rows(there)
    assert current[1:] == ["50%", "200", "50% (43% to 57%)", " ", "current version", ""]
    assert variant[1:4] == ["50%", "200", "80% (74% to 85%)"]
    assert "+30 points measured" in variant[4]
    assert variant[5] == "better"
    assert found.sentence in there.html
    there.press("apply-live")
    assert "Apply Variant 1?" in there.dialog.text
    assert "the experiment ends" in there.dialog.text
    removed, added = there.dialog.texts("del"), there.dialog.texts("ins")
    assert (removed, added) != ([], [])
    assert describe_difference(ORIGINAL, TEXTS[1]) in there.dialog.text
    assert "not known to be better" not in there.dialog.text
    assert world.text == ORIGINAL
    there.confirm("users decided")
    assert world.text == TEXTS[1]
    assert "is now the current version" in there.notice
    assert there.root.all(".plw-experiment") == []
    assert live.refresh().state.status == "applied"
    assert lift.actions()[["kind", "note"]].to_numpy().tolist() == [["apply", "users decided"]]
    there.click("undo", of=there.undos()[0])
    there.confirm()
    assert world.text == ORIGINAL


def test_on_words_nothing_is_compared_and_apply_warns(lift, world, done, live):
    log(world, live, [[False] * 100, [True] * 100], basis="words")
    there = opened(lift, done)
    assert "cannot be told without outcomes, labels or a model" in there.root.one(".plw-experiment").text
    _, variant = rows(there)
    assert variant[3].endswith(", of what a word list can see")
    assert variant[4:6] == [" ", "cannot be told"]
    there.press("apply-live")
    assert "not known to be better" in there.dialog.text
    there.send("cancel")
    assert world.text == ORIGINAL


def test_stop_asks_and_an_experiment_that_ended_elsewhere_is_not_touched(lift, world, done, live):
    there = opened(lift, done)
    there.press("stop-live")
    assert live.refresh().state.status == "running"
    there.confirm("seen enough")
    assert (live.refresh().state.status, live.state.reason) == ("stopped", "seen enough")
    assert there.root.all(".plw-experiment") == []
    for action in ("stop-live", "apply-live"):
        there.send(action, arm="1")
        assert "The experiment has ended" in there.notice
    assert world.text == ORIGINAL
    again = lift.live(world.prompt_id, {world.variant(done, 1): 0.5})
    there.click("refresh")
    there.press("apply-live")
    lift.client.prompts.update(world.prompt_id, content="Theirs.")
    there.confirm()
    assert "refused" in there.notice
    assert again.refresh().state.status == "stopped"
    assert world.text == "Theirs."
