"""The single description of the API, one row per endpoint.

The client's methods, the routes of the service, ``/openapi.json`` and the agreement tests all read it. Routes are tried
in this order, so conversations, which are logged by the thousand, come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar
from urllib.parse import quote

from promptlift.errors import ValidationError
from promptlift.schema import (
    account,
    benchmarks,
    conversations,
    events,
    experiments,
    insights,
    judges,
    limits,
    optimizations,
    prompts,
    queries,
    settings,
    simulations,
    topics,
    webhooks,
)
from promptlift.schema.model import Done, Page
from promptlift.schema.naming import LINKS, SCHEMES

if TYPE_CHECKING:
    from promptlift.schema.model import ApiModel, RequestModel
    from promptlift.schema.naming import Scheme, SchemeName
    from promptlift.schema.queries import QueryModel

Answer = TypeVar("Answer", bound="ApiModel")
Repeat = Literal["always", "keyed", "never"]


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Answer]):
    """One row of the API.

    Attributes
    ----------
    name
        Group and action, such as ``prompts.list``.
    route
        Method and path, such as ``GET /{segment}/{id}``: ``{segment}`` is the path segment of the naming scheme, ``{id}``
        an identifier.
    answer
        Type of the answer.
    summary
        One line for the description of the API; ``{noun}`` is ``prompt`` or ``agent``, and ``{a_noun}``
        includes the article.
    query
        Query parameters, if there are any.
    body
        Type of the body, if there is one.
    body_optional
        Whether no body means the same as an empty object.
    either
        Fields of the body of which one is required.
    lines
        The field of the body whose list may also be sent as lines of JSON (``application/x-ndjson``); such a
        body may be large, and compressed with gzip.
    from_settings
        Fields of the body whose defaults are general settings of the account.
    status, also
        Status of success, and other statuses with the same answer.
    errors
        Error codes in addition to those implied by the path, the query and the body.
    repeat
        Whether a client may send a request that is not a ``GET`` again after a failure: ``always`` (repeating
        has no further effect), ``keyed`` (only with an idempotency key) or ``never``.
    schemes
        Naming schemes in which this row describes the endpoint. Only a path with ``{segment}`` differs between them.
    specified
        Naming schemes in which the specification has the endpoint.
    """

    name: str
    route: str
    answer: type[Answer]
    summary: str
    query: type[QueryModel] | None = None
    body: type[RequestModel] | None = None
    body_optional: bool = False
    either: tuple[str, ...] = ()
    lines: str | None = None
    from_settings: tuple[tuple[str, str], ...] = ()
    status: int = 200
    also: tuple[int, ...] = ()
    errors: tuple[str, ...] = ()
    repeat: Repeat = "never"
    schemes: tuple[SchemeName, ...] = ("prompt", "agent")
    specified: tuple[SchemeName, ...] = ("prompt", "agent")

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path, with ``{segment}`` and ``{id}`` left in place."""
        return self.route.partition(" ")[2]

    @property
    def has_id(self) -> bool:
        """Whether the path contains an identifier."""
        return "{id}" in self.path

    def served_schemes(self) -> tuple[Scheme, ...]:
        """Return the schemes under which a service answers it, only one if the path is the same in both."""
        names = self.schemes if "{segment}" in self.path else self.schemes[:1]
        return tuple(SCHEMES[name] for name in names)

    def operation_in(self, scheme: Scheme) -> str:
        """Return the identifier of the operation in the description of the API, such as ``agents_list``."""
        name = self.name.removeprefix("prompts.").removeprefix("agents.")
        if "{segment}" in self.path:
            name = f"{scheme.segment}.{name}"
        return name.replace(".", "_")

    def path_in(self, scheme: Scheme) -> str:
        """Return the path of a scheme, with ``{id}`` left in place."""
        return self.path.replace("{segment}", scheme.segment)

    def path_for(self, scheme: Scheme, identifier: str | None = None) -> str:
        """Fill in the path; an identifier is opaque and becomes one percent-encoded segment.

        Raises
        ------
        ValidationError
            The path needs an identifier, and it is missing, empty or not a string.
        """
        path = self.path_in(scheme)
        if not self.has_id:
            return path
        if not isinstance(identifier, str) or not identifier:
            raise ValidationError(
                "An id is required but was not given",
                details={"id": "must be a non-empty string"},
                request=f"{self.method} {path}",
            )
        return path.replace("{id}", encode_id(identifier))

    def is_repeatable(self, *, keyed: bool) -> bool:
        """Return whether a client may send a request again after a failure; ``keyed`` if it has an idempotency key."""
        return self.method == "GET" or self.repeat == "always" or (self.repeat == "keyed" and keyed)

    def is_specified(self, scheme: Scheme) -> bool:
        """Return whether the specification has the endpoint in this scheme."""
        return scheme.name in self.specified


