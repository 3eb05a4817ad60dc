"""VADER sentiment in linear time.

Hutto and Gilbert (2014), "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media
Text". The arithmetic is that of the package vaderSentiment (MIT licence). Its own loop copies the whole text
for every scored word; here the rules get a window of words, and only where one may apply, and a test compares the
two. VADER knows the English of 2014 and no context: it ranks texts better than it
labels them.
"""

from __future__ import annotations

import string
from functools import cache
from types import SimpleNamespace
from typing import Final

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

        self._stock = vaderSentiment.SentimentIntensityAnalyzer()
        self._lexicon: dict[str, float] = self._stock.lexicon
        self._emoji = {mark: text for mark, text in self._stock.emojis.items() if len(mark) == 1}
        self._boosters: dict[str, float] = vaderSentiment.BOOSTER_DICT
        # One word of each phrase, the longest: where it is missing, so is the phrase.
        phrases = (*vaderSentiment.SPECIAL_CASES, *vaderSentiment.BOOSTER_DICT)
        longest = {max(phrase.split(), key=len) for phrase in phrases if " " in phrase}
        # A word close to none of these keeps its value from the word list.
        self._modifiers = {*longest, *self._boosters, *vaderSentiment.NEGATE, *_OTHER_MODIFIERS}

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
        return float(self._stock.score_valence(values, text)["compound"])

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
                # No rule looks further than this.
                start = max(0, i - 3)
                near = SimpleNamespace(words_and_emoticons=words[start : i + 3], is_cap_diff=mixed)
                (values[i],) = self._stock.sentiment_valence(0.0, near, words[i], i - start, [])
        return values


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
