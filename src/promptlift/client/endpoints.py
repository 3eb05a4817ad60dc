"""The endpoints of the API as values, in one table: method, path, body and answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

from promptlift.errors import ValidationError
from promptlift.schema.account import Account, Usage
from promptlift.schema.action_log import Action, UndoAnswer, UndoRequest
from promptlift.schema.conversations import (
    Conversation,
    ConversationCreate,
    ConversationLookup,
    ConversationUpdate,
    LookupAnswer,
)
from promptlift.schema.insights import Insights, RegenerateAnswer
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
    Prompt,
    PromptCreate,
    PromptInsightsView,
    PromptStatusView,
    PromptUpdate,
    StepFailures,
)
from promptlift.schema.reviews import ReviewUpdate, VariantReview
from promptlift.schema.settings import Settings, SettingsAnswer, SettingsChange
from promptlift.schema.simulations import Simulation
from promptlift.schema.versions import PromptVersion, RestoreAnswer, RestoreRequest

if TYPE_CHECKING:
    from promptlift.schema.model import ApiModel, RequestModel
    from promptlift.schema.naming import Scheme

Repeat = Literal["always", "keyed", "never"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row of the API.

    Attributes
    ----------
    name
        Group and action, such as ``prompts.list``.
    path
        Template; ``{segment}`` is the scheme's path segment, ``{id}`` an identifier.
    request
        Type of the body, if there is one.
    answer
        Type of the answer.
    repeat
        Whether a request may be sent again after a failure: ``always`` (it changes nothing), ``keyed`` (only with
        an idempotency key) or ``never``.
    """

    name: str
    method: str
    path: str
    answer: type[ApiModel]
    request: type[RequestModel] | None = None
    repeat: Repeat = "never"

    def path_for(self, scheme: Scheme, identifier: str | None = None) -> str:
        """Fill the template; identifiers are opaque and are percent-encoded.

        Raises
        ------
        ValidationError
            When the path needs an identifier and it is empty or no text.
        """
        path = self.path.replace("{segment}", scheme.segment)
        if "{id}" not in path:
            return path
        if not isinstance(identifier, str) or not identifier:
            raise ValidationError(
                "An id is needed here and none was given",
                details={"id": "must be a text that is not empty"},
                request=f"{self.method} {path}",
            )
        return path.replace("{id}", encode_id(identifier))


def encode_id(identifier: str) -> str:
    """Percent-encode an identifier as one path segment; a dot alone would mean another path."""
    if identifier in (".", ".."):
        return identifier.replace(".", "%2E")
    return quote(identifier.encode("utf-8", "surrogatepass"), safe="")


def _get(name: str, path: str, answer: type[ApiModel]) -> Endpoint:
    return Endpoint(name, "GET", path, answer, repeat="always")


_TABLE: Final = (
    _get("prompts.list", "/{segment}", Page[Prompt]),
    Endpoint("prompts.create", "POST", "/{segment}", Prompt, PromptCreate),
    _get("prompts.get", "/{segment}/{id}", Prompt),
    Endpoint("prompts.update", "PATCH", "/{segment}/{id}", Prompt, PromptUpdate),
    Endpoint("prompts.delete", "DELETE", "/{segment}/{id}", Done),
    _get("prompts.status", "/{segment}/{id}/status", PromptStatusView),
    _get("prompts.insights", "/{segment}/{id}/insights", PromptInsightsView),
    _get("prompts.versions", "/{segment}/{id}/versions", Page[PromptVersion]),
    Endpoint("prompts.restore", "POST", "/{segment}/{id}/restore", RestoreAnswer, RestoreRequest),
    Endpoint("agents.regenerate_insights", "POST", "/agents/{id}/insights/regenerate", RegenerateAnswer),
    _get("agents.step_failures", "/agents/{id}/step-failures", StepFailures),
    Endpoint(
        "conversations.create", "POST", "/conversations", Conversation, ConversationCreate, repeat="keyed"
    ),
    _get("conversations.list", "/conversations", Page[Conversation]),
    _get("conversations.get", "/conversations/{id}", Conversation),
    # May be sent again: the same content twice is one change. Ours alone has it, and the lookup.
    Endpoint(
        "conversations.update",
        "PATCH",
        "/conversations/{id}",
        Conversation,
        ConversationUpdate,
        repeat="always",
    ),
    Endpoint(
        "conversations.lookup",
        "POST",
        "/{segment}/{id}/conversations/lookup",
        LookupAnswer,
        ConversationLookup,
        repeat="always",
    ),
    _get("conversations.insights", "/conversations/{id}/insights", Insights),
    Endpoint(
        "conversations.regenerate_insights",
        "POST",
        "/conversations/{id}/insights/regenerate",
        RegenerateAnswer,
    ),
    # Never repeated: an optimization that was triggered twice costs twice.
    Endpoint("optimizations.create", "POST", "/optimizations", Optimization, OptimizationCreate),
    _get("optimizations.list", "/optimizations", Page[Optimization]),
    _get("optimizations.get", "/optimizations/{id}", Optimization),
    _get("optimizations.variants", "/optimizations/{id}/variants", Page[Variant]),
    _get("optimizations.simulations", "/optimizations/{id}/simulations", Page[Simulation]),
    Endpoint("optimizations.apply", "POST", "/optimizations/{id}/apply", ApplyAnswer, ApplyRequest),
    Endpoint("optimizations.stop", "POST", "/optimizations/{id}/stop", StopAnswer, StopRequest),
    _get("reviews.get", "/optimizations/{id}/review", Page[VariantReview]),
    Endpoint("reviews.update", "PATCH", "/optimizations/{id}/review", VariantReview, ReviewUpdate),
    _get("actions.list", "/actions", Page[Action]),
    Endpoint("actions.undo", "POST", "/actions/{id}/undo", UndoAnswer, UndoRequest),
    _get("personas.list", "/personas", Page[Persona]),
    Endpoint("personas.create", "POST", "/personas", Persona, PersonaCreate),
    _get("personas.get", "/personas/{id}", Persona),
    Endpoint("personas.update", "PATCH", "/personas/{id}", Persona, PersonaUpdate),
    Endpoint("personas.delete", "DELETE", "/personas/{id}", Done),
    _get("settings.get", "/settings", Settings),
    Endpoint("settings.update", "PATCH", "/settings", SettingsAnswer, SettingsChange),
    _get("account.get", "/account", Account),
    _get("usage.get", "/usage", Usage),
)

ENDPOINTS: Final[dict[str, Endpoint]] = {endpoint.name: endpoint for endpoint in _TABLE}
