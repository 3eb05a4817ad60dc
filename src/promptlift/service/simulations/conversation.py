"""One simulated conversation: a persona with a goal talks with the assistant under one text."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.schema import limits
from promptlift.schema.transcript import CALL, RESULT, Message, Role, Transcript
from promptlift.service.llm.failures import LlmBadAnswer
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.simulations.tasks import AssistantMessage, PersonaMessage
from promptlift.service.simulations.tools.calls import calls_in
from promptlift.service.simulations.tools.player import ToolPlayer

if TYPE_CHECKING:
    from promptlift.service.simulations.personas import SimulatedPersona
    from promptlift.service.simulations.tasks import PromptText, Scenario, SimulationTasks
    from promptlift.service.simulations.tools.player import How
    from promptlift.service.simulations.tools.toolbox import Toolbox

__all__ = ["Ending", "Simulated", "TokenCounts", "simulate"]

Ending = Literal["persona", "turns"]

PERSONA_BYTES: Final = 16 * limits.KB
# Tries for a persona's message before an empty one counts as leaving.
PERSONA_TRIES: Final = 2
# Answers with calls of tools in one turn, and calls in one answer.
CALLS_MOST: Final = 8
# Of the content: braces, names and the rest around the messages.
AROUND_BYTES: Final = 4 * limits.KB
AROUND_MESSAGE_BYTES: Final = 64
# A rough count of tokens, where the endpoint gives none.
CHARS_A_TOKEN: Final = 4


class TokenCounts(NamedTuple):
    """Tokens that an assistant read and wrote in a conversation.

    Attributes
    ----------
    estimated
        Whether the endpoint did not count them: then they are a quarter of the characters.
    """

    read: int
    written: int
    estimated: bool


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated conversation.

    Attributes
    ----------
    transcript
        Within the content limits of the API, without times; both sides are hostile text. An assistant message may be
        empty.
    turns
        Answers of the assistant, at least 1.
    ended_by
        ``persona`` when the person had what they came for, gave up or fell silent; ``turns`` when the last allowed
        answer was given before.
    tokens
        What the assistant read and wrote.
    """

    transcript: Transcript
    turns: int
    ended_by: Ending
    tokens: TokenCounts


def simulate(
    tasks: SimulationTasks,
    *,
    prompt: PromptText,
    content: str,
    persona: SimulatedPersona,
    scenario: Scenario,
    max_turns: int,
    seed: int,
    tools: Toolbox | None = None,
) -> Simulated:
    """Hold one conversation.

    The scenario's opening is the first user message as it stands. Then the assistant and the persona speak in turn. A
    turn is one user message and the assistant's answer to it, so there are at most ``max_turns`` answers. After the
    last one the persona may still end the conversation; anything else that it would say is left out. With one turn it
    is not asked at all. The persona knows neither which text the assistant has nor that
    there is more than one.

    An assistant that answers nothing said nothing: its message is empty, and the persona sees that. That is the
    text's fault and no failure of the infrastructure. A persona that says nothing twice has left the conversation.

    Parameters
    ----------
    prompt
        How the assistant is run: model, temperature and tokens. Its ``content`` is not used.
    content
        The text of the arm, the assistant's system message.
    max_turns
        Answers of the assistant at most, 1 or more.
    seed
        The same for both arms of a pair, so that the same words are answered by the same request.
    tools
        What the assistant may call. A call and what it gives stand in the transcript as in logged ones; the persona sees
        neither. After ``CALLS_MOST`` answers with calls the turn ends, and the assistant has said nothing.

    Raises
    ------
    LlmUnavailable, LlmRefused
        The infrastructure failed, or the endpoint does not take the request: nothing is known about the text.
    """
    if max_turns < 1:
        raise ValueError(f"max_turns must be 1 or more, not {max_turns}")
    player = None if tools is None else ToolPlayer(tasks, tools, prompt=prompt, scenario=scenario, seed=seed)
    content = content if tools is None else tools.described(content)
    talk = _Conversation(with_tools=tools is not None)
    talk.say("user", storable_text(scenario.opening))
    turns = 0
    while True:
        _answer(tasks, talk, prompt, content, player)
        turns += 1
        if max_turns == 1:
            return talk.ended("turns", turns)
        said, is_last = _persona(tasks, talk, persona, scenario, seed)
        if turns == max_turns and not is_last:
            return talk.ended("turns", turns)
        if said:
            talk.say("user", said, at_most=PERSONA_BYTES)
        if is_last:
            return talk.ended("persona", turns)


