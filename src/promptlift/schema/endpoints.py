"""The one description of the API: a row an endpoint.

The client's methods, the routes of the service, ``/openapi.json`` and the agreement tests all read it. Routes are tried
in this order, so conversations, which are logged by the thousand, come first.
"""

from __future__ import annotations

from typing import Any, Final

from promptlift.schema.account import Account, Usage
from promptlift.schema.action_log import Action, UndoAnswer, UndoRequest
from promptlift.schema.conversations import (
    Conversation,
    ConversationCreate,
    ConversationLookup,
    ConversationUpdate,
    LookupAnswer,
)
from promptlift.schema.endpoint import Endpoint
from promptlift.schema.events import EventRecord
from promptlift.schema.insights import Insights, RegenerateAnswer
from promptlift.schema.naming import LINKS
from promptlift.schema.optimizations import (
    ApplyAnswer,
    ApplyRequest,
    Optimization,
    OptimizationCreate,
    StopAnswer,
    StopRequest,
    Variant,
)
from promptlift.schema.pages import Done, Page
from promptlift.schema.personas import Persona, PersonaCreate, PersonaUpdate
from promptlift.schema.prompts import (
    AgentInsightsView,
    Prompt,
    PromptChange,
    PromptCreate,
    PromptInsightsView,
    PromptStatusView,
    PromptUpdate,
    StepFailures,
)
from promptlift.schema.queries import (
    ActionsQuery,
    ConversationQuery,
    ConversationsQuery,
    DeliveriesQuery,
    EventsQuery,
    InsightsQuery,
    OptimizationsQuery,
    PersonasQuery,
    PromptsQuery,
    SimulationsQuery,
    VersionsQuery,
)
from promptlift.schema.reviews import ReviewUpdate, VariantReview
from promptlift.schema.settings import Settings, SettingsAnswer, SettingsChange
from promptlift.schema.simulations import Simulation
from promptlift.schema.versions import PromptVersion, RestoreAnswer, RestoreRequest
from promptlift.schema.webhooks import Delivery, Webhook, WebhookCreate, WebhookTest

CONVERSATIONS_CREATE: Final = Endpoint(
    "conversations.create",
    "POST",
    "/conversations",
    Conversation,
    body=ConversationCreate,
    either=LINKS,
    status=201,
    also=(200,),
    errors=("NOT_FOUND", "LIMIT_EXCEEDED"),
    repeat="keyed",
    summary="Log a conversation",
    operation="create_conversation",
)
CONVERSATIONS_LIST: Final = Endpoint(
    "conversations.list",
    "GET",
    "/conversations",
    Page[Conversation],
    query=ConversationsQuery,
    summary="List conversations",
    operation="list_conversations",
)
CONVERSATIONS_GET: Final = Endpoint(
    "conversations.get",
    "GET",
    "/conversations/{id}",
    Conversation,
    query=ConversationQuery,
    summary="Get a conversation",
    operation="get_conversation",
)
CONVERSATIONS_UPDATE: Final = Endpoint(
    "conversations.update",
    "PATCH",
    "/conversations/{id}",
    Conversation,
    body=ConversationUpdate,
    errors=("INVALID_STATE",),
    repeat="always",  # the same content twice is one change
    specified=(),
    summary="Replace the content or the status of a conversation",
    operation="update_conversation",
)
CONVERSATIONS_LOOKUP: Final = Endpoint(
    "conversations.lookup",
    "POST",
    "/{segment}/{id}/conversations/lookup",
    LookupAnswer,
    body=ConversationLookup,
    repeat="always",
    specified=(),
    summary="Find which of these conversations the service has",
    operation="lookup_conversations_of_{noun}",
)
CONVERSATIONS_INSIGHTS: Final = Endpoint(
    "conversations.insights",
    "GET",
    "/conversations/{id}/insights",
    Insights,
    summary="Insights of a conversation",
    operation="get_conversation_insights",
)
CONVERSATIONS_REGENERATE_INSIGHTS: Final = Endpoint(
    "conversations.regenerate_insights",
    "POST",
    "/conversations/{id}/insights/regenerate",
    RegenerateAnswer,
    summary="Judge a conversation again",
    operation="regenerate_conversation_insights",
)

