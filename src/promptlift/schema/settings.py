"""Account-wide settings and their changes."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, field_validator

from promptlift.schema import limits
from promptlift.schema.model import ApiModel, LongText, RequestModel, not_blank, not_null
from promptlift.schema.optimizations import OptimizationMode
from promptlift.schema.search import SEARCH_DEFAULT, SearchSetting

DeploymentMode = Literal["manual", "semi-automatic"]
ConfidenceMode = Literal["low", "moderate", "high"]

# unspecified: upper bounds of these four. High enough for every budget of the statistics page.
MAX_ITERATIONS_MAX = 100
PERSONAS_MAX = 50
SCENARIOS_MAX = 50
TURNS_MAX = 50
VALUE_MAX = 1_000_000_000
CURRENCY_CHARS = 20


class GeneralSettings(ApiModel):
    """The organization and its priorities."""

    name: str = ""
    industry: str = ""
    preferred_llm: str = Field(default="", alias="preferredLLM")
    objectives: str = ""
    kpis: str = ""
    insight_requirements: str = ""
    excluded_data_and_topics: str = ""


class AutoDeploy(ApiModel):
    """Automatic deployment of winners."""

    enabled: bool = False
    require_regression_pass: bool = True


class SimulationSettings(ApiModel):
    """Size of a simulation."""

    persona_count: int = 5
    scenarios_per_simulation: int = 3
    max_turns: int = 10
    confidence_mode: ConfidenceMode = "moderate"
    simulate_tools: bool = limits.SIMULATE_TOOLS_DEFAULT
    """Whether the tools of an agent are simulated, based on their results in its logged conversations. Ours."""


class OptimizationSettings(ApiModel):
    """Settings of optimizations, and of the deployment of their winners."""

    optimization_strategy: OptimizationMode = "exploratory"
    variants_per_generation: int = limits.VARIANTS_DEFAULT
    deployment_mode: DeploymentMode = "manual"
    auto_deploy: AutoDeploy = Field(default_factory=AutoDeploy)
    max_iterations: int = 10
    verification_passes: int = limits.VERIFICATION_PASSES_DEFAULT
    """Passes after a win that only measure how large the lift is. Ours."""
    search: SearchSetting = SEARCH_DEFAULT
    """Whether candidates are written in generations, each learning from failures, if logged conversations failed. Ours."""
    simulation: SimulationSettings = Field(default_factory=SimulationSettings)


class BusinessSettings(ApiModel):
    """The value of conversations. A group of ours."""

    value_per_conversation: float | None = None
    """The value of a conversation that completes its task; the business impact of agents is based on it."""
    currency: str | None = None
    """The currency of the value, as its owner writes it."""


class Settings(ApiModel):
    """All settings of an account; a new account has the defaults."""

    general: GeneralSettings = Field(default_factory=GeneralSettings)
    optimization: OptimizationSettings = Field(default_factory=OptimizationSettings)
    business: BusinessSettings | None = None
    """A group of ours; answers include it once something in it was set."""


class _Change(RequestModel):
    model_config = ConfigDict(extra="forbid")

    _not_null = field_validator("*", mode="before")(not_null)


class GeneralChange(_Change):
    """Part of ``general`` to change."""

    name: LongText | None = None
    industry: LongText | None = None
    preferred_llm: Annotated[str, StringConstraints(max_length=limits.NAME_CHARS)] | None = Field(
        default=None, alias="preferredLLM"
    )
    objectives: LongText | None = None
    kpis: LongText | None = None
    insight_requirements: LongText | None = None
    excluded_data_and_topics: LongText | None = None


class AutoDeployChange(_Change):
    """Part of ``optimization.autoDeploy`` to change."""

    enabled: bool | None = None
    require_regression_pass: bool | None = None


class SimulationChange(_Change):
    """Part of ``optimization.simulation`` to change."""

    persona_count: Annotated[int, Field(ge=1, le=PERSONAS_MAX)] | None = None
    scenarios_per_simulation: Annotated[int, Field(ge=1, le=SCENARIOS_MAX)] | None = None
    max_turns: Annotated[int, Field(ge=1, le=TURNS_MAX)] | None = None
    confidence_mode: ConfidenceMode | None = None
    simulate_tools: bool | None = None


class OptimizationChange(_Change):
    """Part of ``optimization`` to change."""

    optimization_strategy: OptimizationMode | None = None
    variants_per_generation: Annotated[int, Field(ge=limits.VARIANTS_MIN, le=limits.VARIANTS_MAX)] | None = (
        None
    )
    deployment_mode: DeploymentMode | None = None
    auto_deploy: AutoDeployChange | None = None
    max_iterations: Annotated[int, Field(ge=1, le=MAX_ITERATIONS_MAX)] | None = None
    verification_passes: Annotated[int, Field(ge=0, le=limits.VERIFICATION_PASSES_MAX)] | None = None
    search: SearchSetting | None = None
    simulation: SimulationChange | None = None


class BusinessChange(_Change):
    """Part of ``business`` to change. A group of ours."""

    value_per_conversation: Annotated[float, Field(ge=0, le=VALUE_MAX, allow_inf_nan=False)] | None = None
    currency: Annotated[str, StringConstraints(max_length=CURRENCY_CHARS)] | None = None


class SettingsChange(_Change):
    """Body of ``PATCH /settings``: only provided fields change, unknown ones are refused."""

    general: GeneralChange | None = None
    optimization: OptimizationChange | None = None
    business: BusinessChange | None = None


class SettingsAnswer(ApiModel):
    """Answer of ``PATCH /settings``."""

    success: bool
    settings: Settings


class SyncContextRequest(RequestModel):
    """Body of ``POST /settings/sync-context``."""

    url: Annotated[str, AfterValidator(not_blank)]
    overwrite: bool = False

    _not_null = field_validator("overwrite", mode="before")(not_null)


class ExtractedContext(ApiModel):
    """A company according to its website; texts are empty if the website does not mention them."""

    industry: str = ""
    objectives: str = ""
    kpis: str = ""
    """Ours: the specification shows only the other two, and fills all three."""


class SyncContextAnswer(ApiModel):
    """Answer of ``POST /settings/sync-context``."""

    success: bool
    extracted: ExtractedContext = Field(default_factory=ExtractedContext)
    applied: list[str] | None = None
    """Settings that were changed. Our service provides it and the following fields, others may not."""
    analyser: str | None = None
    """``llm:`` and the name of the model, or ``words`` if only the page's own words were used, as objectives."""
    url: str | None = None
    """Address of the page after redirects."""
    problem: str | None = None
    """Why no language model read the page."""
