"""Experiments: versions of a prompt side by side on real users. Not in the specification.

Who gets which version follows from a hash of the experiment and the unit alone, so that the service and the client
assign alike, and nothing is stored per unit.
"""

import hashlib
import re
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import AfterValidator, Field, StringConstraints

from promptlift.schema import limits
from promptlift.schema.basis import BASES
from promptlift.schema.columns import Column, Nested
from promptlift.schema.model import ApiModel, LinkedModel, LongText, RequestModel, UtcTime, not_blank

ASSIGNMENT: Final = "promptlift.assignment"
"""The key in the metadata of a conversation, and the OpenTelemetry attribute, that name its assignment."""
OTHERS_MAX: Final = 9
"""Most versions beside the current one."""

SIDE_BY_SIDE: Final = "side by side"
BEFORE_AND_AFTER: Final = "before and after"

_POINTS: Final = "percentage points"
_ASSIGNMENT: Final = re.compile(r"(exp_[0-9a-f]{24})\.([0-9])\.([0-9a-f]{16})")
_PLACES: Final = 2**64


class Assignment(NamedTuple):
    """The experiment, the number of the arm and the hashed unit that an assignment id names."""

    experiment_id: str
    arm: int
    unit: str

    @property
    def id(self) -> str:
        """The assignment id."""
        return f"{self.experiment_id}.{self.arm}.{self.unit}"

    @classmethod
    def read(cls, text: Any) -> Self | None:
        """Read an assignment id; ``None`` if it is not one."""
        found = _ASSIGNMENT.fullmatch(text) if isinstance(text, str) else None
        return None if found is None else cls(found[1], int(found[2]), found[3])


class ExperimentArm(ApiModel):
    """A version of an experiment."""

    number: Annotated[int, Column(name="arm")]
    """0 is the version that is current, with which the others are compared."""
    name: Annotated[str, Column()]
    """Its name: ``v2`` is the second version of the prompt; or the name of a variant."""
    version_id: Annotated[str | None, Column()] = None
    """Its version; ``None`` for a variant that was never current."""
    variant_id: Annotated[str | None, Column()] = None
    """The variant from which it comes, if any."""
    weight: Annotated[float, Column(unit="fraction")]
    """Share of the units that get it."""


class OfferedArm(ExperimentArm):
    """A version of a running experiment, with its text."""

    content: str


class RampStep(ApiModel):
    """A share of a ramp."""

    share: float
    """Share of the units that get the new version: 0.05, then 0.5."""
    since: UtcTime
    """When it began."""


class RunningExperiment(ApiModel):
    """What a client needs to assign units by itself."""

    id: str
    arms: list[OfferedArm]

    def assign(self, unit: str) -> tuple[OfferedArm, Assignment]:
        """Return the arm of a unit, always the same one."""
        raw = f"{self.id}\n{unit}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(raw, digest_size=8)
        place = int.from_bytes(digest.digest(), "big") / _PLACES
        chosen = self.arms[0]
        for arm in self.arms[1:]:
            if place < arm.weight:
                chosen = arm
                break
            place -= arm.weight
        return chosen, Assignment(self.id, chosen.number, digest.hexdigest())


