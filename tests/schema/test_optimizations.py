"""What the wire says of optimizations: the specification's fields alone, ours beside them, and bodies in bounds."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from promptlift.schema import limits
from promptlift.schema.optimizations import (
    PERSONAS_MAX,
    SEED_MAX,
    Optimization,
    OptimizationCreate,
    Variant,
)
from promptlift.schema.prompts import PromptVersion, RestoreAnswer, RestoreRequest
from promptlift.schema.simulations import Persona, PersonaCreate, PersonaUpdate, Simulation

PAIRS = {"n": 150, "n11": 84, "n10": 31, "n01": 14, "n00": 21, "dropped": 2}
RESULTS = {
    "winnerSelected": True,
    "winningVariantId": "v1",
    "finalistVariantId": "v1",
    "lift": 17.346939,
    "liftLow": 5.76,
    "liftHigh": None,
    "liftExpected": 14.6,
    "liftPoints": 11.33,
    "intervalLevel": 0.9,
    "pairs": PAIRS,
    "look": 6,
    "maxLooks": 16,
    "eValue": None,
    "logEValue": 812.0,
    "confidence": 0.92,
    "confidenceMethod": "sequential-mixture",
    "confidenceNeeded": 0.9,
    "confidenceCalibrated": None,
    "estimand": "population",
    "reason": "threshold",
    "trace": [0.5, 0.8, 0.92],
    "guardrails": [{"name": "sentiment", "difference": 0.1, "low": None, "high": 0.2, "verdict": "ok"}],
    "warnings": ["few pairs"],
    "rehearsal": True,
    "progress": {
        "stage": "done",
        "passesDone": 9,
        "passesMax": 20,
        "conversationsDone": 345,
        "conversationsMax": 630,
        "fraction": 1.0,
    },
}
DEPLOYMENT = {
    "id": "dep_1",
    "state": "rolled_back",
    "origin": "auto",
    "variantId": "v1",
    "appliedAt": "2026-01-31T09:30:00.000Z",
    "versionId": "ver_2",
    "previousVersionId": "ver_1",
    "regressionTest": {
        "passed": True,
        "verdict": "passed",
        "summary": {"total": 3, "passed": 3, "regressed": 0},
        "scenarios": [{"name": "refund", "passed": True, "delta": 2.5, "n": 40}],
        "pairs": PAIRS,
        "liftPointsLow": -4.2,
        "smallestDropFound": 9.1,
    },
    "production": {
        "since": "2026-01-31T09:30:00.000Z",
        "conversations": 40,
        "completedRate": 0.6,
        "conversationsBefore": 90,
        "completedRateBefore": 0.8,
    },
    "verification": "regressed",
    "rolledBackAt": "2026-02-01T09:30:00.000Z",
    "reason": "task completion fell",
}


def problems(model, body):
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    return {".".join(map(str, error["loc"])) for error in caught.value.errors()}


def test_the_fields_of_the_specification_are_enough():
    optimization = Optimization.from_wire({"id": "o", "promptId": "p", "status": "queued"})
    assert (optimization.results, optimization.deployment, optimization.rehearsal) == (None, None, None)
    assert Optimization.from_wire({"id": "o", "status": "running", "results": {}}).results.trace == []
    bare = Variant.from_wire({"id": "v", "name": "n", "isOriginal": True, "content": "c", "metrics": {}})
    assert (bare.is_winner, bare.lift, bare.pairs, bare.n) == (False, None, None, None)


def test_an_optimization_with_everything_is_read_and_written_back():
    wire = {
        "id": "o",
        "promptId": "p",
        "status": "completed",
        "mode": "validation",
        "variantCount": 3,
        "rehearsal": True,
        "results": RESULTS,
        "createdAt": "2026-01-31T09:30:00.000Z",
        "startedAt": "2026-01-31T09:30:01.000Z",
        "completedAt": "2026-01-31T09:40:00.000Z",
        "intent": {"targetImprovements": ["tone"], "hypothesis": None},
        "personaIds": ["per_1"],
        "seed": SEED_MAX,
        "settings": {
            "maxIterations": 10,
            "personaCount": 5,
            "scenariosPerSimulation": 3,
            "maxTurns": 10,
            "confidenceMode": "moderate",
            "deploymentMode": "manual",
            "autoDeploy": {"enabled": False, "requireRegressionPass": True},
        },
        "failure": None,
        "stopReason": None,
        "deployment": DEPLOYMENT,
        "usage": {"modelCalls": 12, "tokens": 3400, "conversations": 345},
    }
    optimization = Optimization.from_wire(wire)
    assert optimization.results.pairs.n10 == 31
    assert optimization.deployment.regression_test.scenarios[0].n == 40
    assert optimization.to_wire() == wire
    assert not optimization.model_extra
    assert not optimization.results.model_extra


def test_a_simulation_has_its_pass_under_a_name_that_python_allows():
    wire = {
        "id": "sim_1",
        "variantId": "v1",
        "pass": 3,
        "cell": 17,
        "status": "dropped",
        "taskCompleted": None,
    }
    simulation = Simulation.from_wire(wire)
    assert simulation.pass_number == 3
    assert simulation.to_wire() == wire


def test_versions_and_personas_are_read():
    version = PromptVersion.from_wire({"id": "ver_1", "number": 1, "content": "c", "isLive": True})
    assert (version.number, version.is_live) == (1, True)
    assert RestoreAnswer.from_wire({"success": True, "agentId": "p", "versionId": "ver_3"}).prompt_id == "p"
    assert Persona.from_wire({"id": "per_lib_x", "name": "X", "builtIn": True}).built_in is True


@pytest.mark.parametrize("seed", [-1, SEED_MAX + 1, "1", 1.5, True])
def test_a_seed_is_an_integer_that_json_carries_exactly(seed):
    assert problems(OptimizationCreate, {"promptId": "p", "seed": seed}) == {"seed"}


def test_what_is_left_out_of_a_trigger_is_not_sent():
    assert OptimizationCreate(prompt_id="p").to_wire() == {"promptId": "p"}
    many = ["per_1"] * (PERSONAS_MAX + 1)
    assert problems(OptimizationCreate, {"promptId": "p", "personaIds": many}) == {"personaIds"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", " "),
        ("name", "x" * (limits.NAME_CHARS + 1)),
        ("name", 5),
        ("description", ""),
        ("description", "a\x00"),
        ("description", "x" * (limits.DESCRIPTION_CHARS + 1)),
    ],
)
def test_a_persona_has_a_name_and_a_description_in_bounds(name, value):
    body = {"name": "Ada", "description": "asks short questions"}
    assert PersonaCreate.model_validate(body).to_wire() == body
    assert problems(PersonaCreate, body | {name: value}) == {name}
    assert problems(PersonaUpdate, {name: value}) == {name}
    assert problems(PersonaUpdate, {name: None}) == {name}


def test_a_restore_names_a_version():
    assert problems(RestoreRequest, {}) == {"versionId"}
    assert problems(RestoreRequest, {"versionId": ""}) == {"versionId"}