@dataclass(frozen=True, slots=True)
class OwnEndpoint(Endpoint[Answer]):
    """An endpoint that the specification does not have."""

    specified: tuple[SchemeName, ...] = ()


def encode_id(identifier: str) -> str:
    """Percent-encode an identifier as one path segment; a dot alone would mean another path."""
    if identifier in (".", ".."):
        return identifier.replace(".", "%2E")
    return quote(identifier.encode("utf-8", "surrogatepass"), safe="")


CONVERSATIONS_CREATE: Final = Endpoint(
    "conversations.create",
    "POST /conversations",
    conversations.Conversation,
    "Log a conversation",
    body=conversations.ConversationCreate,
    either=LINKS,
    status=201,
    also=(200,),
    errors=("NOT_FOUND", "LIMIT_EXCEEDED"),
    repeat="keyed",
)
# Problems of a conversation are in its row of the answer. With keys, repeating has no further effect.
CONVERSATIONS_LOG_MANY: Final = OwnEndpoint(
    "conversations.log_many",
    "POST /conversations/bulk",
    conversations.LoggedAnswer,
    f"Log up to {limits.BULK_ROWS} conversations in one transaction",
    body=conversations.ConversationsCreate,
    lines="conversations",
    repeat="keyed",
)
CONVERSATIONS_LIST: Final = Endpoint(
    "conversations.list",
    "GET /conversations",
    Page[conversations.Conversation],
    "List conversations",
    query=queries.ConversationsQuery,
)
# Before the path with an id, for which it would be mistaken.
CONVERSATIONS_DELETED: Final = OwnEndpoint(
    "conversations.deleted",
    "GET /conversations/deleted",
    Page[conversations.DeletedConversation],
    "List deleted conversations",
    query=queries.DeletedConversationsQuery,
)
CONVERSATIONS_GET: Final = Endpoint(
    "conversations.get",
    "GET /conversations/{id}",
    conversations.Conversation,
    "Get a conversation",
    query=queries.ConversationQuery,
)
# The same content twice is one change.
CONVERSATIONS_UPDATE: Final = OwnEndpoint(
    "conversations.update",
    "PATCH /conversations/{id}",
    conversations.Conversation,
    "Replace the content, the status or other fields of a conversation",
    body=conversations.ConversationUpdate,
    errors=("INVALID_STATE",),
    repeat="always",
)
CONVERSATIONS_LOOKUP: Final = OwnEndpoint(
    "conversations.lookup",
    "POST /{segment}/{id}/conversations/lookup",
    conversations.LookupAnswer,
    "Find which of these conversations the service has",
    body=conversations.ConversationLookup,
    repeat="always",
)
CONVERSATIONS_INSIGHTS: Final = Endpoint(
    "conversations.insights",
    "GET /conversations/{id}/insights",
    insights.Insights,
    "Insights of a conversation",
)
CONVERSATIONS_REGENERATE_INSIGHTS: Final = Endpoint(
    "conversations.regenerate_insights",
    "POST /conversations/{id}/insights/regenerate",
    insights.RegenerateAnswer,
    "Judge a conversation again",
)

