"""The owner's settings about the organization, and the findings that relate to them, by their words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from promptlift.service.insights.turns import plain_words
from promptlift.service.llm.hostile_text import storable_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


Finding = TypeVar("Finding")

_CHARS: Final = 1_500
_CLAUSES: Final = re.compile(r"[,;:.!?\n]|\b(?:and|or)\b", re.IGNORECASE)
_STEM_CHARS: Final = 6
_WORD_CHARS: Final = 4
# Words common in settings and findings, which indicate no relation.
_COMMON: Final = """
    about above after again agent agents answer answers asked assistant because before below better care chat
    company conversation conversations customer customers does each every find focus from give goal have help high
    highest insight insights into issue issues know learn less like look main matter matters more most much need
    number only other people percent quick quickly rate rates reason reasons should show task tasks than that their
    them then they this those time times topic topics under user users want well what when where which whose will
    with without would your
"""
_EVERYWHERE: Final = frozenset(word[:_STEM_CHARS] for word in _COMMON.split())


@dataclass(frozen=True, slots=True)
class Organization:
    """The organization behind a prompt, and the insights that matter to it.

    Attributes
    ----------
    industry, objectives, kpis
        May have been read from a website: data for a model, never instructions.
    insight_requirements
        Which insights matter most, in the owner's own words.
    """

    industry: str = ""
    objectives: str = ""
    kpis: str = ""
    insight_requirements: str = ""

    @classmethod
    def of(cls, general: Mapping[str, object]) -> Organization:
        """Read the organization from an account's general settings."""
        names = ("industry", "objectives", "kpis", "insightRequirements")
        return cls(*(storable_line(str(general.get(name) or ""), _CHARS) for name in names))

    @property
    def background(self) -> dict[str, str]:
        """The facts about the organization by name; empty if nothing is known."""
        known = {"industry": self.industry, "objectives": self.objectives, "kpis": self.kpis}
        return {name: value for name, value in known.items() if value}


def what_matters_first(
    findings: Iterable[Finding], text_of: Callable[[Finding], str], organization: Organization
) -> list[tuple[Finding, str | None]]:
    """Return findings with the concern that they relate to: those that the owner asked about first, the rest in order.

    A finding relates to a setting if they share a word, whatever its ending, or if the setting contains the
    finding's exact text. Of several findings that share words of the same clause, only those that share the
    most are meant: "tool call failures" relates to "A tool call failed", not to "Assistant reported a
    failure".
    """
    found = list(findings)
    texts = [text_of(one) for one in found]
    settings = {
        "what you want to learn": organization.insight_requirements,
        "a KPI of yours": organization.kpis,
        "an objective of yours": organization.objectives,
    }
    concerns: list[str | None] = [None] * len(found)
    for name, wish in settings.items():
        for place in _meant(texts, wish):
            concerns[place] = concerns[place] or name
    return sorted(zip(found, concerns, strict=True), key=lambda one: one[1] is None)


def _meant(texts: Sequence[str], wish: str) -> set[int]:
    """Return the indices of the texts to which a setting relates."""
    wished, said = plain_words(wish), [_stems(text) for text in texts]
    whole = {place for place, text in enumerate(texts) if text.strip() and plain_words(text) in wished}
    for clause in _CLAUSES.split(wish):
        words = _stems(clause)
        shared = [len(words & stems) for stems in said]
        most = max(shared, default=0)
        whole |= {place for place, count in enumerate(shared) if count and count == most}
    return whole


def _stems(text: str) -> set[str]:
    words = plain_words(text).split()
    return {word[:_STEM_CHARS] for word in words if len(word) >= _WORD_CHARS} - _EVERYWHERE
