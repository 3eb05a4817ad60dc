"""The signals in a conversation, each with the text that shows it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import shorten_around, shorten_middle
from promptlift.service.insights.lexicon import phrases
from promptlift.service.insights.turns import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptlift.service.insights.turns import JudgedTurn


QUOTATION_CHARS: Final = 200


def quotation(text: str, phrase: str | None = None) -> str:
    """Return a message in one line of at most ``QUOTATION_CHARS`` characters, cut at words.

    Parameters
    ----------
    text
        The message.
    phrase
        Phrase around which a long message is cut, as in ``phrases``; by default its middle is cut.
    """
    line = " ".join(text.split())
    if len(line) <= QUOTATION_CHARS:
        return line
    found = _pattern(phrase).search(line) if phrase else None
    if found is None:
        return shorten_middle(line, QUOTATION_CHARS)
    return shorten_around(line, *found.span(), QUOTATION_CHARS)


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    """Find a phrase with any punctuation between its words, and any apostrophe in them."""
    words = (re.escape(word).replace("'", "['\u2019\u2018\u02bc`]") for word in phrase.split())
    return re.compile(r"(?<!\w)" + r"[\W_]+".join(words) + r"(?!\w)", re.IGNORECASE)


CLOSING_USER_TURNS: Final = 2
CLOSING_ASSISTANT_TURNS: Final = 2
SIMILAR: Final = 0.6
REPEAT_WORDS: Final = 4  # shorter turns ("yes please") repeat by chance
REPEAT_DISTANCE: Final = 5
RESULT: Final = "[tool result]"
UPSET: Final = -0.5  # VADER compound of one turn
_CLAUSE_END: Final = re.compile(r"[.!?,;:\n]+")
_COURTESIES: Final = (*phrases.THANKS, *phrases.SOLVED, *phrases.FAREWELLS)


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of a conversation. Every field is the quotation that shows it, or ``None``.

    "At the end" is the user's last two turns, for the assistant its last two.

    Attributes
    ----------
    thanks, solved, farewell
        The user at the end.
    not_solved_early, not_solved
        The user said that the answer did not help: before the end, and at the end.
    gives_up, wants_person, repeats, upset
        The user, after the request; ``upset`` only if expressed in a turn of low sentiment; ``wants_person``
        in the request too. ``repeats`` is also a turn similar to one of the user's five previous turns,
        unless it only thanks or says goodbye.
    done, cannot, failed
        The assistant at the end: reported success, inability, an error.
    handed_over
        The assistant passed the conversation on, anywhere.
    friendly_end
        The assistant's last turn offers more help or says goodbye.
    open_question
        The assistant's last turn ends the conversation with a question that is not an offer of more help.
    unanswered
        The user's last turn, when it was not answered and is not thanks, a solution or a farewell.
    tool_error
        A tool's answer that begins with an error.
    last_tool_error
        The same, when it is the last answer of a tool.
    last_sentiment
        VADER compound of the user's last turn, 0 without one.
    assistant_turns
        Number of the assistant's turns read.
    """

    thanks: str | None = None
    solved: str | None = None
    farewell: str | None = None
    not_solved_early: str | None = None
    not_solved: str | None = None
    gives_up: str | None = None
    wants_person: str | None = None
    repeats: str | None = None
    upset: str | None = None
    done: str | None = None
    cannot: str | None = None
    failed: str | None = None
    handed_over: str | None = None
    friendly_end: str | None = None
    open_question: str | None = None
    unanswered: str | None = None
    tool_error: str | None = None
    last_tool_error: str | None = None
    last_sentiment: float = 0.0
    assistant_turns: int = 0


def notice(turns: Sequence[JudgedTurn], sentiments: Sequence[float]) -> Signals:
    """Look for every signal.

    Parameters
    ----------
    turns
        The conversation.
    sentiments
        VADER compound of every user turn, in order.
    """
    user = [turn for turn in turns if turn.speaker == "user"]
    assistant = [turn for turn in turns if turn.speaker == "assistant"]
    closing, ending = user[-CLOSING_USER_TURNS:], assistant[-CLOSING_ASSISTANT_TURNS:]
    # A conversation's first turn is its request: "it does not work" is the reason for contact there, not a
    # verdict.
    before_closing = user[1:-CLOSING_USER_TURNS]
    closing_verdicts = closing if len(user) > len(closing) else user[1:]
    friendly = _find(assistant[-1:], phrases.ANYTHING_ELSE)
    thanks, solved, farewell = (
        _find(closing, wanted) for wanted in (phrases.THANKS, phrases.SOLVED, phrases.FAREWELLS)
    )
    not_solved = _find(closing_verdicts, phrases.NOT_SOLVED)
    answers = [turn for turn in turns if turn.speaker == "tool" and turn.text.startswith(RESULT)]
    said_again = (user[at].text for at in range(len(user) - 1, 0, -1) if says_again(user[at], user[:at]))
    return Signals(
        thanks=thanks,
        solved=None if not_solved else solved,
        farewell=farewell,
        not_solved_early=_find(before_closing, phrases.NOT_SOLVED),
        not_solved=not_solved,
        gives_up=_find(user[1:], phrases.GIVES_UP),
        wants_person=_find(user, phrases.WANTS_A_PERSON),
        repeats=_find(user[1:], phrases.REPEATS) or next(said_again, None),
        upset=_most_upset(user, sentiments),
        done=_find(ending, phrases.DONE),
        cannot=_find(ending, phrases.CANNOT),
        failed=_find(ending, phrases.FAILED),
        handed_over=_find(assistant, phrases.HANDED_OVER),
        friendly_end=friendly,
        open_question=_open_question(turns, friendly),
        unanswered=unanswered(turns),
        tool_error=next((t.text for t in turns if t.speaker == "tool" and is_error(t)), None),
        last_tool_error=next((t.text for t in answers[-1:] if is_error(t)), None),
        last_sentiment=sentiments[-1] if sentiments else 0.0,
        assistant_turns=len(assistant),
    )