PROMPTS_LIST: Final = Endpoint(
    "prompts.list", "GET /{segment}", Page[prompts.Prompt], "List {noun}s", query=queries.PromptsQuery
)
PROMPTS_CREATE: Final = Endpoint(
    "prompts.create",
    "POST /{segment}",
    prompts.Prompt,
    "Create {a_noun}",
    body=prompts.PromptCreate,
    # unspecified: whether the model is required if the account has a default. It is not.
    from_settings=(("llmModel", "preferredLLM"),),
    status=201,
    errors=("LIMIT_EXCEEDED",),
)
PROMPTS_GET: Final = Endpoint("prompts.get", "GET /{segment}/{id}", prompts.Prompt, "Get {a_noun}")
PROMPTS_UPDATE: Final = Endpoint(
    "prompts.update",
    "PATCH /{segment}/{id}",
    prompts.PromptChange,
    "Change {a_noun}",
    body=prompts.PromptUpdate,
    errors=("LIMIT_EXCEEDED",),
)
PROMPTS_DELETE: Final = Endpoint(
    "prompts.delete", "DELETE /{segment}/{id}", Done, "Delete {a_noun}", specified=("prompt",)
)
PROMPTS_STATUS: Final = Endpoint(
    "prompts.status",
    "GET /{segment}/{id}/status",
    prompts.PromptStatusView,
    "Status of {a_noun}",
    specified=("prompt",),
)
PROMPTS_INSIGHTS: Final = Endpoint(
    "prompts.insights",
    "GET /{segment}/{id}/insights",
    insights.PromptInsightsView,
    "Insights of {a_noun}",
    query=queries.InsightsQuery,
    schemes=("prompt",),
)
AGENTS_INSIGHTS: Final = Endpoint(
    "agents.insights",
    "GET /{segment}/{id}/insights",
    insights.AgentInsightsView,
    "Insights of {a_noun}",
    query=queries.InsightsQuery,
    schemes=("agent",),
)
PROMPTS_REGENERATE_INSIGHTS: Final = Endpoint(
    "prompts.regenerate_insights",
    "POST /{segment}/{id}/insights/regenerate",
    insights.RegenerateAnswer,
    "Judge all conversations of {a_noun} again",
    specified=("agent",),
)
PROMPTS_STEP_FAILURES: Final = Endpoint(
    "prompts.step_failures",
    "GET /{segment}/{id}/step-failures",
    insights.StepFailures,
    "Failing steps of {a_noun}",
    specified=("agent",),
)
PROMPTS_VERSIONS: Final = OwnEndpoint(
    "prompts.versions",
    "GET /{segment}/{id}/versions",
    Page[prompts.PromptVersion],
    "Versions of the text of {a_noun}, newest first",
    query=queries.PageQuery,
)
PROMPTS_RESTORE: Final = OwnEndpoint(
    "prompts.restore",
    "POST /{segment}/{id}/restore",
    prompts.RestoreAnswer,
    "Make an earlier version of {a_noun} current again",
    body=prompts.RestoreRequest,
    errors=("INVALID_STATE",),
)
PROMPTS_RESOLVE: Final = OwnEndpoint(
    "prompts.resolve",
    "GET /{segment}/{id}/resolve",
    experiments.Resolution,
    "The text of {a_noun} for a unit: that of its arm in a running experiment, or else the current one",
    query=queries.ResolveQuery,
    errors=("INVALID_STATE",),
)
PROMPTS_EXPERIMENTS: Final = OwnEndpoint(
    "prompts.experiments",
    "GET /{segment}/{id}/experiments",
    Page[experiments.LiveExperiment],
    "Experiments of {a_noun}, newest first",
    query=queries.PageQuery,
)
PROMPTS_EXPERIMENT: Final = OwnEndpoint(
    "prompts.experiment",
    "POST /{segment}/{id}/experiments",
    experiments.LiveExperiment,
    "Start an experiment: versions of {a_noun} side by side on real users",
    body=experiments.ExperimentCreate,
    status=201,
    errors=("INVALID_STATE",),
)
PROMPTS_LEARNED_JUDGE: Final = OwnEndpoint(
    "prompts.learned_judge",
    "GET /{segment}/{id}/learned-judge",
    judges.LearnedJudge,
    "The judge that learned from labels, compared with today's conversations",
)
PROMPTS_LEARN: Final = OwnEndpoint(
    "prompts.learn",
    "POST /{segment}/{id}/learned-judge",
    judges.LearnedJudge,
    "Learn from labels whether conversations of {a_noun} completed their task, and judge all if possible",
    body=judges.LearnedJudgeCreate,
    status=201,
)
PROMPTS_FORGET: Final = OwnEndpoint(
    "prompts.forget",
    "DELETE /{segment}/{id}/learned-judge",
    Done,
    "Remove the judge that learned from labels, and restore the previous verdicts",
)

