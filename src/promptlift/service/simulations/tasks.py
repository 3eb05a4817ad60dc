"""The tasks of a model in simulations, and the simulated text.

Tasks take and return objects of this package: the wording of requests to a language model can change without
affecting anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role, Transcript
    from promptlift.service.background.runs import Model
    from promptlift.service.insights.judge import Judgement
    from promptlift.service.insights.organization import Organization
    from promptlift.service.optimizations.reflection import EditDraft, EditsRequest
    from promptlift.service.optimizations.variants import VariantDraft, VariantsRequest
    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.simulations.scenarios import ScenarioAnswer, ScenariosRequest
    from promptlift.service.simulations.tools import ToolRequest


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt's text and how it runs.

    Attributes
    ----------
    content
        The original text.
    llm_model
        Name of the prompt's model; ``None`` for the endpoint's default.
    temperature, max_tokens
        The prompt's settings; ``None`` for the endpoint's defaults.
    objective
        The purpose of the prompt, as its owner wrote it.
    """

    content: str
    llm_model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    objective: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A situation in which a person turns to the assistant. All texts are hostile.

    Attributes
    ----------
    title
        A few words for display.
    opening
        The first user message, verbatim when ``source`` is ``conversation``.
    goal
        The person's goal, for the model that plays them.
    source
        ``conversation`` or ``model``.
    """

    title: str
    opening: str
    goal: str
    source: Literal["conversation", "model"]


class PersonaMessage(NamedTuple):
    """A persona's message, and whether it ends the conversation; an empty text that does not end it is not a message."""

    text: str
    is_last: bool


class AssistantMessage(NamedTuple):
    """The assistant's message, and the tokens that it read and wrote for it; 0 if the endpoint did not count."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


# The mark around the data of a request, if any: a text that repeats it was manipulated.
Mark: TypeAlias = "str | None"


class Tasks(Protocol):
    """The tasks of one run. Called from many threads at once; every text of an answer is hostile.

    A task raises ``LlmUnavailable`` or ``LlmRefused`` if the model is unavailable, ``LlmBadAnswer`` if its
    answer is unusable, and ``Cancelled`` after ``model.cancel``. Its calls and tokens are counted in any case.
    """

    @property
    def model(self) -> Model:
        """What is asked, or its stand-in: it counts calls and tokens, and ends all tasks of the run."""

    def write_variants(self, request: VariantsRequest) -> tuple[Sequence[VariantDraft], Mark]:
        """Write one variant for each strategy, in order."""

    def write_edits(self, request: EditsRequest) -> tuple[Sequence[EditDraft], Mark]:
        """Write edits against problems in conversations, the most important first.

        ``LlmBadAnswer`` means that the writer is incapable of it: then there is no search.
        """

    def write_scenarios(self, request: ScenariosRequest) -> Sequence[ScenarioAnswer]:
        """Write scenarios for a prompt."""

    def answer_as_assistant(
        self, *, prompt: PromptText, content: str, messages: Sequence[tuple[Role, str]]
    ) -> AssistantMessage:
        """Answer the last message of a conversation under the text ``content``, with the settings of ``prompt``."""

    def speak_as_persona(
        self,
        *,
        persona: SimulatedPersona,
        scenario: Scenario,
        messages: Sequence[tuple[Role, str]],
        seed: int,
    ) -> PersonaMessage:
        """Write the next message of the person in a conversation."""

    def play_tool(self, request: ToolRequest) -> str:
        """Return the simulated result of a tool call, resembling the tool's real results."""

    def judge(
        self,
        transcript: Transcript,
        *,
        objective: str | None,
        exclusions: str | None,
        organization: Organization | None = None,
        targets: Sequence[str] = (),
    ) -> Judgement:
        """Judge a conversation; see ``insights.judge.Judge``."""
