"""What conversations mention: their issues and topics, how often, and how tasks fared with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, count_by, is_remote, named, open_table
from promptlift.analysis.long_mentions import (
    EXAMPLE,
    KEY,
    LABELS,
    LATEST,
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
    at_least,
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

ANY_ISSUE: Final = "(any issue)"

_RATED = ("n_rated", "completed", "rate", "rate_low", "rate_high")
_COLUMNS = (
    "n", "total", "share", "share_low", "share_high", "severity", "n_worst", *_RATED, *(f"{name}_without"
    for name in _RATED),
)  # fmt: skip


def issues(
    conversations: Any, *, mentions: Any = None, by: By = None, top: int | None = 10, level: float = 0.95
) -> pd.DataFrame:
    """Count the issues that conversations had, the most frequent first, with Wilson's intervals.

    A conversation counts once per issue. That tasks fail more often with an issue does not prove that it is the cause.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``issues`` (a list of ``{"title", "severity"}`` for each conversation),
        ``task_completed`` and, if there, ``status`` and ``has_insights``.
    mentions
        The issues as a long table, one row per mention, such as ``frames.issues_table(df)`` gives, instead of the lists; needed where an
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
        One row per issue (and group): ``issue``, ``by`` if given, ``n`` conversations with it, ``total`` with
        insights, ``share``, ``share_low``, ``share_high``; ``severity``, the worst one named, in ``n_worst`` of the
        ``n`` conversations; then of ended
        conversations with it ``n_rated``, ``completed``, ``rate``, ``rate_low``, ``rate_high``, and the same
        of those without it, ending in ``_without``; ``example_id``, the first conversation that has it (in an engine, which
        keeps no order, the one with the first id).
        Rates and shares are fractions, NaN where nothing was counted. ``attrs["promptlift"]`` has ``n_titles``,
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
        The topics as a long table, such as ``frames.topics_table(df)`` gives, instead of the lists; needed where an engine (DuckDB,
        Spark) has the conversations, and in the same engine.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together. Each topic then has a row for every group.
    top
        How many topics to return; None returns all.
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
class Mentioned:
    """Conversations with insights, and what they mention: rows that count for ``_rows`` conversations each.

    Both tables have the columns that were counted by. ``found`` also has ``_title``, ``_severity`` (its place, -1 where there is
    none) and ``_example``, the id of a conversation.
    """

    everyone: pd.DataFrame
    found: pd.DataFrame


def count_mentioned(
    table: Any,
    mentions: Any,
    column: str,
    keys: Sequence[str],
    *,
    alike: bool = False,
    latest: str = "",
) -> Mentioned:
    """Count what conversations mention by some columns, where the table lives; a conversation counts once for a title.

    Parameters
    ----------
    table
        Conversations with their lists, or with a long table.
    mentions
        The long table, or None.
    column
        ``issues`` or ``topics``.
    keys
        Columns of the conversations to count by.
    alike
        Whether all issues have one title, ``(any issue)``.
    latest
        Column of an engine by which the mentions are ordered; otherwise by id. Those of a pandas table keep its order.
    """
    keys = list(dict.fromkeys(keys))
    if is_remote(table):
        frame = judged_there(open_table(table))
        everyone = count_by(frame, keys)
        long = _all_alike(mentions) if alike else mentions
        counted = count_mentions(frame, long, column, keys, latest=latest)
        return Mentioned(everyone, counted.sort_values(LATEST if latest else EXAMPLE))
    needed = [*keys, KEY, "has_insights", *([column] if mentions is None else SIGNS_OF_INSIGHTS)]
    present = names_of(table)
    read = collect(table, [name for name in dict.fromkeys(needed) if name in present])
    judged, found = found_in(read, mentions, column)
    if alike:
        found = _once_a_row(Found([ANY_ISSUE], found.row, np.zeros_like(found.title), found.severity))
    # Without ids a mention has no example.
    ids = judged[KEY] if KEY in judged else pd.Series(None, judged.index, dtype=object)
    everyone = judged[keys].assign(**{ROWS: 1})
    titles = pd.Categorical.from_codes(found.title, categories=pd.Index(found.titles, dtype="str"))
    told: dict[str, Any] = {
        TITLE: titles,
        SEVERITY: found.severity,
        EXAMPLE: ids.to_numpy(object)[found.row],
    }
    return Mentioned(everyone, everyone.iloc[found.row].assign(**told))


