"""Why conversations of a rehearsal fail, and the rules that mend it.

Every opening has one cause, drawn from the seed. Where a conversation would fail, the cause shows as its symptom in what
the assistant says. A text that holds the cure of the cause, whoever wrote it, mends a share of these failures, which
the seed decides too. In seeds in which no rewrite helps, no cure does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from promptlift.service.rehearsal.draws import Draws
from promptlift.service.rehearsal.script import SCRIPT

__all__ = ["CAUSES", "Cause", "Causes", "Failing"]

Failing = Literal["vague", "again", "declined", "beside"]


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of failures.

    Attributes
    ----------
    failing
        The kind of line in which it shows.
    symptom, why
        What can be seen of it, and what lies behind it, in the words of the writer.
    cure
        What a text says that mends it.
    rules
        Sentences that hold the cure.
    beside
        Sentences that sound alike and change nothing.
    """

    failing: Failing
    symptom: str
    why: str
    cure: str
    rules: tuple[str, ...]
    beside: tuple[str, ...]

    def is_mended_by(self, content: str) -> bool:
        """Whether a text holds the cure."""
        return self.cure in " ".join(content.casefold().split())


def _read(one: dict[str, Any]) -> Cause:
    return Cause(**{**one, "rules": tuple(one["rules"]), "beside": tuple(one["beside"])})


CAUSES: Final = tuple(_read(one) for one in SCRIPT["causes"])
_BY_FAILING: Final = {one.failing: one for one in CAUSES}

# Dealt to the causes by the seed: shares of the openings that have it, and of its failures that the cure mends.
_SHARES: Final = (0.4, 0.3, 0.2, 0.1)
_MENDED: Final = (0.8, 0.7, 0.5, 0.0)


class Causes:
    """The causes of one seed.

    Parameters
    ----------
    seed
        Of the run.
    curable
        Whether cures mend anything.
    """

    def __init__(self, seed: int, *, curable: bool) -> None:
        self._seed = seed
        draws = Draws(seed, "causes")
        order = draws.shuffled(CAUSES)
        self.shares: dict[Failing, float] = {
            one.failing: share for one, share in zip(order, _SHARES, strict=True)
        }
        # The most frequent cause is one of those that can be mended.
        self.mended: dict[Failing, float] = {
            one.failing: share if curable else 0.0
            for one, share in zip(
                order, (*draws.shuffled(_MENDED[:2]), *draws.shuffled(_MENDED[2:])), strict=True
            )
        }

    def of(self, opening: str) -> Failing:
        """Return the cause for which conversations with an opening fail, when they do."""
        place = Draws(self._seed, "cause", opening).uniform()
        for failing, share in self.shares.items():
            place -= share
            if place < 0.0:
                return failing
        return failing

    def share_mended(self, content: str, opening: str) -> float:
        """Return the share of failures with an opening that a text mends."""
        cause = _BY_FAILING[self.of(opening)]
        return self.mended[cause.failing] if cause.is_mended_by(content) else 0.0
