"""What conversations mention: their issues and topics, how often, and how tasks fared with them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, count_by, is_remote, open_table
from promptlift.analysis.long_mentions import (
    EXAMPLE,
    KEPT,
    SEVERITY,
    SIGNS_OF_INSIGHTS,
    TITLE,
    check_engines,
    count_mentions,
    judged_here,
    judged_there,
    needs_long_table,
    read_mentions,
)
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.reading import (
    By,
    Groups,
    basis_of,
    blank,
    collect,
    count_by_key,
    group_rows,
    names_of,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.schema.basis import may_weigh
from promptlift.schema.insights import SEVERITIES
from promptlift.stats.intervals import check_level, rate_and_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SEVERITIES", "Found", "check_top", "find_mentions", "found_in", "issues", "judged_rows", "topics"]

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


def issues(
    conversations: Any, *, mentions: Any = None, by: By = None, top: int | None = 10, level: float = 0.95
) -> pd.DataFrame:
    """Count the issues that conversations had, the most frequent first, with Wilson's intervals.

    A conversation counts once for an issue, however often it names it. Tasks that fail more often with an issue
    do not prove that the issue is the cause.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``issues`` (a list of ``{"title", "severity"}`` for each conversation),
        ``task_completed`` and, if there, ``status`` and ``has_insights``.
    mentions
        The issues as a long table, one row a mention, such as ``lift.issues()`` gives, instead of the lists; needed where an
        engine (DuckDB, Spark) has the conversations, and in the same engine.
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
        of those without it, ending in ``_without``; ``example_id``, the first conversation that has it (in an engine, which
        keeps no order, the one with the first id).
        Rates and shares are fractions, NaN where nothing was counted. ``attrs["promptlift"]`` says ``n_titles``,
        how many different ones there are, and ``n_judged``, the conversations with insights.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by``, ``top`` or ``level`` cannot be used, ``issues`` does not hold lists, or an engine has only lists.
    """
    return _mentions(conversations, mentions, "issues", "issue", by=by, top=top, level=level)


def topics(
    conversations: Any, *, mentions: Any = None, by: By = None, top: int | None = 10, level: float = 0.95
) -> pd.DataFrame:
    """Count the topics that conversations were about, the most frequent first, with Wilson's intervals.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``topics`` (a list of texts for each conversation), ``task_completed``
        and, if there, ``status`` and ``has_insights``.
    mentions
        The topics as a long table, such as ``lift.topics()`` gives, instead of the lists; needed where an engine (DuckDB,
        Spark) has the conversations, and in the same engine.
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
        When ``by``, ``top`` or ``level`` cannot be used, ``topics`` does not hold lists, or an engine has only lists.
    """
    table = _mentions(conversations, mentions, "topics", "topic", by=by, top=top, level=level)
    return table.drop(columns=["severity", "n_worst"])


@dataclass(frozen=True)
class Found:
    """One entry for each title that a conversation mentions."""

    titles: list[str]
    row: NDArray[np.intp]
    title: NDArray[np.intp]
    severity: NDArray[np.intp]


@dataclass(frozen=True)
class _Tally:
    """Counts by title and group (titles in rows), and of each group all conversations with insights.

    ``severity`` is the place of the worst one, -1 where none is named.
    """

    titles: list[str]
    groups: Groups
    n: NDArray[np.int64]
    n_worst: NDArray[np.int64]
    severity: NDArray[np.intp]
    rated: NDArray[np.int64]
    completed: NDArray[np.int64]
    everyone: NDArray[np.int64]
    all_rated: NDArray[np.int64]
    all_completed: NDArray[np.int64]
    example: NDArray[np.object_]


def _mentions(
    conversations: Any, mentions: Any, column: str, label: str, *, by: By, top: int | None, level: float
) -> pd.DataFrame:
    level = check_level(level)
    check_top(top)
    conversations, by = one_group_column(conversations, by)
    if mentions is None and is_remote(conversations):
        needs_long_table(conversations, column, "mentions")
    needed = ["conversation_id", *([column] if mentions is None else []), "task_completed"]
    columns = require(conversations, needed, by=by, taken=(label, "example_id", *_COLUMNS))
    optional = ["status", "has_insights", *([] if mentions is None else SIGNS_OF_INSIGHTS)]
    optional = [name for name in optional if name in names_of(conversations)]
    if mentions is not None:
        check_engines(conversations, mentions, "mentions")
    if is_remote(conversations):
        tally = _tally_there(conversations, mentions, column, by)
    else:
        frame = collect(conversations, list(dict.fromkeys([*columns, *optional])))
        frame, found = found_in(frame, mentions, column)
        tally = _tally_here(frame, found, group_rows(frame, by))
    table = _table(tally, label, level=level, top=top)
    tally.groups.name_rows(table, place=1)
    facts = {"by": by, "level": level, "n_titles": len(tally.titles), "n_judged": int(tally.everyone.sum())}
    result = with_provenance(table, conversations, column, **facts)
    if column == "issues" and not weighs(conversations):
        blank(result, [name for name in _COLUMNS if name.removesuffix("_without") in _RATED])
    return result


def weighs(conversations: Any) -> bool:
    """Whether the outcomes of conversations may be counted against their issues: not where one judgement gave both.

    In a table that says nothing of a judge both are the caller's own.
    """
    basis = basis_of(conversations)
    return basis is None or may_weigh(basis)


def found_in(frame: pd.DataFrame, mentions: Any, column: str) -> tuple[pd.DataFrame, Found]:
    """Return the conversations with insights, and what they mention: by their lists, or by a long table."""
    frame = frame[judged_rows(frame, column) if mentions is None else judged_here(frame)]
    if mentions is None:
        return frame, find_mentions(frame[column], column)
    titles, row, title, severity = read_mentions(frame["conversation_id"], mentions, column)
    return frame, _once_a_row(Found(titles, row, title, severity))


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


@dataclass(frozen=True)
class _Counted:
    """Rows with the group and the outcome of each, and for how many conversations it stands."""

    group: NDArray[np.intp]
    outcome: NDArray[np.int8]
    weight: NDArray[np.int64]


def _tally_here(frame: pd.DataFrame, found: Found, groups: Groups) -> _Tally:
    """Count the rows of a pandas table."""
    outcome = outcome_codes(frame)
    everyone = _Counted(groups.codes, outcome, np.ones(len(frame), np.int64))
    mentioned = _Counted(groups.codes[found.row], outcome[found.row], np.ones(len(found.row), np.int64))
    ids = frame["conversation_id"].to_numpy(dtype=object)[found.row]
    return _tally(found.titles, found.title, found.severity, ids, mentioned, everyone, groups)


def _tally_there(conversations: Any, mentions: Any, column: str, by: str | None) -> _Tally:
    """Count in the engine that has both tables."""
    frame = judged_there(open_table(conversations))
    keys: list[str] = [name for name in ("status", "task_completed") if name in names_of(conversations)]
    keys = [*keys, *([by] if by is not None and by not in keys else [])]
    everyone = count_by(frame.filter(nw.col(KEPT)), keys)
    found = count_mentions(frame, mentions, column, keys).sort_values(EXAMPLE)
    both = pd.concat([everyone, found], ignore_index=True)
    groups = group_rows(both, by)
    outcome, weight, size = outcome_codes(both), both[ROWS].to_numpy(np.int64), len(everyone)
    of_all = _Counted(groups.codes[:size], outcome[:size], weight[:size])
    of_found = _Counted(groups.codes[size:], outcome[size:], weight[size:])
    title, titles = pd.factorize(found[TITLE])
    severity, ids = found[SEVERITY].to_numpy(np.intp), found[EXAMPLE].to_numpy(dtype=object)
    return _tally([str(one) for one in titles], title, severity, ids, of_found, of_all, groups)


def _tally(
    titles: list[str],
    title: NDArray[np.intp],
    said: NDArray[np.intp],
    ids: NDArray[np.object_],
    mentioned: _Counted,
    everyone: _Counted,
    groups: Groups,
) -> _Tally:
    """Count mentions, each with its title, severity and conversation, the example first, and all conversations."""
    shape = (len(titles), groups.count)
    size = shape[0] * shape[1]
    cell = title * groups.count + mentioned.group

    def count(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return count_by_key(cell[which], size, mentioned.weight[which]).reshape(shape)

    def count_all(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return count_by_key(everyone.group[which], groups.count, everyone.weight[which])

    severity = np.full(size, -1)
    np.maximum.at(severity, cell, said)
    example = np.full(size, None, dtype=object)
    example[cell[::-1]] = ids[::-1]
    return _Tally(
        titles=titles,
        groups=groups,
        n=count(np.ones(len(cell), bool)),
        n_worst=count((said >= 0) & (said == severity[cell])),
        severity=severity.reshape(shape),
        rated=count(mentioned.outcome >= 2),
        completed=count(mentioned.outcome == 3),
        everyone=count_all(np.ones(len(everyone.group), bool)),
        all_rated=count_all(everyone.outcome >= 2),
        all_completed=count_all(everyone.outcome == 3),
        example=example.reshape(shape),
    )


def _table(tally: _Tally, label: str, *, level: float, top: int | None) -> pd.DataFrame:
    totals = tally.n.sum(axis=1).tolist()
    worsts = tally.severity.max(axis=1, initial=-1).tolist()
    order = sorted(range(len(totals)), key=lambda i: (-totals[i], -worsts[i], tally.titles[i]))[:top]
    shown, rated, completed = tally.n[order], tally.rated[order], tally.completed[order]
    everyone = np.broadcast_to(tally.everyone, shown.shape)
    unrated, uncompleted = tally.all_rated - rated, tally.all_completed - completed
    titles = np.repeat([tally.titles[i] for i in order], tally.groups.count)
    return pd.DataFrame(
        {
            label: pd.Series(titles, dtype="str"),
            "n": shown.ravel(),
            "total": everyone.ravel(),
            **_rate(shown, everyone, ("share", "share_low", "share_high"), level),
            "severity": pd.Categorical.from_codes(
                tally.severity[order].ravel(), categories=pd.Index(SEVERITIES), ordered=True
            ),
            "n_worst": tally.n_worst[order].ravel(),
            "n_rated": rated.ravel(),
            "completed": completed.ravel(),
            **_rate(completed, rated, ("rate", "rate_low", "rate_high"), level),
            "n_rated_without": unrated.ravel(),
            "completed_without": uncompleted.ravel(),
            **_rate(uncompleted, unrated, ("rate_without", "rate_low_without", "rate_high_without"), level),
            "example_id": pd.Series(tally.example[order].ravel(), dtype="str"),
        }
    )


def _rate(
    x: NDArray[np.int64], n: NDArray[np.int64], names: tuple[str, str, str], level: float
) -> dict[str, NDArray[np.float64]]:
    return dict(zip(names, rate_and_interval(x.ravel(), n.ravel(), level=level), strict=True))
