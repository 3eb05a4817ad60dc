"""What an account's owner says about the organization, and which findings concern it, by their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from promptlift.service.insights.turns import plain_words
from promptlift.service.llm.hostile_text import storable_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


Finding = TypeVar("Finding")

_CHARS: Final = 1_500
_STEM_CHARS: Final = 6
_WORD_CHARS: Final = 4
# Words of wishes and findings alike, which connect nothing.
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
        These may have been read from a website: data for a model, never among its instructions.
    insight_requirements
        Which insights matter most, in the owner's own words.
    """

    industry: str = ""
    objectives: str = ""
    kpis: str = ""
    insight_requirements: str = ""

    @classmethod
    def of(cls, general: Mapping[str, object]) -> Organization:
        """Read it from an account's general settings."""
        names = ("industry", "objectives", "kpis", "insightRequirements")
        return cls(*(storable_line(str(general.get(name) or ""), _CHARS) for name in names))

    @property
    def background(self) -> dict[str, str]:
        """The facts about the organization itself by name; empty where nothing is known."""
        known = {"industry": self.industry, "objectives": self.objectives, "kpis": self.kpis}
        return {name: value for name, value in known.items() if value}


def concern_of(text: str, organization: Organization) -> str | None:
    """Return what of the owner's settings a text is about, the most pressing first; ``None`` where it is nothing.

    A text is about a setting where they share a word, whatever its ending, or where the setting has the text as it stands.
    """
    said, whole = _stems(text), plain_words(text)
    settings = {
        "what you want to learn": organization.insight_requirements,
        "a KPI of yours": organization.kpis,
        "an objective of yours": organization.objectives,
    }
    return next(
        (
            name
            for name, wish in settings.items()
            if said & _stems(wish) or (whole.strip() and whole in plain_words(wish))
        ),
        None,
    )


def what_matters_first(
    findings: Iterable[Finding], text_of: Callable[[Finding], str], organization: Organization
) -> list[tuple[Finding, str | None]]:
    """Return findings with what they concern: those that the owner asked about first, else in their order."""
    found = [(one, concern_of(text_of(one), organization)) for one in findings]
    return sorted(found, key=lambda one: one[1] is None)


def _stems(text: str) -> set[str]:
    words = plain_words(text).split()
    return {word[:_STEM_CHARS] for word in words if len(word) >= _WORD_CHARS} - _EVERYWHERE
