"""The tasks of a run, carried out by a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.service.insights.llm_judge import LlmJudge
from promptlift.service.llm.hostile_text import plain_answer
from promptlift.service.optimizations.reflection import EditsAnswer, edits_messages
from promptlift.service.optimizations.variants import VariantsAnswer, variants_messages
from promptlift.service.simulations.conversation import (
    PERSONA_TEMPERATURE,
    PERSONA_TOKENS,
    agent_messages,
    persona_messages,
    read_persona,
)
from promptlift.service.simulations.scenarios import ScenariosAnswer, scenarios_messages
from promptlift.service.simulations.tasks import AssistantMessage, PersonaMessage
from promptlift.service.simulations.tools import ToolAnswer, tool_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role
    from promptlift.service.llm.calls import Calls
    from promptlift.service.optimizations.reflection import EditDraft, EditsRequest
    from promptlift.service.optimizations.variants import VariantDraft, VariantsRequest
    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.simulations.scenarios import ScenarioAnswer, ScenariosRequest
    from promptlift.service.simulations.tasks import Mark, PromptText, Scenario
    from promptlift.service.simulations.tools import ToolRequest


class ModelTasks:
    """Carry out the tasks of one run with a language model; see ``Tasks``.

    Parameters
    ----------
    chat
        The run's view of the model.
    judge_model
        Name of the judging model.
    agent_model
        Name of the model that plays the assistant; ``None`` for the prompt's own model.
    """

    def __init__(self, chat: Calls, *, judge_model: str, agent_model: str | None = None) -> None:
        self.model = chat
        self._agent_model = agent_model
        self.judge = LlmJudge(chat, judge_model).judge

    def write_variants(self, request: VariantsRequest) -> tuple[Sequence[VariantDraft], Mark]:
        """Request variants."""
        messages, mark = variants_messages(request)
        answer = self.model.chat(messages, purpose="variants", schema=VariantsAnswer)
        return answer.parsed.variants, mark

    def write_edits(self, request: EditsRequest) -> tuple[Sequence[EditDraft], Mark]:
        """Request edits."""
        messages, mark = edits_messages(request)
        answer = self.model.chat(messages, purpose="reflection", schema=EditsAnswer)
        return answer.parsed.edits, mark

    def write_scenarios(self, request: ScenariosRequest) -> Sequence[ScenarioAnswer]:
        """Request scenarios."""
        answer = self.model.chat(scenarios_messages(request), purpose="scenarios", schema=ScenariosAnswer)
        written: list[ScenarioAnswer] = answer.parsed.scenarios
        return written

    def answer_as_assistant(
        self, *, prompt: PromptText, content: str, messages: Sequence[tuple[Role, str]]
    ) -> AssistantMessage:
        """Request the assistant's next message."""
        answer = self.model.chat(
            agent_messages(content, messages),
            purpose="agent",
            model=self._agent_model or prompt.llm_model,
            temperature=prompt.temperature,
            max_tokens=prompt.max_tokens,
        )
        return AssistantMessage(plain_answer(answer.text), answer.prompt_tokens, answer.completion_tokens)

    def speak_as_persona(
        self,
        *,
        persona: SimulatedPersona,
        scenario: Scenario,
        messages: Sequence[tuple[Role, str]],
        seed: int,
    ) -> PersonaMessage:
        """Request the person's next message."""
        answer = self.model.chat(
            persona_messages(persona, scenario, messages, seed=seed),
            purpose="persona",
            temperature=PERSONA_TEMPERATURE,
            max_tokens=PERSONA_TOKENS,
        )
        return PersonaMessage(*read_persona(answer.text))

    def play_tool(self, request: ToolRequest) -> str:
        """Request a tool's result."""
        answer = self.model.chat(tool_messages(request), purpose="tool", schema=ToolAnswer)
        result: str = answer.parsed.result
        return result
