"""The headline numbers of each prompt, from ``analysis.prompt_overview``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from promptlift.report.document import Column, Estimate, Headline, Part, Section, Table
from promptlift.report.formatting import count, interval, share_and_interval, signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.report.document import Cell, Field

__all__ = ["CARDS", "headlines", "side_by_side"]

CARDS: Final = 4
"""Most prompts shown as cards; more are shown as a table."""

_FEW: Final = 5
_MEAN: Final = "Mean sentiment, −1 to 1"
_SCORE: Final = "Mean sentiment score of a word list, −1 to 1"
_NEGATIVE: Final = "Negative in tone"
_NONE_YET: Final = "no conversations with insights yet"


def headlines(row: dict[str, Any] | None, *, by_score: bool, by_words: bool) -> tuple[Headline, ...]:
    """Return the headline numbers of one prompt.

    Parameters
    ----------
    row
        Its row of ``analysis.prompt_overview``, or ``None`` when it has no conversations.
    by_score
        Whether a word list judged the sentiment: its labels are not shown.
    by_words
        Whether a word list judged the completion of this prompt.
    """
    if row is None or row["conversations"] == 0:
        return (Headline("Conversations", "count", Estimate(0), detail="none to report"),)
    detail = (
        f"{count(row['ended'])} ended, {count(row['in_progress'])} in progress; "
        f"{count(row['with_insights'])} with insights"
    )
    return (
        *_completed(row, by_words=by_words),
        _sentiment(row, _SCORE if by_score else _MEAN),
        *([] if by_score else [_negative(row)]),
        Headline("Conversations", "count", Estimate(row["conversations"]), detail=detail),
    )


def side_by_side(rows: list[tuple[str, dict[str, Any] | None]], *, by_score: bool) -> Section:
    """Return a section with one table for many prompts.

    Parameters
    ----------
    rows
        Name of each prompt and its row of ``analysis.prompt_overview``.
    by_score
        Whether a word list judged the sentiment: its labels are not shown.
    """

    def known(column: Column, shown: Callable[[dict[str, Any]], Cell]) -> Field:
        return column, lambda pair: None if pair[1] is None else shown(pair[1])

    def whole(name: str, label: str) -> Field:
        return Column(name, label, "count"), lambda pair: 0 if pair[1] is None else int(pair[1][name])

    score = Column("sentiment", _SCORE if by_score else _MEAN, "score", 95)
    negative = known(Column("negative", _NEGATIVE, "share", 95), lambda row: _estimate(row, "negative"))
    table = Table.of(
        "prompts",
        "Prompts",
        rows,
        (Column("prompt", "Prompt"), lambda pair: pair[0]),
        known(Column("rate", "Completed their task", "share", 95), lambda row: _estimate(row, "rate")),
        known(
            Column("completed", "Conver\u00adsations", "part"), lambda row: Part(row["completed"], row["n"])
        ),
        known(score, lambda row: _estimate(row, "sentiment")),
        *([] if by_score else [negative]),
        whole("ended", "Ended"),
        whole("in_progress", "In progress"),
        whole("with_insights", "With insights"),
    )
    return Section("headline", "Headline numbers", tables=(table,))


def _estimate(row: dict[str, Any], name: str) -> Estimate:
    value = {"rate": "rate", "sentiment": "sentiment_mean", "negative": "negative_share"}[name]
    return Estimate(float(row[value]), float(row[f"{name}_low"]), float(row[f"{name}_high"]))


def _negative(row: dict[str, Any]) -> Headline:
    total = int(row["negative"] + row["neutral"] + row["positive"])
    return _rate(_NEGATIVE, _estimate(row, "negative"), Part(row["negative"], total))


def _rate(label: str, estimate: Estimate, basis: Part) -> Headline:
    if basis.total == 0:
        return Headline(label, "share", estimate, basis, _NONE_YET)
    few = " (very few)" if basis.total < _FEW else ""
    _, ends = share_and_interval(estimate.value, estimate.low, estimate.high)
    words = f"{ends} (95% interval), {count(basis.hits)} of {count(basis.total)}{few}"
    return Headline(label, "share", estimate, Part(int(basis.hits), int(basis.total)), words)


def _completed(row: dict[str, Any], *, by_words: bool) -> tuple[Headline, ...]:
    """Return the completion rate; with labels the corrected one first, and both say which they are."""
    label, basis = "Completed their task", Part(row["completed"], row["n"])
    if row.get("not_corrected", "none"):
        return (
            _rate(f"{label}, as a word list sees it" if by_words else label, _estimate(row, "rate"), basis),
        )
    corrected = Estimate.of(row, "rate_corrected")
    _, ends = share_and_interval(corrected.value, corrected.low, corrected.high)
    words = f"{ends} (95% interval), by {count(row['n_labels'])} labels"
    return (
        Headline(f"{label}, corrected by labels", "share", corrected, int(row["n_labels"]), words),
        _rate(f"{label}, as the judge says", _estimate(row, "rate"), basis),
    )


def _sentiment(row: dict[str, Any], label: str) -> Headline:
    n, estimate = int(row["sentiment_n"]), _estimate(row, "sentiment")
    if n == 0:
        return Headline(label, "score", estimate, n, _NONE_YET)
    if math.isnan(estimate.low):
        return Headline(label, "score", estimate, n, f"n = {count(n)}: too few for an interval")
    ends = interval(estimate.low, estimate.high, signed)
    return Headline(label, "score", estimate, n, f"{ends} (95% interval), n = {count(n)}")
