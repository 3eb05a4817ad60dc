"""Summarize a conversation in its own words: what was asked and how it ended, at most ``SUMMARY_CHARS`` long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import shorten_middle
from promptlift.service.insights.lexicon import phrases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.insights.lexicon.signals import Signals
    from promptlift.service.insights.turns import Turn

__all__ = ["SUMMARY_CHARS", "request_of", "summarize"]

SUMMARY_CHARS: Final = 400
REQUEST_CHARS: Final = 180
END_CHARS: Final = 140
GREETING_WORDS: Final = 3

# The first that applies is used.
_ENDINGS: Final = (
    ("gives_up", "The user gave up"),
    ("not_solved", "The user said it did not help"),
    ("unanswered", "The user's last message was not answered"),
    ("handed_over", "The conversation was handed over"),
    ("solved", "The user was satisfied"),
    ("thanks", "The user said thanks"),
    ("failed", "The assistant reported a failure"),
    ("cannot", "The assistant could not help"),
    ("done", "The assistant reported that it was done"),
    ("open_question", "It ended with a question to the user"),
)


def request_of(turns: Sequence[Turn]) -> str | None:
    """Return what the user asked for, in one line: the first message that is more than a greeting."""
    user = [turn for turn in turns if turn.speaker == "user"]
    if not user:
        return None
    request = next((turn for turn in user if turn.words.count(" ") - 1 > GREETING_WORDS), user[0])
    return _one_line(request.text, REQUEST_CHARS)


def summarize(turns: Sequence[Turn], signals: Signals) -> str:
    """Quote the first request, and say how the conversation ended."""
    request = request_of(turns)
    if request is None:
        return "The user said nothing."
    asked = f"Asked: “{request}”."
    ending = next((text for name, text in _ENDINGS if getattr(signals, name) is not None), None)
    answers = [turn for turn in turns if turn.speaker == "assistant"]
    if not answers:
        return f"{asked} Nobody answered."[:SUMMARY_CHARS]
    last = f"Last answer: “{_one_line(_last_answer(answers).text, END_CHARS)}”."
    return " ".join(part for part in (asked, f"{ending}." if ending else "", last) if part)[:SUMMARY_CHARS]


def _last_answer(answers: Sequence[Turn]) -> Turn:
    """Return the last answer that is more than a polite ending, of the last three; else the last."""
    for turn in reversed(answers[-3:]):
        if not any(phrase in turn.words for phrase in phrases.ANYTHING_ELSE):
            return turn
    return answers[-1]


def _one_line(text: str, limit: int) -> str:
    return shorten_middle(" ".join(text.split()), limit)
