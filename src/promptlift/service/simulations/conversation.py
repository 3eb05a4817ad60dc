"""One simulated conversation: a persona with a goal talks with the assistant under one text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from promptlift.schema import limits
from promptlift.schema.transcript import Message, Role, Transcript
from promptlift.service.llm.failures import LlmBadAnswer
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.simulations.tasks import PersonaMessage

if TYPE_CHECKING:
    from promptlift.service.simulations.personas import Persona
    from promptlift.service.simulations.prompt_text import PromptText
    from promptlift.service.simulations.tasks import Scenario, SimulationTasks

__all__ = ["Ending", "Simulated", "simulate"]

Ending = Literal["persona", "turns"]

PERSONA_BYTES: Final = 16 * limits.KB
# Tries for a persona's message before an empty one counts as leaving.
PERSONA_TRIES: Final = 2
# Of the content: braces, names and the rest around the messages.
AROUND_BYTES: Final = 4 * limits.KB
AROUND_MESSAGE_BYTES: Final = 64


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
    """

    transcript: Transcript
    turns: int
    ended_by: Ending


def simulate(
    tasks: SimulationTasks,
    *,
    prompt: PromptText,
    content: str,
    persona: Persona,
    scenario: Scenario,
    max_turns: int,
    seed: int,
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

    Raises
    ------
    LlmUnavailable, LlmRefused
        The infrastructure failed, or the endpoint does not take the request: nothing is known about the text.
    """
    if max_turns < 1:
        raise ValueError(f"max_turns must be 1 or more, not {max_turns}")
    talk = _Conversation()
    talk.say("user", storable_text(scenario.opening))
    turns = 0
    while True:
        talk.say("assistant", _agent(tasks, talk, prompt, content))
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

    def say(self, role: Role, text: str, *, at_most: int = limits.MESSAGE_BYTES) -> None:
        # At most half of the room that is left: there is always some for the next message.
        kept = _fitting(text, min(at_most, self.room // 2))
        self.room -= _weight(kept) + AROUND_MESSAGE_BYTES
        self.said.append((role, kept))

    def ended(self, ending: Ending, turns: int) -> Simulated:
        messages = [Message(role=role, content=text) for role, text in self.said]
        return Simulated(Transcript(messages=messages), turns, ending)


def _agent(tasks: SimulationTasks, talk: _Conversation, prompt: PromptText, content: str) -> str:
    try:
        return tasks.answer_as_assistant(prompt=prompt, content=content, messages=talk.said)
    except LlmBadAnswer:
        return ""


def _persona(
    tasks: SimulationTasks, talk: _Conversation, persona: Persona, scenario: Scenario, seed: int
) -> PersonaMessage:
    for _ in range(PERSONA_TRIES):
        try:
            answer = tasks.speak_as_persona(persona=persona, scenario=scenario, messages=talk.said, seed=seed)
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