PROMPTS_TOPICS: Final = OwnEndpoint(
    "prompts.topics",
    "GET /{segment}/{id}/topics",
    topics.PromptTopics,
    "The topics found in the conversations of {a_noun}",
)
# The same change twice is one change.
PROMPTS_UPDATE_TOPIC: Final = OwnEndpoint(
    "prompts.update_topic",
    "PATCH /{segment}/{id}/topics",
    topics.PromptTopics,
    "Rename, pin, exclude, merge or split a topic of {a_noun}, or undo that",
    body=topics.TopicUpdate,
    errors=("INVALID_STATE",),
    repeat="always",
)

# Never repeated: an optimization triggered twice costs twice.
OPTIMIZATIONS_CREATE: Final = Endpoint(
    "optimizations.create",
    "POST /optimizations",
    optimizations.Optimization,
    "Start an optimization",
    body=optimizations.OptimizationCreate,
    either=LINKS,
    status=201,
    errors=("NOT_FOUND", "INVALID_STATE", "LIMIT_EXCEEDED"),
)
OPTIMIZATIONS_LIST: Final = Endpoint(
    "optimizations.list",
    "GET /optimizations",
    Page[optimizations.Optimization],
    "List optimizations",
    query=queries.OptimizationsQuery,
)
OPTIMIZATIONS_GET: Final = Endpoint(
    "optimizations.get",
    "GET /optimizations/{id}",
    optimizations.Optimization,
    "Get an optimization with its results",
)
OPTIMIZATIONS_VARIANTS: Final = Endpoint(
    "optimizations.variants",
    "GET /optimizations/{id}/variants",
    Page[optimizations.Variant],
    "Variants of an optimization",
)
OPTIMIZATIONS_SIMULATIONS: Final = OwnEndpoint(
    "optimizations.simulations",
    "GET /optimizations/{id}/simulations",
    Page[simulations.Simulation],
    "Simulated conversations of an optimization",
    query=queries.SimulationsQuery,
)
OPTIMIZATIONS_APPLY: Final = Endpoint(
    "optimizations.apply",
    "POST /optimizations/{id}/apply",
    optimizations.ApplyAnswer,
    "Make a variant the current version of its prompt",
    body=optimizations.ApplyRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
)
OPTIMIZATIONS_STOP: Final = Endpoint(
    "optimizations.stop",
    "POST /optimizations/{id}/stop",
    optimizations.StopAnswer,
    "Stop an optimization",
    body=optimizations.StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
)

