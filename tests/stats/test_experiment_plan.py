"""What the state machine asks for: cells, arms, passes of the budget, and the choice of a finalist."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy.stats import chisquare

from promptlift.stats import Experiment
from promptlift.stats.passes import Outcome
from support.experiments import chance, play, same


def test_no_cell_and_no_persona_is_used_twice():
    run = Experiment(3, "validation", seed=4)
    cells = []
    answer = chance([0.7] * 4, 1)
    while (step := run.next_pass()) is not None:
        cells += step.cells
        run.record(Outcome(c.number, a, answer(c, a)) for c in step.cells for a in step.arms)
    assert [cell.number for cell in cells] == list(range(len(cells)))
    assert Counter(Counter(cell.persona for cell in cells).values()) == {3: len(cells) // 3}


def test_a_panel_has_the_same_personas_with_new_cells_and_says_so():
    run = Experiment(2, "exploratory", persona_count=4, scenarios_per_simulation=2, estimand="panel")
    first = run.next_pass()
    play(run, same, most=1)
    second = run.next_pass()
    assert [cell.persona for cell in first.cells] == [cell.persona for cell in second.cells]
    assert {cell.persona for cell in first.cells} == {0, 1, 2, 3}
    assert not {cell.number for cell in first.cells} & {cell.number for cell in second.cells}
    assert run.verdict().estimand == "panel"
    assert any("Fixed personas" in warning for warning in run.verdict().warnings)


def test_a_pass_has_every_arm_on_every_cell_in_random_order():
    step = Experiment(3, seed=9, persona_count=20, scenarios_per_simulation=20).next_pass()
    assert step.arms == (0, 1, 2, 3)
    assert len(step.cells) == 400
    assert all(sorted(cell.order) == [0, 1, 2, 3] for cell in step.cells)
    for place in range(4):
        seen = Counter(cell.order[place] for cell in step.cells)
        assert chisquare([seen[arm] for arm in range(4)]).pvalue > 1e-4


@pytest.mark.parametrize(
    ("variants", "arms"),
    [
        (2, [3, 3]),
        (3, [4, 4, 3, 3]),
        (4, [5, 5, 3, 3]),
        (5, [6, 6, 4, 4, 3, 3]),
    ],
)
def test_validation_halves_as_listed(variants, arms):
    run = Experiment(variants, "validation")
    seen = []
    answer = chance([0.6] * 6, 2)
    while (step := run.next_pass()) is not None and step.stage == "screen":
        seen.append(len(step.arms))
        run.record(Outcome(c.number, a, answer(c, a)) for c in step.cells for a in step.arms)
    assert seen == arms
    assert len(run.next_pass().arms) == 2


@pytest.mark.parametrize(
    ("variants", "iterations", "arms"),
    [
        (1, 10, []),
        (2, 10, [3]),
        (3, 10, [4, 3]),
        (4, 10, [5, 3]),
        (5, 10, [6, 4]),
        (3, 4, [4, 3]),
        (3, 3, [4]),
        (5, 2, [6]),
        (3, 1, []),
    ],
)
def test_exploratory_screens_twice_where_there_is_much_to_choose_from(variants, iterations, arms):
    run = Experiment(variants, max_iterations=iterations)
    seen = []
    while (step := run.next_pass()).stage == "screen":
        seen.append(len(step.arms))
        play(run, same, most=1)
    assert seen == arms
    assert step.stage == "confirm"
    assert len(step.arms) == 2


def test_a_budget_of_one_pass_tests_one_variant_and_says_so():
    tested = set()
    for seed in range(40):
        run = Experiment(3, "exploratory", max_iterations=1, seed=seed)
        verdict = play(run, same)
        assert verdict.progress.passes_done == 1
        assert any("one of 3 variants was tested" in warning for warning in verdict.warnings)
        assert sum(variant.n_pairs > 0 for variant in verdict.variants) == 1
        tested.add(verdict.finalist)
    assert tested == {1, 2, 3}


# How it screens


def test_screening_counts_all_its_passes_and_never_the_confirmation():
    # Variant 1 is best in pass 2, but 2 is far better in passes 1 to 4 together.
    run = Experiment(2, "validation")
    verdict = play(run, lambda cell, arm: arm == 2 or (arm == 1 and cell.number >= 20), most=2)
    assert verdict.finalist == 2
    finished = play(run, same)
    assert finished.analysis.n10 == 0
    assert finished.analysis.confidence == 0.5
    assert finished.variants[1].stage == "confirm"
    assert finished.variants[1].analysis.n == finished.analysis.n


def test_a_variant_whose_pairs_are_all_lost_is_no_finalist():
    run = Experiment(2, "exploratory", seed=1)
    verdict = play(run, lambda _cell, arm: None if arm == 1 else arm == 0, most=1)
    assert verdict.finalist == 2
