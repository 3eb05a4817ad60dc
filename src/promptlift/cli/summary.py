"""The table of how prompts do, as the demo and an import print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_HEAD = ("prompt", "conversations", "task completion", "mean sentiment", "negative")
_NOTES = {
    "lexicon": 'Judged by the built-in analyser, which is rough: see README, "How good the built-in analyser is".',
    "mixed": "Judged partly by the built-in analyser, which is rough.",
}


def summary(overview: pd.DataFrame, prompts: dict[str, str]) -> str:
    """Return one line for each prompt, with 95 % intervals.

    Parameters
    ----------
    overview
        What ``analysis.prompt_overview(by="prompt_id")`` gives.
    prompts
        Ids by the names to show, in the order to show them.
    """
    rows = overview.set_index("prompt_id")
    lines = [_HEAD]
    for name, prompt_id in prompts.items():
        row = rows.loc[prompt_id]
        lines.append(
            (
                name,
                str(row["conversations"]),
                f"{row['rate']:.0%} ({row['rate_low']:.0%} to {row['rate_high']:.0%})",
                f"{row['sentiment_mean']:+.2f} ({row['sentiment_low']:+.2f} to {row['sentiment_high']:+.2f})",
                f"{row['negative_share']:.0%} ({row['negative_low']:.0%} to {row['negative_high']:.0%})",
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    note = _NOTES.get(overview.attrs.get("promptlift", {}).get("analyser"), "")
    return "\n".join(
        [*(line.rstrip() for line in table), "In brackets: 95 % intervals.", *([note] if note else [])]
    )