EXPERIMENTS_CALIBRATION: Final = OwnEndpoint(
    "experiments.calibration",
    "GET /calibration",
    experiments.Calibration,
    "What simulations were worth: the changes that they let expect of variants, beside those that users showed",
)
EXPERIMENTS_GET: Final = OwnEndpoint(
    "experiments.get",
    "GET /experiments/{id}",
    experiments.LiveExperiment,
    "Get an experiment with its results",
)
EXPERIMENTS_STOP: Final = OwnEndpoint(
    "experiments.stop",
    "POST /experiments/{id}/stop",
    experiments.LiveExperiment,
    "Stop an experiment: every unit gets the current version",
    body=optimizations.StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
)
EXPERIMENTS_APPLY: Final = OwnEndpoint(
    "experiments.apply",
    "POST /experiments/{id}/apply",
    experiments.LiveExperiment,
    "Make a version of an experiment current, and end the experiment",
    body=experiments.ExperimentApply,
    body_optional=True,
    errors=("INVALID_STATE",),
)

REVIEWS_GET: Final = OwnEndpoint(
    "reviews.get",
    "GET /optimizations/{id}/review",
    Page[optimizations.VariantReview],
    "Reviews of the variants of an optimization",
)
REVIEWS_UPDATE: Final = OwnEndpoint(
    "reviews.update",
    "PATCH /optimizations/{id}/review",
    optimizations.VariantReview,
    "Update the review of a variant",
    body=optimizations.ReviewUpdate,
)
LABELS_LIST: Final = OwnEndpoint(
    "labels.list",
    "GET /labels",
    Page[judges.Label],
    "People's labels of conversations, newest first",
    query=queries.LabelsQuery,
)
LABELS_CREATE: Final = OwnEndpoint(
    "labels.create",
    "POST /labels",
    judges.LabelsAnswer,
    "Store labels of conversations, logged or simulated",
    body=judges.LabelCreate,
    repeat="always",
)
ACTIONS_LIST: Final = OwnEndpoint(
    "actions.list",
    "GET /actions",
    Page[prompts.Action],
    "People's actions, newest first",
    query=queries.ActionsQuery,
)
ACTIONS_UNDO: Final = OwnEndpoint(
    "actions.undo",
    "POST /actions/{id}/undo",
    prompts.UndoAnswer,
    "Restore the text from before an action",
    body=prompts.UndoRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
)

PERSONAS_LIST: Final = OwnEndpoint(
    "personas.list",
    "GET /personas",
    Page[simulations.Persona],
    "List personas, the account's own first",
    query=queries.PersonasQuery,
)
PERSONAS_CREATE: Final = OwnEndpoint(
    "personas.create",
    "POST /personas",
    simulations.Persona,
    "Create a persona",
    body=simulations.PersonaCreate,
    status=201,
    errors=("INVALID_STATE",),
)
PERSONAS_GET: Final = OwnEndpoint("personas.get", "GET /personas/{id}", simulations.Persona, "Get a persona")
PERSONAS_UPDATE: Final = OwnEndpoint(
    "personas.update",
    "PATCH /personas/{id}",
    simulations.Persona,
    "Change a persona",
    body=simulations.PersonaUpdate,
    errors=("INVALID_STATE",),
)
PERSONAS_DELETE: Final = OwnEndpoint(
    "personas.delete",
    "DELETE /personas/{id}",
    Done,
    "Delete a persona",
    errors=("INVALID_STATE",),
)

SETTINGS_GET: Final = Endpoint("settings.get", "GET /settings", settings.Settings, "All settings")
SETTINGS_UPDATE: Final = Endpoint(
    "settings.update",
    "PATCH /settings",
    settings.SettingsAnswer,
    "Change settings",
    body=settings.SettingsChange,
)
SETTINGS_SYNC_CONTEXT: Final = Endpoint(
    "settings.sync_context",
    "POST /settings/sync-context",
    settings.SyncContextAnswer,
    "Fill industry, objectives and KPIs from a company's website",
    body=settings.SyncContextRequest,
    errors=("INVALID_STATE",),
)
ACCOUNT_GET: Final = Endpoint("account.get", "GET /account", account.Account, "The account")
USAGE_GET: Final = Endpoint("usage.get", "GET /usage", account.Usage, "Usage of the billing period")

