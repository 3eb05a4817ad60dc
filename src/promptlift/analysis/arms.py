"""The arms of a comparison: the variant of each row, its outcome, and the items that form pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, is_remote
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.reading import collect, count_rows, group_rows, names_of, require
from promptlift.schema.insights import SENTIMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Kind = Literal["completion", "score", "label"]

# Names of a control, the first found counts.
CONTROL_NAMES = ("control", "original", "baseline")
_LABELS_MAX = 20
_NUMERIC = ("boolean", "integer", "floating", "mixed-integer-float", "decimal", "empty")
_HINT = (
    "by is the column of the variant, outcome the column of the result, and pair the column of the item "
    "(task, persona, question)."
)


@dataclass(frozen=True)
class Arms:
    """A table read for a comparison.

    Attributes
    ----------
    names
        Variants in the order of their values.
    control
        Place of the control in ``names``; None without rows.
    group
        Variant of each row: its place in ``names``.
    value
        Outcome of each row as a number, NaN where it is missing; the place in ``labels`` for labels.
    item
        Item of each row, -1 where it is missing; None when nothing is paired.
    n_items
        Different items.
    kind
        What the outcome is.
    labels
        The labels, sentiments from worst to best; empty for numbers.
    n_without_variant, n_without_item
        Rows that belong to no variant, to no item.
    """

    names: pd.Series[Any]
    control: int | None
    group: NDArray[np.intp]
    value: NDArray[np.float64]
    item: NDArray[np.intp] | None
    n_items: int
    kind: Kind
    labels: tuple[str, ...]
    n_without_variant: int
    n_without_item: int

    @property
    def others(self) -> list[int]:
        """Places in ``names`` of all variants but the control."""
        return [place for place in range(len(self.names)) if place != self.control]

    @property
    def ordered(self) -> bool:
        """Whether the labels are sentiments, which have an order."""
        return self.labels == SENTIMENTS


def read_arms(
    data: Any,
    *,
    by: str | None,
    pair: str | Sequence[str] | None,
    outcome: str,
    control: Any,
    kind: Kind | None,
) -> Arms:
    """Read a table of any engine for a comparison; see ``compare`` for the parameters."""
    pairs = _pair_columns(pair)
    if by is None:
        raise ValueError("by must be the name of the column of the variant, not None.")
    wanted = [by, outcome, *pairs]
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"by, outcome and pair must be different columns, not {', '.join(wanted)}.")
    columns = require(data, [outcome, *pairs], by=by, hint=_HINT)
    # Conversations in progress are not counted, as in every rate of task completion.
    if outcome == "task_completed" and "status" in names_of(data) and "status" not in columns:
        columns.append("status")
    # What an engine has and nothing pairs comes as different rows and how often there are.
    counted = is_remote(data) and not pairs
    frame = count_rows(data, columns) if counted else collect(data, columns).assign(**{ROWS: 1})
    known = frame[by].notna().to_numpy(dtype=bool)
    without = int(frame[ROWS][~known].sum())
    frame = frame[known]
    groups = group_rows(frame, by)
    names = pd.Series(groups.names, name="variant")
    found, value, labels = _outcome(frame, outcome, kind)
    times = frame[ROWS].to_numpy(np.int64)
    group, value = np.repeat(groups.codes, times), np.repeat(value, times)
    item = _items(frame, pairs) if pairs else None
    return Arms(
        names=names,
        control=_control(names, np.bincount(group, minlength=len(names)), control, by),
        group=group,
        value=value,
        item=item,
        n_items=int(item.max()) + 1 if item is not None and len(item) else 0,
        kind=found,
        labels=labels,
        n_without_variant=without,
        n_without_item=int((item < 0).sum()) if item is not None else 0,
    )


def _pair_columns(pair: str | Sequence[str] | None) -> list[str]:
    columns = [] if pair is None else [pair] if isinstance(pair, str) else list(pair)
    if pair is not None and (not columns or not all(isinstance(name, str) for name in columns)):
        raise ValueError(f"pair must be the name of a column, or a list of names, not {pair!r}.")
    return columns


def _items(frame: pd.DataFrame, pairs: list[str]) -> NDArray[np.intp]:
    """Assign each row to an item; -1 where a part of an item's name is missing."""
    codes = np.zeros(len(frame), np.intp)
    for name in pairs:
        try:
            part, values = pd.factorize(frame[name])
        except TypeError:
            raise ValueError(f"pair={name!r} holds lists or other values that cannot name an item.") from None
        joined = np.where((codes < 0) | (part < 0), -1, codes * max(len(values), 1) + part)
        # Numbered anew after each column, so that the numbers stay small.
        _, dense = np.unique(joined[joined >= 0], return_inverse=True)
        codes = np.full(len(frame), -1, np.intp)
        codes[joined >= 0] = dense
    return codes


