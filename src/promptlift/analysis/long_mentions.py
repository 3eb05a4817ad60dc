"""Long tables of issues and topics, one row a mention: read here, or joined and counted by the engine they live in."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, count_by, holds_lists, is_remote, named, open_table
from promptlift.analysis.reading import collect, names_of
from promptlift.errors import FrameError
from promptlift.schema.insights import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "EXAMPLE",
    "KEPT",
    "KEY",
    "LABELS",
    "LATEST",
    "SEVERITY",
    "SIGNS_OF_INSIGHTS",
    "TITLE",
    "check_engines",
    "count_mentions",
    "judged_here",
    "judged_there",
    "needs_long_table",
    "read_mentions",
]

# The column of a long table that names what is mentioned.
LABELS: Final = {"issues": "title", "topics": "topic"}
KEY: Final = "conversation_id"
TITLE, SEVERITY, EXAMPLE, LATEST, KEPT = "_title", "_severity", "_example", "_latest", "_kept"
# A snapshot has a conversation and its mentions in the same partition of both tables.
_PARTITION: Final = ("prompt_id", "month")
SIGNS_OF_INSIGHTS: Final = ("task_completed", "sentiment", "sentiment_score")
_SEVERITY_CODES: Final = {name: code for code, name in enumerate(SEVERITIES)} | {"critical": 2}


def needs_long_table(table: Any, column: str, argument: str) -> NoReturn:
    """Raise: an engine needs the long table, because lists are not taken apart here.

    Raises
    ------
    FrameError
        When the table has no such column either.
    ValueError
        When it has one of lists.
    """
    long = f"Pass the long table of the same engine: {argument}=snapshot.scan({column!r}, engine=…)."
    present = names_of(table)
    if column not in present:
        raise FrameError([column], present, hint=long)
    held = "lists" if holds_lists(table, column) else "values"
    raise ValueError(f"Column {column} holds {held} that would have to be read whole. {long}")


def check_engines(conversations: Any, mentions: Any, argument: str) -> None:
    """Check that two tables can be joined where they live.

    Raises
    ------
    ValueError
        When they live in different engines.
    """
    kinds = [nw.from_native(table).implementation for table in (conversations, mentions)]
    if any(map(is_remote, (conversations, mentions))) and kinds[0] is not kinds[1]:
        raise ValueError(
            f"The conversations are in {kinds[0].value}, {argument} in {kinds[1].value}. Pass tables of one engine, such as "
            "snapshot.scan('conversations', engine='duckdb') and snapshot.scan('issues', engine='duckdb')."
        )


def judged_here(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Return a mask of the conversations that have insights, where a long table tells what they mention."""
    if "has_insights" in frame:
        return frame["has_insights"].astype("boolean").fillna(value=False).to_numpy(dtype=bool)
    signs = [frame[name].notna().to_numpy(dtype=bool) for name in SIGNS_OF_INSIGHTS if name in frame]
    return np.logical_or.reduce(signs) if signs else np.ones(len(frame), bool)


