"""Both sides of a rehearsed conversation: the assistant follows the made-up truth, the person what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.llm.hostile_text import read_records
from promptlift.service.rehearsal.draws import Draws
from promptlift.service.rehearsal.lines import MARK, USELESS, known_line, speak, subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.rehearsal.lines import Kind
    from promptlift.service.rehearsal.truth import Truth

__all__ = ["answer_as_assistant", "answer_as_person"]

# Questions and half steps that a person takes without minding; each further one counts like a useless answer.
_STEPS_TAKEN: Final = 3
_LAST_WORDS: Final[dict[Kind, Kind | None]] = {
    "solves": "is glad",
    "solves curtly": "is done",
    "closes": None,
}


def answer_as_assistant(messages: Sequence[Mapping[str, str]], truth: Truth) -> str:
    """Give the assistant's next message.

    Parameters
    ----------
    messages
        The text under test as system message, then the conversation.
    """
    content = "\n\n".join(one["content"] for one in messages if one["role"] == "system")
    said = [one["content"] for one in messages if one["role"] == "user"]
    opening = said[0] if said else ""
    turn = max(len(said), 1)
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


def answer_as_person(messages: Sequence[Mapping[str, str]], truth: Truth) -> tuple[str, bool]:
    """Give the person's next message, and whether it is the last one.

    Parameters
    ----------
    messages
        Who the person is as system message, then a cue and the conversation with roles swapped.
    """
    records = read_records([one for one in messages if one["role"] == "system"][:1])
    description = str(records[0].get("you", "")) if records else ""
    heard = [known_line(one["content"]) for one in messages[1:] if one["role"] == "user"]
    spoken = [one["content"] for one in messages if one["role"] == "assistant"]
    place = Draws(truth.seed, "person", description, *spoken[:1]).whole(0, 99) + len(spoken)
    last, answered = heard[-1] if heard and heard[-1] else (None, 0)
    if last is not None and last in _LAST_WORDS:
        answer = _LAST_WORDS[last]
        return "" if answer is None else speak(answer, place), True
    # The cue is among what was heard, and is no line; so is an answer that was none.
    kinds = [None if line is None else line[0] for line in heard]
    useless = sum(kind in USELESS for kind in kinds) + max(0, kinds.count(None) - 1)
    steps = kinds.count("asks") + kinds.count("goes on")
    if useless + max(0, steps - _STEPS_TAKEN) >= truth.patience(description):
        return speak("gives up", place), True
    if last == "asks":  # with what was asked for
        return speak("tells", answered), False
    return speak("agrees" if last == "goes on" else "complains", place), False
