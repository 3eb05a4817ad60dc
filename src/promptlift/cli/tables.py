"""Tables on the command line, including the one of prompts' performance that the demo and an import print."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from promptlift.schema.basis import UNTOLD

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd

_HEAD = ("prompt", "conversations", "task completion", "mean sentiment")
_NOTES = {
    "words": f"A word list judged: whether one prompt is better than another {UNTOLD}.",
    "outcome": "Completed according to the logs' own outcomes.",
}


def write_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells in aligned columns; the first row has the names of the columns."""
    sys.stdout.write("".join(f"{line}\n" for line in _aligned(rows)))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def summary(overview: pd.DataFrame, prompts: dict[str, str]) -> str:
    """Return one line for each prompt, with 95% intervals.

    Parameters
    ----------
    overview
        Result of ``analysis.prompt_overview(by="prompt_id")``.
    prompts
        Ids by the names to show, in the order to show them.
    """
    from promptlift.analysis.sentiments import is_by_score  # noqa: PLC0415 - help and version load no pandas

    rows: dict[Hashable, dict[Hashable, Any]] = overview.set_index("prompt_id").to_dict("index")
    # The labels of a word list say nothing.
    labelled = not is_by_score(overview)
    lines: list[tuple[str, ...]] = [(*_HEAD, "negative") if labelled else _HEAD]
    for name, prompt_id in prompts.items():
        row = rows[prompt_id]
        lines.append(
            (
                name,
                str(row["conversations"]),
                _estimate(row, "rate", "rate", ".0%"),
                _estimate(row, "sentiment_mean", "sentiment", "+.2f"),
                *([_estimate(row, "negative_share", "negative", ".0%")] if labelled else []),
            )
        )
    note = _NOTES.get(overview.attrs.get("promptlift", {}).get("basis"), "")
    return "\n".join([*_aligned(lines), "In brackets: 95% intervals.", *([note] if note else [])])


def _estimate(row: dict[Hashable, Any], name: str, bounds: str, form: str) -> str:
    """Return an estimate with its interval, which a mean of one conversation does not have."""
    value, low, high = (row[one] for one in (name, f"{bounds}_low", f"{bounds}_high"))
    shown = "–" if math.isnan(value) else f"{value:{form}}"
    return shown if math.isnan(low) else f"{shown} ({low:{form}} to {high:{form}})"
