"""The cheapest arm of a benchmark that is not worse than the reference by a margin or more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd


@dataclass(frozen=True)
class CheapestChoice:
    """The cheapest arm of a benchmark that is not worse than the reference by a margin or more.

    Attributes
    ----------
    arm, name, llm_model
        The arm; ``None`` when no arm qualifies.
    cost_per_conversation
        By the prices; ``None`` without them.
    cost_basis
        ``price``, or ``tokens`` where an arm that qualifies has no price.
    sentence
        The answer in words, with what it rests on.
    table
        All arms with their numbers.
    """

    arm: int | None
    name: str | None
    llm_model: str | None
    cost_per_conversation: float | None
    cost_basis: str | None
    sentence: str
    table: pd.DataFrame = field(repr=False)

    def __str__(self) -> str:
        return self.sentence


def choose(table: pd.DataFrame, *, reference: int | str | None, within: float) -> CheapestChoice:
    """Return the answer that a table of arms gives, in a sentence too.

    Parameters
    ----------
    table
        What ``bench.arms()`` returns for this reference and this margin.
    reference
        Number of the arm to compare with, or ``"best"``.
    within
        The margin, in percentage points.
    """
    facts = table.attrs["promptlift"]
    rows = table.to_dict("records")
    against = next((row["name"] for row in rows if row["is_reference"]), None)
    than = "every other arm" if reference == "best" else repr(against)
    chosen = next((row for row in rows if row["is_cheapest"]), None)
    if chosen is None:
        return CheapestChoice(None, None, None, None, None, _nobody(rows, than, within), table)
    cost = chosen["cost_per_conversation"]
    basis = str(chosen["cost_basis"])
    known = cost if basis == "price" and cost == cost else None  # noqa: PLR0124 - NaN
    return CheapestChoice(
        arm=int(chosen["arm"]),
        name=chosen["name"],
        llm_model=chosen["llm_model"] if isinstance(chosen["llm_model"], str) else None,
        cost_per_conversation=known,
        cost_basis=basis,
        sentence=_answer(chosen, rows, than, facts, known),
        table=table,
    )


def _nobody(rows: Sequence[Mapping[Any, Any]], than: str, within: float) -> str:
    if not any(row["n"] for row in rows):
        return "Nothing is measured yet."
    return (
        f"For no arm is it proven that it is not {within:g} points or more worse than {than}. "
        "More scenarios can prove it: lift.benchmark(…, scenario_set=…, scenarios=…)."
    )


def _answer(
    chosen: Mapping[Any, Any],
    rows: Sequence[Mapping[Any, Any]],
    than: str,
    facts: Mapping[str, Any],
    cost: float | None,
) -> str:
    qualified = [row for row in rows if row["acceptable"]]
    price = (
        f"{cost:.4g} a conversation"
        if cost is not None
        else "by its tokens, because not every arm has a price"
    )
    if chosen["is_reference"]:
        why = f"it is the reference, and those that are not {facts['margin']:g} points or more worse cost as much or more"
        if len(qualified) == 1:
            why = f"it is the reference, and for no other arm is it proven that it is not {facts['margin']:g} points or more worse"
    else:
        why = (
            f"{chosen['difference']:+.1f} points against the reference ({chosen['difference_low']:+.1f} to "
            f"{chosen['difference_high']:+.1f}, {chosen['n_pairs']} pairs), not {facts['margin']:g} or more worse than {than} "
            f"(p {chosen['not_worse_p']:.2g}, adjusted)"
        )
    ended = "" if facts["final"] else " The benchmark has not completed."
    rehearsal = " This is a rehearsal: it says nothing about real prompts." if facts["rehearsal"] else ""
    return f"{chosen['name']!r} is the cheapest ({price}): {why}.{ended}{rehearsal}"
