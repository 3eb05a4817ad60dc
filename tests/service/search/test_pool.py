"""The course of a search: who is tested, who enters the pool, what is spent, and that it can be taken up at any step."""

from __future__ import annotations

import json
import random

import pytest

from promptlift.service.search.edits import CandidateEdit
from promptlift.service.search.evidence import Issues, record_of, with_and_without, worth
from promptlift.service.search.pool import ASSEMBLED, BATCH, Child, Member, Search, Talk

LONG = " ".join(["Look it up, and say so, please."] * 8)


def edit(number, issue="", text=None):
    issues = (issue,) if issue else ()
    words = text or f"Rule {number}."
    return CandidateEdit(f"e{number}", "add", "", words, "It fails.", "Nothing is said of it.", (), issues)


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
            wrong = {
                cell: {arm: [] if done else ["label"] for arm, done in found.items()}
                for cell, found in outcomes.items()
            }
            search.talked(outcomes, scores, wrong)
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


def searched(edits, sets, rates, *, cells=48, logged=(0, {})):
    """A search whose candidates have talked, without chance: in which share of conversations each issue goes wrong."""
    search = new(1_000)
    search.logged = logged
    search.edits = {one.id: one for one in edits}
    search.members += [
        Member(at, 1, 0, None, names, state="pool", spent=1) for at, names in enumerate(sets, 1)
    ]
    for cell in range(cells):
        # Issues take turns.
        wrong = {
            arm: [
                issue
                for at, (issue, share) in enumerate(rates(names).items(), start=cell)
                if int((at + 1) * share) > int(at * share)
            ]
            for arm, names in enumerate([(), *sets])
        }
        search.wrong[cell] = wrong
        search.outcomes[cell] = {arm: not found for arm, found in wrong.items()}
    search.generation = 1
    return search


def recurring(**prevented):
    """Each issue in a fifth of conversations, unless an edit that prevents it is there."""
    return lambda names: {issue: 0.0 if set(by) & set(names) else 0.2 for issue, by in prevented.items()}


def test_two_candidates_that_gain_are_united_before_anything_is_written():
    edits = [edit(1, "label"), edit(2, "refund")]
    search = searched(edits, [("e1",), ("e2",)], recurring(label=["e1"], refund=["e2"]))
    step = search.step()
    (union,) = step.given
    assert union.edits == ("e1", "e2")
    assert {union.parent, union.other_parent} == {1, 2}
    assert step.children == 2


def test_an_edit_whose_issue_recurs_is_dropped_in_the_next_generation_and_one_that_prevents_its_own_is_kept():
    edits = [edit(1, "label"), edit(2, "refund", LONG), edit(3, "label", LONG)]
    sets = [("e1", "e2", "e3"), ("e2", "e3")]
    search = searched(edits, sets, recurring(label=["e1"], refund=[]), cells=400)
    known = search.worth()
    useless, useful = known.of(["e2"])[0], known.of(["e1"])[0]
    assert abs(useless) < 0.02
    assert useful > 0.1
    assert abs(known.of(["e3"])[0]) < 0.02
    # A candidate that lost is taken apart: the edit that gained stays.
    search.members[1].state = "rejected"
    assert search.step().given[0].edits == ("e1",)


def test_of_two_edits_against_one_issue_the_second_must_prevent_more_than_the_first():
    edits = [edit(1, "label"), edit(2, "label", LONG), edit(3, "refund")]
    search = searched(edits, [("e1",), ("e1", "e2"), ("e3",)], recurring(label=["e1", "e2"], refund=["e3"]))
    assert search.step().given[0].edits == ("e1", "e3")
    # Another cause of the same issue is no repeat: each prevents a half.
    search = searched(
        edits[:2], [("e1",), ("e2",)], lambda names: {"label": 0.1 if names else 0.2}, cells=400
    )
    assert search.step().given[0].edits == ("e1", "e2")


def test_of_many_edits_against_one_issue_those_that_talked_are_considered():
    edits = [edit(number, "label") for number in range(1, 13)]
    search = searched(edits, [("e1",)], recurring(label=["e1"]), cells=200)
    gains = {one.id: search.worth().of([one.id])[0] for one in edits}
    assert gains["e1"] > 0.12 > max(gain for name, gain in gains.items() if name != "e1")


def test_a_longer_edit_must_gain_more():
    search = searched(
        [edit(1, "label"), edit(2, "refund", LONG)],
        [("e2",), ("e1", "e2")],
        lambda names: {"label": 0.0 if "e1" in names else 0.03, "refund": 0.0 if "e2" in names else 0.03},
    )
    short, long = (search.worth().of([name])[0] for name in ("e1", "e2"))
    assert 0.005 < short == pytest.approx(long, abs=0.003)
    assert search.step().given[0].edits == ("e1",)


def test_an_edit_against_what_hardly_occurs_any_more_would_not_earn_its_words():
    search = searched(
        [edit(1, "label")], [("e1",)], recurring(label=["e1"], refund=[]), cells=300, logged=(50, {"fee": 10})
    )
    for issue, text, earns in (
        ("refund", "Tell people when they are paid back.", True),
        ("label", "Tell people where their label is, before they ask for it a second time.", False),
        ("fee", "Tell people of the fee.", True),
        # Logs and judges that name no issues refuse nothing.
        ("", "Tell people what you know.", True),
    ):
        new_edit = edit(2, issue, text)
        assert search.may_earn(new_edit, [search.edits["e1"]]) == earns, issue


def test_what_is_confirmed_is_put_together_at_the_end_from_edits_that_earn_their_words():
    edits = [edit(1, "label"), edit(2, "refund", LONG), edit(3, "fee")]
    search = searched(
        edits, [("e1", "e2"), ("e2", "e3")], recurring(label=["e1"], refund=[], fee=["e3"]), cells=400
    )
    search.spent = search.conversations
    step = search.step()
    assert (step.children, step.given[0].edits) == (0, ("e1", "e3"))
    search.wrote(step.given, {})
    assert search.step() is None
    finalist = search.finalist()
    assert (finalist.edits, finalist.reason, search.spent) == (("e1", "e3"), ASSEMBLED, search.conversations)


def test_records_and_worth_by_hand():
    outcomes = {0: {0: False, 1: True}, 1: {0: True, 1: True}, 2: {0: True, 1: False}, 3: {0: False, 1: None}}
    assert record_of(outcomes, 1, 0) == (1, 1, 1)
    edits_of = {0: (), 1: ("e1",)}
    assert with_and_without(outcomes, edits_of, "e1") == (1, 1, 1)
    mean, sd = worth(outcomes, edits_of, {"e1": edit(1)}, Issues((0, {}), {})).of(["e1"])
    # Three pairs without a difference leave a little less than the prior mean.
    assert 0.0076 < mean < 0.00777
    assert 0 < sd < 0.031


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