def judged_there(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Mark the same conversations in an engine, in column ``_kept``."""
    present = frame.collect_schema().names()
    if "has_insights" in present:
        return frame.with_columns(nw.col("has_insights").fill_null(value=False).alias(KEPT))
    signs = [~nw.col(name).is_null() for name in SIGNS_OF_INSIGHTS if name in present]
    kept = nw.any_horizontal(*signs, ignore_nulls=True) if signs else nw.lit(value=True)
    return frame.with_columns(kept.alias(KEPT))


def _wanted(mentions: Any, column: str) -> list[str]:
    """Return the columns to read of a long table.

    Raises
    ------
    FrameError
        When one is missing.
    """
    present = names_of(mentions)
    label = LABELS[column]
    missing = [name for name in (KEY, label) if name not in present]
    if missing:
        hint = f"mentions is a long table, one row a mention: lift.{column}(prompt_id=…) or snapshot.scan({column!r})."
        raise FrameError(missing, present, hint=hint)
    return [KEY, label, *(["severity"] if "severity" in present else [])]


def read_mentions(
    ids: pd.Series[Any], mentions: Any, column: str
) -> tuple[list[str], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Read what some conversations mention from a long table.

    Returns
    -------
    tuple
        The titles; and of each mention the place of its conversation in ``ids``, of its title, and of its severity (-1 where
        there is none), in the order of the conversations.
    """
    frame = collect(mentions, _wanted(mentions, column))
    row = pd.Index(ids.astype("str")).get_indexer(pd.Index(frame[KEY].astype("str")))
    clean = _clean(frame[LABELS[column]])
    kept = np.flatnonzero((row >= 0) & (clean != "").to_numpy(dtype=bool))
    kept = kept[np.argsort(row[kept], kind="stable")]
    code, titles = pd.factorize(clean.iloc[kept])
    severity = np.full(len(kept), -1, np.intp)
    if "severity" in frame:
        said = frame["severity"].astype("str").str.lower().map(_SEVERITY_CODES)
        severity = said.to_numpy(np.float64, na_value=-1)[kept].astype(np.intp)
    return [str(title) for title in titles], row[kept], code, severity


def _clean(titles: pd.Series[Any]) -> pd.Series[Any]:
    return titles.astype("str").fillna("").str.split().str.join(" ")


def count_mentions(
    conversations: nw.LazyFrame[Any], mentions: Any, column: str, keys: Sequence[str], *, latest: str = ""
) -> pd.DataFrame:
    """Count what conversations mention, in the engine they live in; a conversation counts once for a title.

    Parameters
    ----------
    conversations
        Conversations, opened, with ``conversation_id``, the keys, and ``_kept``: whether to count them.
    mentions
        Long table of the same engine.
    column
        ``issues`` or ``topics``.
    keys
        Columns of the conversations to count by.
    latest
        Column of whole numbers; the example is the conversation with the largest. Without it the example is the one with the
        first id, because engines keep no order of rows.

    Returns
    -------
    DataFrame
        One row a title, severity and combination of the keys: ``_title``, ``_severity`` (its place, -1 where there is none),
        the keys, ``_rows``, ``_example``, and with ``latest`` its value for the example in ``_latest``.
    """
    wanted = _wanted(mentions, column)
    rows = open_table(mentions)
    found = None
    if rows.implementation.is_duckdb():
        found = _by_partition(conversations, rows, wanted, keys, latest)
    if found is None:
        found = _joined(conversations.filter(nw.col(KEPT)), rows, wanted, keys, latest)
    clean = _clean(found[TITLE])
    if (clean != found[TITLE].fillna("")).any():
        # Rare, and then different spellings of one title in one conversation must count once.
        label = named(wanted[1])
        rows = rows.with_columns(nw.col(label).str.replace_all(r"\s+", " ").str.strip_chars().alias(label))
        found = _joined(conversations.filter(nw.col(KEPT)), rows, wanted, keys, latest)
    kept = found[KEPT].astype("boolean").fillna(value=False) & found[TITLE].notna() & (found[TITLE] != "")
    found = found[kept.to_numpy(dtype=bool)].reset_index(drop=True)
    if latest:
        times, ids = ([str(one).partition("|")[end] for one in found[EXAMPLE]] for end in (0, 2))
        found = found.assign(
            **{EXAMPLE: pd.Series(ids, dtype="str"), LATEST: pd.Series(times, dtype="int64")}
        )
    return found.drop(columns=KEPT)


def _joined(
    conversations: nw.LazyFrame[Any],
    rows: nw.LazyFrame[Any],
    wanted: Sequence[str],
    keys: Sequence[str],
    latest: str,
    *,
    how: Any = "inner",
) -> pd.DataFrame:
    columns = [nw.col(KEY), nw.col(wanted[1]).alias(TITLE), _severity(wanted).alias(SEVERITY)]
    once = rows.select(*columns).group_by(KEY, TITLE).agg(nw.col(SEVERITY).max())
    own = [*dict.fromkeys([KEY, KEPT, *map(named, keys), *([latest] if latest else [])])]
    both = once.join(conversations.select(*own), on=KEY, how=how)
    example = nw.col(KEY).min()
    if latest:
        # The microseconds of our times have 16 digits, so the last text is the latest time.
        both = both.with_columns(
            _at=nw.concat_str(nw.col(latest).cast(nw.String()), nw.col(KEY), separator="|")
        )
        example = nw.col("_at").max()
    return count_by(both, [TITLE, SEVERITY, KEPT, *keys], **{EXAMPLE: example})


def _severity(wanted: Sequence[str]) -> nw.Expr:
    if "severity" not in wanted:
        return nw.lit(-1)
    said = nw.col("severity").cast(nw.String()).str.to_lowercase()
    code: nw.Expr = nw.lit(-1)
    for name, place in _SEVERITY_CODES.items():
        code = nw.when(said == name).then(nw.lit(place)).otherwise(code)
    return code


def _by_partition(
    conversations: nw.LazyFrame[Any],
    rows: nw.LazyFrame[Any],
    wanted: Sequence[str],
    keys: Sequence[str],
    latest: str,
) -> pd.DataFrame | None:
    """Join and count one partition after the other, so that memory holds one of them.

    Returns None where the tables have no partitions, or where a mention has no conversation in its own: the whole tables must
    be joined then.
    """
    present = [frame.collect_schema().names() for frame in (conversations, rows)]
    if any(name not in names for names, name in itertools.product(present, _PARTITION)):
        return None
    places = count_by(rows, _PARTITION)[list(_PARTITION)]
    if len(places) < 2 or places.isna().any(axis=None):
        return None
    found = []
    for place in places.itertuples(index=False):
        here = [nw.col(name) == value for name, value in zip(_PARTITION, place, strict=True)]
        part = _joined(conversations.filter(*here), rows.filter(*here), wanted, keys, latest, how="left")
        if part[KEPT].isna().any():
            return None
        found.append(part)
    both = pd.concat(found, ignore_index=True)
    how = {ROWS: (ROWS, "sum"), EXAMPLE: (EXAMPLE, "max" if latest else "min")}
    names = [TITLE, SEVERITY, KEPT, *dict.fromkeys(keys)]
    return both.groupby(names, dropna=False, as_index=False, observed=True).agg(**how)