class Resolution(LinkedModel):
    """Answer of ``GET /prompts/:id/resolve``: the text to use for a unit."""

    content: str
    """The text to use."""
    llm_model: str | None = None
    """The prompt's model."""
    version_id: str | None = None
    """The version; ``None`` for a variant that was never current."""
    variant_id: str | None = None
    """The variant from which the text comes, if any."""
    assignment_id: str | None = None
    """To be logged with the unit's conversations, under ``promptlift.assignment`` in their metadata; ``None`` without an experiment."""
    experiment: RunningExperiment | None = None
    """The running experiment, by which a client can assign units while the service is away."""

    def of(self, unit: str) -> Self:
        """Return the text for a unit, from this answer alone."""
        if self.experiment is None:
            return self
        arm, assignment = self.experiment.assign(unit)
        same = {name: getattr(arm, name) for name in ("content", "version_id", "variant_id")}
        return self.model_copy(update={**same, "assignment_id": assignment.id})

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata to log with the conversations of the unit."""
        return {} if self.assignment_id is None else {ASSIGNMENT: self.assignment_id}


Unit = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.SOURCE_ID_CHARS), AfterValidator(not_blank)
]


class ExperimentCreate(RequestModel):
    """Body of ``POST /prompts/:id/experiments``."""

    weights: Annotated[
        dict[str, Annotated[float, Field(gt=0.0)]], Field(min_length=1, max_length=OTHERS_MAX + 1)
    ]
    """Share of the units by version, such as ``{"v2": 0.5}``; the rest gets the current version. A version is named by its number, ``v2``, by its id, or by the id of a variant."""
    ramp: bool = False
    """Whether the version is to replace the current one in steps: 5% of the units get it, then 50%, then all, each step once no metric is harmed; as soon as one is, all get the current version again. ``weights`` names one version, with the weight 1"""


class ExperimentApply(RequestModel):
    """Body of ``POST /experiments/:id/apply``."""

    arm: Annotated[int, Field(ge=0)] | None = None
    """Number of the arm to make current; by default the one that is better than the current version"""
    note: LongText | None = None
    """Stored with the action in ``GET /actions``"""


class LiveRate(ApiModel):
    """Task completion of an arm by verdicts of one basis."""

    basis: Annotated[str, Column(categories=BASES)]
    """The basis of the verdicts."""
    conversations: int
    """Those with a verdict on this basis."""
    units: int
    """Their units."""
    rate: Annotated[float, Column(name="completion_pct", unit="percent")]
    """Completed tasks; each unit counts once, with the mean of its conversations."""
    low: Annotated[float, Column(name="completion_pct_low", unit="percent")]
    """Lower end of its 95% interval at this look."""
    high: Annotated[float, Column(name="completion_pct_high", unit="percent")]
    """Upper end of it."""


class LiveDifference(ApiModel):
    """Difference of an arm from the current version."""

    estimate: Annotated[float | None, Column(name="difference", unit=_POINTS)] = None
    """Arm minus current version, in percentage points, or in the unit of a metric; ``None`` without units."""
    low: Annotated[float | None, Column(name="difference_low", unit=_POINTS)] = None
    """Lower end of its confidence sequence, which holds however often one looks; ``None`` before 20 units in each arm."""
    high: Annotated[float | None, Column(name="difference_high", unit=_POINTS)] = None
    """Upper end of it."""


class LiveDifferenceUntil(LiveDifference):
    """The difference as it was at a time."""

    until: UtcTime
    """Conversations that began until then are in it."""


class LiveGuardrail(LiveDifference):
    """A metric of the deployment watch, compared with the current version."""

    metric: str
    """``task_completion``, ``sentiment``, ``quality``, ``abandonment``, ``response_time`` or ``length``."""
    harmed: bool
    """Whether it is worse than chance can explain, and by enough to matter."""


class LiveArm(ExperimentArm):
    """An arm with what was measured."""

    units: Annotated[int | None, Column(name="n_units")] = None
    """Units with a logged conversation."""
    conversations: Annotated[int | None, Column(name="n_conversations")] = None
    """Logged conversations."""
    labels: Annotated[int | None, Column(name="n_labels")] = None
    """Conversations that were drawn at random and labelled."""
    rate: Annotated[LiveRate | None, Nested()] = None
    """Task completion on the basis of most verdicts."""
    rates: list[LiveRate] | None = None
    """Task completion by basis, best basis first."""
    difference: Annotated[LiveDifference | None, Nested()] = None
    """In percentage points; ``None`` for the current version, and where the basis permits no direction."""
    over_time: list[LiveDifferenceUntil] | None = None
    """The same at earlier times, oldest first."""
    verdict: Annotated[str | None, Column(categories=("better", "worse", "unclear"))] = None
    """``better``, ``worse`` or ``unclear``; ``None`` for the current version, where the basis permits no direction, and where the units do not fall into the arms by their weights."""
    guardrails: list[LiveGuardrail] | None = None
    """The metrics of the deployment watch; ``None`` for the current version."""


class SampleRatio(ApiModel):
    """Whether units fall into the arms by their weights; in a ramp, since its last step."""

    e_value: float
    """Evidence against the weights, which holds however often one looks."""
    is_off: bool
    """Whether the evidence has reached 100: something loses or adds units of one arm, and no difference can be trusted."""


class LiveExperiment(LinkedModel):
    """An experiment; its results, in a ramp those since its last step, are in ``GET /experiments/:id`` only."""

    id: str
    status: str
    """``running``, ``stopped``, ``applied``, or ``rolled_back`` for a ramp that harmed."""
    reason: str | None = None
    """Why it ended."""
    created_at: UtcTime
    ended_at: UtcTime | None = None
    applied_version_id: str | None = None
    """The version that became current."""
    basis: str | None = None
    """The basis on which the differences rest: that of most verdicts, or ``label`` where labels correct them."""
    arms: list[LiveArm]
    ramp: list[RampStep] | None = None
    """The shares of a ramp so far, the present one last; ``None`` without a ramp."""
    sample_ratio: SampleRatio | None = None
    sentence: str | None = None
    """The result in words."""


class CalibrationPair(LinkedModel):
    """A variant with the change of completion that its simulation let expect, and the one that users showed."""

    optimization_id: Annotated[str, Column()]
    """The optimization that tested it."""
    variant_id: Annotated[str, Column()]
    """The variant."""
    name: Annotated[str, Column()]
    """Its name."""
    source: Annotated[str, Column(categories=(SIDE_BY_SIDE, BEFORE_AND_AFTER))]
    """``side by side`` with the original in an experiment, or ``before and after`` it was applied."""
    experiment_id: Annotated[str | None, Column()] = None
    """The experiment, if it ran side by side."""
    applied_at: Annotated[UtcTime, Column()]
    """When users first got it."""
    predicted: Annotated[float | None, Column(unit=_POINTS)] = None
    """Change in percentage points as measured in the simulation."""
    predicted_low: Annotated[float | None, Column(unit=_POINTS)] = None
    """Lower end of its interval."""
    predicted_high: Annotated[float | None, Column(unit=_POINTS)] = None
    """Upper end of its interval."""
    predicted_level: Annotated[float | None, Column()] = None
    """Level of the interval as a fraction."""
    predicted_expected: Annotated[float, Column(unit=_POINTS)]
    """The change that the simulation let expect."""
    predicted_n: Annotated[int | None, Column()] = None
    """Simulated pairs."""
    n_before: Annotated[int, Column()]
    """Conversations with a verdict before it was applied, or units that got the original."""
    rate_before: Annotated[float | None, Column(unit="fraction")] = None
    """Share of them that completed their task, 0 to 1."""
    n_after: Annotated[int, Column()]
    """Conversations with a verdict since it was applied, or units that got the variant."""
    rate_after: Annotated[float | None, Column(unit="fraction")] = None
    """Share of them that completed their task, 0 to 1."""
    difference: Annotated[float | None, Column(unit=_POINTS)] = None
    """Change that users showed, in percentage points; ``None`` while there are too few, or where the verdicts permit no direction."""
    difference_low: Annotated[float | None, Column(unit=_POINTS)] = None
    """Lower end of its 95% interval."""
    difference_high: Annotated[float | None, Column(unit=_POINTS)] = None
    """Upper end of its interval."""
    difference_error: Annotated[float | None, Column(unit=_POINTS)] = None
    """Its standard error."""


class Calibration(ApiModel):
    """What simulations were worth for an account."""

    data: list[CalibrationPair]
    """Every variant that was simulated and then met users, newest first."""
    share: float | None = None
    """Slope of the line through 0 of the changes that users showed over the expected ones; ``None`` below five variants with both."""
    share_low: float | None = None
    """Lower end of its 95% interval."""
    share_high: float | None = None
    """Upper end of its interval."""
    sentence: str
    """The result in words."""
