"""Whom GEPA would choose, read from the conversations that are kept."""

from __future__ import annotations

from promptlift.service.optimizations.gepa.pool import GepaPool
from promptlift.service.search.edits import Edit, assemble
from promptlift.service.search.pool import Search

VALIDATED = 4


def pool_of(*candidates):
    """Make a pool: each candidate with its outcomes on the first cells, those of the original first."""
    original, *others = candidates
    pool = GepaPool(100, 10, 1, 1, 7, validated=VALIDATED)
    pool.played(0, dict(enumerate(original)))
    for outcomes in others:
        number = len(pool.members)
        member = pool.add(Edit(f"e{number}", "replace", "Old.", f"New {number}.", "", ""), 0)
        pool.played(number, dict(enumerate(outcomes)))
        pool.settle(member, "pool" if len(outcomes) == VALIDATED else "rejected")
    return pool


def test_the_finalist_is_the_first_of_those_with_the_best_score():
    pool = pool_of(
        [True] * 4, [True, False, True, False], [True, True, True, False], [True, True, False, True]
    )
    assert pool.finalist().number == 2


def test_a_lost_conversation_counts_for_half():
    pool = pool_of([False] * 4, [True, False, False, False], [True, None, False, False])
    assert pool.finalist().number == 2


def test_without_an_accepted_one_it_is_the_best_that_was_rejected():
    pool = pool_of([True, False], [False, False], [True, False])
    assert pool.finalist().number == 2
    assert pool.members[1].reason == "It won 0 and lost 1 of 2 cells."
    assert pool_of([True, False]).finalist() is None


def test_what_a_candidate_talks_as_a_parent_is_not_its_own_test():
    pool = pool_of([True, False], [True, True, True, True])
    before = pool.members[1].spent
    pool.played(1, {9: True})
    assert (pool.spent, pool.members[1].spent) == (before + 1, before)


def test_a_candidate_is_the_original_with_all_of_it_replaced():
    pool = pool_of([True, False], [True, True])
    read = Search.from_json(pool.to_json())
    assert assemble("Old.", [read.edits[name] for name in read.members[1].edits]) == "New 1."
    assert read.worth().of(read.members[1].edits)[0] > 0


def pool_with_a_goal(*candidates):
    """Make a pool: each candidate with whether it completed, and how far it met the goal, on the first cells."""
    pool = GepaPool(100, 10, 1, 1, 7, validated=VALIDATED, goal=True)
    for number, found in enumerate(candidates):
        if number:
            pool.add(Edit(f"e{number}", "replace", "Old.", f"New {number}.", "", ""), 0)
        scores = {cell: {number: score} for cell, (_, score) in enumerate(found) if score is not None}
        pool.played(number, {cell: completed for cell, (completed, _) in enumerate(found)}, scores)
    return pool


def test_with_a_goal_gepa_is_told_how_far_it_was_met():
    pool = pool_with_a_goal([(True, 0.25), (False, 0.75), (True, None), (None, None)])
    assert [pool.score(0, cell) for cell in range(4)] == [0.25, 0.75, 0.5, 0.5]
    plain = pool_of([True, False, None, True])
    assert [plain.score(0, cell) for cell in range(4)] == [1.0, 0.0, 0.5, 1.0]


def test_with_a_goal_the_finalist_meets_it_best_and_loses_no_completion():
    pool = pool_with_a_goal(
        [(True, 0.25)] * 4, [(True, 0.25)] * 4, [(True, 0.75)] * 4, [(True, 1.0)] * 3 + [(False, 0.5)]
    )
    losing = [pool.loses_completion(one) for one in pool.members]
    assert losing == [False, False, False, True]
    for one, loses in zip(pool.members[1:], losing[1:], strict=True):
        pool.settle(one, "rejected" if loses else "pool")
    assert pool.finalist().number == 2
    assert pool.members[2].reason == "It won 0 and lost 0 of 4 cells. By the goal that is +50.0 points."


def test_without_a_goal_gepas_own_rules_are_all_that_there_is():
    pool = pool_of([True] * 4, [True, True, True, False])
    assert not pool.loses_completion(pool.members[1])
