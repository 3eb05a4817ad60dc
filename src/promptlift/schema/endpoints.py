"""The one description of the API: a row an endpoint.

The client's methods, the routes of the service, ``/openapi.json`` and the agreement tests all read it. Routes are tried
in this order, so conversations, which are logged by the thousand, come first.
"""

from __future__ import annotations

from typing import Any, Final

from promptlift.schema import limits
from promptlift.schema.account import Account, Usage
from promptlift.schema.benchmarks import (
    Benchmark,
    BenchmarkConversation,
    BenchmarkCreate,
    BulkAnswer,
    BulkRequest,
    ScenarioSet,
)
from promptlift.schema.conversations import (
    Conversation,
    ConversationCreate,
    ConversationLookup,
    ConversationsCreate,
    ConversationUpdate,
    DeletedConversation,
    LoggedAnswer,
    LookupAnswer,
)
from promptlift.schema.endpoint import Endpoint
from promptlift.schema.events import EventRecord
from promptlift.schema.insights import Insights, RegenerateAnswer
from promptlift.schema.judges import (
    Judge,
    JudgeAlignCreate,
    JudgeBackfillCreate,
    JudgeCreate,
    JudgePlan,
    JudgeRun,
    JudgeVerdict,
    Label,
    LabelCreate,
    LabelsAnswer,
)
from promptlift.schema.naming import LINKS
from promptlift.schema.optimizations import (
    ApplyAnswer,
    ApplyRequest,
    Optimization,
    OptimizationCreate,
    ReviewUpdate,
    StopAnswer,
    StopRequest,
    Variant,
    VariantReview,
)
from promptlift.schema.pages import Done, Page
from promptlift.schema.prompt_insights import AgentInsightsView, PromptInsightsView, StepFailures
from promptlift.schema.prompts import (
    Action,
    Prompt,
    PromptChange,
    PromptCreate,
    PromptStatusView,
    PromptUpdate,
    PromptVersion,
    RestoreAnswer,
    RestoreRequest,
    UndoAnswer,
    UndoRequest,
)
from promptlift.schema.queries import (
    ActionsQuery,
    BenchmarkConversationsQuery,
    BenchmarkQuery,
    BenchmarksQuery,
    ConversationQuery,
    ConversationsQuery,
    DeletedConversationsQuery,
    EventsQuery,
    InsightsQuery,
    JudgeQuery,
    JudgeRunsQuery,
    LabelsQuery,
    OptimizationsQuery,
    PageQuery,
    PersonasQuery,
    PromptsQuery,
    ScenarioSetQuery,
    SimulationsQuery,
    VerdictsQuery,
)
from promptlift.schema.settings import (
    Settings,
    SettingsAnswer,
    SettingsChange,
    SyncContextAnswer,
    SyncContextRequest,
)
from promptlift.schema.simulations import Persona, PersonaCreate, PersonaUpdate, Simulation
from promptlift.schema.webhooks import Delivery, Webhook, WebhookCreate, WebhookTest