WEBHOOKS_LIST: Final = Endpoint("webhooks.list", "GET /webhooks", Page[webhooks.Webhook], "List webhooks")
# Never repeated: a webhook created twice receives every event twice.
WEBHOOKS_CREATE: Final = Endpoint(
    "webhooks.create",
    "POST /webhooks",
    webhooks.Webhook,
    "Create a webhook; its secret is in this answer only",
    body=webhooks.WebhookCreate,
    status=201,
    errors=("INVALID_STATE",),
)
WEBHOOKS_DELETE: Final = Endpoint("webhooks.delete", "DELETE /webhooks/{id}", Done, "Delete a webhook")
WEBHOOKS_TEST: Final = OwnEndpoint(
    "webhooks.test",
    "POST /webhooks/{id}/test",
    webhooks.WebhookTest,
    "Send an example event to a webhook and return the outcome",
    errors=("INVALID_STATE",),
)
WEBHOOKS_RESUME: Final = OwnEndpoint(
    "webhooks.resume",
    "POST /webhooks/{id}/resume",
    webhooks.Webhook,
    "Make a failing webhook active again and deliver its waiting events",
)
WEBHOOKS_DELIVERIES: Final = OwnEndpoint(
    "webhooks.deliveries",
    "GET /webhooks/{id}/deliveries",
    Page[webhooks.Delivery],
    "Deliveries to a webhook, newest first",
    query=queries.PageQuery,
)
EVENTS_LIST: Final = OwnEndpoint(
    "events.list",
    "GET /events",
    Page[events.EventRecord],
    "Events of the account, newest first",
    query=queries.EventsQuery,
)

BENCHMARKS_LIST: Final = Endpoint(
    "benchmarks.list",
    "GET /benchmarks",
    Page[benchmarks.Benchmark],
    "List benchmarks",
    query=queries.BenchmarksQuery,
)
# Never repeated: a benchmark started twice costs twice. unspecified: the status of success. 200, the
# specification's default.
BENCHMARKS_CREATE: Final = Endpoint(
    "benchmarks.create",
    "POST /benchmarks",
    benchmarks.Benchmark,
    "Start a benchmark",
    body=benchmarks.BenchmarkCreate,
    errors=("LIMIT_EXCEEDED",),
)
BENCHMARKS_BULK: Final = Endpoint(
    "benchmarks.bulk",
    "POST /benchmarks/bulk",
    benchmarks.BulkAnswer,
    "Delete benchmarks",
    body=benchmarks.BulkRequest,
)
BENCHMARKS_GET: Final = Endpoint(
    "benchmarks.get",
    "GET /benchmarks/{id}",
    benchmarks.Benchmark,
    "Get a benchmark with its results",
    query=queries.BenchmarkQuery,
)
BENCHMARKS_CONVERSATIONS: Final = OwnEndpoint(
    "benchmarks.conversations",
    "GET /benchmarks/{id}/conversations",
    Page[benchmarks.BenchmarkConversation],
    "Simulated conversations of a benchmark",
    query=queries.BenchmarkConversationsQuery,
)
BENCHMARKS_STOP: Final = OwnEndpoint(
    "benchmarks.stop",
    "POST /benchmarks/{id}/stop",
    benchmarks.Benchmark,
    "Stop a benchmark; its measurements stay",
    body=optimizations.StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
)
BENCHMARKS_RESUME: Final = OwnEndpoint(
    "benchmarks.resume",
    "POST /benchmarks/{id}/resume",
    benchmarks.Benchmark,
    "Resume a stopped or failed benchmark",
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
)
SCENARIO_SETS_LIST: Final = OwnEndpoint(
    "scenario_sets.list",
    "GET /scenario-sets",
    Page[benchmarks.ScenarioSet],
    "Every version of every scenario set, newest first",
    query=queries.PageQuery,
)
SCENARIO_SETS_GET: Final = OwnEndpoint(
    "scenario_sets.get",
    "GET /scenario-sets/{id}",
    benchmarks.ScenarioSet,
    "Get a scenario set with its scenarios",
    query=queries.VersionQuery,
)

