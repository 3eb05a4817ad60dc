"""From the marks of a plot to the conversations behind them: ``plots.issues(df).conversations("User gave up")``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.analysis.drill_down import SCORE_MARK, conversations_of, mark_names
from promptlift.analysis.reading import facts_of
from promptlift.words.figures import is_missing, known, percent, signed_figures
from promptlift.words.names import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["DrillDown", "Mark", "drill_down_of", "lead_to_conversations", "record_marks"]

_NAME_WIDTH: Final = 80
_PERIODS: Final = {"h": "%d %b %Y %H:%M", "D": "%d %b %Y", "W": "week from %d %b %Y", "MS": "%b %Y"}
_RECORDED: Final = "_promptlift_marks"


@dataclass(frozen=True)
class Mark:
    """One estimate that is drawn.

    Attributes
    ----------
    x, y
        Where it is, in the data coordinates of its axes.
    key
        What names it: the arguments that lead to its conversations.
    words
        Its name, estimate, interval and sample size on one line.
    """

    x: float
    y: float
    key: tuple[Any, ...]
    words: str


@dataclass(frozen=True)
class _Recorded:
    """The estimates of one group: where they are, and which row of the result each one shows."""

    x: NDArray[Any]
    y: NDArray[Any]
    rows: list[Any]
    sentiments: list[Any]
    estimate: str


class DrillDown:
    """The conversations behind the marks of a plot.

    It is the attribute ``conversations`` of the axes, and is called with what names a mark, as for
    `promptlift.analysis.conversations_of`. A pickled figure does not carry the conversations.
    """

    def __init__(self, table: pd.DataFrame, source: Any, recorded: list[_Recorded]) -> None:
        self._table = table
        # What is later written into the table of the caller does not change what was drawn.
        self._source = source.copy(deep=False) if isinstance(source, pd.DataFrame) else source
        self._recorded = recorded

    def __call__(self, *mark: Any) -> Any:
        """Return the conversations of a mark.

        Parameters
        ----------
        mark
            What names it: see `promptlift.analysis.conversations_of`.

        Raises
        ------
        FrameError, ValueError
            Raised by `promptlift.analysis.conversations_of`; ValueError also when the plot does not have the
            conversations, because it was drawn from a result of an analysis.
        """
        if self._source is None:
            raise ValueError(
                "This plot was drawn from a result and does not have the conversations. Draw it from the conversations, "
                "or call analysis.conversations_of(result, df, …)."
            )
        return conversations_of(self._table, self._source, *mark)

    @property
    def has_conversations(self) -> bool:
        """Whether the plot was drawn from the conversations."""
        return self._source is not None

    @property
    def marks(self) -> list[Mark]:
        """The marks of the plot, in the order in which they were drawn."""
        return [mark for recorded in self._recorded for mark in self._marks(recorded)]

    def _marks(self, recorded: _Recorded) -> Iterator[Mark]:
        facts, names = facts_of(self._table), mark_names(self._table)
        rows = self._table.loc[recorded.rows].to_dict("records")
        for x, y, row, sentiment in zip(recorded.x, recorded.y, rows, recorded.sentiments, strict=True):
            values = row | {
                "title": row.get("issue", row.get("topic")),
                "sentiment": sentiment,
                "period": row.get("period_start"),
                "group": row.get(facts.get("by")),
            }
            key = tuple(values[name] for name in names if name != "side")
            named = " · ".join(_name(name, values[name], facts) for name in names if name != "side")
            words = f"{named}: {_numbers(row, recorded.estimate, sentiment, facts)}"
            yield Mark(float(x), float(y), key, words)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_source": None}


def record_marks(ax: Axes, x: NDArray[Any], y: NDArray[Any], rows: pd.DataFrame, estimate: str) -> None:
    """Remember where the estimates of these rows of a result are drawn."""
    sentiments = rows["sentiment"].tolist() if "sentiment" in rows else [None] * len(rows)
    vars(ax).setdefault(_RECORDED, []).append(_Recorded(x, y, rows.index.tolist(), sentiments, estimate))


def lead_to_conversations(ax: Axes, table: pd.DataFrame, source: Any) -> Axes:
    """Return the axes of a finished plot with the attribute ``conversations``.

    Parameters
    ----------
    ax
        The axes.
    table
        The result that was drawn.
    source
        What it was computed from; the result itself where nothing was computed.
    """
    recorded = vars(ax).pop(_RECORDED, [])
    drill_down = DrillDown(table, None if source is table else source, recorded)
    vars(ax)["conversations"] = drill_down
    return ax


def drill_down_of(ax: Axes) -> DrillDown | None:
    """Return what leads from the marks of these axes to their conversations; None where it is no plot of them."""
    found = vars(ax).get("conversations")
    return found if isinstance(found, DrillDown) else None


def _name(name: str, value: Any, facts: Mapping[str, Any]) -> str:
    if name == "period":
        return str(value.strftime(_PERIODS[facts["freq"]]))
    if name == "sentiment" and value == SCORE_MARK:
        return "mean sentiment score" + ("" if facts.get("usual") is None else " minus the usual")
    return "(none)" if is_missing(value) else one_line(value, _NAME_WIDTH) or "(empty)"


def _numbers(row: Mapping[Any, Any], estimate: str, sentiment: Any, facts: Mapping[str, Any]) -> str:
    """Return the estimate, its interval and the sample size, as it is drawn."""
    middle, low, high = _columns(estimate, sentiment)
    values = [float(row[name]) for name in (middle, low, high) if known(row[name])]
    if middle.endswith(("share", "rate")):
        texts = percent(*values)
    else:
        unit = (
            "%"
            if middle == "lift_percent"
            else ""
            if facts.get("unit") == "score" or sentiment
            else " points"
        )
        texts = tuple(f"{text}{unit}" for text in signed_figures(*values))
    interval = (
        f"{100 * facts['level']:.4g}% interval {texts[1]} to {texts[2]}" if len(texts) == 3 else "no interval"
    )
    return f"{texts[0]}, {interval}, {_sample(row, sentiment, middle)}"


def _columns(estimate: str, sentiment: Any) -> tuple[str, str, str]:
    if estimate != "estimate":
        return estimate, f"{estimate}_low", f"{estimate}_high"
    label = "sentiment" if sentiment == SCORE_MARK else sentiment
    return f"{label}_{'mean' if label == 'sentiment' else 'share'}", f"{label}_low", f"{label}_high"


def _sample(row: Mapping[Any, Any], sentiment: Any, estimate: str) -> str:
    if "n_before" in row:
        return " then ".join(
            f"{row[f'n_{side}']:,} of {row[f'total_{side}']:,}" for side in ("before", "after")
        )
    if estimate == "share":
        return f"n = {row['n']:,} of {row['total']:,}"
    if sentiment == SCORE_MARK:
        return f"n = {row['sentiment_n']:,}"
    if estimate.endswith("_share"):
        return f"n = {row[sentiment]:,} of {row['n']:,}"
    return f"n = {row.get('n_known', row['n']):,}"