CONVERSATIONS_CREATE: Final = Endpoint(
    "conversations.create",
    "POST /conversations",
    Conversation,
    "Log a conversation",
    body=ConversationCreate,
    either=LINKS,
    status=201,
    also=(200,),
    errors=("NOT_FOUND", "LIMIT_EXCEEDED"),
    repeat="keyed",
)
# Whatever is wrong with one conversation is in its row of the answer. With keys, the same twice is the same as once.
CONVERSATIONS_LOG_MANY: Final = Endpoint(
    "conversations.log_many",
    "POST /conversations/bulk",
    LoggedAnswer,
    f"Log up to {limits.BULK_ROWS} conversations in one transaction",
    body=ConversationsCreate,
    lines="conversations",
    repeat="keyed",
    specified=(),
)
CONVERSATIONS_LIST: Final = Endpoint(
    "conversations.list",
    "GET /conversations",
    Page[Conversation],
    "List conversations",
    query=ConversationsQuery,
)
# Before the path with an id, which it would be taken for.
CONVERSATIONS_DELETED: Final = Endpoint(
    "conversations.deleted",
    "GET /conversations/deleted",
    Page[DeletedConversation],
    "List the conversations that are no longer there",
    query=DeletedConversationsQuery,
    specified=(),
)
CONVERSATIONS_GET: Final = Endpoint(
    "conversations.get",
    "GET /conversations/{id}",
    Conversation,
    "Get a conversation",
    query=ConversationQuery,
)
# The same content twice is one change.
CONVERSATIONS_UPDATE: Final = Endpoint(
    "conversations.update",
    "PATCH /conversations/{id}",
    Conversation,
    "Replace the content, the status or other fields of a conversation",
    body=ConversationUpdate,
    errors=("INVALID_STATE",),
    repeat="always",
    specified=(),
)
CONVERSATIONS_LOOKUP: Final = Endpoint(
    "conversations.lookup",
    "POST /{segment}/{id}/conversations/lookup",
    LookupAnswer,
    "Find which of these conversations the service has",
    body=ConversationLookup,
    repeat="always",
    specified=(),
)
CONVERSATIONS_INSIGHTS: Final = Endpoint(
    "conversations.insights", "GET /conversations/{id}/insights", Insights, "Insights of a conversation"
)
CONVERSATIONS_REGENERATE_INSIGHTS: Final = Endpoint(
    "conversations.regenerate_insights",
    "POST /conversations/{id}/insights/regenerate",
    RegenerateAnswer,
    "Judge a conversation again",
)

PROMPTS_LIST: Final = Endpoint(
    "prompts.list", "GET /{segment}", Page[Prompt], "List {noun}s", query=PromptsQuery
)
PROMPTS_CREATE: Final = Endpoint(
    "prompts.create",
    "POST /{segment}",
    Prompt,
    "Create {a_noun}",
    body=PromptCreate,
    # unspecified: whether the model is required where the account has a default. It is not.
    from_settings=(("llmModel", "preferredLLM"),),
    status=201,
    errors=("LIMIT_EXCEEDED",),
)
PROMPTS_GET: Final = Endpoint("prompts.get", "GET /{segment}/{id}", Prompt, "Get {a_noun}")
PROMPTS_UPDATE: Final = Endpoint(
    "prompts.update",
    "PATCH /{segment}/{id}",
    PromptChange,
    "Change {a_noun}",
    body=PromptUpdate,
    errors=("LIMIT_EXCEEDED",),
)
PROMPTS_DELETE: Final = Endpoint(
    "prompts.delete", "DELETE /{segment}/{id}", Done, "Delete {a_noun}", specified=("prompt",)
)
PROMPTS_STATUS: Final = Endpoint(
    "prompts.status",
    "GET /{segment}/{id}/status",
    PromptStatusView,
    "Status of {a_noun}",
    specified=("prompt",),
)
PROMPTS_INSIGHTS: Final = Endpoint(
    "prompts.insights",
    "GET /{segment}/{id}/insights",
    PromptInsightsView,
    "Insights of {a_noun}",
    query=InsightsQuery,
    schemes=("prompt",),
)
AGENTS_INSIGHTS: Final = Endpoint(
    "agents.insights",
    "GET /{segment}/{id}/insights",
    AgentInsightsView,
    "Insights of {a_noun}",
    query=InsightsQuery,
    schemes=("agent",),
)
PROMPTS_REGENERATE_INSIGHTS: Final = Endpoint(
    "prompts.regenerate_insights",
    "POST /{segment}/{id}/insights/regenerate",
    RegenerateAnswer,
    "Judge all conversations of {a_noun} again",
    specified=("agent",),
)
PROMPTS_STEP_FAILURES: Final = Endpoint(
    "prompts.step_failures",
    "GET /{segment}/{id}/step-failures",
    StepFailures,
    "Failing steps of {a_noun}",
    specified=("agent",),
)
PROMPTS_VERSIONS: Final = Endpoint(
    "prompts.versions",
    "GET /{segment}/{id}/versions",
    Page[PromptVersion],
    "Versions of the text of {a_noun}, newest first",
    query=PageQuery,
    specified=(),
)
PROMPTS_RESTORE: Final = Endpoint(
    "prompts.restore",
    "POST /{segment}/{id}/restore",
    RestoreAnswer,
    "Make a former version of {a_noun} current again",
    body=RestoreRequest,
    errors=("INVALID_STATE",),
    specified=(),
)

