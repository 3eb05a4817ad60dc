"""Every endpoint, typed and grouped by resource: ``client.prompts.list(...)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from promptlift.client.api.account import AccountGroup, SettingsGroup, UsageGroup
from promptlift.client.api.benchmarks import Benchmarks, ScenarioSets
from promptlift.client.api.conversations import Conversations
from promptlift.client.api.judges import JudgeRuns, Judges, Labels
from promptlift.client.api.optimizations import Actions, Optimizations, Personas, Reviews
from promptlift.client.api.prompts import Agents, Experiments, Prompts
from promptlift.client.api.webhooks import Events, Webhooks
from promptlift.client.transport import Transport
from promptlift.schema.naming import SCHEMES

if TYPE_CHECKING:
    from promptlift.client.config import ClientConfig


class Client:
    """Every endpoint of the API, typed.

    Attributes
    ----------
    prompts
        The main resource under the name of the configured scheme.
    agents
        The same under ``/agents``, with the endpoints specific to agents.
    conversations, labels, optimizations, experiments, benchmarks, scenario_sets, judges, judge_runs, reviews, actions, personas, webhooks, events, settings, account, usage
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
        self.labels = Labels(self.transport, scheme)
        self.optimizations = Optimizations(self.transport, scheme)
        self.benchmarks = Benchmarks(self.transport, scheme)
        self.scenario_sets = ScenarioSets(self.transport, scheme)
        self.judges = Judges(self.transport, scheme)
        self.judge_runs = JudgeRuns(self.transport, scheme)
        self.experiments = Experiments(self.transport, scheme)
        self.reviews = Reviews(self.transport, scheme)
        self.actions = Actions(self.transport, scheme)
        self.personas = Personas(self.transport, scheme)
        self.webhooks = Webhooks(self.transport, scheme)
        self.events = Events(self.transport, scheme)
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
