"""Read what an analysis needs from any table: checked columns, counted rows, and the provenance of the numbers."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import (
    column_name,
    count_by,
    fetch,
    floored,
    is_remote,
    known_number,
    named,
    open_table,
    with_instant,
)
from promptlift.errors import FrameError
from promptlift.frames.columns import dtype_of
from promptlift.frames.layouts import TABLES, call_of
from promptlift.schema.basis import BASES, UNTOLD, Agreement, basis_of_analyser, weakest
from promptlift.schema.insights import Insights
from promptlift.words.figures import is_missing, known, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptlift.schema.basis import Basis

# One column that names groups, or several that name them together.
By = str | Sequence[str] | None
GROUP_SEPARATOR = " · "
NO_VALUE = "(none)"
TIMES = ("started_at", "created_at")
TICK = "_tick"
NO_TIME = np.iinfo(np.int64).min
_PARTS = ("_score_n", "_score_sum", "_score_squares")
_MOST_LISTED = 20
# Columns that an analyser fills.
JUDGED: Final = frozenset(Insights.model_fields) - {"conversation_id", "analyser", "basis", "created_at"}
# What is said beside numbers that a word list counted.
WORDS_NOTE: Final = f"Judged by a word list: whether anything is higher or lower {UNTOLD}."
SENTIMENT_NOTE: Final = (
    "Sentiment was scored by a word list: use it to rank conversations, not to compare groups."
)
_NOTES: Final = {
    "model": "As the model sees it.",
    "learned": "As the learned judge sees it.",
    "words": WORDS_NOTE,
}


@dataclass(frozen=True)
class Groups:
    """The groups of a ``by`` column: ``codes`` numbers the group of each row, ``names`` names them."""

    codes: NDArray[np.intp]
    names: pd.Series[Any] | None

    @property
    def count(self) -> int:
        """Number of groups; 1 when nothing is compared."""
        return 1 if self.names is None else len(self.names)

    def name_rows(self, table: pd.DataFrame, *, place: int = 0, each: int = 1) -> None:
        """Insert the column that names the group of each row: one group after the other, ``each`` rows of it."""
        if self.names is not None:
            group = np.arange(len(table)) // each % self.count
            table.insert(place, str(self.names.name), self.names.iloc[group].reset_index(drop=True))


def at_least(value: Any, least: int, name: str) -> int:
    """Return an argument that must be a whole number."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return number


def basis_note(facts: Mapping[str, Any]) -> str | None:
    """Return what is to be said of who judged, beside numbers; ``None`` where nothing is."""
    basis = str(facts.get("basis"))
    if basis == "words" and str(facts.get("table")).startswith("sentiment"):
        usual: Any = facts.get("usual")
        return SENTIMENT_NOTE + (
            f" The usual score is the median, {signed(usual, 2)}." if known(usual) else ""
        )
    return _NOTES.get(basis)


def agreement_of(facts: Mapping[str, Any]) -> Agreement | None:
    """Return how far labels agree with who judged, from the attributes of a result; None where there are none.

    Those that were passed, else those that are kept.
    """
    found = (facts.get("corrected") or {}).get("agreement") or facts.get("agreement")
    return Agreement(*found) if found else None


def weakest_agreement(tables: Iterable[Any]) -> dict[str, Any]:
    """Return what the attributes of several tables together say of their judges: each has to be proven."""
    found: list[Any] = [facts_of(table).get("agreement") for table in tables if len(table)]
    if not found or not all(found):
        return {}
    return {"agreement": min(found, key=lambda one: (Agreement(*one).is_proof, one[1] - one[2]))}


def names_of(table: Any) -> list[str]:
    """Return the column names of any table that narwhals accepts."""
    if isinstance(table, pd.DataFrame):
        return [str(name) for name in table.columns]
    try:
        frame = nw.from_native(table)
    except TypeError:
        raise TypeError(
            f"This needs a table (pandas, Polars, PyArrow or another that narwhals accepts), not "
            f"{type(table).__name__}. Read one with {call_of('conversations')}."
        ) from None
    return [column_name(name) for name in frame.collect_schema().names()]


