"""Simulated conversations and their personas."""

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field, field_validator

from promptlift.schema.columns import Column, Nested
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.model import ApiModel, LongText, Name, RequestModel, UtcTime, not_blank, not_null

PersonaText = Annotated[LongText, AfterValidator(not_blank)]


class Persona(ApiModel):
    """The user of a simulated conversation."""

    id: Annotated[str, Column(name="persona_id")]
    """The persona's id."""
    name: Annotated[str, Column()]
    """The persona's name."""
    description: Annotated[str | None, Column()] = None
    """The persona's character and manner of speaking."""
    built_in: Annotated[bool | None, Column()] = None
    """Whether it is included in the service; such a persona cannot be changed."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When the persona was created."""


class PersonaCreate(RequestModel):
    """Body of ``POST /personas``."""

    name: Name
    description: PersonaText


class PersonaUpdate(RequestModel):
    """Body of ``PATCH /personas/:id``: the changed fields."""

    name: Name | None = None
    description: PersonaText | None = None

    _not_null = field_validator("name", "description", mode="before")(not_null)


SimulationStage = Literal["screen", "confirm", "verify", "regression"]
SIMULATION_STAGES: Final[tuple[SimulationStage, ...]] = get_args(SimulationStage)
SIMULATION_STATUSES: Final = ("completed", "dropped")
ENDED_BY: Final = ("persona", "turns")
SCENARIO_SOURCES: Final = ("conversation", "model")


class SimulationPersona(ApiModel):
    """The persona of a simulated conversation."""

    id: Annotated[str | None, Column(name="persona_id")] = None
    """The persona's id."""
    name: Annotated[str | None, Column(name="persona")] = None
    """The persona's name."""


class SimulationScenario(ApiModel):
    """The scenario of a simulated conversation."""

    title: Annotated[str | None, Column(name="scenario")] = None
    """The scenario in a few words."""
    opening: Annotated[str | None, Column()] = None
    """The persona's first message."""
    goal: Annotated[str | None, Column()] = None
    """The persona's goal."""
    source: Annotated[str | None, Column(name="scenario_source", categories=SCENARIO_SOURCES)] = None
    """``conversation`` if it was taken from a logged one, ``model`` if it was written for this."""
    weight: Annotated[float | None, Column(name="scenario_weight")] = None
    """Chance to be drawn relative to a logged conversation that did not fail; ``None`` for a scenario of the model."""


class Criterion(ApiModel):
    """Whether a simulated conversation met one target of its optimization, according to the judge."""

    target: str
    met: bool


class Simulation(ApiModel):
    """One simulated conversation: an arm (the original or a variant) on a cell (a persona with a scenario)."""

    id: Annotated[str, Column(name="simulation_id")]
    """The simulated conversation's id."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization to which it belongs."""
    variant_id: Annotated[str | None, Column()] = None
    """The variant, or the original, that answered."""
    variant_number: Annotated[int | None, Column()] = None
    """Number of the variant; 0 is the original."""
    is_original: Annotated[bool | None, Column()] = None
    """Whether the original answered."""
    stage: Annotated[str | None, Column(categories=SIMULATION_STAGES)] = None
    """``screen``, ``confirm``, ``verify`` or ``regression``."""
    # "pass" is a keyword of Python.
    pass_number: Annotated[int | None, Column()] = Field(default=None, alias="pass")
    """Number of the pass."""
    cell: Annotated[int | None, Column()] = None
    """Number of the cell: the arms with the same number are a pair."""
    persona: Annotated[SimulationPersona | None, Nested()] = None
    scenario: Annotated[SimulationScenario | None, Nested()] = None
    status: Annotated[str | None, Column(categories=SIMULATION_STATUSES)] = None
    """``completed``, or ``dropped`` if it was lost to an error."""
    task_completed: Annotated[bool | None, Column()] = None
    """Whether the conversation completed the persona's task; ``None`` if it was dropped."""
    sentiment: Annotated[str | None, Column(categories=SENTIMENTS)] = None
    """``negative``, ``neutral`` or ``positive``."""
    sentiment_score: Annotated[float | None, Column(unit="-1 to 1")] = None
    """Sentiment of the persona, -1 to 1."""
    quality: Annotated[float | None, Column(unit="0 to 100")] = None
    """Quality of the answers, 0 to 100."""
    criteria: Annotated[list[Criterion], Column(kind="records")] = Field(default_factory=list)
    """The targets of the optimization and whether each was met, one record each; empty without targets."""
    turns: Annotated[int | None, Column()] = None
    """Number of turns."""
    ended_by: Annotated[str | None, Column(categories=ENDED_BY)] = None
    """``persona``, or ``turns`` if the turns ran out."""
    error: Annotated[str | None, Column()] = None
    """The error that caused its loss."""
    content: Annotated[str | None, Column()] = None
    """Transcript as structured JSON text, if requested."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """When it was simulated."""
