from __future__ import annotations

import pytest

from promptlift.stats.budget import SearchBudget, planned_spending
from promptlift.stats.experiment import Experiment


@pytest.mark.parametrize("mode", ["exploratory", "validation"])
@pytest.mark.parametrize(("variants", "iterations"), [(1, 1), (2, 3), (3, 10), (5, 10)])
def test_without_a_search_it_is_what_the_experiment_may_hold(mode, variants, iterations):
    plan = planned_spending(variants, mode, iterations=iterations, verification_passes=4)
    progress = (
        Experiment(variants, mode, "moderate", 5, 3, iterations, verification_passes=4).verdict().progress
    )
    assert plan.most + plan.verification == progress.conversations_max
    assert plan.confirmation == 2 * plan.pairs


@pytest.mark.parametrize(("mode", "part"), [("exploratory", 3), ("validation", 2)])
def test_a_search_has_a_part_of_it_and_the_confirmation_fits_the_rest(mode, part):
    without, plan = planned_spending(3, mode), planned_spending(3, mode, search=True)
    assert plan.search == without.most // part
    assert plan.most <= without.most
    assert plan.most + 30 > without.most
    assert plan.verification == without.verification


def test_where_the_budget_is_too_small_there_is_no_search():
    plan = planned_spending(3, "exploratory", iterations=1, search=True)
    assert plan == planned_spending(3, "exploratory", iterations=1)
    assert not plan.searches
    assert planned_spending(3, "exploratory", search=True).searches


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ValueError, match="variant_count"):
        planned_spending(9, "exploratory")
    with pytest.raises(ValueError, match="mode"):
        planned_spending(3, "fast")


@pytest.mark.parametrize(
    ("mode", "most", "search", "iterations"), [("exploratory", 345, 115, 10), ("validation", 690, 345, 20)]
)
def test_the_budget_is_what_the_same_settings_cost_without_a_search(mode, most, search, iterations):
    budget = SearchBudget.of(variants=3, mode=mode, personas=5, scenarios=3, iterations=10)
    assert (budget.conversations, budget.search, budget.iterations) == (most, search, iterations)
    for spent in range(0, budget.search + 1, 7):
        for generations in range(1, 10):
            passes = budget.confirm_passes(spent=spent, generations=generations)
            assert spent + 30 * passes <= most
            assert generations + passes <= iterations