def _all_alike(mentions: Any) -> Any:
    """Return a long table of issues in which all have one title."""
    label = named(LABELS["issues"])
    frame = nw.from_native(mentions)
    told = ~nw.col(label).is_null() & (nw.col(label).cast(nw.String()).str.strip_chars() != "")
    return frame.filter(told).with_columns(nw.lit(ANY_ISSUE).alias(label)).to_native()


def _mentions(
    conversations: Any, mentions: Any, column: str, label: str, *, by: By, top: int | None, level: float
) -> pd.DataFrame:
    level = check_level(level)
    check_top(top)
    conversations, by = one_group_column(conversations, by)
    if mentions is None and is_remote(conversations):
        needs_long_table(conversations, column)
    needed = [KEY, *([column] if mentions is None else []), "task_completed"]
    require(conversations, needed, by=by, taken=(label, "example_id", *_COLUMNS))
    if mentions is not None:
        check_engines(conversations, mentions, "mentions")
    counted = count_mentioned(
        conversations, mentions, column, [*_outcome_of(conversations), *([by] if by else [])]
    )
    table, n_titles = _table(counted, label, by, level=level, top=top)
    facts = {"by": by, "level": level, "n_titles": n_titles, "n_judged": int(counted.everyone[ROWS].sum())}
    result = with_provenance(table, conversations, column, **facts)
    if column == "issues":
        _blank_rates(result, conversations)
    return result


def any_issue(conversations: Any, mentions: Any, *, level: float) -> pd.DataFrame:
    """Count the conversations that have any issue at all, in a row as `issues` returns for one."""
    counted = count_mentioned(conversations, mentions, "issues", _outcome_of(conversations), alike=True)
    table, _ = _table(counted, "issue", None, level=level, top=1, titles=[ANY_ISSUE])
    _blank_rates(table, conversations)
    return table


def _outcome_of(conversations: Any) -> list[str]:
    return [name for name in ("status", "task_completed") if name in names_of(conversations)]


def _blank_rates(table: pd.DataFrame, conversations: Any) -> None:
    if not weighs(conversations):
        blank(table, [name for name in _COLUMNS if name.removesuffix("_without") in _RATED])


def weighs(conversations: Any) -> bool:
    """Return whether the outcomes of conversations may be counted against their issues: not where one judgement gave both.

    In a table that says nothing of a judge both are the caller's own.
    """
    basis = basis_of(conversations)
    return basis is None or may_weigh(basis)


def found_in(frame: pd.DataFrame, mentions: Any, column: str) -> tuple[pd.DataFrame, Found]:
    """Return the conversations with insights, and what they mention: by their lists, or by a long table."""
    frame = frame[_judged_rows(frame, column) if mentions is None else judged_here(frame)]
    if mentions is None:
        return frame, find_mentions(frame[column], column)
    titles, row, title, severity = read_mentions(frame["conversation_id"], mentions, column)
    return frame, _once_a_row(Found(titles, row, title, severity))


def check_top(top: int | None) -> None:
    """Check that ``top`` is a number of titles, or None for all."""
    if top is not None:
        at_least(top, 1, "top")


