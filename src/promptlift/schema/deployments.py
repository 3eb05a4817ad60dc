"""The deployment of a variant after its optimization: staged, tested, live, rolled back. Not in the specification."""

from typing import Annotated, Final

from pydantic import Field

from promptlift.schema.columns import Column
from promptlift.schema.events import RegressionScenario, RegressionSummary
from promptlift.schema.model import ApiModel, UtcTime
from promptlift.schema.results import PairTable

DEPLOYMENT_STATES: Final = ("staged", "testing", "rejected", "live", "superseded", "rolled_back")


class ScenarioResult(RegressionScenario):
    """One scenario of a regression test, with the pairs behind it."""

    n: int | None = None
    """Pairs of the scenario."""


class RegressionTest(ApiModel):
    """The test that a variant must pass before it is deployed automatically."""

    passed: bool
    verdict: str | None = None
    """``passed``, ``regressed`` or ``inconclusive``; the last counts as not passed."""
    summary: RegressionSummary | None = None
    scenarios: list[ScenarioResult] = Field(default_factory=list)
    pairs: PairTable | None = None
    lift_points: float | None = None
    """Difference over all scenarios, in percentage points."""
    lift_points_low: float | None = None
    """Lower end of its interval."""
    smallest_drop_found: float | None = None
    """Smallest drop in percentage points that this test detects with 80% probability."""
    confidence_worse: float | None = None
    """Confidence that the new text is worse over all scenarios, 0 to 1."""


METRIC_NAMES: Final = ("task_completion", "sentiment", "quality", "abandonment", "response_time", "length")


class ProductionMetric(ApiModel):
    """One production metric before and after the change, as of the last look."""

    metric: Annotated[str, Column(categories=METRIC_NAMES)]
    """``task_completion``, ``sentiment``, ``quality``, ``abandonment``, ``response_time`` or ``length``."""
    before: Annotated[float | None, Column()] = None
    """Mean before: percent for task completion and abandonment, seconds for response time, messages for length."""
    after: Annotated[float | None, Column()] = None
    """The mean of the window of latest conversations that differs most from the earlier ones."""
    conversations_before: Annotated[int, Column()] = 0
    """Number of conversations in ``before``."""
    conversations: Annotated[int, Column()] = 0
    """Number of conversations in ``after``."""
    p: Annotated[float | None, Column()] = None
    """One-sided p-value for "it became worse", adjusted over the six metrics and the windows."""
    level: Annotated[float | None, Column()] = None
    """``p`` below this is harm; it falls from look to look, so that false harm stays rare for as long as the text is live."""
    regressed: Annotated[bool, Column()] = False
    """Whether it became worse than chance can explain, over all looks at the six metrics."""


class ProductionCheck(ApiModel):
    """Logged conversations before and after the change."""

    since: UtcTime | None = None
    conversations: int | None = None
    """Number of judged conversations after the change."""
    completed_rate: float | None = None
    conversations_before: int | None = None
    completed_rate_before: float | None = None
    metrics: list[ProductionMetric] = Field(default_factory=list)
    """Every production metric at the last look; empty before the first."""


class VariantDeployment(ApiModel):
    """A variant on its way into the prompt."""

    id: str
    state: Annotated[str, Column(name="deployment_state", categories=DEPLOYMENT_STATES)]
    """``staged`` (waits for approval), ``testing``, ``rejected``, ``live``, ``superseded`` or ``rolled_back``."""
    origin: str | None = None
    """``manual``, ``approval`` or ``auto``."""
    variant_id: str | None = None
    applied_at: UtcTime | None = None
    version_id: str | None = None
    """The version of the prompt that it created."""
    previous_version_id: str | None = None
    regression_test: RegressionTest | None = None
    production: ProductionCheck | None = None
    verification: str | None = None
    """``pending``, ``verified``, ``not_fixed``, ``regressed`` or ``confounded``."""
    rolled_back_at: UtcTime | None = None
    reason: str | None = None
