"""The steps of a conversation, and the first one that went wrong.

A step is a call of a tool, named by the tool, or a phase: the *opening* until the assistant first answered, a
*clarification* where it asks before it has called any tool, every other *answer*, and the *closing* from the
user's last message on. A user's message belongs to the step to which it reacts. A system message that no tool
wrote, such as the assistant's instructions, belongs to the step in which it occurs.

The failed step is found by the phrases of the built-in analyser, in every conversation that did not complete
its task according to its judge. The first sign that was not recovered from counts as the failure; a tool that
works when called again, or an assistant that later reports success, is a recovery. If every sign was
recovered from, the last one counts; if there is none, nothing in the text shows the failure (`NO_SIGN`), and
it is attributed to the end of the conversation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import shorten_middle
from promptlift.schema.insights import FailedStep
from promptlift.service.insights.lexicon import phrases
from promptlift.service.insights.lexicon.signals import (
    RESULT,
    clearest,
    holds,
    is_error,
    says_again,
    unanswered,
)
from promptlift.service.insights.turns import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptlift.service.insights.turns import JudgedTurn


OPENING: Final = "opening"
CLARIFICATION: Final = "clarification"
ANSWER: Final = "answer"
CLOSING: Final = "closing"
TOOL: Final = "tool:"
NO_SIGN: Final = "no_sign"
QUOTE_CHARS: Final = 240
TOOL_CHARS: Final = 60

_CALL: Final = re.compile(r"\[tool call\]\s*([^\s({\[]{1,200})")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|\n")
_HAND_OVER_TOOL: Final = re.compile(r"transfer_to|hand_?(?:off|over)|escalat|to_human", re.IGNORECASE)
_Wanted = tuple[tuple[str, tuple[str, ...]], ...]
# Signs in a user's reactions; the first message is the request, not a reaction.
_USER_SIGNS: Final[_Wanted] = (
    ("gave_up", phrases.GIVES_UP),
    ("asked_for_person", phrases.WANTS_A_PERSON),
    ("not_helped", phrases.NOT_SOLVED),
    ("repeat", phrases.REPEATS),
)
_ASSISTANT_SIGNS: Final[_Wanted] = (
    ("hand_over", phrases.HANDED_OVER),
    ("reported_failure", phrases.FAILED),
    ("refusal", phrases.CANNOT),
)
# Signs after which an assistant can still recover. A tool that hands over ends its part; words may be an
# offer.
_MENDABLE: Final = frozenset({"refusal", "reported_failure", "not_helped", "repeat", "hand_over"})
# Short messages ("yes, that is correct") are similar without being a repetition.
_REPEATED_WORDS: Final = 6


@dataclass(frozen=True, slots=True)
class _Sign:
    place: int
    kind: str
    mended: bool
    phrase: str = ""


def find_steps(turns: Sequence[JudgedTurn], *, completed: bool) -> tuple[list[str], FailedStep | None]:
    """Find the steps of a conversation, and the failed step unless its task was completed."""
    if not turns:
        return [], None
    tools = _tools(turns)
    steps = _steps(turns, tools)
    reached = list(dict.fromkeys(steps))
    if completed:
        return reached, None
    signs = sorted((*_tool_signs(turns, tools), *_signs(turns)), key=lambda sign: sign.place)
    open_signs = [sign for sign in signs if not sign.mended]
    first = (
        open_signs[0] if open_signs else signs[-1] if signs else _Sign(len(turns) - 1, NO_SIGN, mended=False)
    )
    turn = turns[first.place]
    quote = _quote(turn, first.phrase)
    return reached, FailedStep(
        step=steps[first.place], kind=first.kind, turn=turn.number, role=turn.speaker, quote=quote
    )


def _quote(turn: JudgedTurn, phrase: str) -> str:
    """Return the first sentence with the phrase, or the whole message, shortened."""
    sentences = _SENTENCE_END.split(turn.text) if phrase else []
    shown = next((one for one in sentences if phrase in plain_words(one)), turn.text)
    return shorten_middle(" ".join(shown.split()), QUOTE_CHARS)


def _steps(turns: Sequence[JudgedTurn], tools: dict[int, str]) -> list[str]:
    """Return the step of each turn."""
    last_user = max((place for place, turn in enumerate(turns) if turn.speaker == "user"), default=-1)
    many = sum(turn.speaker == "user" for turn in turns) > 1
    found: list[str] = []
    step, asked, called, answered = OPENING, False, False, False
    for place, turn in enumerate(turns):
        if place in tools:
            called = True
            step = tools[place]
        elif many and place >= last_user:
            step = CLOSING
        elif turn.speaker == "user":
            asked = True
        elif turn.speaker == "assistant":
            if answered or called:
                step = CLARIFICATION if not called and "?" in turn.text else ANSWER
            else:
                answered = asked
        found.append(step)
    return found


def _tools(turns: Sequence[JudgedTurn]) -> dict[int, str]:
    """Return the step of each call and each result; results come in the order of their calls.

    An unmarked system message is a result if a call awaits one, or if it is an error.
    """
    steps: dict[int, str] = {}
    waiting: list[str] = []
    last = f"{TOOL}unknown"
    for place, turn in enumerate(turns):
        if turn.speaker != "tool":
            continue
        call = _CALL.match(turn.text)
        if call is not None:
            last = f"{TOOL}{call[1][:TOOL_CHARS]}"
            waiting.append(last)
        elif turn.text.startswith(RESULT):
            last = waiting.pop(0) if waiting else last
        elif not waiting and not is_error(turn):
            continue
        steps[place] = last
    return steps


def _signs(turns: Sequence[JudgedTurn]) -> Iterator[_Sign]:
    users: list[JudgedTurn] = []
    last_success = _last_success(turns)
    for place, turn in enumerate(turns):
        if turn.speaker == "tool":
            continue
        signs = _ASSISTANT_SIGNS
        if turn.speaker == "user":
            signs = _USER_SIGNS if users else _USER_SIGNS[1:2]
        found = ((kind, clearest(turn, wanted)) for kind, wanted in signs)
        kind, said = next(((kind, phrase) for kind, phrase in found if phrase), (None, ""))
        if turn.speaker == "user":
            if kind is None and len(turn.vocabulary) >= _REPEATED_WORDS and says_again(turn, users):
                kind = "repeat"
            users.append(turn)
        if kind is not None:
            yield _Sign(place, kind, mended=kind in _MENDABLE and place < last_success, phrase=said)
    if unanswered(turns) is not None:
        last = max(place for place, turn in enumerate(turns) if turn.speaker == "user")
        yield _Sign(last, "unanswered", mended=False)


def _tool_signs(turns: Sequence[JudgedTurn], tools: dict[int, str]) -> Iterator[_Sign]:
    for place, step in tools.items():
        turn = turns[place]
        if _HAND_OVER_TOOL.search(step) and not turn.text.startswith(RESULT):
            yield _Sign(place, "hand_over", mended=False)
        elif is_error(turn):
            yield _Sign(place, "tool_error", mended=_works_later(turns, tools, place))


def _last_success(turns: Sequence[JudgedTurn]) -> int:
    """Return the index of the last message that reports success, -1 if there is none."""
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if (turn.speaker == "assistant" and holds(turn, phrases.DONE)) or (
            turn.speaker == "user" and holds(turn, phrases.SOLVED)
        ):
            return place
    return -1


def _works_later(turns: Sequence[JudgedTurn], tools: dict[int, str], place: int) -> bool:
    return any(
        later > place
        and _family(step) == _family(tools[place])
        and turns[later].text.startswith(RESULT)
        and not is_error(turns[later])
        for later, step in tools.items()
    )


def _family(tool: str) -> str:
    """Return the common name of tools that do the same by other means: ``find_user`` for ``find_user_by_email``."""
    return tool.partition("_by_")[0]