def _find(turns: Sequence[JudgedTurn], wanted: tuple[str, ...]) -> str | None:
    """Quote the turn with the clearest phrase, the latest of equally clear ones."""
    best, quoted = "", None
    for turn in turns:
        phrase = clearest(turn, wanted)
        if phrase and len(phrase) >= len(best):
            best, quoted = phrase, turn
    return None if quoted is None else quotation(quoted.text, best)


def _most_upset(user: Sequence[JudgedTurn], sentiments: Sequence[float]) -> str | None:
    """Quote the user's angriest turn: the one with the lowest sentiment among those with a phrase of anger.

    Low sentiment alone is not anger: a bad line, a lost bag and a sad film cause it as well. As with
    verdicts, the request does not count if more turns follow: something broken is the reason for contact.
    """
    said = list(zip(sentiments, user, strict=True))
    angry = [one for one in said[1:] or said if one[0] <= UPSET and holds(one[1], phrases.UPSET)]
    if not angry:
        return None
    turn = min(angry, key=lambda one: one[0])[1]
    return quotation(turn.text, clearest(turn, phrases.UPSET))


def clearest(turn: JudgedTurn, wanted: tuple[str, ...]) -> str:
    """Return the longest of the phrases in a turn, for its quotation; empty if there is none."""
    return max(_held(turn, wanted), key=len, default="")


def holds(turn: JudgedTurn, wanted: tuple[str, ...]) -> bool:
    """Return whether a turn contains one of the phrases, not negated."""
    return any(True for _ in _held(turn, wanted))


def _held(turn: JudgedTurn, wanted: tuple[str, ...]) -> Iterator[str]:
    """Yield the phrases in a turn; only those whose longest word occurs are searched for."""
    by_word, keys = _phrases_by_word(wanted)
    return (
        phrase
        for word in keys & turn.vocabulary
        for phrase in by_word[word]
        if phrase in turn.words and not _is_denied(turn.words, phrase)
    )


def _is_denied(words: str, phrase: str) -> bool:
    """Return whether every occurrence of a phrase is negated, as in "I cannot connect you with a colleague"."""
    place = words.find(phrase)
    while place >= 0:
        if not words.endswith(phrases.NEGATIONS, 0, place):
            return False
        place = words.find(phrase, place + 1)
    return True


@cache
def _phrases_by_word(wanted: tuple[str, ...]) -> tuple[dict[str, list[str]], frozenset[str]]:
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    for phrase in wanted:
        by_word[max(phrase.split(), key=len)].append(phrase)
    return dict(by_word), frozenset(by_word)


def says_again(turn: JudgedTurn, earlier: Sequence[JudgedTurn]) -> bool:
    """Return whether a user's message is similar to one of the previous five, and more than thanks or a goodbye."""
    words = turn.vocabulary
    if len(words) < REPEAT_WORDS:
        return False
    for other in earlier[-REPEAT_DISTANCE:]:
        common = len(words & other.vocabulary)
        if common >= REPEAT_WORDS and common >= SIMILAR * len(words | other.vocabulary):
            return not _is_courtesy(turn)
    return False


def _is_courtesy(turn: JudgedTurn) -> bool:
    """Return whether a message consists only of thanks, satisfaction and goodbyes."""
    clauses = (plain_words(clause) for clause in _CLAUSE_END.split(turn.text))
    rest = [clause for clause in clauses if not any(phrase in clause for phrase in _COURTESIES)]
    return len({word for clause in rest for word in clause.split()}) < REPEAT_WORDS


def _open_question(turns: Sequence[JudgedTurn], friendly: str | None) -> str | None:
    if friendly is not None or not turns or turns[-1].speaker != "assistant":
        return None
    return turns[-1].text if turns[-1].text.rstrip(" *_\"')").endswith("?") else None


def unanswered(turns: Sequence[JudgedTurn]) -> str | None:
    """Return the user's last message if nobody answered it and it does not close the conversation."""
    spoken = [turn for turn in turns if turn.speaker != "tool"]
    if not spoken or spoken[-1].speaker != "user":
        return None
    closes = any(holds(spoken[-1], wanted) for wanted in (phrases.THANKS, phrases.SOLVED, phrases.FAREWELLS))
    return None if closes else spoken[-1].text


def is_error(turn: JudgedTurn) -> bool:
    """Return whether a tool answered with an error."""
    start = turn.words.removeprefix(" tool result ").lstrip()
    return start.startswith(("error ", "exception ", "traceback "))
