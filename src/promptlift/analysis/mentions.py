"""What conversations mention: their issues and topics, how often, and how tasks fared with them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.reading import (
    By,
    Groups,
    collect,
    group_rows,
    names_of,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.stats.intervals import check_level, rate_and_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SEVERITIES", "Found", "check_top", "find_mentions", "issues", "judged_rows", "topics"]

SEVERITIES = ("low", "medium", "high")
_RATED = ("n_rated", "completed", "rate", "rate_low", "rate_high")
_COLUMNS = (
    "n",
    "total",
    "share",
    "share_low",
    "share_high",
    "severity",
    "n_worst",
    *_RATED,
    *(f"{name}_without" for name in _RATED),
)


def issues(conversations: Any, *, by: By = None, top: int | None = 10, level: float = 0.95) -> pd.DataFrame:
    """Count the issues that conversations had, the most frequent first, with Wilson's intervals.

    A conversation counts once for an issue, however often it names it. Tasks that fail more often with an issue
    do not prove that the issue is the cause.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``issues`` (a list of ``{"title", "severity"}`` for each conversation),
        ``task_completed`` and, if there, ``status``.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together. Each issue then has a row for every group.
    top
        How many issues to return; None returns all.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        One row an issue (and group): ``issue``, ``by`` if given, ``n`` conversations with it, ``total`` with
        insights, ``share``, ``share_low``, ``share_high``; ``severity``, the worst one named, in ``n_worst`` of the
        ``n`` conversations; then of ended
        conversations with it ``n_rated``, ``completed``, ``rate``, ``rate_low``, ``rate_high``, and the same
        of those without it, ending in ``_without``; ``example_id``, the first conversation that has it.
        Rates and shares are fractions, NaN where nothing was counted. ``attrs["promptlift"]`` says ``n_titles``,
        how many different ones there are, and ``n_judged``, the conversations with insights.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by``, ``top`` or ``level`` cannot be used, or ``issues`` does not hold lists.
    """
    return _mentions(conversations, "issues", "issue", by=by, top=top, level=level)


def topics(conversations: Any, *, by: By = None, top: int | None = 10, level: float = 0.95) -> pd.DataFrame:
    """Count the topics that conversations were about, the most frequent first, with Wilson's intervals.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``topics`` (a list of texts for each conversation), ``task_completed``
        and, if there, ``status``.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together. Each topic then has a row for every group.
    top
        How many topics to give; None gives all.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        As of ``issues``, with ``topic`` first and without ``severity`` and ``n_worst``.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by``, ``top`` or ``level`` cannot be used, or ``topics`` does not hold lists.
    """
    table = _mentions(conversations, "topics", "topic", by=by, top=top, level=level)
    return table.drop(columns=["severity", "n_worst"])


@dataclass(frozen=True)
class Found:
    """One entry for each title that a conversation mentions."""

    titles: list[str]
    row: NDArray[np.intp]
    title: NDArray[np.intp]
    severity: NDArray[np.intp]


def _mentions(
    conversations: Any, column: str, label: str, *, by: By, top: int | None, level: float
) -> pd.DataFrame:
    level = check_level(level)
    check_top(top)
    conversations, by = one_group_column(conversations, by)
    needed = ["conversation_id", column, "task_completed"]
    columns = require(conversations, needed, by=by, taken=(label, "example_id", *_COLUMNS))
    optional = [name for name in ("status", "has_insights") if name in names_of(conversations)]
    frame = collect(conversations, list(dict.fromkeys([*columns, *optional])))
    judged = judged_rows(frame, column)
    frame = frame[judged]
    found = find_mentions(frame[column], column)
    groups = group_rows(frame, by)
    table = _table(frame, found, groups, label, level=level, top=top)
    groups.name_rows(table, place=1)
    facts = {"by": by, "level": level, "n_titles": len(found.titles), "n_judged": len(frame)}
    return with_provenance(table, conversations, column, **facts)


def check_top(top: int | None) -> None:
    """Check that ``top`` is a number of titles.

    Raises
    ------
    ValueError
        When it is not a whole number of at least 1, or None.
    """
    try:
        enough = top is None or operator.index(top) >= 1
    except TypeError:
        enough = False
    if not enough:
        raise ValueError(f"top must be a whole number of at least 1, or None for all, not {top!r}.")


def judged_rows(frame: pd.DataFrame, column: str) -> NDArray[np.bool_]:
    """Return a mask of the conversations that have insights."""
    judged = frame[column].notna().to_numpy(dtype=bool)
    if "has_insights" in frame:
        judged = judged & frame["has_insights"].astype("boolean").fillna(True).to_numpy(dtype=bool)
    return judged


def find_mentions(cells: pd.Series[Any], column: str) -> Found:
    """Find what each conversation mentions: every title once, with the worst severity given to it.

    Raises
    ------
    ValueError
        When a cell is not a list.
    """
    titles: dict[str, int] = {}
    rows: list[int] = []
    codes: list[int] = []
    severities: list[int] = []
    # Most issues are named again and again: each spelling is read once.
    known: dict[Any, tuple[int, int]] = {}
    for row, cell in enumerate(cells.to_numpy(dtype=object)):
        if type(cell) is not list:
            _check_cell(cell, column)
        for item in cell:
            spelling = _spelling(item)
            entry = known.get(spelling)
            if entry is None:
                title, severity = _title(item)
                entry = (titles.setdefault(title, len(titles)) if title else -1, severity)
                if spelling is not None:
                    known[spelling] = entry
            code, severity = entry
            if code >= 0:
                rows.append(row)
                codes.append(code)
                severities.append(severity)
    parts = (np.array(values, np.intp) for values in (rows, codes, severities))
    return _once_a_row(Found(list(titles), *parts))


def _check_cell(cell: Any, column: str) -> None:
    if isinstance(cell, str | bytes | Mapping) or not isinstance(cell, Iterable):
        raise ValueError(  # noqa: TRY004  (a value of the table, not an argument)
            f"Column {column} must hold a list for each conversation, not {type(cell).__name__}."
        )


def _spelling(item: Any) -> Any:
    """Return a key under which the same item is found again; None where it must be read each time."""
    kind = type(item)
    if kind is dict:
        title, severity = item.get("title"), item.get("severity")
        # Without one of them other names count, so the pair would not be a key.
        return (
            (title, severity) if type(title) is str and type(severity) is str and title and severity else None
        )
    return item if kind is str else None


def _once_a_row(found: Found) -> Found:
    """Keep each title of a row once, at its first place, with its worst severity."""
    if not len(found.row):
        return found
    key = found.row * len(found.titles) + found.title
    codes, different = pd.factorize(key)
    if len(different) == len(key):
        return found
    worst = np.full(len(different), -1, np.intp)
    np.maximum.at(worst, codes, found.severity)
    rows, titles = np.divmod(np.asarray(different), len(found.titles))
    return Found(found.titles, rows, titles, worst)


def _title(item: Any) -> tuple[str, int]:
    """Return title and severity of one issue or topic; the API leaves the shape of an issue open."""
    if not isinstance(item, Mapping):
        return " ".join(str(item).split()) if item is not None else "", -1
    title = next((item[name] for name in ("title", "issue", "name", "description") if item.get(name)), "")
    severity = str(item.get("severity") or item.get("impact") or "").lower()
    severity = "high" if severity == "critical" else severity
    return " ".join(str(title).split()), SEVERITIES.index(severity) if severity in SEVERITIES else -1


def _table(
    frame: pd.DataFrame, found: Found, groups: Groups, label: str, *, level: float, top: int | None
) -> pd.DataFrame:
    size = (len(found.titles), groups.count)
    cell = found.title * groups.count + groups.codes[found.row]

    def count(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(cell[which], minlength=size[0] * size[1]).reshape(size).astype(np.int64)

    outcome = outcome_codes(frame)
    severity = np.full(size[0] * size[1], -1)
    np.maximum.at(severity, cell, found.severity)
    first = np.full(size[0] * size[1], -1)
    first[cell[::-1]] = found.row[::-1]
    n = count(np.ones(len(cell), bool))
    n_worst = count((found.severity >= 0) & (found.severity == severity[cell]))
    worst = severity.reshape(size).max(axis=1, initial=-1)
    totals, worsts = n.sum(axis=1).tolist(), worst.tolist()
    order = sorted(range(size[0]), key=lambda i: (-totals[i], -worsts[i], found.titles[i]))[:top]
    shown = n[order]
    everyone = np.broadcast_to(np.bincount(groups.codes, minlength=groups.count), shown.shape)
    rated, completed = count(outcome[found.row] >= 2)[order], count(outcome[found.row] == 3)[order]
    all_rated = np.bincount(groups.codes[outcome >= 2], minlength=groups.count)
    all_completed = np.bincount(groups.codes[outcome == 3], minlength=groups.count)
    ids = frame["conversation_id"].to_numpy(dtype=object)
    example = [ids[row] if row >= 0 else None for row in first.reshape(size)[order].ravel()]
    return pd.DataFrame(
        {
            label: pd.Series(np.repeat([found.titles[i] for i in order], groups.count), dtype="str"),
            "n": shown.ravel(),
            "total": everyone.ravel(),
            **_rate(shown, everyone, ("share", "share_low", "share_high"), level),
            "severity": pd.Categorical.from_codes(
                severity.reshape(size)[order].ravel(), categories=pd.Index(SEVERITIES), ordered=True
            ),
            "n_worst": n_worst[order].ravel(),
            "n_rated": rated.ravel(),
            "completed": completed.ravel(),
            **_rate(completed, rated, ("rate", "rate_low", "rate_high"), level),
            "n_rated_without": (all_rated - rated).ravel(),
            "completed_without": (all_completed - completed).ravel(),
            **_rate(
                all_completed - completed,
                all_rated - rated,
                ("rate_without", "rate_low_without", "rate_high_without"),
                level,
            ),
            "example_id": pd.Series(example, dtype="str"),
        }
    )


def _rate(
    x: NDArray[np.int64], n: NDArray[np.int64], names: tuple[str, str, str], level: float
) -> dict[str, NDArray[np.float64]]:
    return dict(zip(names, rate_and_interval(x.ravel(), n.ravel(), level=level), strict=True))
