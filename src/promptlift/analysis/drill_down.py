"""From a number back to the conversations that it counts."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.arms import read_arms
from promptlift.analysis.long_mentions import LABELS, check_engines
from promptlift.analysis.mentions import found_in
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.period_counts import times_of
from promptlift.analysis.periods import Span, instant, last_period_end
from promptlift.analysis.reading import (
    GROUP_SEPARATOR,
    TIMES,
    collect,
    facts_of,
    names_of,
    one_group_column,
    require,
    rows_with,
    started,
)
from promptlift.analysis.segment_columns import PAIR_SEPARATOR
from promptlift.analysis.segment_rows import judged_outcomes
from promptlift.analysis.segments import splits_of
from promptlift.analysis.sentiments import kinds_of, sentiment_codes
from promptlift.analysis.verdicts import VERDICT, read_outcome
from promptlift.words.figures import is_missing
from promptlift.words.names import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

# What names the mean score of a period, beside the labels of sentiments.
SCORE_MARK: Final = "score"
_SIDES: Final = ("before", "after")
_ALWAYS: Final = ("status", "has_insights", "task_completed", "sentiment", "sentiment_score", *TIMES)
_MOST_LISTED: Final = 8


@dataclass(frozen=True)
class _Asked:
    """What was asked for: the result, what it says about itself, the conversations, the values of the mark, and the long table."""

    table: pd.DataFrame
    facts: dict[str, Any]
    frame: pd.DataFrame
    mark: dict[str, Any]
    mentions: Any = None

    def in_group(self) -> NDArray[np.bool_]:
        """Return a mask of the rows of the group; all rows where none was named."""
        if "group" not in self.mark:
            return np.ones(len(self.frame), bool)
        group = _known_value(self.mark["group"], self.table[self.facts["by"]].unique(), "group")
        frame, by = _grouped(self.frame, self.facts["by"])
        return _equal(frame[by], group)

    def in_period(self) -> NDArray[np.bool_]:
        """Return a mask of the rows that began in the period."""
        span = _period(self.table, self.facts, self.mark["period"])
        return span.contains(started(self.frame, times_of(self.frame)))


def conversations_of(table: pd.DataFrame, conversations: Any, *mark: Any, mentions: Any = None) -> Any:
    """Return the conversations that a number of an analysis counts.

    Parameters
    ----------
    table
        Result of ``analysis.atlas`` (its ``table``), ``completion``, ``completion_trend``, ``sentiment_distribution``, ``sentiment_trend``,
        ``issues``, ``topics``, ``changes``, ``segments`` or ``compare``.
    conversations
        The table it was computed from. One that is not from pandas needs the column conversation_id.
    mark
        What names the number, in this order: the title of an issue or topic and the group; a time in the period, the
        group and the sentiment; the sentiment and the group; the column and its segment; the variant or the control; of
        a change the title and ``"before"`` or ``"after"``; of an atlas the name. There is no group where ``by`` was not given. What is left
        out at the end does not matter. The sentiment ``"score"`` is those with a score.
    mentions
        Long table of the issues or topics, where the analysis had one.

    Returns
    -------
    DataFrame
        The rows of ``conversations`` that were counted, in their order, with all columns: as many as the table says in
        ``n`` (in ``completed_without`` and the like it says others). Of pairs, the rows of the variant.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When the table is of another analysis, or has no such mark; the message has near names.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "conversation_id": ["a", "b"],
    ...         "task_completed": [True, False],
    ...         "issues": [[], [{"title": "User gave up"}]],
    ...     }
    ... )
    >>> from promptlift import analysis
    >>> conversations_of(analysis.issues(table), table, "User gave up")["conversation_id"].tolist()
    ['b']
    """
    facts = facts_of(table)
    if str(facts.get("table")) not in _ANALYSES:
        raise ValueError(
            "The first argument must be a table of an analysis of conversations, such as analysis.issues(df); the "
            "second is the conversations themselves."
        )
    _, rows_of = _ANALYSES[facts["table"]]
    named = _named(table, mark)
    read = read_outcome(conversations, VERDICT)[0] if "judge" in facts else conversations
    if isinstance(conversations, pd.DataFrame):
        return conversations[rows_of(_Asked(table, facts, read, named, mentions))]
    # Engines keep no order of rows, so the rows are found again by their ids.
    require(conversations, ["conversation_id"])
    frame = collect(read, _needed(facts, named, names_of(read)))
    if mentions is not None:
        check_engines(conversations, mentions, "mentions")
        wanted = ("conversation_id", *LABELS.values(), "severity")
        mentions = collect(mentions, [name for name in names_of(mentions) if name in wanted])
    ids = frame["conversation_id"][rows_of(_Asked(table, facts, frame, named, mentions))]
    return rows_with(conversations, "conversation_id", ids.tolist())


def mark_names(table: pd.DataFrame) -> tuple[str, ...]:
    """Return what names a number of a table, in order; empty where its conversations cannot be found."""
    facts = facts_of(table)
    names, _ = _ANALYSES.get(str(facts.get("table")), ((), None))
    return tuple(name for name in names if name != "group" or facts.get("by") is not None)


def _named(table: pd.DataFrame, mark: Sequence[Any]) -> dict[str, Any]:
    facts, names = facts_of(table), mark_names(table)
    least = {"segments": 2, "completion": 0}.get(facts["table"], 1)
    if not least <= len(mark) <= len(names):
        wanted = ", ".join(names) or "nothing"
        raise ValueError(
            f"A number of {facts['table']} is named by {wanted}, in this order; given: {mark!r}."
        )
    return dict(zip(names, mark, strict=False))


def _needed(facts: dict[str, Any], mark: dict[str, Any], present: Sequence[str]) -> list[str]:
    options = facts.get("options") or {}
    wanted = {
        *_ALWAYS,
        facts.get("of", facts["table"]),
        facts.get("outcome"),
        *_group_columns(facts.get("by"), present),
        *(options.get("pair") or ()),
        *str(mark.get("column", "")).split(PAIR_SEPARATOR),
        mark.get("column"),
    }
    return ["conversation_id", *(name for name in present if name in wanted and name != "conversation_id")]


def _group_columns(by: str | None, present: Sequence[str]) -> list[str]:
    """Return the columns that name groups together, by the name of the one that joins them."""
    if by is None:
        return []
    return [by] if by in present else by.split(GROUP_SEPARATOR)


def _grouped(frame: pd.DataFrame, by: str | None) -> tuple[pd.DataFrame, str]:
    joined, name = one_group_column(frame, _group_columns(by, names_of(frame)))
    return joined, str(name)


def _equal(column: pd.Series[Any], value: Any) -> NDArray[np.bool_]:
    if is_missing(value):
        return column.isna().to_numpy(dtype=bool)
    same: NDArray[np.bool_] = (column == value).to_numpy(dtype=bool, na_value=False)
    return same


def _known_value(given: Any, known: Sequence[Any] | Any, what: str) -> Any:
    """Return the value of the table that is meant.

    Raises
    ------
    ValueError
        When there is none; the message has the nearest.
    """
    values = list(known)
    for value in values:
        if is_missing(value) if is_missing(given) else not is_missing(value) and value == given:
            return value
    texts = [one_line(value, 60) for value in values]
    near = difflib.get_close_matches(str(given), texts, n=3, cutoff=0.5) or texts[:_MOST_LISTED]
    listed = ", ".join(map(repr, near)) + (", …" if len(near) == _MOST_LISTED < len(texts) else "")
    raise ValueError(f"The table has no {what} {given!r}. It has: {listed or 'none'}.")


def _period(table: pd.DataFrame, facts: dict[str, Any], given: Any) -> Span:
    """Return the period that a time lies in; a time without a zone is local time."""
    starts = pd.DatetimeIndex(table["period_start"].unique())
    at = instant(given, "period")
    if pd.Timestamp(given).tzinfo is None:
        naive = pd.DatetimeIndex([pd.Timestamp(given)])
        local = naive.tz_localize(starts.tz, ambiguous=np.ones(1, bool), nonexistent="shift_forward")
        at = instant(local[0], "period")
    borders = [instant(one, "period") for one in [*starts, *last_period_end(starts, facts["freq"])]]
    place = int(np.searchsorted(borders, at, side="right"))
    if not 0 < place < len(borders):
        run = (
            f"They run from {starts[0]:%Y-%m-%d} to {starts[-1]:%Y-%m-%d}." if len(starts) else "It has none."
        )
        raise ValueError(f"No period of the table has {given!r} in it. {run}")
    return Span(borders[place - 1], borders[place])


# The rows of each analysis: what it counts, as a mask over the rows of the conversations.


def _completion(asked: _Asked) -> NDArray[np.bool_]:
    return np.asarray(outcome_codes(asked.frame) >= 2) & asked.in_group()


def _labelled(asked: _Asked) -> NDArray[np.bool_]:
    """Return a mask of the rows with the sentiment asked for, or with any."""
    usual = asked.facts.get("usual")
    codes, kinds = sentiment_codes(asked.frame, usual), kinds_of(usual)
    if "sentiment" not in asked.mark:
        return np.asarray(codes < len(kinds))
    if asked.mark["sentiment"] == SCORE_MARK and "sentiment_score" in asked.frame:
        return asked.frame["sentiment_score"].notna().to_numpy(dtype=bool)
    return np.asarray(codes == kinds.index(_known_value(asked.mark["sentiment"], kinds, "sentiment")))


def _sentiment_distribution(asked: _Asked) -> NDArray[np.bool_]:
    return _labelled(asked) & asked.in_group()


def _mentioning(asked: _Asked, column: str) -> NDArray[np.bool_]:
    """Return a mask of the rows that mention the title."""
    label = column.removesuffix("s")
    title = _known_value(asked.mark["title"], asked.table[label].unique(), label)
    # The index says where the rows with insights are among all.
    kept, found = found_in(asked.frame.reset_index(drop=True), asked.mentions, column)
    rows = np.zeros(len(asked.frame), bool)
    if title in found.titles:
        rows[kept.index.to_numpy()[found.row[found.title == found.titles.index(title)]]] = True
    return rows


def _mentions(asked: _Asked) -> NDArray[np.bool_]:
    return np.asarray(_mentioning(asked, asked.facts["table"]) & asked.in_group())


def _changes(asked: _Asked) -> NDArray[np.bool_]:
    began = started(asked.frame, times_of(asked.frame))
    before, after = (_side(asked.facts, side).contains(began) for side in _SIDES)
    sides = {"before": before, "after": after & ~before}
    if "side" in asked.mark:
        inside = sides[_known_value(asked.mark["side"], _SIDES, "side")]
    else:
        inside = before | after
    return _mentioning(asked, asked.facts["of"]) & inside


def _side(facts: dict[str, Any], side: str) -> Span:
    ends = {
        name: instant(facts[f"{side}_{end}"], side)
        for name, end in (("low", "from"), ("high", "to"))
        if facts[f"{side}_{end}"] is not None
    }
    return Span(**ends)


def _segments(asked: _Asked) -> NDArray[np.bool_]:
    column = _known_value(asked.mark["column"], asked.table["column"].unique(), "column")
    of_column = asked.table.loc[asked.table["column"] == column, "segment"]
    label = _known_value(asked.mark["segment"], of_column, f"segment of {column}")
    present = names_of(asked.frame)
    # Reads names of offsets too, such as UTC+02:00.
    zone: Any = pd.DatetimeIndex([], tz=asked.facts["tz"]).tz
    pair = column.split(PAIR_SEPARATOR) if PAIR_SEPARATOR in column and column not in present else []
    splits = splits_of(
        asked.frame,
        outcome=asked.facts["outcome"],
        by=[] if pair else [column],
        pairs=[(pair[0], pair[1])] if pair else False,
        zone=zone,
        topics=asked.mentions,
    ).splits
    found = next(
        one for split in splits if split.column == column for one in split.segments if one.label == label
    )
    judged, _ = judged_outcomes(asked.frame, asked.facts["outcome"])
    rows = np.zeros(len(asked.frame), bool)
    rows[np.flatnonzero(judged)[found.members]] = True
    return rows


def _atlas(asked: _Asked) -> NDArray[np.bool_]:
    require(
        asked.frame, ["topic"], hint="Pass the conversations of the atlas: analysis.atlas(df).conversations."
    )
    return _equal(asked.frame["topic"], _known_value(asked.mark["name"], asked.table["name"], "topic"))


def _compare(asked: _Asked) -> NDArray[np.bool_]:
    facts, options = asked.facts, asked.facts["options"]
    frame, by = _grouped(asked.frame, facts["by"])
    arms = read_arms(
        frame,
        by=by,
        pair=options["pair"],
        outcome=facts["outcome"],
        control=facts["control"],
        kind=options["kind"],
    )
    names = arms.names.tolist()
    place = names.index(_known_value(asked.mark["variant"], names, "variant"))
    known = ~np.isnan(arms.value)
    counted = known & (arms.group == place)
    if arms.item is not None:
        # Only items with an outcome on both sides are pairs: of a variant with the control, of the control with any.
        in_control = arms.group == arms.control
        other_side = ~in_control if place == arms.control else in_control
        shared = arms.item[known & (arms.item >= 0) & other_side]
        counted &= np.isin(arms.item, shared)
    rows = np.zeros(len(frame), bool)
    rows[np.flatnonzero(frame[by].notna().to_numpy(dtype=bool))[counted]] = True
    return rows


# What names a number of each analysis, and the conversations that it counts.
_ANALYSES: Final[dict[str, tuple[tuple[str, ...], Callable[[_Asked], NDArray[np.bool_]]]]] = {
    "atlas": (("name",), _atlas),
    "changes": (("title", "side"), _changes),
    "compare": (("variant",), _compare),
    "completion": (("group",), _completion),
    "completion_trend": (("period", "group"), lambda asked: _completion(asked) & asked.in_period()),
    "issues": (("title", "group"), _mentions),
    "segments": (("column", "segment"), _segments),
    "sentiment_distribution": (("sentiment", "group"), _sentiment_distribution),
    "sentiment_trend": (
        ("period", "group", "sentiment"),
        lambda asked: _sentiment_distribution(asked) & asked.in_period(),
    ),
    "topics": (("title", "group"), _mentions),
}
