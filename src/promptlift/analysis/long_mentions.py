"""Long tables of issues and topics, one row per mention: read into memory, or joined and counted by their engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import count_by, is_remote, named, open_table
from promptlift.analysis.reading import collect, names_of
from promptlift.errors import FrameError
from promptlift.schema.insights import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# The column of a long table that names what is mentioned.
LABELS: Final = {"issues": "title", "topics": "topic"}
KEY: Final = "conversation_id"
TITLE, SEVERITY, EXAMPLE, LATEST = "_title", "_severity", "_example", "_latest"
SIGNS_OF_INSIGHTS: Final = ("task_completed", "sentiment", "sentiment_score")
_SEVERITY_CODES: Final = {name: code for code, name in enumerate(SEVERITIES)} | {"critical": 2}


def needs_long_table(table: Any, column: str) -> NoReturn:
    """Raise: an engine needs the long table, because lists are not taken apart here.

    Raises
    ------
    FrameError
        When the table has no such column either.
    ValueError
        When it has one of lists.
    """
    long = f"Pass the long table of the same engine: mentions=snapshot.scan({column!r}, engine=…)."
    present = names_of(table)
    if column not in present:
        raise FrameError([column], present, hint=long)
    kind = nw.from_native(table).collect_schema()[column]
    held = "lists" if isinstance(kind, nw.List | nw.Array | nw.Struct) else "values"
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
    """Select the same conversations in an engine."""
    present = frame.collect_schema().names()
    if "has_insights" in present:
        return frame.filter(nw.col("has_insights").fill_null(value=False))
    signs = [~nw.col(name).is_null() for name in SIGNS_OF_INSIGHTS if name in present]
    return frame.filter(nw.any_horizontal(*signs, ignore_nulls=True)) if signs else frame


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
        hint = f"mentions is a long table, one row per mention: frames.{column}_table(conversations) or snapshot.scan({column!r})."
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
    clean = frame[LABELS[column]].astype("str").fillna("").str.split().str.join(" ")
    kept = np.flatnonzero((row >= 0) & (clean != "").to_numpy(dtype=bool))
    kept = kept[np.argsort(row[kept], kind="stable")]
    code, titles = pd.factorize(clean.iloc[kept])
    severity = np.full(len(kept), -1, np.intp)
    if "severity" in frame:
        said = frame["severity"].astype("str").str.lower().map(_SEVERITY_CODES)
        severity = said.to_numpy(np.float64, na_value=-1)[kept].astype(np.intp)
    return [str(title) for title in titles], row[kept], code, severity


def count_mentions(
    conversations: nw.LazyFrame[Any], mentions: Any, column: str, keys: Sequence[str], *, latest: str = ""
) -> pd.DataFrame:
    """Count what conversations mention, in the engine they live in; a conversation counts once for a title.

    Parameters
    ----------
    conversations
        Conversations, opened, with ``conversation_id`` and the keys.
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
        One row per title, severity and combination of the keys: ``_title``, ``_severity`` (its place, -1 where there is none),
        the keys, ``_rows``, ``_example``, and with ``latest`` its value for the example in ``_latest``.
    """
    wanted = _wanted(mentions, column)
    title = nw.col(named(wanted[1])).str.replace_all(r"\s+", " ").str.strip_chars().alias(TITLE)
    told = open_table(mentions).select(KEY, title, _severity(wanted).alias(SEVERITY))
    once = told.filter(nw.col(TITLE) != "").group_by(KEY, TITLE).agg(nw.col(SEVERITY).max())
    own = dict.fromkeys([KEY, *map(named, keys), *([latest] if latest else [])])
    both = once.join(conversations.select(*own), on=KEY, how="inner")
    example = nw.col(KEY).min()
    if latest:
        # The microseconds of our times have 16 digits, so the last text is the latest time.
        at = nw.concat_str(nw.col(latest).cast(nw.String()), nw.col(KEY), separator="|")
        both, example = both.with_columns(_at=at), nw.col("_at").max()
    found = count_by(both, [TITLE, SEVERITY, *keys], **{EXAMPLE: example})
    if latest:
        times, ids = ([str(one).partition("|")[end] for one in found[EXAMPLE]] for end in (0, 2))
        found[EXAMPLE], found[LATEST] = pd.Series(ids, dtype="str"), pd.Series(times, dtype="int64")
    return found


def _severity(wanted: Sequence[str]) -> nw.Expr:
    if "severity" not in wanted:
        return nw.lit(-1)
    said = nw.col("severity").cast(nw.String()).str.to_lowercase()
    code: nw.Expr = nw.lit(-1)
    for name, place in _SEVERITY_CODES.items():
        code = nw.when(said == name).then(nw.lit(place)).otherwise(code)
    return code
