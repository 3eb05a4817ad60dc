"""Endpoints of prompts and of their experiments, and of agents under their own path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.client.api.group import Group, given
from promptlift.errors import ValidationError
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.schema.experiments import Calibration, LiveExperiment, Resolution
    from promptlift.schema.insights import (
        AgentInsightsView,
        PromptInsightsView,
        RegenerateAnswer,
        StepFailures,
    )
    from promptlift.schema.judges import LearnedJudge
    from promptlift.schema.model import Done, Page
    from promptlift.schema.prompts import (
        Prompt,
        PromptChange,
        PromptStatusView,
        PromptVersion,
        RestoreAnswer,
    )
    from promptlift.schema.topics import PromptTopics


class Prompts(Group):
    """Prompts, or agents in the agent scheme."""

    def list(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        tags: Sequence[str] | str | None = None,
        status: str | None = None,
        include_completion: bool | None = None,
    ) -> Page[Prompt]:
        """Return one page of prompts, newest first.

        ``include_completion`` is an extension of the embedded service; others ignore it.
        """
        return self._send(
            endpoints.PROMPTS_LIST,
            limit=limit,
            offset=offset,
            tags=tags,
            status=status,
            include_completion=include_completion,
        )

    def create(self, *, name: str, content: str, llm_model: str | None = None, **fields: Any) -> Prompt:
        """Create a prompt.

        The model may be omitted if the account's setting ``general.preferredLLM`` names one. ``fields`` may
        be description, tags, temperature, max_tokens and objective. The answer of the API has only some of
        the fields; use :meth:`get` for the others.
        """
        if llm_model is not None:
            fields["llm_model"] = llm_model
        try:
            return self._send(endpoints.PROMPTS_CREATE, name=name, content=content, **fields)
        except ValidationError as error:
            if llm_model is None and "llmModel" in error.details:
                error.message = (
                    'The account has no usable default model. Name one, such as llm_model="gpt-4o", or set the default: '
                    'lift.client.settings.update(general={"preferredLLM": "gpt-4o"})'
                )
            raise

    def get(self, prompt_id: str) -> Prompt:
        """Return one prompt with all its fields."""
        return self._send(endpoints.PROMPTS_GET, prompt_id)

    def update(self, prompt_id: str, **fields: Any) -> PromptChange:
        """Update the given fields of a prompt."""
        return self._send(endpoints.PROMPTS_UPDATE, prompt_id, **fields)

    def delete(self, prompt_id: str) -> Done:
        """Delete a prompt."""
        return self._send(endpoints.PROMPTS_DELETE, prompt_id)

    def status(self, prompt_id: str) -> PromptStatusView:
        """Return the status view of a prompt."""
        return self._send(endpoints.PROMPTS_STATUS, prompt_id)

    def insights(self, prompt_id: str, *, days: str | int | None = None) -> PromptInsightsView:
        """Return aggregated insights of a prompt over ``days`` days: 7, 30, 90 or ``"all"``."""
        return self._send(endpoints.PROMPTS_INSIGHTS, prompt_id, days=days)

    def versions(
        self, prompt_id: str, *, limit: int | None = None, offset: int | None = None
    ) -> Page[PromptVersion]:
        """Return one page of the versions of a prompt, newest first. Only the embedded service supports this."""
        return self._send(endpoints.PROMPTS_VERSIONS, prompt_id, limit=limit, offset=offset)

    def restore(
        self, prompt_id: str, *, version_id: str, if_version_id: str | None = None, note: str | None = None
    ) -> RestoreAnswer:
        """Make an earlier version of a prompt current again. Only the embedded service supports this.

        With ``if_version_id`` it refuses if the current version has changed. ``note`` is stored with the
        action.
        """
        fields = given(version_id=version_id, if_version_id=if_version_id, note=note)
        return self._send(endpoints.PROMPTS_RESTORE, prompt_id, **fields)

    def resolve(self, prompt_id: str, *, unit: str) -> Resolution:
        """Return the text for a unit, such as a user: that of its arm in a running experiment, or the current one.

        Only the embedded service supports this. ``Workspace.resolve`` also answers while the service is away.
        """
        return self._send(endpoints.PROMPTS_RESOLVE, prompt_id, unit=unit)

    def experiments(
        self, prompt_id: str, *, limit: int | None = None, offset: int | None = None
    ) -> Page[LiveExperiment]:
        """Return one page of the experiments of a prompt, newest first. Only the embedded service supports this."""
        return self._send(endpoints.PROMPTS_EXPERIMENTS, prompt_id, limit=limit, offset=offset)

    def experiment(
        self, prompt_id: str, *, weights: Mapping[str, float], ramp: bool = False
    ) -> LiveExperiment:
        """Start an experiment with versions side by side on real users. Only the embedded service supports this.

        ``weights`` are shares of the units by version, such as ``{"v2": 0.5}``; the current one gets the rest. With ``ramp``, one
        version with the weight 1 replaces the current one in steps.
        """
        return self._send(endpoints.PROMPTS_EXPERIMENT, prompt_id, weights=dict(weights), ramp=ramp)

    def learn(
        self, prompt_id: str, *, labels: Sequence[Mapping[str, Any]], seed: int | None = None
    ) -> LearnedJudge:
        """Learn from labels whether conversations completed their task, and judge all of them accordingly if possible.

        Labels are dicts with conversation_id, completed and optionally group. Only the embedded service
        supports this.
        """
        return self._send(endpoints.PROMPTS_LEARN, prompt_id, labels=[*labels], **given(seed=seed))

    def learned_judge(self, prompt_id: str) -> LearnedJudge:
        """Return the judge that learned from labels, compared with today's conversations. Embedded service only."""
        return self._send(endpoints.PROMPTS_LEARNED_JUDGE, prompt_id)

    def topics(self, prompt_id: str) -> PromptTopics:
        """Return the topics found in the conversations of a prompt. Embedded service only."""
        return self._send(endpoints.PROMPTS_TOPICS, prompt_id)

    def update_topic(self, prompt_id: str, topic: int, **changes: Any) -> PromptTopics:
        """Change a topic by its number: ``name`` (None restores what was found), ``pinned``, ``excluded``, ``merged_into``, ``split``.

        Each change is undone by the opposite value. Embedded service only.
        """
        return self._send(endpoints.PROMPTS_UPDATE_TOPIC, prompt_id, topic=topic, **changes)

    def forget(self, prompt_id: str) -> Done:
        """Remove the judge that learned from labels. Only the embedded service supports this."""
        return self._send(endpoints.PROMPTS_FORGET, prompt_id)