# Never sent again: an optimization that was triggered twice costs twice.
OPTIMIZATIONS_CREATE: Final = Endpoint(
    "optimizations.create",
    "POST /optimizations",
    Optimization,
    "Start an optimization",
    body=OptimizationCreate,
    either=LINKS,
    status=201,
    errors=("NOT_FOUND", "INVALID_STATE", "LIMIT_EXCEEDED"),
)
OPTIMIZATIONS_LIST: Final = Endpoint(
    "optimizations.list",
    "GET /optimizations",
    Page[Optimization],
    "List optimizations",
    query=OptimizationsQuery,
)
OPTIMIZATIONS_GET: Final = Endpoint(
    "optimizations.get", "GET /optimizations/{id}", Optimization, "Get an optimization with its results"
)
OPTIMIZATIONS_VARIANTS: Final = Endpoint(
    "optimizations.variants", "GET /optimizations/{id}/variants", Page[Variant], "Variants of an optimization"
)
OPTIMIZATIONS_SIMULATIONS: Final = Endpoint(
    "optimizations.simulations",
    "GET /optimizations/{id}/simulations",
    Page[Simulation],
    "Simulated conversations of an optimization",
    query=SimulationsQuery,
    specified=(),
)
OPTIMIZATIONS_APPLY: Final = Endpoint(
    "optimizations.apply",
    "POST /optimizations/{id}/apply",
    ApplyAnswer,
    "Make a variant the current version of its prompt",
    body=ApplyRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
)
OPTIMIZATIONS_STOP: Final = Endpoint(
    "optimizations.stop",
    "POST /optimizations/{id}/stop",
    StopAnswer,
    "Stop an optimization",
    body=StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
)

REVIEWS_GET: Final = Endpoint(
    "reviews.get",
    "GET /optimizations/{id}/review",
    Page[VariantReview],
    "Reviews of the variants of an optimization",
    specified=(),
)
REVIEWS_UPDATE: Final = Endpoint(
    "reviews.update",
    "PATCH /optimizations/{id}/review",
    VariantReview,
    "Update the review of a variant",
    body=ReviewUpdate,
    specified=(),
)
LABELS_LIST: Final = Endpoint(
    "labels.list",
    "GET /labels",
    Page[Label],
    "What people say of conversations, newest first",
    query=LabelsQuery,
    specified=(),
)
LABELS_CREATE: Final = Endpoint(
    "labels.create",
    "POST /labels",
    LabelsAnswer,
    "Keep labels of conversations, logged or simulated",
    body=LabelCreate,
    repeat="always",
    specified=(),
)
ACTIONS_LIST: Final = Endpoint(
    "actions.list",
    "GET /actions",
    Page[Action],
    "What people did, newest first",
    query=ActionsQuery,
    specified=(),
)
ACTIONS_UNDO: Final = Endpoint(
    "actions.undo",
    "POST /actions/{id}/undo",
    UndoAnswer,
    "Restore the text from before an action",
    body=UndoRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
    specified=(),
)

PERSONAS_LIST: Final = Endpoint(
    "personas.list",
    "GET /personas",
    Page[Persona],
    "List personas, the account's own first",
    query=PersonasQuery,
    specified=(),
)
PERSONAS_CREATE: Final = Endpoint(
    "personas.create",
    "POST /personas",
    Persona,
    "Create a persona",
    body=PersonaCreate,
    status=201,
    errors=("INVALID_STATE",),
    specified=(),
)
PERSONAS_GET: Final = Endpoint("personas.get", "GET /personas/{id}", Persona, "Get a persona", specified=())
PERSONAS_UPDATE: Final = Endpoint(
    "personas.update",
    "PATCH /personas/{id}",
    Persona,
    "Change a persona",
    body=PersonaUpdate,
    errors=("INVALID_STATE",),
    specified=(),
)
PERSONAS_DELETE: Final = Endpoint(
    "personas.delete",
    "DELETE /personas/{id}",
    Done,
    "Delete a persona",
    errors=("INVALID_STATE",),
    specified=(),
)

