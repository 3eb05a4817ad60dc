"""Settings out of every bound."""

from __future__ import annotations

from typing import Any

from .requests import Bad, refused


def changed(
    name: str, fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str
) -> Bad:
    """A change of settings that is not accepted."""
    return refused(name, "PATCH /settings", fields, by_path, **details)


SETTINGS = [
    changed("an unknown group", {"billing": {}}, billing="Unknown field"),
    changed("an unknown field", {"general": {"color": "red"}}, {"general.color": "Unknown field"}),
    changed(
        "an unknown field, deep",
        {"optimization": {"simulation": {"turns": 5}}},
        {"optimization.simulation.turns": "Unknown field"},
    ),
    changed(
        "an unknown field of autoDeploy",
        {"optimization": {"autoDeploy": {"force": True}}},
        {"optimization.autoDeploy.force": "Unknown field"},
    ),
    changed(
        "snake case",
        {"optimization": {"max_iterations": 5}},
        {"optimization.max_iterations": "Unknown field"},
    ),
    changed("a dotted name", {"general.name": "x"}, {"general.name": "Unknown field"}),
    changed(
        "the other spelling of preferredLLM",
        {"general": {"preferredLlm": "gpt-4o"}},
        {"general.preferredLlm": "Unknown field"},
    ),
    changed("a group that is null", {"general": None}, general="must not be null"),
    changed("a group that is a list", {"optimization": []}, optimization="must be an object"),
    changed(
        "a group that is a text",
        {"optimization": {"simulation": "big"}},
        {"optimization.simulation": "must be an object"},
    ),
    changed("a text that is a number", {"general": {"name": 5}}, {"general.name": "must be a string"}),
    changed("a text that is null", {"general": {"kpis": None}}, {"general.kpis": "must not be null"}),
    changed(
        "a text that is a list",
        {"general": {"objectives": ["a"]}},
        {"general.objectives": "must be a string"},
    ),
    changed(
        "a text with NUL",
        {"general": {"industry": "\x00"}},
        {"general.industry": "must not contain a NUL character"},
    ),
    changed(
        "a text too long",
        {"general": {"kpis": "k" * 10_001}},
        {"general.kpis": "must have at most 10000 characters"},
    ),
    changed(
        "a model name too long",
        {"general": {"preferredLLM": "m" * 201}},
        {"general.preferredLLM": "must have at most 200 characters"},
    ),
    changed(
        "no variants",
        {"optimization": {"variantsPerGeneration": 0}},
        {"optimization.variantsPerGeneration": "must be at least 1"},
    ),
    changed(
        "six variants",
        {"optimization": {"variantsPerGeneration": 6}},
        {"optimization.variantsPerGeneration": "must be at most 5"},
    ),
    changed(
        "half a variant",
        {"optimization": {"variantsPerGeneration": 2.5}},
        {"optimization.variantsPerGeneration": "must be a whole number"},
    ),
    changed(
        "variants a text",
        {"optimization": {"variantsPerGeneration": "3"}},
        {"optimization.variantsPerGeneration": "must be a whole number"},
    ),
    changed(
        "variants a boolean",
        {"optimization": {"variantsPerGeneration": True}},
        {"optimization.variantsPerGeneration": "must be a whole number"},
    ),
    changed(
        "a strategy that is not known",
        {"optimization": {"optimizationStrategy": "fast"}},
        {"optimization.optimizationStrategy": "must be one of exploratory, validation"},
    ),
    changed(
        "a deployment that is not known",
        {"optimization": {"deploymentMode": "automatic"}},
        {"optimization.deploymentMode": "must be one of manual, semi-automatic"},
    ),
    changed(
        "a switch that is a number",
        {"optimization": {"autoDeploy": {"enabled": 1}}},
        {"optimization.autoDeploy.enabled": "must be true or false"},
    ),
    changed(
        "a switch that is a text",
        {"optimization": {"autoDeploy": {"requireRegressionPass": "yes"}}},
        {"optimization.autoDeploy.requireRegressionPass": "must be true or false"},
    ),
    changed(
        "no iterations",
        {"optimization": {"maxIterations": 0}},
        {"optimization.maxIterations": "must be at least 1"},
    ),
    changed(
        "too many iterations",
        {"optimization": {"maxIterations": 101}},
        {"optimization.maxIterations": "must be at most 100"},
    ),
    changed(
        "iterations a huge number",
        {"optimization": {"maxIterations": 10**40}},
        {"optimization.maxIterations": "must be a whole number"},
    ),
    changed(
        "no personas",
        {"optimization": {"simulation": {"personaCount": 0}}},
        {"optimization.simulation.personaCount": "must be at least 1"},
    ),
    changed(
        "too many personas",
        {"optimization": {"simulation": {"personaCount": 51}}},
        {"optimization.simulation.personaCount": "must be at most 50"},
    ),
    changed(
        "too many scenarios",
        {"optimization": {"simulation": {"scenariosPerSimulation": 51}}},
        {"optimization.simulation.scenariosPerSimulation": "must be at most 50"},
    ),
    changed(
        "negative turns",
        {"optimization": {"simulation": {"maxTurns": -1}}},
        {"optimization.simulation.maxTurns": "must be at least 1"},
    ),
    changed(
        "a confidence that is not known",
        {"optimization": {"simulation": {"confidenceMode": "certain"}}},
        {"optimization.simulation.confidenceMode": "must be one of low, moderate, high"},
    ),
    changed(
        "one field right and one wrong",
        {"general": {"name": "right"}, "optimization": {"maxIterations": 0}},
        {"optimization.maxIterations": "must be at least 1"},
    ),
]
