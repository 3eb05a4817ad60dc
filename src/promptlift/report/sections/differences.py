"""How several prompts differ: each compared with the first one by ``analysis.compare``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from promptlift import analysis
from promptlift.report.document import Column, Estimate, Section, Table
from promptlift.report.formatting import interval, percent, points
from promptlift.report.gather import GROUP
from promptlift.report.sections.headlines import CARDS

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.report.document import Cell, Kind
    from promptlift.report.gather import Material

__all__ = ["differences"]

_VERDICTS: Final = {"winner": "higher", "worse": "lower", "no winner": "unclear"}
# Column, label and unit of each headline measure.
_MEASURES: Final[tuple[tuple[str, str, Kind], ...]] = (
    ("task_completed", "Completed their task, difference in percentage points", "points"),
    ("negative", "Negative in tone, difference in percentage points", "points"),
    ("sentiment_score", "Mean sentiment, difference", "score"),
)


def differences(table: pd.DataFrame, material: Material) -> Section | None:
    """Compare every prompt with the first one that has conversations; None when fewer than two have any.

    Parameters
    ----------
    table
        Conversations with the name of their prompt.
    material
        The data of the report; its names are in order.
    """
    there = set(table[GROUP].unique())
    first, *others = [name for name in material.names if name in there] or [""]
    if not others:
        return None
    named = table["sentiment"].astype("str")
    judged = table.assign(
        negative=named.eq("negative").astype("boolean").mask(table["sentiment"].isna()),
        # Other services may send any number; a report must not fail because of it.
        sentiment_score=table["sentiment_score"].where(np.isfinite(table["sentiment_score"])),
    )
    found = {
        measure: {
            row["variant"]: row
            for row in analysis.compare(
                judged,
                by=GROUP,
                outcome=measure,
                control=first,
                kind="score" if kind == "score" else "completion",
            ).to_dict("records")
        }
        for measure, _, kind in _MEASURES
    }
    columns = [Column("prompt", "Prompt"), Column("against", "Compared with")]
    for measure, label, kind in _MEASURES:
        columns += [Column(f"{measure}_difference", label, kind, 95), Column(f"{measure}_verdict", "Verdict")]
    rows = [
        (name, first, *(cell for rows in found.values() for cell in _cells(rows[name]))) for name in others
    ]
    sentences = (
        [_sentence(name, first, found["task_completed"][name], len(others)) for name in others]
        if len(others) < CARDS
        else []
    )
    return Section(
        "differences",
        "How the prompts differ",
        (*sentences, _rule(first, len(others))),
        tables=(Table("differences", "How the prompts differ", tuple(columns), tuple(rows)),),
    )


def _cells(row: dict[Any, Any]) -> tuple[Cell, ...]:
    name = "difference_points" if "difference_points" in row else "difference"
    difference = Estimate(*(float(row[f"{name}{end}"]) for end in ("", "_low", "_high")))
    return difference, _VERDICTS.get(row["verdict"], "not compared")


def _sentence(name: str, first: str, row: dict[Any, Any], count: int) -> str:
    """Describe the difference in completion of two prompts, and its uncertainty."""
    if math.isnan(row["difference_points"]):
        return f"{name} and {first} cannot be compared yet: one of them has no ended conversations with insights."
    rates = f"{percent(row['rate'])} vs {percent(row['rate_control'])}"
    ends = interval(row["difference_points_low"], row["difference_points_high"], points)
    size = f"a difference of {points(row['difference_points'])} percentage points (95% interval {ends})"
    verdict = _VERDICTS.get(row["verdict"])
    if verdict == "unclear":
        sentence = f"It is unclear whether {name} or {first} completes tasks more often: {rates}, {size}."
        if row["difference_points_low"] <= 0.0 <= row["difference_points_high"]:
            return sentence
        adjusted = f" after the correction for {count} prompts" if count > 1 else ""
        return f"{sentence} The interval does not include 0, but p is {row['p_holm']:.2g}{adjusted}."
    often = "more often" if verdict == "higher" else "less often"
    return f"{name} completes tasks {often} than {first}: {rates}, {size}."


def _rule(first: str, count: int) -> str:
    adjusted = f", after Holm's correction for {count} prompts" if count > 1 else ""
    against = f"Every prompt is compared with {first}. " if count > 1 else ""
    return (
        f'{against}"Higher" and "lower" mean p below 0.05{adjusted} (shares: Fisher\'s exact test, with Newcombe\'s interval '
        'of the difference; mean sentiment: Mann-Whitney test, with Welch\'s interval). "Unclear" does not mean equal: the '
        "interval shows which differences remain possible. Other customers, times or models may also explain a "
        "difference."
    )
