"""The course of a search: who is tested, who enters the pool, what is spent, and that it can be taken up at any step."""

from __future__ import annotations

import json
import random

import pytest

from promptlift.service.search.edits import CandidateEdit
from promptlift.service.search.evidence import record_of, with_and_without, worth
from promptlift.service.search.pool import BATCH, Child, Member, Search, Talk, draw_parent, front


def edit(number):
    return CandidateEdit(f"e{number}", "add", "", f"Rule {number}.", "It fails.", "Nothing is said of it.")


def course(search, *, good=(), bad=(), base=0.4, seed=1, interrupt=False, steps=None, wanted=None):
    """Run a search whose edits with a number in ``good`` help; gives the finished search.

    With a goal it is met, in half, by the candidates with an edit of which the number is in ``wanted``.
    """
    rng = random.Random(seed)
    written = 0
    while (step := search.step()) is not None:
        if steps is not None:
            steps.append(step)
        if interrupt:
            search = Search.from_json(json.loads(json.dumps(search.to_json())))
            assert search.step() == step
        if isinstance(step, Talk):
            outcomes, scores = {}, {}
            for cell in range(step.first_cell, step.first_cell + step.cells):
                luck = rng.random()
                outcomes[cell], scores[cell] = {}, {}
                for arm in step.arms:
                    edits = {int(name[1:]) for name in search.members[arm].edits}
                    rate = base + 0.2 * len(edits & set(good)) - 0.2 * len(edits & set(bad))
                    outcomes[cell][arm] = luck < rate
                    if wanted is not None:
                        scores[cell][arm] = 0.5 * (luck < rate) + 0.5 * bool(edits & set(wanted))
            search.talked(outcomes, scores)
            continue
        children, edits = list(step.given), {}
        held = search.members[step.parent].edits
        for _ in range(step.children):
            written += 1
            edits[f"e{written}"] = edit(written)
            held = (*held, f"e{written}")
            children.append(Child(step.parent, held))
        search.wrote(children, edits)
    return search


def new(conversations=172, generations=9, first=3, each=3, seed=5):
    return Search(conversations, generations, first, each, seed)


def test_the_budget_holds_exactly():
    for conversations, seed in ((9, 0), (16, 1), (31, 2), (46, 3), (100, 0), (345, 1)):
        search = course(new(conversations, seed=seed), good={1, 3}, seed=seed)
        assert search.spent == sum(len(found) for found in search.outcomes.values()) <= conversations


def test_there_are_no_more_generations_and_candidates_than_asked_for():
    search = course(new(5_000, generations=4, first=5, each=2), good=range(100))
    assert search.generation == 4
    sizes = [sum(one.generation == number for one in search.members) for number in range(5)]
    assert sizes == [1, 5, 2, 2, 2]


def test_who_loses_the_first_batch_gets_no_second_one():
    steps = []
    search = course(new(), bad=range(100), base=0.9, steps=steps)
    first = next(one for one in search.members if one.generation == 1)
    assert first.state == "rejected"
    assert "lost" in first.reason
    talks = [step for step in steps if isinstance(step, Talk)]
    assert talks[0].cells == BATCH
    assert not set(talks[1].arms[1:]) & {one.number for one in search.members if one.generation == 1}


def test_who_wins_two_batches_enters_the_pool_and_parent_and_child_talk_on_the_same_new_cells():
    steps = []
    search = course(new(), good={1, 2, 3}, steps=steps)
    finalist = search.finalist()
    assert finalist.state == "pool"
    assert {"e1", "e2", "e3"} <= set(finalist.edits)
    talks = [step for step in steps if isinstance(step, Talk)]
    starts = [step.first_cell for step in talks]
    assert starts == sorted(set(starts))
    for cell, found in search.outcomes.items():
        (step,) = [one for one in talks if one.first_cell <= cell < one.first_cell + one.cells]
        assert set(found) == set(step.arms)


@pytest.mark.parametrize("wanted", [None, {2, 5}])
@pytest.mark.parametrize("seed", range(3))
def test_taken_up_at_every_step_a_search_goes_the_same_way(seed, wanted):
    helps = {"good": {1, 4}, "bad": {2}} if wanted is None else {"good": {1}, "wanted": wanted}
    calm = course(new(seed=seed), **helps, seed=seed)
    again = course(new(seed=seed), **helps, seed=seed, interrupt=True)
    assert again.to_json() == calm.to_json()
    assert wanted is None or "e2" in calm.finalist().edits


