"""Filters of conversations that hold on any service: a period, and values of columns. None matches nothing in silence."""

from __future__ import annotations

import contextlib
import difflib
import functools
import operator
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import ConfigError, FrameError
from promptlift.schema.metadata import is_metadata_column, key_of_column

if TYPE_CHECKING:
    import pandas as pd

_MOST_LISTED: Final = 10
_NEAR: Final = 3
# Columns of conversations that only insights bring.
_OF_INSIGHTS: Final = frozenset(
    {
        *("sentiment", "sentiment_score", "task_completed", "quality", "topics", "summary", "issues"),
        *("insights_at", "analyser", "basis", "completion_chance"),
    }
)


class NothingMatchesWarning(UserWarning):
    """A filter has a value that no conversation has; the message names those that there are."""


@dataclass(frozen=True)
class ConversationFilter:
    """What conversations must have, beside the prompt and the status.

    Attributes
    ----------
    since, until
        When they started: from ``since`` on and before ``until``.
    where
        Column to the value, or the values, of which a row must have one.
    """

    since: datetime | None
    until: datetime | None
    where: Mapping[str, list[Any]]

    @classmethod
    def read(cls, since: Any, until: Any, where: Any) -> ConversationFilter:
        """Check the arguments of a table.

        Raises
        ------
        ConfigError
            When one cannot be used.
        """
        begin, end = _time(since, "since"), _time(until, "until")
        if begin is not None and end is not None and begin >= end:
            raise ConfigError(f"since ({begin:%Y-%m-%d %H:%M}) must be before until ({end:%Y-%m-%d %H:%M}).")
        if where is not None and not isinstance(where, Mapping):
            raise ConfigError(
                f'where is a {type(where).__name__}; give a dict such as {{"metadata.channel": "web"}}.'
            )
        return cls(begin, end, {str(name): _values(value) for name, value in (where or {}).items()})

    def __bool__(self) -> bool:
        """Return whether anything is filtered."""
        return bool(self.since or self.until or self.where)

    def record(self) -> dict[str, Any]:
        """Return the filter as the attributes of a table say it."""
        times = {"since": self.since, "until": self.until}
        record: dict[str, Any] = {name: at and at.isoformat() for name, at in times.items()}
        return record | {"where": dict(self.where) or None}

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that match.

        Raises
        ------
        FrameError
            When ``where`` names a column that the table does not have.

        Warns
        -----
        NothingMatchesWarning
            A value matches no row.
        """
        if not self or not len(frame):
            return frame
        # Checked in all rows, whatever the period leaves of them.
        masks = [self._of_column(frame, name, values) for name, values in self.where.items()]
        started = frame["started_at"]
        inside = started.notna()
        if self.since is not None:
            inside &= started >= self.since
        if self.until is not None:
            inside &= started < self.until
        if (self.since or self.until) and not inside.any():
            _warn(
                f"No conversation started {self._period()}. "
                f"They started from {started.min():%Y-%m-%d %H:%M} to {started.max():%Y-%m-%d %H:%M} UTC."
            )
        wanted = inside if self.since or self.until else started.isna() | inside
        for mask in masks:
            wanted &= mask
        if not wanted.any() and all(mask.any() for mask in masks) and inside.any():
            _warn("No conversation matches all filters together, though some match each of them.")
        return frame[wanted.to_numpy(dtype=bool, na_value=False)].reset_index(drop=True)

    def _period(self) -> str:
        begun = [f"from {self.since:%Y-%m-%d %H:%M} UTC on"] if self.since else []
        return " and ".join(begun + ([f"before {self.until:%Y-%m-%d %H:%M} UTC"] if self.until else []))

    @staticmethod
    def _of_column(frame: pd.DataFrame, name: str, values: list[Any]) -> pd.Series[Any]:
        if name not in frame:
            raise _unknown(frame, name)
        column = frame[name]
        lists = column.map(lambda cell: isinstance(cell, list)).any() if column.dtype == object else False
        masks = [_contains(column, value) if lists else _equals(column, value) for value in values]
        absent = [value for value, mask in zip(values, masks, strict=True) if not mask.any()]
        if absent:
            _warn(_no_such_value(column, name, absent, lists=bool(lists)))
        return functools.reduce(operator.or_, masks)


def _time(given: Any, name: str) -> datetime | None:
    if given is None:
        return None
    import pandas as pd  # noqa: PLC0415 - takes longer to load than everything else combined

    unusable = ConfigError(f'{name} is {given!r}; give a time such as "2026-10-01" or a datetime (UTC).')
    if not isinstance(given, str | date):  # a datetime is a date
        raise unusable
    try:
        at: Any = pd.Timestamp(given)
        at = at.tz_localize("UTC") if at.tz is None else at.tz_convert("UTC")
    except (TypeError, ValueError, OverflowError, AttributeError):
        raise unusable from None
    if at is pd.NaT:
        raise unusable
    found: datetime = at.as_unit("us").to_pydatetime(warn=False)
    return found


def _values(given: Any) -> list[Any]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return [given]
    values = list(given)
    if not values:
        raise ConfigError("where has an empty list, which nothing can match; leave the column out.")
    return values


def _unknown(frame: pd.DataFrame, name: str) -> FrameError:
    present = [str(column) for column in frame.columns]
    if name in _OF_INSIGHTS:
        return FrameError([name], present, hint="It comes with insights: pass insights=True.")
    if name == "content":
        return FrameError([name], present, hint="It comes with content=True.")
    of_metadata = [column for column in present if is_metadata_column(column)]
    # By the key, with and without the prefix, which would make all of metadata alike.
    keyed = {key_of_column(column): column for column in of_metadata}
    others = {} if is_metadata_column(name) else {column: column for column in present}
    named = {**others, **keyed}
    near = [named[one] for one in difflib.get_close_matches(key_of_column(name), named, n=_NEAR)]
    if near:
        return FrameError([name], present, hint=f"Did you mean {' or '.join(map(repr, near))}?")
    keys = ", ".join(map(repr, of_metadata)) or "none"
    return FrameError([name], present, hint=f"Columns of metadata that these conversations have: {keys}.")


def _contains(column: pd.Series[Any], value: Any) -> pd.Series[Any]:
    """Return whether each row's list has a value; an issue has its title."""
    return column.map(lambda cell: isinstance(cell, list) and value in map(_said, cell))


def _said(one: Any) -> Any:
    return one.get("title") if isinstance(one, dict) else one


def _equals(column: pd.Series[Any], value: Any) -> pd.Series[Any]:
    if value is None:
        return column.isna()
    if column.dtype.kind == "M":
        value = _time(value, str(column.name))
    same: pd.Series[Any] = column.isna() & column.notna()
    with contextlib.suppress(TypeError, ValueError):  # a value that the column's type cannot hold
        same = (column == value).fillna(value=False).astype(bool)
    return same


def _no_such_value(column: pd.Series[Any], name: str, absent: list[Any], *, lists: bool) -> str:
    cells = column.dropna()
    if lists:
        cells = cells.explode().dropna().map(_said)
    there = cells.value_counts()
    there = there[there > 0]
    listed = ", ".join(f"{_shown(value)} ({count:,})" for value, count in there.head(_MOST_LISTED).items())
    more = f" and {len(there) - _MOST_LISTED:,} others" if len(there) > _MOST_LISTED else ""
    asked = " or ".join(map(repr, absent))
    return f"No conversation has {asked} in {name}. There are: {listed or 'no values'}{more}."


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return repr(value.item() if hasattr(value, "item") else value)


def _warn(message: str) -> None:
    warnings.warn(message, NothingMatchesWarning, stacklevel=2)