def require(
    table: Any,
    columns: Sequence[str],
    *,
    of: str = "conversations",
    by: str | None = None,
    taken: Sequence[str] = (),
    hint: str | None = None,
) -> list[str]:
    """Check that a table has the columns that are needed, and that ``by`` can be a column of the result.

    Parameters
    ----------
    table
        Any table that narwhals accepts.
    columns
        Columns that must be there.
    of
        The table of the workspace that has them.
    by
        Column that names the groups, or None.
    taken
        Names of the result's own columns, which ``by`` must not be.
    hint
        What to do when a column is missing; by default which call reads it, and what it holds.

    Returns
    -------
    list of str
        The columns to read: ``columns``, and ``by`` once.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by`` is not a column name or is one of the result's own.
    """
    present = names_of(table)
    if by is not None and not isinstance(by, str):
        raise ValueError(f"by must be the name of one column, such as 'prompt_id', not {by!r}.")
    missing = [name for name in columns if name not in present]
    if missing:
        raise FrameError(missing, present, hint=_how_to_read(missing, of) if hint is None else hint)
    if by is None:
        return list(columns)
    if by not in present:
        raise FrameError(
            [by], present, hint="by must name a column of the table, such as 'prompt_id' or 'llm_model'."
        )
    if by in taken:
        raise ValueError(f"by={by!r} is also a column of the result. Rename the column of the table first.")
    return [*columns, *([] if by in columns else [by])]


def one_group_column(table: Any, by: By) -> tuple[Any, str | None]:
    """Return the table and the one column that names its groups; several columns are joined into a new one.

    The new column is called like them, ``prompt · metadata.channel``, and so are its values, ``Support · web``; a missing
    value is written ``(none)``.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by`` is neither a column name nor a list of different ones.
    """
    if by is None or isinstance(by, str):
        return table, by
    names: list[Any] = list(by) if isinstance(by, list | tuple) else []
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(
            f"by must be the name of a column, such as 'prompt', or a list of different ones, not {by!r}."
        )
    present = names_of(table)
    if missing := [name for name in names if name not in present]:
        raise FrameError(missing, present, hint="by must name columns of the table, such as 'prompt'.")
    if len(names) == 1:
        return table, names[0]
    joined = GROUP_SEPARATOR.join(names)
    frame = open_table(table)
    schema = frame.collect_schema()
    parts = [_text(named(name), schema[named(name)]) for name in names]
    whole = nw.concat_str(*parts, separator=GROUP_SEPARATOR).alias(named(joined))
    if isinstance(table, pd.DataFrame):
        count_by(frame, names)  # refuses what cannot name a group
        values = frame.select(whole).to_native().iloc[:, 0]
        return table.assign(**{joined: values}), joined
    return frame.with_columns(whole).to_native(), joined


def _text(column: str, kind: Any) -> nw.Expr:
    """Return a column as the texts that pandas makes of it; engines write true and false in small letters."""
    value = nw.col(column)
    if kind == nw.Boolean:
        value = nw.when(value).then(nw.lit("True")).otherwise(nw.when(~value).then(nw.lit("False")))
    return value.cast(nw.String()).fill_null(NO_VALUE)


def _how_to_read(missing: Sequence[str], table: str) -> str:
    """Name the call that returns missing columns, and what your own table must have in them."""
    known = {column.name: column for column in TABLES[table]}
    held = [f"{name} ({dtype_of(known[name])}): {known[name].meaning}" for name in missing if name in known]
    return " ".join([f"Read the table with {call_of(table)}.", *held])


