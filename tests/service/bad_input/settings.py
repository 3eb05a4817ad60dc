"""Settings out of every bound."""

from __future__ import annotations

from typing import Any

from .requests import Bad, refused


def changed(fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A change of settings that is not accepted."""
    return refused("PATCH /settings", fields, by_path, **details)


SETTINGS = [
    changed({"billing": {}}, billing="Unknown field"),
    changed({"general": {"color": "red"}}, {"general.color": "Unknown field"}),
    changed({"optimization": {"max_iterations": 5}}, {"optimization.max_iterations": "Unknown field"}),
    changed({"general": {"preferredLlm": "gpt-4o"}}, {"general.preferredLlm": "Unknown field"}),
    changed({"general": None}, general="must not be null"),
    changed({"optimization": []}, optimization="must be an object"),
    changed({"general": {"name": 5}}, {"general.name": "must be a string"}),
    changed({"general": {"kpis": None}}, {"general.kpis": "must not be null"}),
    changed({"general": {"industry": "\x00"}}, {"general.industry": "must not contain a NUL character"}),
    changed({"general": {"kpis": "k" * 10_001}}, {"general.kpis": "must have at most 10000 characters"}),
    changed(
        {"general": {"preferredLLM": "m" * 201}}, {"general.preferredLLM": "must have at most 200 characters"}
    ),
    changed(
        {"optimization": {"variantsPerGeneration": 6}},
        {"optimization.variantsPerGeneration": "must be at most 5"},
    ),
    changed(
        {"optimization": {"optimizationStrategy": "fast"}},
        {"optimization.optimizationStrategy": "must be one of exploratory, validation"},
    ),
    changed(
        {"optimization": {"deploymentMode": "automatic"}},
        {"optimization.deploymentMode": "must be one of manual, semi-automatic"},
    ),
    changed(
        {"optimization": {"autoDeploy": {"enabled": 1}}},
        {"optimization.autoDeploy.enabled": "must be true or false"},
    ),
    changed({"optimization": {"maxIterations": 101}}, {"optimization.maxIterations": "must be at most 100"}),
    changed(
        {"optimization": {"simulation": {"personaCount": 51}}},
        {"optimization.simulation.personaCount": "must be at most 50"},
    ),
    changed(
        {"optimization": {"simulation": {"scenariosPerSimulation": 51}}},
        {"optimization.simulation.scenariosPerSimulation": "must be at most 50"},
    ),
    changed(
        {"optimization": {"simulation": {"maxTurns": -1}}},
        {"optimization.simulation.maxTurns": "must be at least 1"},
    ),
    changed(
        {"optimization": {"simulation": {"confidenceMode": "certain"}}},
        {"optimization.simulation.confidenceMode": "must be one of low, moderate, high"},
    ),
    changed(
        {"general": {"name": "right"}, "optimization": {"maxIterations": 0}},
        {"optimization.maxIterations": "must be at least 1"},
    ),
]