PROMPTS_LIST: Final = Endpoint(
    "prompts.list",
    "GET",
    "/{segment}",
    Page[Prompt],
    query=PromptsQuery,
    summary="List {noun}s",
    operation="list_{noun}s",
)
PROMPTS_CREATE: Final = Endpoint(
    "prompts.create",
    "POST",
    "/{segment}",
    Prompt,
    body=PromptCreate,
    status=201,
    errors=("LIMIT_EXCEEDED",),
    summary="Create {a_noun}",
    operation="create_{noun}",
)
PROMPTS_GET: Final = Endpoint(
    "prompts.get", "GET", "/{segment}/{id}", Prompt, summary="Get {a_noun}", operation="get_{noun}"
)
PROMPTS_UPDATE: Final = Endpoint(
    "prompts.update",
    "PATCH",
    "/{segment}/{id}",
    PromptChange,
    body=PromptUpdate,
    errors=("LIMIT_EXCEEDED",),
    summary="Change {a_noun}",
    operation="update_{noun}",
)
PROMPTS_DELETE: Final = Endpoint(
    "prompts.delete",
    "DELETE",
    "/{segment}/{id}",
    Done,
    specified=("prompt",),
    summary="Delete {a_noun}",
    operation="delete_{noun}",
)
PROMPTS_STATUS: Final = Endpoint(
    "prompts.status",
    "GET",
    "/{segment}/{id}/status",
    PromptStatusView,
    specified=("prompt",),
    summary="Status of {a_noun}",
    operation="get_{noun}_status",
)
PROMPTS_INSIGHTS: Final = Endpoint(
    "prompts.insights",
    "GET",
    "/{segment}/{id}/insights",
    PromptInsightsView,
    query=InsightsQuery,
    schemes=("prompt",),
    summary="Insights of {a_noun}",
    operation="get_{noun}_insights",
)
AGENTS_INSIGHTS: Final = Endpoint(
    "agents.insights",
    "GET",
    "/{segment}/{id}/insights",
    AgentInsightsView,
    query=InsightsQuery,
    schemes=("agent",),
    summary="Insights of {a_noun}",
    operation="get_{noun}_insights",
)
PROMPTS_REGENERATE_INSIGHTS: Final = Endpoint(
    "prompts.regenerate_insights",
    "POST",
    "/{segment}/{id}/insights/regenerate",
    RegenerateAnswer,
    specified=("agent",),
    summary="Judge all conversations of {a_noun} again",
    operation="regenerate_{noun}_insights",
)
PROMPTS_STEP_FAILURES: Final = Endpoint(
    "prompts.step_failures",
    "GET",
    "/{segment}/{id}/step-failures",
    StepFailures,
    specified=("agent",),
    summary="Failing steps of {a_noun}",
    operation="get_{noun}_step_failures",
)
PROMPTS_VERSIONS: Final = Endpoint(
    "prompts.versions",
    "GET",
    "/{segment}/{id}/versions",
    Page[PromptVersion],
    query=VersionsQuery,
    specified=(),
    summary="Versions of the text of {a_noun}, newest first",
    operation="list_{noun}_versions",
)
PROMPTS_RESTORE: Final = Endpoint(
    "prompts.restore",
    "POST",
    "/{segment}/{id}/restore",
    RestoreAnswer,
    body=RestoreRequest,
    errors=("INVALID_STATE",),
    specified=(),
    summary="Make a former version of {a_noun} current again",
    operation="restore_{noun}",
)

# Never sent again: an optimization that was triggered twice costs twice.
OPTIMIZATIONS_CREATE: Final = Endpoint(
    "optimizations.create",
    "POST",
    "/optimizations",
    Optimization,
    body=OptimizationCreate,
    either=LINKS,
    status=201,
    errors=("NOT_FOUND", "INVALID_STATE", "LIMIT_EXCEEDED"),
    summary="Start an optimization",
    operation="create_optimization",
)
OPTIMIZATIONS_LIST: Final = Endpoint(
    "optimizations.list",
    "GET",
    "/optimizations",
    Page[Optimization],
    query=OptimizationsQuery,
    summary="List optimizations",
    operation="list_optimizations",
)
OPTIMIZATIONS_GET: Final = Endpoint(
    "optimizations.get",
    "GET",
    "/optimizations/{id}",
    Optimization,
    summary="Get an optimization with its results",
    operation="get_optimization",
)
OPTIMIZATIONS_VARIANTS: Final = Endpoint(
    "optimizations.variants",
    "GET",
    "/optimizations/{id}/variants",
    Page[Variant],
    summary="Variants of an optimization",
    operation="list_variants",
)
OPTIMIZATIONS_SIMULATIONS: Final = Endpoint(
    "optimizations.simulations",
    "GET",
    "/optimizations/{id}/simulations",
    Page[Simulation],
    query=SimulationsQuery,
    specified=(),
    summary="Simulated conversations of an optimization",
    operation="list_simulations",
)
OPTIMIZATIONS_APPLY: Final = Endpoint(
    "optimizations.apply",
    "POST",
    "/optimizations/{id}/apply",
    ApplyAnswer,
    body=ApplyRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
    summary="Make a variant the current version of its prompt",
    operation="apply_optimization",
)
OPTIMIZATIONS_STOP: Final = Endpoint(
    "optimizations.stop",
    "POST",
    "/optimizations/{id}/stop",
    StopAnswer,
    body=StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
    summary="Stop an optimization",
    operation="stop_optimization",
)

