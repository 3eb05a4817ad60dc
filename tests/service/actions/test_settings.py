"""How a partial settings object changes the whole one."""

from __future__ import annotations

from copy import deepcopy

from promptlift.service.actions.account import merge

WHOLE = {
    "general": {"name": "a", "kpis": "b"},
    "optimization": {"maxIterations": 10, "simulation": {"maxTurns": 10}},
}


def test_only_provided_fields_change():
    changed = merge(WHOLE, {"general": {"kpis": ""}, "optimization": {"simulation": {"maxTurns": 3}}})
    assert changed == {
        "general": {"name": "a", "kpis": ""},
        "optimization": {"maxIterations": 10, "simulation": {"maxTurns": 3}},
    }


def test_an_empty_change_changes_nothing():
    assert merge(WHOLE, {}) == WHOLE
    assert merge(WHOLE, {"general": {}, "optimization": {"simulation": {}}}) == WHOLE


def test_the_arguments_stay_as_they_are():
    before, change = deepcopy(WHOLE), {"general": {"name": "z"}}
    merge(WHOLE, change)
    assert before == WHOLE
    assert change == {"general": {"name": "z"}}


def test_a_group_that_was_not_there_is_added():
    assert merge({}, {"general": {"name": "z"}}) == {"general": {"name": "z"}}
