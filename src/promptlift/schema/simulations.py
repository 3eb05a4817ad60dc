"""Simulated conversations of an optimization. The endpoint is ours."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from promptlift.schema.model import ApiModel, UtcTime

SimulationStage = Literal["screen", "confirm", "regression"]
SIMULATION_STAGES: tuple[SimulationStage, ...] = ("screen", "confirm", "regression")
SimulationStatus = Literal["completed", "dropped"]
SIMULATION_STATUSES: tuple[SimulationStatus, ...] = ("completed", "dropped")
EndedBy = Literal["persona", "turns"]
ENDED_BY: tuple[EndedBy, ...] = ("persona", "turns")
ScenarioSource = Literal["conversation", "model"]
SCENARIO_SOURCES: tuple[ScenarioSource, ...] = ("conversation", "model")


class SimulationPersona(ApiModel):
    """Who talked."""

    id: str | None = None
    name: str | None = None


class SimulationScenario(ApiModel):
    """What it was about."""

    title: str | None = None
    opening: str | None = None
    goal: str | None = None
    source: str | None = None
    """``conversation`` when it was taken from a logged one, ``model`` when it was written for this."""


class Simulation(ApiModel):
    """One simulated conversation: an arm (the original or a variant) on a cell (a persona with a scenario)."""

    id: str
    optimization_id: str | None = None
    variant_id: str | None = None
    variant_number: int | None = None
    """0 is the original."""
    is_original: bool | None = None
    stage: str | None = None
    """``screen``, ``confirm`` or ``regression``."""
    # "pass" is a word of Python.
    pass_: int | None = Field(default=None, alias="pass")
    """Number of the pass."""
    cell: int | None = None
    """Number of the cell: the arms with the same number are a pair."""
    persona: SimulationPersona | None = None
    scenario: SimulationScenario | None = None
    status: str | None = None
    """``completed``, or ``dropped`` when it was lost to an error."""
    task_completed: bool | None = None
    """``None`` when it was dropped."""
    sentiment: str | None = None
    sentiment_score: float | None = None
    """-1 to 1."""
    quality: float | None = None
    """0 to 100."""
    turns: int | None = None
    ended_by: str | None = None
    """``persona``, or ``turns`` when the turns ran out."""
    error: str | None = None
    content: str | None = None
    """Transcript as structured JSON text, where it was asked for."""
    created_at: UtcTime | None = None