REVIEWS_GET: Final = Endpoint(
    "reviews.get",
    "GET",
    "/optimizations/{id}/review",
    Page[VariantReview],
    specified=(),
    summary="Reviews of the variants of an optimization",
    operation="get_review",
)
REVIEWS_UPDATE: Final = Endpoint(
    "reviews.update",
    "PATCH",
    "/optimizations/{id}/review",
    VariantReview,
    body=ReviewUpdate,
    specified=(),
    summary="Update the review of a variant",
    operation="update_review",
)
ACTIONS_LIST: Final = Endpoint(
    "actions.list",
    "GET",
    "/actions",
    Page[Action],
    query=ActionsQuery,
    specified=(),
    summary="What people did, newest first",
    operation="list_actions",
)
ACTIONS_UNDO: Final = Endpoint(
    "actions.undo",
    "POST",
    "/actions/{id}/undo",
    UndoAnswer,
    body=UndoRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
    specified=(),
    summary="Restore the text from before an action",
    operation="undo_action",
)

PERSONAS_LIST: Final = Endpoint(
    "personas.list",
    "GET",
    "/personas",
    Page[Persona],
    query=PersonasQuery,
    specified=(),
    summary="List personas, the account's own first",
    operation="list_personas",
)
PERSONAS_CREATE: Final = Endpoint(
    "personas.create",
    "POST",
    "/personas",
    Persona,
    body=PersonaCreate,
    status=201,
    errors=("INVALID_STATE",),
    specified=(),
    summary="Create a persona",
    operation="create_persona",
)
PERSONAS_GET: Final = Endpoint(
    "personas.get",
    "GET",
    "/personas/{id}",
    Persona,
    specified=(),
    summary="Get a persona",
    operation="get_persona",
)
PERSONAS_UPDATE: Final = Endpoint(
    "personas.update",
    "PATCH",
    "/personas/{id}",
    Persona,
    body=PersonaUpdate,
    errors=("INVALID_STATE",),
    specified=(),
    summary="Change a persona",
    operation="update_persona",
)
PERSONAS_DELETE: Final = Endpoint(
    "personas.delete",
    "DELETE",
    "/personas/{id}",
    Done,
    errors=("INVALID_STATE",),
    specified=(),
    summary="Delete a persona",
    operation="delete_persona",
)

SETTINGS_GET: Final = Endpoint(
    "settings.get", "GET", "/settings", Settings, summary="All settings", operation="get_settings"
)
SETTINGS_UPDATE: Final = Endpoint(
    "settings.update",
    "PATCH",
    "/settings",
    SettingsAnswer,
    body=SettingsChange,
    summary="Change settings",
    operation="update_settings",
)
ACCOUNT_GET: Final = Endpoint(
    "account.get", "GET", "/account", Account, summary="The account", operation="get_account"
)
USAGE_GET: Final = Endpoint(
    "usage.get", "GET", "/usage", Usage, summary="Usage of the billing period", operation="get_usage"
)

WEBHOOKS_LIST: Final = Endpoint(
    "webhooks.list",
    "GET",
    "/webhooks",
    Page[Webhook],
    summary="List webhooks",
    operation="list_webhooks",
)
# Never sent again: a webhook that was created twice receives every event twice.
WEBHOOKS_CREATE: Final = Endpoint(
    "webhooks.create",
    "POST",
    "/webhooks",
    Webhook,
    body=WebhookCreate,
    status=201,
    errors=("INVALID_STATE",),
    summary="Create a webhook; its secret is in this answer only",
    operation="create_webhook",
)
WEBHOOKS_DELETE: Final = Endpoint(
    "webhooks.delete",
    "DELETE",
    "/webhooks/{id}",
    Done,
    summary="Delete a webhook",
    operation="delete_webhook",
)
WEBHOOKS_TEST: Final = Endpoint(
    "webhooks.test",
    "POST",
    "/webhooks/{id}/test",
    WebhookTest,
    errors=("INVALID_STATE",),
    specified=(),
    summary="Send an example event to a webhook and return what came of it",
    operation="test_webhook",
)
WEBHOOKS_RESUME: Final = Endpoint(
    "webhooks.resume",
    "POST",
    "/webhooks/{id}/resume",
    Webhook,
    specified=(),
    summary="Make a failing webhook active again and deliver what waits",
    operation="resume_webhook",
)
WEBHOOKS_DELIVERIES: Final = Endpoint(
    "webhooks.deliveries",
    "GET",
    "/webhooks/{id}/deliveries",
    Page[Delivery],
    query=DeliveriesQuery,
    specified=(),
    summary="Deliveries to a webhook, newest first",
    operation="list_deliveries",
)
EVENTS_LIST: Final = Endpoint(
    "events.list",
    "GET",
    "/events",
    Page[EventRecord],
    query=EventsQuery,
    specified=(),
    summary="Events of the account, newest first",
    operation="list_events",
)

ENDPOINTS: Final[dict[str, Endpoint[Any]]] = {
    row.name: row for row in list(globals().values()) if isinstance(row, Endpoint)
}
