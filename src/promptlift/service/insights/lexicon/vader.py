"""VADER sentiment in linear time.

Hutto and Gilbert (2014), "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media
Text". The word list and the constants are those of the package vaderSentiment (MIT licence) and are read
once. Its own code copies the whole word list for every scored word; this module does the same arithmetic with
a window of words, and a test compares the two. VADER knows the English of 2014 and no context: it ranks texts
better than it labels them.
"""

from __future__ import annotations

import math
import string
from functools import cache
from typing import Final

_NORMAL: Final = 15  # VADER's alpha: about the largest sum to be expected
_OTHER_MODIFIERS: Final = frozenset({"least", "never", "no", "so", "this", "without"})


@cache
def vader() -> Vader:
    """Return the analyser of this process; the first call reads the word list."""
    return Vader()


class Vader:
    """Score texts from -1 to 1. Thread-safe: nothing changes after the start."""

    def __init__(self) -> None:
        # Loaded on first use: a service with a language model never needs the word list.
        from vaderSentiment import vaderSentiment  # noqa: PLC0415

        stock = vaderSentiment.SentimentIntensityAnalyzer()
        self._lexicon: dict[str, float] = stock.lexicon
        self._emoji: dict[str, str] = {mark: text for mark, text in stock.emojis.items() if len(mark) == 1}
        self._boosters: dict[str, float] = vaderSentiment.BOOSTER_DICT
        self._negations = frozenset(vaderSentiment.NEGATE)
        self._idioms: dict[str, float] = vaderSentiment.SPECIAL_CASES
        # One word of each phrase, the longest: where it is missing, so is the phrase.
        self._idiom_words = frozenset(
            max(phrase.split(), key=len)
            for phrase in (*vaderSentiment.SPECIAL_CASES, *vaderSentiment.BOOSTER_DICT)
            if " " in phrase
        )
        # A word close to none of these keeps its value from the word list.
        self._modifiers = self._idiom_words | self._boosters.keys() | self._negations | _OTHER_MODIFIERS
        self._capitals: float = vaderSentiment.C_INCR
        self._negate: float = vaderSentiment.N_SCALAR

    def compound(self, text: str) -> float:
        """Return VADER's compound score of one text, -1 to 1; 0 for a text without known words.

        The time grows linearly with the text; the one exception, texts with "but", is bounded by the caller's cap.
        """
        text = self._spell_emoji(text).strip()
        words = [word if word.isalpha() else _bare(word) for word in text.split()]
        if not words:
            return 0.0
        lower = " ".join(words).lower().split(" ")
        values = self._values(words, lower)
        if not values:
            return 0.0
        if "but" in lower:
            _weigh_but(values, lower.index("but"))
        total = float(sum(values))
        emphasis = _emphasis(text)
        if total > 0:
            total += emphasis
        elif total < 0:
            total -= emphasis
        return round(max(-1.0, min(1.0, total / math.sqrt(total * total + _NORMAL))), 4)

    def _spell_emoji(self, text: str) -> str:
        if text.isascii() or self._emoji.keys().isdisjoint(text):
            return text
        pieces: list[str] = []
        after_space = True
        for mark in text:
            spelled = self._emoji.get(mark)
            if spelled is None:
                pieces.append(mark)
                after_space = mark == " "
            else:
                pieces.append(spelled if after_space else f" {spelled}")
                after_space = False
        return "".join(pieces)

    def _values(self, words: list[str], lower: list[str]) -> list[float]:
        values: list[float] = [0.0] * len(words)
        lexicon, boosters, modifiers = self._lexicon, self._boosters, self._modifiers
        shouting = sum(map(str.isupper, words))
        mixed = 0 < shouting < len(words)
        unmodified = not mixed and not any("n't" in word for word in lower)
        last = len(words) - 1
        for i in [i for i, word in enumerate(lower) if word in lexicon]:
            word = lower[i]
            if word in boosters or (word == "kind" and i < last and lower[i + 1] == "of"):
                continue
            if unmodified and modifiers.isdisjoint(lower[max(0, i - 3) : i + 3]):
                values[i] = lexicon[word]
            else:
                values[i] = self._value(words, lower, i, mixed=mixed)
        return values

    def _value(self, words: list[str], lower: list[str], i: int, *, mixed: bool) -> float:
        lexicon, word = self._lexicon, lower[i]
        value = lexicon[word]
        if word == "no" and i < len(words) - 1 and lower[i + 1] in lexicon:
            value = 0.0
        if (
            (i > 0 and lower[i - 1] == "no")
            or (i > 1 and lower[i - 2] == "no")
            or (i > 2 and lower[i - 3] == "no" and lower[i - 1] in ("or", "nor"))
        ):
            value = lexicon[word] * self._negate
        if mixed and words[i].isupper():
            value += self._capitals if value > 0 else -self._capitals
        for back in range(1, min(i, 3) + 1):
            before = lower[i - back]
            if before in lexicon:
                continue
            if before in self._boosters:
                value += self._boost(words[i - back], before, value, mixed=mixed) * (1, 0.95, 0.9)[back - 1]
            value = self._after_negation(value, lower, i, back)
            if back == 3:
                value = self._after_idioms(value, lower, i)
        if i > 0 and lower[i - 1] == "least" and (i == 1 or lower[i - 2] not in ("at", "very")):
            value *= self._negate
        return value

    def _boost(self, word: str, lower: str, value: float, *, mixed: bool) -> float:
        boost = self._boosters[lower] * (-1 if value < 0 else 1)
        if mixed and word.isupper():
            boost += self._capitals if value > 0 else -self._capitals
        return boost

    def _after_negation(self, value: float, lower: list[str], i: int, back: int) -> float:
        word = lower[i - back]
        near = lower[i - back + 1 : i]
        if back == 2 and word == "never" and near[0] in ("so", "this"):
            return value * 1.25
        if back == 3 and ((word == "never" and near[0] in ("so", "this")) or near[1] in ("so", "this")):
            return value * 1.25
        if back > 1 and word == "without" and "doubt" in near:
            return value
        if word in self._negations or "n't" in word:
            return value * self._negate
        return value

    def _after_idioms(self, value: float, lower: list[str], i: int) -> float:
        if self._idiom_words.isdisjoint(lower[i - 3 : i + 3]):
            return value
        three, two, one, zero = lower[i - 3 : i + 1]
        pairs = (
            f"{one} {zero}",
            f"{two} {one} {zero}",
            f"{two} {one}",
            f"{three} {two} {one}",
            f"{three} {two}",
        )
        value = next((self._idioms[pair] for pair in pairs if pair in self._idioms), value)
        for length in (2, 3):
            ahead = lower[i : i + length]
            if len(ahead) == length:
                value = self._idioms.get(" ".join(ahead), value)
        for pair in (pairs[3], pairs[4], pairs[2]):
            value += self._boosters.get(pair, 0.0)
        return value


def _bare(word: str) -> str:
    stripped = word.strip(string.punctuation)
    return word if len(stripped) <= 2 else stripped


def _weigh_but(values: list[float], but: int) -> None:
    """Halve values before "but" and raise those after it; equal values share the first one's index, as in VADER."""
    for value in values:
        place = values.index(value)
        if place < but:
            values[place] = value * 0.5
        elif place > but:
            values[place] = value * 1.5


def _emphasis(text: str) -> float:
    questions = text.count("?")
    raised = 0.0 if questions < 2 else questions * 0.18 if questions <= 3 else 0.96
    return min(text.count("!"), 4) * 0.292 + raised
