"""What a company says of itself, and which sentences of a website are never taken over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.service.llm.hostile_text import storable_line

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Company", "harmless_sentences", "sentences", "without_sentences"]

FIELD_CHARS: Final = 600
_SENTENCE_CHARS: Final = 4_000
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+")
# What only a sentence says that is meant for a language model and not for a customer.
_TO_A_MODEL: Final = re.compile(
    r"\b(?:ignor|disregard|overrid|forget|bypass|obey)\w*\b.{0,60}\b(?:instruction|prompt|rule|previous|prior|above|"
    r"guideline|everything|system)"
    r"|\b(?:system|developer)\s+(?:prompt|message|instruction)"
    r"|\b(?:you are|act as|pretend|roleplay)\b.{0,40}\b(?:ai|assistant|model|judge|evaluator|dan)\b"
    r"|\b(?:ai|language|llm)\s+(?:assistants?|models?|judges?|agents?|evaluators?)\b.{0,60}\b(?:must|should|shall|have to|need to|please)\b"
    r"|\b(?:mark|score|rate|judge|grade|treat)\s+(?:this|every|all|each|any|the)\b.{0,40}\b(?:conversation|transcript|chat|dialog|session)"
    r"|\b(?:taskCompleted|sentimentScore|sentiment_score|task_completed)\b"
    r"|</?(?:system|instructions?|assistant|user)>|\[/?INST\]|<\|",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Company:
    """What a website says about its company; an empty text where it says nothing."""

    industry: str = ""
    objectives: str = ""
    kpis: str = ""


def sentences(text: str) -> list[str]:
    """Split a text into sentences, roughly."""
    return [one for one in _SENTENCE_END.split(text) if one.strip()]


def without_sentences(text: str, is_unwanted: Callable[[str], bool]) -> str:
    """Return a text without the sentences that are not wanted."""
    return " ".join(one for one in sentences(text) if not is_unwanted(one))


def harmless_sentences(text: str, limit: int = FIELD_CHARS) -> str:
    """Return a text as one line without sentences that speak to a language model, whole sentences up to a length."""
    kept: list[str] = []
    room = limit
    for sentence in sentences(without_sentences(storable_line(text), _speaks_to_a_model)):
        if len(sentence) > room:
            if not kept:
                kept.append(storable_line(sentence, limit))
            break
        kept.append(sentence)
        room -= len(sentence) + 1
    return " ".join(kept)


def _speaks_to_a_model(sentence: str) -> bool:
    return _TO_A_MODEL.search(sentence[:_SENTENCE_CHARS]) is not None