SETTINGS_GET: Final = Endpoint("settings.get", "GET /settings", Settings, "All settings")
SETTINGS_UPDATE: Final = Endpoint(
    "settings.update", "PATCH /settings", SettingsAnswer, "Change settings", body=SettingsChange
)
SETTINGS_SYNC_CONTEXT: Final = Endpoint(
    "settings.sync_context",
    "POST /settings/sync-context",
    SyncContextAnswer,
    "Fill industry, objectives and KPIs from a company's website",
    body=SyncContextRequest,
    errors=("INVALID_STATE",),
)
ACCOUNT_GET: Final = Endpoint("account.get", "GET /account", Account, "The account")
USAGE_GET: Final = Endpoint("usage.get", "GET /usage", Usage, "Usage of the billing period")

WEBHOOKS_LIST: Final = Endpoint(
    "webhooks.list",
    "GET /webhooks",
    Page[Webhook],
    "List webhooks",
)
# Never sent again: a webhook that was created twice receives every event twice.
WEBHOOKS_CREATE: Final = Endpoint(
    "webhooks.create",
    "POST /webhooks",
    Webhook,
    "Create a webhook; its secret is in this answer only",
    body=WebhookCreate,
    status=201,
    errors=("INVALID_STATE",),
)
WEBHOOKS_DELETE: Final = Endpoint(
    "webhooks.delete",
    "DELETE /webhooks/{id}",
    Done,
    "Delete a webhook",
)
WEBHOOKS_TEST: Final = Endpoint(
    "webhooks.test",
    "POST /webhooks/{id}/test",
    WebhookTest,
    "Send an example event to a webhook and return what came of it",
    errors=("INVALID_STATE",),
    specified=(),
)
WEBHOOKS_RESUME: Final = Endpoint(
    "webhooks.resume",
    "POST /webhooks/{id}/resume",
    Webhook,
    "Make a failing webhook active again and deliver what waits",
    specified=(),
)
WEBHOOKS_DELIVERIES: Final = Endpoint(
    "webhooks.deliveries",
    "GET /webhooks/{id}/deliveries",
    Page[Delivery],
    "Deliveries to a webhook, newest first",
    query=PageQuery,
    specified=(),
)
EVENTS_LIST: Final = Endpoint(
    "events.list",
    "GET /events",
    Page[EventRecord],
    "Events of the account, newest first",
    query=EventsQuery,
    specified=(),
)

BENCHMARKS_LIST: Final = Endpoint(
    "benchmarks.list",
    "GET /benchmarks",
    Page[Benchmark],
    "List benchmarks",
    query=BenchmarksQuery,
)
# Never sent again: a benchmark that was started twice costs twice.
# unspecified: the status of success. 200, which the specification gives to all that it does not state.
BENCHMARKS_CREATE: Final = Endpoint(
    "benchmarks.create",
    "POST /benchmarks",
    Benchmark,
    "Start a benchmark",
    body=BenchmarkCreate,
    errors=("LIMIT_EXCEEDED",),
)
BENCHMARKS_BULK: Final = Endpoint(
    "benchmarks.bulk",
    "POST /benchmarks/bulk",
    BulkAnswer,
    "Delete benchmarks",
    body=BulkRequest,
)
BENCHMARKS_GET: Final = Endpoint(
    "benchmarks.get",
    "GET /benchmarks/{id}",
    Benchmark,
    "Get a benchmark with its results",
    query=BenchmarkQuery,
)
BENCHMARKS_CONVERSATIONS: Final = Endpoint(
    "benchmarks.conversations",
    "GET /benchmarks/{id}/conversations",
    Page[BenchmarkConversation],
    "Simulated conversations of a benchmark",
    query=BenchmarkConversationsQuery,
    specified=(),
)
BENCHMARKS_STOP: Final = Endpoint(
    "benchmarks.stop",
    "POST /benchmarks/{id}/stop",
    Benchmark,
    "Stop a benchmark; what was measured stays",
    body=StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
    specified=(),
)
BENCHMARKS_RESUME: Final = Endpoint(
    "benchmarks.resume",
    "POST /benchmarks/{id}/resume",
    Benchmark,
    "Go on with a benchmark that was stopped or failed",
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
    specified=(),
)
SCENARIO_SETS_LIST: Final = Endpoint(
    "scenario_sets.list",
    "GET /scenario-sets",
    Page[ScenarioSet],
    "Every version of every scenario set, newest first",
    query=PageQuery,
    specified=(),
)
SCENARIO_SETS_GET: Final = Endpoint(
    "scenario_sets.get",
    "GET /scenario-sets/{id}",
    ScenarioSet,
    "Get a scenario set with its scenarios",
    query=ScenarioSetQuery,
    specified=(),
)