def _judged_rows(frame: pd.DataFrame, column: str) -> NDArray[np.bool_]:
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
    rows: list[tuple[int, str, int]] = []
    for row, cell in enumerate(cells.to_numpy(dtype=object)):
        if isinstance(cell, str | bytes | Mapping) or not isinstance(cell, Iterable):
            raise ValueError(  # noqa: TRY004  (a value of the table, not an argument)
                f"Column {column} must hold a list for each conversation, not {type(cell).__name__}."
            )
        rows += [(row, title, severity) for title, severity in map(_title, cell) if title]
    found = pd.DataFrame(rows, columns=["row", "title", "severity"])
    code, titles = pd.factorize(found["title"])
    places, severities = (found[name].to_numpy(np.intp) for name in ("row", "severity"))
    return _once_a_row(Found([str(title) for title in titles], places, code, severities))


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
    counted: Mentioned,
    label: str,
    by: str | None,
    *,
    level: float,
    top: int | None,
    titles: Sequence[str] = (),
) -> tuple[pd.DataFrame, int]:
    """Return the most frequent titles by group, and how many there are; ``titles`` where they are known before."""
    found, size = counted.found, len(counted.everyone)
    both = pd.concat([counted.everyone, found[list(counted.everyone)]], ignore_index=True)
    groups, outcome, weight = group_rows(both, by), outcome_codes(both), both[ROWS].to_numpy(np.int64)
    title, different = pd.factorize(found[TITLE])
    titles = list(titles) or list(map(str, different))
    shape = (len(titles), groups.count)
    cell = title * groups.count + groups.codes[size:]
    said = found[SEVERITY].to_numpy(np.intp)

    def count(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return count_by_key(cell[which], shape[0] * shape[1], weight[size:][which]).reshape(shape)

    def count_all(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return count_by_key(groups.codes[:size][which], groups.count, weight[:size][which])

    severity = np.full(shape[0] * shape[1], -1)
    np.maximum.at(severity, cell, said)
    example = np.full(len(severity), None, dtype=object)
    example[cell[::-1]] = found[EXAMPLE].to_numpy(dtype=object)[::-1]
    n = count(np.ones(len(cell), bool))
    totals, worsts = n.sum(axis=1).tolist(), severity.reshape(shape).max(axis=1, initial=-1).tolist()
    order = sorted(range(len(titles)), key=lambda i: (-totals[i], -worsts[i], titles[i]))[:top]
    shown = n[order]
    everyone = np.broadcast_to(count_all(np.ones(size, bool)), shown.shape)
    rated, completed = count(outcome[size:] >= 2)[order], count(outcome[size:] == 3)[order]
    unrated = count_all(outcome[:size] >= 2) - rated
    uncompleted = count_all(outcome[:size] == 3) - completed
    table = pd.DataFrame(
        {
            label: pd.Series(np.repeat([titles[i] for i in order], groups.count), dtype="str"),
            "n": shown.ravel(),
            "total": everyone.ravel(),
            **_rate(shown, everyone, ("share", "share_low", "share_high"), level),
            "severity": pd.Categorical.from_codes(
                severity.reshape(shape)[order].ravel(), categories=pd.Index(SEVERITIES), ordered=True
            ),
            "n_worst": count((said >= 0) & (said == severity[cell]))[order].ravel(),
            "n_rated": rated.ravel(),
            "completed": completed.ravel(),
            **_rate(completed, rated, ("rate", "rate_low", "rate_high"), level),
            "n_rated_without": unrated.ravel(),
            "completed_without": uncompleted.ravel(),
            **_rate(uncompleted, unrated, ("rate_without", "rate_low_without", "rate_high_without"), level),
            "example_id": pd.Series(example.reshape(shape)[order].ravel(), dtype="str"),
        }
    )
    groups.name_rows(table, place=1)
    return table, len(titles)


def _rate(
    x: NDArray[np.int64], n: NDArray[np.int64], names: tuple[str, str, str], level: float
) -> dict[str, NDArray[np.float64]]:
    return dict(zip(names, rate_and_interval(x.ravel(), n.ravel(), level=level), strict=True))
