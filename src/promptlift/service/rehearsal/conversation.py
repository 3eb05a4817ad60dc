"""Both sides of a rehearsed conversation: the assistant follows the made-up truth, the persona what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.rehearsal.draws import Draws
from promptlift.service.rehearsal.lines import MARK, USELESS, known_line, speak, subject
from promptlift.service.simulations.tasks import PersonaMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.schema.transcript import Role
    from promptlift.service.rehearsal.lines import Kind
    from promptlift.service.rehearsal.truth import Truth

__all__ = ["answer_as_assistant", "speak_as_persona"]

# Questions and half steps that a person accepts; each further one counts like a useless answer.
_STEPS_ACCEPTED: Final = 3
_LAST_WORDS: Final[dict[Kind, Kind | None]] = {
    "solves": "is glad",
    "solves curtly": "is done",
    "closes": None,
}


def answer_as_assistant(content: str, messages: Sequence[tuple[Role, str]], truth: Truth) -> str:
    """Return the assistant's next message.

    Parameters
    ----------
    content
        The text under test.
    messages
        The conversation so far.
    """
    asked = [text for role, text in messages if role == "user"]
    opening = asked[0] if asked else ""
    turn = max(len(asked), 1)
    plan = truth.plan(content, opening)
    # Without the text under test: both arms of a pair use the same words where they do the same.
    draws = Draws(truth.seed, "assistant", opening)
    place = draws.whole(0, 99) + turn
    kind: Kind
    if plan.solved_in is None:
        kind = "asks" if turn == 1 and draws.uniform() < 0.5 else plan.failing
    elif turn < plan.solved_in:
        kind = "asks" if turn == 1 else "goes on"
    elif turn == plan.solved_in:
        kind = "solves curtly" if plan.unfriendly else "solves"
    else:
        kind = "closes"
    line = speak(kind, place, about=subject(opening))
    return f"{MARK} {line}" if turn == 1 else line


def speak_as_persona(description: str, messages: Sequence[tuple[Role, str]], truth: Truth) -> PersonaMessage:
    """Return the person's next message.

    Parameters
    ----------
    description
        Describes the person.
    messages
        The conversation so far.
    """
    heard = [known_line(text) for role, text in messages if role == "assistant"]
    spoken = [text for role, text in messages if role == "user"]
    place = Draws(truth.seed, "person", description, *spoken[:1]).whole(0, 99) + len(spoken)
    last, answered = heard[-1] if heard and heard[-1] else (None, 0)
    if last is not None and last in _LAST_WORDS:
        answer = _LAST_WORDS[last]
        return PersonaMessage("" if answer is None else speak(answer, place), is_last=True)
    kinds = [None if line is None else line[0] for line in heard]
    # An answer that is no known line is useless.
    useless = sum(kind is None or kind in USELESS for kind in kinds)
    steps = kinds.count("asks") + kinds.count("goes on")
    if useless + max(0, steps - _STEPS_ACCEPTED) >= truth.patience(description):
        return PersonaMessage(speak("gives up", place), is_last=True)
    if last == "asks":  # with what was asked for
        return PersonaMessage(speak("tells", answered), is_last=False)
    return PersonaMessage(speak("agrees" if last == "goes on" else "complains", place), is_last=False)
