"""What an account's owner says of the organization, for whoever judges or writes scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.service.llm.hostile_text import storable_line

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Organization"]

_CHARS: Final = 1_500


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
    def of(cls, general: Mapping[str, Any]) -> Organization:
        """Read it from an account's general settings."""
        names = ("industry", "objectives", "kpis", "insightRequirements")
        return cls(*(storable_line(str(general.get(name) or ""), _CHARS) for name in names))

    @property
    def background(self) -> dict[str, str]:
        """The facts about the organization itself by name; empty where nothing is known."""
        known = {"industry": self.industry, "objectives": self.objectives, "kpis": self.kpis}
        return {name: value for name, value in known.items() if value}