class Experiments(Group):
    """Experiments, which `Prompts.experiment` starts. The embedded service supports them; others may not."""

    def get(self, experiment_id: str) -> LiveExperiment:
        """Return an experiment with its results."""
        return self._send(endpoints.EXPERIMENTS_GET, experiment_id)

    def calibration(self) -> Calibration:
        """Return what simulations were worth, by all variants that met users."""
        return self._send(endpoints.EXPERIMENTS_CALIBRATION)

    def stop(self, experiment_id: str, *, reason: str | None = None) -> LiveExperiment:
        """Stop an experiment: every unit gets the current version."""
        return self._send(endpoints.EXPERIMENTS_STOP, experiment_id, **given(reason=reason))

    def apply(self, experiment_id: str, *, arm: int | None = None, note: str | None = None) -> LiveExperiment:
        """Make a version of an experiment current, by default the one that is better; this ends the experiment."""
        return self._send(endpoints.EXPERIMENTS_APPLY, experiment_id, **given(arm=arm, note=note))


class Agents(Prompts):
    """Agents, always under ``/agents``, with the endpoints specific to them."""

    def insights(self, prompt_id: str, *, days: str | int | None = None) -> AgentInsightsView:
        """Return aggregated insights of an agent, with its rank among all agents, business impact and issues."""
        return self._send(endpoints.AGENTS_INSIGHTS, prompt_id, days=days)

    def regenerate_insights(self, agent_id: str) -> RegenerateAnswer:
        """Derive the insights of all conversations of an agent again."""
        return self._send(endpoints.PROMPTS_REGENERATE_INSIGHTS, agent_id)

    def step_failures(self, agent_id: str) -> StepFailures:
        """Return where conversations of an agent failed over the last 30 days."""
        return self._send(endpoints.PROMPTS_STEP_FAILURES, agent_id)