def test_a_candidate_with_the_edits_of_another_comes_from_it():
    search = new()
    search.step()
    chain = [("e1",), ("e1", "e2"), ("e1", "e2", "e3")]
    search.wrote([Child(0, edits) for edits in chain], {f"e{number}": edit(number) for number in (1, 2, 3)})
    assert [one.parent for one in search.members[1:]] == [0, 1, 2]
    assert {one.base for one in search.members[1:]} == {0}


def test_a_merge_is_the_union_of_two_members():
    search = new(1_000)
    search.step()
    search.wrote([Child(0, ("e1",)), Child(0, ("e2",))], {"e1": edit(1), "e2": edit(2)})
    for _ in range(2):
        step = search.step()
        cells = range(step.first_cell, step.first_cell + step.cells)
        # Each of the two wins where the other does not.
        search.talked({cell: {0: False, 1: cell % 2 == 0, 2: cell % 2 == 1} for cell in cells})
    step = search.step()
    (merge,) = step.given
    assert merge.edits == ("e1", "e2")
    assert {merge.parent, merge.other_parent} == {1, 2}
    assert step.children == 2


def test_what_earns_nothing_is_tried_without_and_left_out_when_that_is_no_worse():
    search = new(200)
    sets = [("e1",), ("e1", "e2"), ("e1", "e2", "e3")]
    search.members += [
        Member(number, 1, 0, None, edits, state="pool") for number, edits in enumerate(sets, start=1)
    ]
    search.edits = {f"e{number}": edit(number) for number in (1, 2, 3)}
    # The first and the third help, the second does harm.
    search.outcomes = {cell: {0: False, 1: True} for cell in range(12)}
    search.outcomes |= {cell: {1: True, 2: False} for cell in range(12, 18)}
    search.outcomes |= {cell: {2: False, 3: True} for cell in range(18, 30)}
    search.spent = 60
    search.generation = 1
    search.ended = "nothing more to write"
    step = search.step()
    assert (step.parent, step.children) == (3, 0)
    (shorter,) = step.given
    assert shorter.edits == ("e1", "e3")
    search.wrote(step.given, {})
    while search.testing:
        step = search.step()
        # As good as the longer one.
        cells = range(step.first_cell, step.first_cell + step.cells)
        search.talked({cell: {3: True, 4: True} for cell in cells})
    assert search.step() is None
    assert search.finalist().edits == ("e1", "e3")


def test_records_and_worth_by_hand():
    outcomes = {0: {0: False, 1: True}, 1: {0: True, 1: True}, 2: {0: True, 1: False}, 3: {0: False, 1: None}}
    assert record_of(outcomes, 1, 0) == (1, 1, 1)
    edits_of = {0: (), 1: ("e1",)}
    assert with_and_without(outcomes, edits_of, "e1") == (1, 1, 1)
    mean, sd = worth(outcomes, edits_of).of(["e1"])
    # Three pairs without a difference leave the prior mean of a point, shrunk.
    assert 0 < mean < 0.01
    assert sd < 0.08


def test_the_front_has_who_is_best_somewhere():
    outcomes = {
        0: {1: True, 2: False, 3: False},
        1: {1: False, 2: True, 3: False},
        2: {1: True, 2: True, 3: True},
    }
    assert front(outcomes, [1, 2, 3]) == {1: 2, 2: 2}
    assert draw_parent(outcomes, [1, 2, 3], random.Random(1)) in (1, 2)
    # With a goal, who meets it best.
    scores = {0: {1: 0.5, 2: 0.75, 3: 0.25}, 1: {1: 1.0, 2: 0.25, 3: 0.25}, 2: {1: 0.5, 2: 0.5, 3: 0.5}}
    assert front(scores, [1, 2, 3]) == {1: 2, 2: 2}
    # Where each is dominated by another one, on a cell that the third one has not, all are in front.
    outcomes = {0: {1: True, 2: False}, 1: {2: True, 3: False}, 2: {3: True, 1: False}}
    assert set(front(outcomes, [1, 2, 3])) == {1, 2, 3}