JUDGES_LIST: Final = Endpoint(
    "judges.list",
    "GET /judges",
    Page[Judge],
    "List judges, each in its newest version",
    query=PageQuery,
    specified=(),
)
# The same text twice is one version.
JUDGES_CREATE: Final = Endpoint(
    "judges.create",
    "POST /judges",
    Judge,
    "Create a judge, or a new version of the judge of this name",
    body=JudgeCreate,
    status=201,
    also=(200,),
    repeat="always",
    specified=(),
)
JUDGES_GET: Final = Endpoint(
    "judges.get", "GET /judges/{id}", Judge, "Get a version of a judge", query=JudgeQuery, specified=()
)
JUDGES_DELETE: Final = Endpoint(
    "judges.delete",
    "DELETE /judges/{id}",
    Done,
    "Delete a judge with its versions, verdicts and runs",
    specified=(),
)
JUDGES_VERSIONS: Final = Endpoint(
    "judges.versions",
    "GET /judges/{id}/versions",
    Page[Judge],
    "Versions of a judge, newest first",
    query=PageQuery,
    specified=(),
)
JUDGES_VERDICTS: Final = Endpoint(
    "judges.verdicts",
    "GET /judges/{id}/verdicts",
    Page[JudgeVerdict],
    "Verdicts of a judge, the newest conversations first",
    query=VerdictsQuery,
    specified=(),
)
JUDGES_PLAN: Final = Endpoint(
    "judges.plan",
    "POST /judges/{id}/plan",
    JudgePlan,
    "Say what putting a judge to conversations takes, without doing it",
    body=JudgeBackfillCreate,
    body_optional=True,
    errors=("NOT_FOUND",),
    repeat="always",
    specified=(),
)
# Never sent again: calls of a model cost.
JUDGES_BACKFILL: Final = Endpoint(
    "judges.backfill",
    "POST /judges/{id}/backfill",
    JudgeRun,
    "Put a judge to logged conversations",
    body=JudgeBackfillCreate,
    body_optional=True,
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
    specified=(),
)
JUDGES_ALIGN: Final = Endpoint(
    "judges.align",
    "POST /judges/{id}/align",
    JudgeRun,
    "Improve a judge's rubric by labels",
    body=JudgeAlignCreate,
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
    specified=(),
)
JUDGE_RUNS_LIST: Final = Endpoint(
    "judge_runs.list",
    "GET /judge-runs",
    Page[JudgeRun],
    "Backfills and alignments of judges, newest first",
    query=JudgeRunsQuery,
    specified=(),
)
JUDGE_RUNS_GET: Final = Endpoint(
    "judge_runs.get", "GET /judge-runs/{id}", JudgeRun, "Get a run of a judge", specified=()
)
JUDGE_RUNS_STOP: Final = Endpoint(
    "judge_runs.stop",
    "POST /judge-runs/{id}/stop",
    JudgeRun,
    "Stop a run of a judge; its verdicts stay",
    body=StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
    specified=(),
)
JUDGE_RUNS_RESUME: Final = Endpoint(
    "judge_runs.resume",
    "POST /judge-runs/{id}/resume",
    JudgeRun,
    "Go on with a run that was stopped or failed",
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
    specified=(),
)

ENDPOINTS: Final[dict[str, Endpoint[Any]]] = {
    row.name: row for row in list(globals().values()) if isinstance(row, Endpoint)
}