JUDGES_LIST: Final = OwnEndpoint(
    "judges.list",
    "GET /judges",
    Page[judges.Judge],
    "List judges, each in its newest version",
    query=queries.PageQuery,
)
# The same text twice is one version.
JUDGES_CREATE: Final = OwnEndpoint(
    "judges.create",
    "POST /judges",
    judges.Judge,
    "Create a judge, or a new version of the judge with this name",
    body=judges.JudgeCreate,
    status=201,
    also=(200,),
    repeat="always",
)
JUDGES_GET: Final = OwnEndpoint(
    "judges.get",
    "GET /judges/{id}",
    judges.Judge,
    "Get a version of a judge",
    query=queries.VersionQuery,
)
JUDGES_DELETE: Final = OwnEndpoint(
    "judges.delete",
    "DELETE /judges/{id}",
    Done,
    "Delete a judge with its versions, verdicts and runs",
)
JUDGES_VERSIONS: Final = OwnEndpoint(
    "judges.versions",
    "GET /judges/{id}/versions",
    Page[judges.Judge],
    "Versions of a judge, newest first",
    query=queries.PageQuery,
)
JUDGES_VERDICTS: Final = OwnEndpoint(
    "judges.verdicts",
    "GET /judges/{id}/verdicts",
    Page[judges.JudgeVerdict],
    "Verdicts of a judge, the newest conversations first",
    query=queries.VerdictsQuery,
)
JUDGES_PLAN: Final = OwnEndpoint(
    "judges.plan",
    "POST /judges/{id}/plan",
    judges.JudgePlan,
    "Estimate the cost of judging conversations, without doing it",
    body=judges.JudgeBackfillCreate,
    body_optional=True,
    errors=("NOT_FOUND",),
    repeat="always",
)
# Never repeated: model calls cost money.
JUDGES_BACKFILL: Final = OwnEndpoint(
    "judges.backfill",
    "POST /judges/{id}/backfill",
    judges.JudgeRun,
    "Judge logged conversations",
    body=judges.JudgeBackfillCreate,
    body_optional=True,
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
)
JUDGES_ALIGN: Final = OwnEndpoint(
    "judges.align",
    "POST /judges/{id}/align",
    judges.JudgeRun,
    "Improve a judge's rubric by labels",
    body=judges.JudgeAlignCreate,
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
)
JUDGE_RUNS_LIST: Final = OwnEndpoint(
    "judge_runs.list",
    "GET /judge-runs",
    Page[judges.JudgeRun],
    "Backfills and alignments of judges, newest first",
    query=queries.JudgeRunsQuery,
)
JUDGE_RUNS_GET: Final = OwnEndpoint(
    "judge_runs.get", "GET /judge-runs/{id}", judges.JudgeRun, "Get a run of a judge"
)
JUDGE_RUNS_STOP: Final = OwnEndpoint(
    "judge_runs.stop",
    "POST /judge-runs/{id}/stop",
    judges.JudgeRun,
    "Stop a run of a judge; its verdicts stay",
    body=optimizations.StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
)
JUDGE_RUNS_RESUME: Final = OwnEndpoint(
    "judge_runs.resume",
    "POST /judge-runs/{id}/resume",
    judges.JudgeRun,
    "Resume a stopped or failed run",
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
)

ENDPOINTS: Final[dict[str, Endpoint[Any]]] = {
    row.name: row for row in list(globals().values()) if isinstance(row, Endpoint)
}
