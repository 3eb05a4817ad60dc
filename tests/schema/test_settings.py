"""Settings: the defaults of the specification, and what may change."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from promptlift.schema.settings import Settings, SettingsChange

DEFAULTS = {
    "general": {
        "name": "",
        "industry": "",
        "preferredLLM": "",
        "objectives": "",
        "kpis": "",
        "insightRequirements": "",
        "excludedDataAndTopics": "",
    },
    "optimization": {
        "optimizationStrategy": "exploratory",
        "variantsPerGeneration": 3,
        "deploymentMode": "manual",
        "autoDeploy": {"enabled": False, "requireRegressionPass": True},
        "maxIterations": 10,
        # Ours.
        "verificationPasses": 4,
        "search": "on",
        "simulation": {
            "personaCount": 5,
            "scenariosPerSimulation": 3,
            "maxTurns": 10,
            "confidenceMode": "moderate",
            "simulateTools": True,
        },
    },
}


def leaves(tree, path=()):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def nest(path, value):
    for name in reversed(path):
        value = {name: value}
    return value


PATHS = [path for path, _ in leaves(DEFAULTS)]


def test_new_settings_have_the_defaults_of_the_specification():
    # Groups of ours that are not set are left out.
    assert Settings().model_dump(mode="json", by_alias=True, exclude_none=True) == DEFAULTS


def test_every_setting_can_be_changed_alone():
    for path, value in leaves(DEFAULTS):
        assert SettingsChange.model_validate(nest(path, value)).to_wire() == nest(path, value)


def test_no_setting_and_no_group_can_be_null():
    groups = [("general",), ("optimization",), ("optimization", "simulation")]
    for path in [*PATHS, *groups]:
        with pytest.raises(ValidationError, match="must not be null") as caught:
            SettingsChange.model_validate(nest(path, None))
        assert caught.value.errors()[0]["loc"] == path


@pytest.mark.parametrize("path", [(), ("general",), ("optimization",), ("optimization", "autoDeploy")])
def test_an_unknown_field_is_refused_by_its_path(path):
    with pytest.raises(ValidationError) as caught:
        SettingsChange.model_validate(nest((*path, "novel"), 1))
    assert caught.value.errors()[0]["loc"] == (*path, "novel")
    assert caught.value.errors()[0]["type"] == "extra_forbidden"
