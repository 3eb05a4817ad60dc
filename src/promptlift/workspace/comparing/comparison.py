"""The answer to a comparison: a sentence, a picture, a table, what else differs, and what it is not."""

from __future__ import annotations

import base64
import html
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.words.figures import signed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Comparison"]

_MOST_OTHERS: Final = 8


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of ``lift.compare`` and ``lift.this_week``.

    Attributes
    ----------
    sentence
        The answer; it agrees with the table in direction, number and strength.
    table
        One row, as of ``analysis.compare``; empty when one of both has no conversations.
    others
        What else differs, as of ``analysis.what_else``.
    notes
        What the comparison is not, and what was left out.
    conversations
        The conversations of both, with the column ``compared`` that says of which.
    """

    sentence: str
    table: pd.DataFrame
    others: pd.DataFrame
    notes: tuple[str, ...]
    conversations: pd.DataFrame

    def plot(self, *, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the difference with its interval.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        style
            As for ``plots.compare``.
        """
        from promptlift import plots  # noqa: PLC0415  drawing takes its time to load

        return plots.compare(self.table, ax=ax, **style)

    @property
    def what_else(self) -> tuple[str, ...]:
        """What else clearly differs, a sentence each."""
        said = self.others.attrs["promptlift"]["sentences"]
        clear = self.others["verdict"].ne("unclear")
        return tuple(sentence for sentence, shown in zip(said, clear, strict=True) if shown)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _lines(self) -> list[str]:
        others = self.what_else
        more = f"and {len(others) - _MOST_OTHERS} more, see .others" if len(others) > _MOST_OTHERS else ""
        nothing = f"Nothing else clearly differs among {len(self.others):,} comparisons, corrected for their number."
        listed = [f"- {sentence}" for sentence in (*others[:_MOST_OTHERS], *([more] if more else []))]
        return [self.sentence, *(listed or ([nothing] if len(self.others) else [])), *self.notes]

    def _repr_html_(self) -> str:
        first, *lines = (html.escape(line) for line in self._lines())
        items = "".join(f"<li>{line.removeprefix('- ')}</li>" for line in lines if line.startswith("- "))
        rest = "".join(f"<p>{line}</p>" for line in lines if not line.startswith("- "))
        others = f"<p>What else differs:</p><ul>{items}</ul>" if items else ""
        return (
            f"<div><p><strong>{first}</strong></p>{self._picture()}{self._html_table()}{others}{rest}</div>"
        )

    def _picture(self) -> str:
        if self.table.empty:
            return ""
        from matplotlib.figure import Figure  # noqa: PLC0415  drawing takes its time to load

        figure = Figure(figsize=(8.0, 2.4), layout="constrained")
        self.plot(ax=figure.subplots())
        target = io.BytesIO()
        figure.savefig(target, format="png", dpi=110, bbox_inches="tight")
        data = base64.b64encode(target.getvalue()).decode("ascii")
        return f'<img alt="{html.escape(self.sentence)}" src="data:image/png;base64,{data}" style="max-width:100%">'

    def _html_table(self) -> str:
        if self.table.empty:
            return ""
        row = self.table.iloc[0]
        unit = "difference" if "difference" in row else "difference_points"
        column = next((name for name in ("rate", "mean") if name in row), None)
        level = 100 * self.table.attrs["promptlift"]["level"]
        form = "{:.1%}" if column == "rate" else "{:,.4g}"
        cells = {"Compared": str(row["variant"]), "with": str(row["control"])}
        shown = "difference, points" if unit == "difference_points" else "difference"
        if "difference_points_corrected" in row and not math.isnan(row["difference_points_corrected"]):
            value, low, high = (
                _signed(row[f"difference_points_corrected{end}"]) for end in ("", "_low", "_high")
            )
            cells["corrected by labels, points"] = f"{value} ({low} to {high})"
            shown = "uncorrected, points"
        cells["verdict"] = str(row["verdict"])
        cells[shown] = _signed(row[unit])
        cells[f"{level:.4g} % interval"] = f"{_signed(row[f'{unit}_low'])} to {_signed(row[f'{unit}_high'])}"
        if column:
            cells[column] = f"{form.format(row[column])} of {row['n']:,}"
            cells["the other's"] = f"{form.format(row[f'{column}_control'])} of {row['n_control']:,}"
        head = "".join(f"<th>{html.escape(name[0].upper() + name[1:])}</th>" for name in cells)
        body = "".join(f"<td>{html.escape(value)}</td>" for value in cells.values())
        return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{body}</tr></tbody></table>"


def _signed(value: Any) -> str:
    return "not known" if math.isnan(value) else signed(value)
