"""Every endpoint, typed and grouped by resource: ``client.prompts.list(...)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from promptlift.client.group import Group
from promptlift.client.optimizations import Optimizations
from promptlift.client.personas import Personas
from promptlift.client.reviews import Actions, Reviews
from promptlift.client.transport import Transport, query
from promptlift.schema import endpoints
from promptlift.schema.conversations import (
    Conversation,
    ConversationCreate,
    ConversationLookup,
    ConversationUpdate,
    LookupAnswer,
)
from promptlift.schema.naming import SCHEMES
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
from promptlift.schema.settings import Settings, SettingsChange
from promptlift.schema.versions import PromptVersion, RestoreAnswer, RestoreRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.client.config import ClientConfig
    from promptlift.schema.account import Account, Usage
    from promptlift.schema.insights import Insights, RegenerateAnswer
    from promptlift.schema.pages import Done, Page


class Prompts(Group):
    """Prompts, or agents in the agent scheme."""

    def list(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        tags: Sequence[str] | str | None = None,
        status: str | None = None,
    ) -> Page[Prompt]:
        """One page of prompts, newest first."""
        params = query(limit=limit, offset=offset, tags=tags, status=status)
        return self._ask(endpoints.PROMPTS_LIST, params=params)

    def create(self, *, name: str, content: str, llm_model: str, **fields: Any) -> Prompt:
        """Create a prompt.

        ``fields`` may be description, tags, temperature, max_tokens and objective. The answer of the API has only some of the
        fields; use :meth:`get` for the others.
        """
        values = {"name": name, "content": content, "llm_model": llm_model, **fields}
        return self._ask(endpoints.PROMPTS_CREATE, body=self._body(PromptCreate, values))

    def get(self, prompt_id: str) -> Prompt:
        """One prompt with all its fields."""
        return self._ask(endpoints.PROMPTS_GET, prompt_id)

    def update(self, prompt_id: str, **fields: Any) -> PromptChange:
        """Change the given fields of a prompt and leave the others."""
        return self._ask(endpoints.PROMPTS_UPDATE, prompt_id, body=self._body(PromptUpdate, fields))

    def delete(self, prompt_id: str) -> Done:
        """Delete a prompt."""
        return self._ask(endpoints.PROMPTS_DELETE, prompt_id)

    def status(self, prompt_id: str) -> PromptStatusView:
        """Status view of a prompt."""
        return self._ask(endpoints.PROMPTS_STATUS, prompt_id)

    def insights(self, prompt_id: str, *, days: str | int | None = None) -> PromptInsightsView:
        """Aggregated insights of a prompt over ``days`` days: 7, 30, 90 or ``"all"``."""
        return self._ask(endpoints.PROMPTS_INSIGHTS, prompt_id, params=query(days=days))

    def versions(
        self, prompt_id: str, *, limit: int | None = None, offset: int | None = None
    ) -> Page[PromptVersion]:
        """One page of the texts that a prompt ever had, newest first. The embedded service offers it."""
        params = query(limit=limit, offset=offset)
        return self._ask(endpoints.PROMPTS_VERSIONS, prompt_id, params=params)

    def restore(
        self, prompt_id: str, *, version_id: str, if_version_id: str | None = None, note: str | None = None
    ) -> RestoreAnswer:
        """Make the text of a version live again. The embedded service offers it.

        With ``if_version_id`` it refuses when another version is live by now. ``note`` is kept with the action.
        """
        fields = {"version_id": version_id, "if_version_id": if_version_id, "note": note}
        body = self._body(
            RestoreRequest, {name: value for name, value in fields.items() if value is not None}
        )
        return self._ask(endpoints.PROMPTS_RESTORE, prompt_id, body=body)


class Agents(Prompts):
    """Agents, always under ``/agents``, with the endpoints that only they have."""

    def insights(self, prompt_id: str, *, days: str | int | None = None) -> AgentInsightsView:
        """Aggregated insights of an agent, with its place among all agents, business impact and issues."""
        return self._ask(endpoints.AGENTS_INSIGHTS, prompt_id, params=query(days=days))

    def regenerate_insights(self, agent_id: str) -> RegenerateAnswer:
        """Derive the insights of all conversations of an agent again."""
        return self._ask(endpoints.PROMPTS_REGENERATE_INSIGHTS, agent_id)

    def step_failures(self, agent_id: str) -> StepFailures:
        """Where conversations of an agent failed over the last 30 days."""
        return self._ask(endpoints.PROMPTS_STEP_FAILURES, agent_id)


class Conversations(Group):
    """Conversations and their insights."""

    def create(self, *, prompt_id: str, content: str, **fields: Any) -> Conversation:
        """Log one conversation.

        ``fields`` may be status, llm_model, company_name, source_id and idempotency_key. Only with an idempotency key is the request
        repeated after a failure. ``Workspace.log`` logs many, with keys, in parallel.
        """
        values = {"prompt_id": prompt_id, "content": content, **fields}
        body = self._body(ConversationCreate, values)
        body[self._scheme.link] = body.pop("promptId")
        return self._ask(endpoints.CONVERSATIONS_CREATE, body=body)

    def list(
        self,
        *,
        prompt_id: str | None = None,
        status: str | None = None,
        has_insights: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
        include_insights: bool | None = None,
        include_content: bool | None = None,
    ) -> Page[Conversation]:
        """One page of conversations, newest first.

        ``include_insights`` and ``include_content`` are an offer of the embedded service; others ignore them.
        """
        params = query(
            **{self._scheme.link: prompt_id},
            status=status,
            hasInsights=has_insights,
            limit=limit,
            offset=offset,
            includeInsights=include_insights,
            includeContent=include_content,
        )
        return self._ask(endpoints.CONVERSATIONS_LIST, params=params)

    def get(self, conversation_id: str, *, include_insights: bool | None = None) -> Conversation:
        """One conversation with its content."""
        params = query(includeInsights=include_insights)
        return self._ask(endpoints.CONVERSATIONS_GET, conversation_id, params=params)

    def update(self, conversation_id: str, **fields: Any) -> Conversation:
        """Replace the content or the status of a conversation. The embedded service offers it.

        ``fields`` may be content, status, source_id and if_content_hash: the SHA-256 of the content that is to be replaced;
        the update is refused when it is another by now. A new content is judged anew.
        """
        body = self._body(ConversationUpdate, fields)
        return self._ask(endpoints.CONVERSATIONS_UPDATE, conversation_id, body=body)

    def lookup(
        self,
        prompt_id: str,
        *,
        ids: Sequence[str] | None = None,
        source_ids: Sequence[str] | None = None,
    ) -> LookupAnswer:
        """Which of these conversations a prompt has, up to 500 of each kind. The embedded service offers it.

        At most nine come for one source id, the newest.
        """
        given = {"ids": ids, "source_ids": source_ids}
        values = {name: list(some) for name, some in given.items() if some is not None}
        body = self._body(ConversationLookup, values)
        return self._ask(endpoints.CONVERSATIONS_LOOKUP, prompt_id, body=body)

    def insights(self, conversation_id: str) -> Insights:
        """Insights view of one conversation."""
        return self._ask(endpoints.CONVERSATIONS_INSIGHTS, conversation_id)

    def regenerate_insights(self, conversation_id: str) -> RegenerateAnswer:
        """Derive the insights of one conversation again."""
        return self._ask(endpoints.CONVERSATIONS_REGENERATE_INSIGHTS, conversation_id)


class SettingsGroup(Group):
    """Settings of the account."""

    def get(self) -> Settings:
        """All settings."""
        return self._ask(endpoints.SETTINGS_GET)

    def update(
        self, *, general: dict[str, Any] | None = None, optimization: dict[str, Any] | None = None
    ) -> Settings:
        """Change the given fields, nested as in the API, and give all settings."""
        values = {"general": general, "optimization": optimization}
        given = {name: value for name, value in values.items() if value is not None}
        body = self._body(SettingsChange, given)
        return self._ask(endpoints.SETTINGS_UPDATE, body=body).settings


class AccountGroup(Group):
    """The account."""

    def get(self) -> Account:
        """Account and plan."""
        return self._ask(endpoints.ACCOUNT_GET)


class UsageGroup(Group):
    """Usage against the plan."""

    def get(self) -> Usage:
        """Usage of the current billing period."""
        return self._ask(endpoints.USAGE_GET)


class Client:
    """Every endpoint of the API, typed.

    Attributes
    ----------
    prompts
        The main resource under the name of the configured scheme.
    agents
        The same under ``/agents``, with the endpoints that only agents have.
    conversations, optimizations, reviews, actions, personas, settings, account, usage
        The other resources.
    transport
        Sends the requests of all groups.
    """

    def __init__(self, config: ClientConfig, *, transport: Transport | None = None) -> None:
        self.config = config
        self.transport = transport or Transport(config)
        scheme = config.scheme
        self.prompts = Prompts(self.transport, scheme)
        self.agents = Agents(self.transport, SCHEMES["agent"])
        self.conversations = Conversations(self.transport, scheme)
        self.optimizations = Optimizations(self.transport, scheme)
        self.reviews = Reviews(self.transport, scheme)
        self.actions = Actions(self.transport, scheme)
        self.personas = Personas(self.transport, scheme)
        self.settings = SettingsGroup(self.transport, scheme)
        self.account = AccountGroup(self.transport, scheme)
        self.usage = UsageGroup(self.transport, scheme)

    def __repr__(self) -> str:
        return f"Client({self.config.base_url!r}, scheme={self.config.scheme.name!r})"

    def close(self) -> None:
        """Close all connections."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