@dataclass(slots=True)
class _Conversation:
    """The conversation so far, within the limits of content."""

    said: list[tuple[Role, str]] = field(default_factory=list)
    room: int = limits.CONTENT_BYTES - AROUND_BYTES
    counts: list[TokenCounts] = field(default_factory=list)
    with_tools: bool = False
    # How the result of a tool came about, by the place of its message.
    tool_results: dict[int, How] = field(default_factory=dict)

    @property
    def heard_by_assistant(self) -> list[tuple[Role, str]]:
        """What the assistant is shown. A result is data and never a system message; nobody else can write one."""
        if not self.with_tools:
            return self.said
        return [
            ("user", text) if role == "system" else (role, _without_marks(text) if role == "user" else text)
            for role, text in self.said
        ]

    @property
    def heard_by_persona(self) -> list[tuple[Role, str]]:
        """What the persona is shown: neither calls nor results."""
        if not self.with_tools:
            return self.said
        return [
            (role, text)
            for role, text in self.said
            if role != "system" and not (role == "assistant" and text.startswith(CALL))
        ]

    def counted(self, answer: AssistantMessage, content: str) -> str:
        """Count the tokens of an answer under the text ``content``, and return what it says."""
        if answer.input_tokens or answer.output_tokens:
            counts = TokenCounts(answer.input_tokens, answer.output_tokens, estimated=False)
        else:
            heard = len(content) + sum(len(text) for _, text in self.said)
            counts = TokenCounts(
                math.ceil(heard / CHARS_A_TOKEN), math.ceil(len(answer.text) / CHARS_A_TOKEN), estimated=True
            )
        self.counts.append(counts)
        return answer.text

    def say(self, role: Role, text: str, *, at_most: int = limits.MESSAGE_BYTES) -> None:
        # At most half of the room that is left: there is always some for the next message.
        kept = _fitting(text, min(at_most, self.room // 2))
        self.room -= _weight(kept) + AROUND_MESSAGE_BYTES
        self.said.append((role, kept))

    def ended(self, ending: Ending, turns: int) -> Simulated:
        messages = [
            Message.model_validate(
                {"role": role, "content": text}
                | ({"toolResult": self.tool_results[at]} if at in self.tool_results else {})
            )
            for at, (role, text) in enumerate(self.said)
        ]
        tokens = TokenCounts(
            sum(one.read for one in self.counts),
            sum(one.written for one in self.counts),
            estimated=any(one.estimated for one in self.counts),
        )
        return Simulated(Transcript(messages=messages), turns, ending, tokens)


def _answer(
    tasks: SimulationTasks, talk: _Conversation, prompt: PromptText, content: str, player: ToolPlayer | None
) -> None:
    """Answer as the assistant does, after the calls of tools that it makes before."""
    if player is None:
        talk.say("assistant", talk.counted(_agent(tasks, talk, prompt, content), content))
        return
    for _ in range(CALLS_MOST):
        answer = talk.counted(_agent(tasks, talk, prompt, content), content)
        said, calls = calls_in(answer)
        if not calls:
            talk.say("assistant", answer)
            return
        if said:
            talk.say("assistant", said)
        for call in calls[:CALLS_MOST]:
            talk.say("assistant", call.text)
            given = player.give(call)
            talk.tool_results[len(talk.said)] = given.how
            talk.say("system", RESULT + given.result)
    talk.say("assistant", "")


def _without_marks(text: str) -> str:
    return text.replace(RESULT.strip(), "(tool result)").replace(CALL.strip(), "(tool call)")


def _agent(tasks: SimulationTasks, talk: _Conversation, prompt: PromptText, content: str) -> AssistantMessage:
    try:
        return tasks.answer_as_assistant(prompt=prompt, content=content, messages=talk.heard_by_assistant)
    except LlmBadAnswer:
        return AssistantMessage("")


def _persona(
    tasks: SimulationTasks, talk: _Conversation, persona: SimulatedPersona, scenario: Scenario, seed: int
) -> PersonaMessage:
    for _ in range(PERSONA_TRIES):
        try:
            answer = tasks.speak_as_persona(
                persona=persona, scenario=scenario, messages=talk.heard_by_persona, seed=seed
            )
        except LlmBadAnswer:
            continue
        if answer.text or answer.is_last:
            return answer
    return PersonaMessage("", is_last=True)


def _fitting(text: str, room: int) -> str:
    """Cut a text at its end so that its JSON form has at most ``room`` bytes."""
    if _weight(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if _weight(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _weight(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode())