def _control(names: pd.Series[Any], sizes: NDArray[Any], control: Any, by: str) -> int | None:
    if not len(names):
        return None
    listed = ", ".join(repr(name) for name in names.iloc[:10].tolist()) + (", …" if len(names) > 10 else "")
    places = [place for place, name in enumerate(names.tolist()) if name == control]
    if control is not None and not places:
        raise ValueError(f"control={control!r} is not a value of {by}. It has: {listed}.")
    if len(names) == 1:
        raise ValueError(f"{by} has only one value, {listed}. A comparison needs two or more.")
    if control is not None:
        return places[0]
    said: dict[str, int] = {
        str(name).strip().lower(): place for place, name in reversed([*enumerate(names.tolist())])
    }
    for name in CONTROL_NAMES:
        if name in said:
            return said[name]
    return int(sizes.argmax())


def _outcome(
    frame: pd.DataFrame, name: str, kind: Kind | None
) -> tuple[Kind, NDArray[np.float64], tuple[str, ...]]:
    if kind not in (None, "completion", "score", "label"):
        raise ValueError(f"kind must be 'completion', 'score', 'label' or None, not {kind!r}.")
    column = frame[name]
    numbers = None if kind == "label" else _numbers(column)
    if kind is None:
        kind = _kind(column, numbers)
        if kind == "label" and name == "task_completed":
            raise ValueError(
                f"Column task_completed holds {column.dtype}, not true and false. Convert it to 'boolean' first."
            )
    if kind == "label":
        return (kind, *_labels(column, name))
    if numbers is None:
        raise ValueError(
            f"Column {name} holds {column.dtype}, not numbers or true and false, so it cannot be compared as "
            f"{kind}. Convert it first, or leave kind out."
        )
    if np.isinf(numbers).any():
        raise ValueError(f"Column {name} holds infinite numbers. Replace them, or leave these rows out.")
    if kind == "completion":
        if not np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0)).all():
            raise ValueError(
                f"Column {name} holds numbers other than 0 and 1, so it is not a completion. Use kind='score'."
            )
        if name == "task_completed" and "status" in frame:
            running = outcome_codes(frame.assign(task_completed=pd.array(numbers == 1.0))) == 0
            numbers = np.where(running, np.nan, numbers)
    return kind, numbers, ()


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64] | None:
    """Return the column as float64 with NaN, or None where it holds something else."""
    dtype: Any = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise ValueError(
            f"Column {column.name} holds times. Compare a number, such as seconds, true and false, or labels."
        )
    if isinstance(dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if pd.api.types.is_object_dtype(column.dtype):
        if pd.api.types.infer_dtype(column, skipna=True) not in _NUMERIC:
            return None
        column = column.where(column.notna(), np.nan)
    elif not (pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype)):
        return None
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _kind(column: pd.Series[Any], numbers: NDArray[np.float64] | None) -> Kind:
    if numbers is None:
        return "label"
    known = numbers[~np.isnan(numbers)]
    if pd.api.types.is_bool_dtype(column.dtype) or column.name == "task_completed":
        return "completion"
    if pd.api.types.is_object_dtype(column.dtype) and not len(known):
        return "completion"
    return "completion" if len(known) and np.isin(known, (0.0, 1.0)).all() else "score"


def _labels(column: pd.Series[Any], name: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    try:
        codes, values = pd.factorize(column)
    except TypeError:
        raise ValueError(f"Column {name} holds lists or other values that are not an outcome.") from None
    texts = [str(value) for value in values]
    if len(texts) > _LABELS_MAX:
        raise ValueError(
            f"Column {name} holds {len(texts):,} different texts. An outcome is true or false, a number, or "
            f"one of at most {_LABELS_MAX} labels."
        )
    labels = SENTIMENTS if set(texts) <= set(SENTIMENTS) else tuple(sorted(texts))
    places = np.array([labels.index(text) for text in texts] + [np.nan], np.float64)
    return places[codes], labels


def items_of(arms: Arms, place: int, *, by: str | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the outcome of each item in one variant, and which items it has at all.

    Parameters
    ----------
    arms
        The table.
    place
        Of the variant.
    by
        Column of the variants, for the message.

    Raises
    ------
    ValueError
        When an item has several outcomes.
    """
    item = arms.item if arms.item is not None else np.full(len(arms.group), -1)
    mine = (arms.group == place) & (item >= 0)
    there = np.zeros(arms.n_items, bool)
    there[item[mine]] = True
    known = mine & ~np.isnan(arms.value)
    counts = np.bincount(item[known], minlength=arms.n_items)
    if (counts > 1).any():
        often = int((counts > 1).sum())
        raise ValueError(
            f"{often} of {int(there.sum())} items have more than one outcome in {by} {arms.names.iloc[place]!r} "
            f"(up to {int(counts.max())}). Repeats of one item are not independent pairs. Name all columns that "
            "make an item, such as pair=['persona', 'scenario'], or keep one trial of each."
        )
    outcomes = np.full(arms.n_items, np.nan)
    outcomes[item[known]] = arms.value[known]
    return outcomes, there