def collect(table: Any, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of any table as a pandas DataFrame, all rows."""
    if isinstance(table, pd.DataFrame):
        return table[list(columns)]
    return fetch(open_table(table).select(*map(named, columns)))


def rows_with(table: Any, column: str, values: Sequence[Any]) -> Any:
    """Select the rows that have one of these values in a column, where the table lives."""
    if isinstance(table, pd.DataFrame):
        return table[table[column].isin(values)]
    if is_remote(table):
        table, column = open_table(table).to_native(), named(column)
    frame = nw.from_native(table)
    return (frame.filter(nw.col(column).is_in(values)) if len(values) else frame.head(0)).to_native()


def distinct(table: Any, column: str) -> list[Any]:
    """Return the different values of a column, without missing ones."""
    if isinstance(table, pd.DataFrame):
        return [value for value in table[column].unique() if not is_missing(value)]
    return list(count_by(open_table(table), [column])[column].dropna().unique())


def check_prompts(table: Any, prompt_ids: Sequence[str]) -> None:
    """Check that a table has rows of the given prompts, unless it has no rows at all.

    Raises
    ------
    ValueError
        When the table is of other prompts only; the message says of which.
    """
    present = sorted(map(str, distinct(table, "prompt_id")))
    if not present or set(present) & set(prompt_ids):
        return
    asked = " or ".join(map(repr, prompt_ids))
    near = difflib.get_close_matches(prompt_ids[0], present, n=3) or present[:_MOST_LISTED]
    more = " and others" if len(near) == _MOST_LISTED < len(present) else ""
    raise ValueError(
        f"The table has no row of prompt {asked}. Tables identify prompts by id, and this one has: "
        f"{', '.join(map(repr, near))}{more}. lift.prompts() lists the prompts with both."
    )


def count_rows(
    table: Any, columns: Sequence[str], *, times: Sequence[str] = (), span: int = 1, score: str | None = None
) -> pd.DataFrame:
    """Count the rows of a table by the values of some columns, where the table lives, in column ``_rows``.

    Parameters
    ----------
    table
        Any table that narwhals accepts.
    columns
        Columns to count by.
    times
        Time columns; the first that is not null counts, in microseconds since 1970 UTC, as column ``_tick``.
    span
        Microseconds to whose multiples the times are lowered.
    score
        Column of numbers that `score_parts` sums.
    """
    frame, keys, sums = open_table(table), list(columns), {}
    local = isinstance(table, pd.DataFrame)
    if times:
        keys.append(TICK)
        if local:
            began = started(table, times)
            unknown = began == NO_TIME
            # Numbers next to each other are counted by their place, so they are multiplied by the span below.
            whole: Any = began // span
            whole = pd.arrays.IntegerArray(whole, unknown) if unknown.any() else whole
            read = [*columns, *([score] if score is not None else [])]
            tick = pd.Series(whole, index=table.index, copy=False)
            frame = open_table(table[read].assign(**{TICK: tick}))
        else:
            frame = floored(with_instant(frame, times, TICK), TICK, span)
    if score is not None:
        frame = frame.with_columns(_value=known_number(named(score)))
        value = nw.col("_value")
        frame = frame.with_columns(_square=value * value)
        sums = dict(zip(_PARTS, (value.count(), value.sum(), nw.col("_square").sum()), strict=True))
    counted = count_by(frame, keys, **sums)
    if times and local:
        counted[TICK] *= span
    return counted


def score_parts(counted: pd.DataFrame) -> NDArray[np.float64]:
    """Return for each counted row the count of its numbers, their sum and the sum of their squares."""
    return np.asarray(counted[list(_PARTS)].to_numpy(np.float64, na_value=0.0).T)


def group_rows(frame: pd.DataFrame, by: str | None) -> Groups:
    """Assign each row to a group, in the order of the groups' values; rows without a value are the last group."""
    if by is None:
        return Groups(np.zeros(len(frame), np.intp), None)
    column = frame[by]
    try:
        codes, values = pd.factorize(column)
    except TypeError:
        raise ValueError(f"by={by!r} holds lists or other values that cannot name a group.") from None
    names = pd.Series(values, name=by).reset_index(drop=True)
    try:
        order = names.argsort().to_numpy()
    except TypeError:
        order = names.astype(str).argsort().to_numpy()
    rank = np.empty(len(names) + 1, np.intp)
    rank[order] = np.arange(len(names))
    rank[-1] = len(names)
    positions = [*order, *([len(names)] if bool((codes < 0).any()) else [])]
    return Groups(rank[codes], names.reindex(positions).reset_index(drop=True))


def count_by_key(key: NDArray[np.intp], size: int, weight: Any) -> NDArray[np.int64]:
    """Count rows by key; each row counts ``weight`` times."""
    return np.bincount(key, weights=weight, minlength=size).astype(np.int64, copy=False)


def instants(column: pd.Series[Any]) -> NDArray[np.int64]:
    """Return a time column in microseconds since 1970 UTC; the smallest integer where it is null.

    Times without a zone are UTC, as all times of the API are.

    Raises
    ------
    ValueError
        When the column does not hold times.
    """
    dtype: Any = column.dtype
    if isinstance(dtype, pd.ArrowDtype) or (pd.api.types.is_object_dtype(dtype) and column.isna().all()):
        column = pd.to_datetime(column, utc=True)
    elif dtype.kind != "M":
        raise ValueError(
            f"Column {column.name} holds {dtype}, not times. Convert it with pandas.to_datetime(…, utc=True)."
        )
    return pd.DatetimeIndex(column).as_unit("us").asi8


def started(frame: pd.DataFrame, times: Sequence[str]) -> NDArray[np.int64]:
    """Return when each conversation began, in microseconds since 1970 UTC; ``NO_TIME`` where that is unknown."""
    found = instants(frame[times[0]])
    if len(times) > 1:
        unknown = found == NO_TIME
        if unknown.any():
            found = np.where(unknown, instants(frame[times[1]]), found)
    return found


def facts_of(table: Any) -> dict[str, Any]:
    """Return what this library wrote into the attributes of a table; empty for any other table."""
    attrs = getattr(table, "attrs", None)
    facts = attrs.get("promptlift") if isinstance(attrs, dict) else None
    return facts if isinstance(facts, dict) else {}


def with_provenance(result: pd.DataFrame, source: Any, table: str, **facts: Any) -> pd.DataFrame:
    """Return a result with its attributes: its name, how it was made, and which analyser judged the conversations.

    ``analyser`` is "lexicon" (the built-in word lists), "llm", "mixed", or None where nothing says. ``rehearsal``
    is there, and true, when some of it comes from the built-in stand-in for a language model.
    """
    rehearsal = {"rehearsal": True} if is_rehearsal(source) else {}
    facts = {"analyser": _analyser(source), "basis": _basis(source), **rehearsal, **facts}
    result.attrs["promptlift"] = {"table": table, **facts}
    return result


def basis_of(source: Any, outcome: str = "task_completed") -> Basis | None:
    """Return what the values of a column rest on.

    ``task_completed`` has a basis of its own, what an analyser fills rests on that analyser, and any other column is an outcome of
    the caller's.
    """
    if outcome == "task_completed":
        return _basis(source)
    return basis_of_analyser(_analyser(source)) if outcome in JUDGED else "outcome"


def blank(table: pd.DataFrame, columns: Sequence[str]) -> None:
    """Take the values out of columns of a result that its basis cannot carry."""
    for name in columns:
        if name in table:
            column = table[name]
            missing: Any = "" if isinstance(column.dtype, pd.StringDtype) else None
            table[name] = pd.Series([missing] * len(table), table.index, dtype=_nullable(column.dtype))


def _nullable(dtype: Any) -> Any:
    """Return a dtype that can be missing; the floats and texts of a result can be already."""
    return {"b": "boolean", "i": "Int64"}.get(dtype.kind, dtype)


def _basis(source: Any) -> Basis | None:
    if "basis" in names_of(source) and (found := weakest(map(str, distinct(source, "basis")))):
        return found
    known = facts_of(source).get("basis")
    return known if known in BASES else basis_of_analyser(_analyser(source))


def is_rehearsal(source: Any) -> bool:
    """Return whether a table comes from a rehearsal, by its attributes or its column ``rehearsal``."""
    if facts_of(source).get("rehearsal") is True:
        return True
    return "rehearsal" in names_of(source) and True in distinct(source, "rehearsal")


def _analyser(source: Any) -> str | None:
    if known := facts_of(source).get("analyser"):
        return str(known)
    if "analyser" not in names_of(source):
        return None
    kinds = {str(name).partition(":")[0] for name in distinct(source, "analyser")}
    return None if not kinds else kinds.pop() if len(kinds) == 1 else "mixed"