def talked_by_one(*, completed, scores, looks=2):
    """A search of which one candidate has talked: whether it and the original completed, and how they met the goal."""
    search = new()
    search.step()
    search.wrote([Child(0, ("e1",))], {"e1": edit(1)})
    for _ in range(looks):
        step = search.step()
        cells = range(step.first_cell, step.first_cell + step.cells)
        search.talked(
            {cell: dict(enumerate(completed(cell))) for cell in cells},
            {cell: dict(enumerate(scores(cell))) for cell in cells},
        )
    return search


def alike(_cell):
    return True, True


def nothing(_cell):
    return ()


def test_where_completion_is_equal_only_the_goal_takes_a_candidate_into_the_pool():
    without = talked_by_one(completed=alike, scores=nothing)
    assert without.members[1].state == "rejected"
    assert "goal" not in without.members[1].reason
    search = talked_by_one(completed=alike, scores=lambda _: (0.25, 1.0))
    assert search.members[1].state == "pool"
    assert search.members[1].reason == "It won 0 and lost 0 of 16 cells. By the goal that is +75.0 points."
    assert (search.best().number, search.finalist().number) == (1, 1)


def test_whoever_completes_less_or_meets_the_goal_less_is_refused():
    search = talked_by_one(completed=lambda cell: (True, cell != 3), scores=lambda _: (0.0, 1.0), looks=1)
    assert search.members[1].state == "rejected"
    assert "lost 1 of 8 cells" in search.members[1].reason
    assert search.best().number == 0
    search = talked_by_one(completed=lambda cell: (cell != 3, True), scores=lambda _: (1.0, 0.0), looks=1)
    assert search.members[1].state == "rejected"


def test_a_goal_that_the_judge_left_open_decides_nothing():
    search = talked_by_one(completed=lambda cell: (cell != 3, True), scores=nothing)
    assert search.members[1].state == "pool"
    # One of the two was judged: there is no pair.
    assert talked_by_one(completed=alike, scores=lambda _: (1.0,)).members[1].state == "rejected"


def test_weights_that_do_not_add_up_exactly_are_no_difference():
    def thirds(cell):
        return ((0.1 + 0.2, 0.3), (0.6, 0.3 + 0.3))[cell % 2]

    assert sum(a - b for a, b in map(thirds, range(2))) != 0
    assert talked_by_one(completed=alike, scores=thirds).members[1].state == "rejected"


def test_of_the_pool_the_goal_chooses_whom_to_confirm():
    search = new()
    states = ("pool", "pool", "rejected", "pool")
    search.members += [
        Member(at, 1, 0, None, (f"e{at}",), state=state, spent=1) for at, state in enumerate(states, 1)
    ]
    search.edits = {f"e{at}": edit(at) for at in range(1, 5)}
    met = {1: (0.5, 16), 2: (0.9, 16), 3: (1.0, 16), 4: (1.0, 2)}
    cells = [(arm, score) for arm, (score, count) in met.items() for _ in range(count)]
    search.outcomes = {cell: {0: True, arm: True} for cell, (arm, _) in enumerate(cells)}
    search.scores = {cell: {0: 0.5, arm: score} for cell, (arm, score) in enumerate(cells)}
    # The best one was rejected, because it lost completion; and two cells say less than sixteen.
    assert search.finalist().number == 2
    # Without anybody in the pool completion chooses.
    for one in search.members[1:]:
        one.state = "rejected"
    search.outcomes = {cell: {0: arm != 1, arm: True} for cell, (arm, _) in enumerate(cells)}
    assert search.finalist().number == 1


def test_whoever_never_talked_beside_the_original_can_be_confirmed():
    search = new()
    search.members += [
        Member(1, 1, 0, None, ("e1",), state="pool", spent=1),
        Member(2, 2, 1, None, ("e1", "e2"), base=1, state="pool", spent=2),
    ]
    search.edits = {"e1": edit(1), "e2": edit(2)}
    search.outcomes = {cell: {cell // 16: True, cell // 16 + 1: True} for cell in range(32)}
    search.scores = {cell: {cell // 16: 0.0, cell // 16 + 1: 0.5} for cell in range(32)}
    assert search.finalist().number == 2
