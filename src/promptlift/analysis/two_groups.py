"""Two groups of conversations to compare: prompts, versions, models, segments or periods; and the answer in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from promptlift.analysis.compare import compare
from promptlift.analysis.corrected import as_labelled
from promptlift.analysis.period_counts import times_of
from promptlift.analysis.periods import Span, instant
from promptlift.analysis.reading import GROUP_SEPARATOR, NO_TIME, facts_of, started, weakest_agreement
from promptlift.analysis.versions import read_versions
from promptlift.analysis.what_else import what_else
from promptlift.errors import FrameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from promptlift.analysis.corrected import Rectifier

COMPARED: Final = "compared"
_MOST_LISTED: Final = 10
_NOT_AN_EXPERIMENT: Final = (
    "This is an observation, not an experiment: users, requests and times may differ between the two as well. "
    "lift.optimize tests texts on the same simulated conversations."
)


class Parts(NamedTuple):
    """The parts of an answer, as the attributes of ``Comparison`` say."""

    sentence: str
    table: pd.DataFrame
    others: pd.DataFrame
    notes: tuple[str, ...]
    conversations: pd.DataFrame


def clear_differences(others: pd.DataFrame) -> tuple[str, ...]:
    """Return what else clearly differs, a sentence each, of the result of ``what_else``."""
    said, clear = others.attrs["promptlift"]["sentences"], others["verdict"].ne("unclear")
    return tuple(sentence for sentence, shown in zip(said, clear, strict=True) if shown)


def answer(
    table: pd.DataFrame,
    names: tuple[Any, Any],
    *,
    outcome: str,
    level: float,
    tz: str,
    by: Sequence[str] = (),
    notes: Sequence[str] = (),
    labels: Any = None,
    rectifier: Rectifier = "own",
) -> Parts:
    """Compare the second of two groups with the first, and say what else differs.

    Parameters
    ----------
    table
        Conversations with the column ``compared``.
    names
        Its two values: the control, then the variant.
    outcome, level, tz
        As for ``lift.compare``.
    by
        Columns that make the groups, which cannot split them.
    notes
        What to say beside the answer.
    labels, rectifier
        Labels of people that correct the answer, as for ``compare``.
    """
    control, variant = names
    table, labels = as_labelled(table, labels, outcome)
    about_labels: list[str] = []
    if control == variant:
        raise ValueError(f"Both are {control!r}: name two different ones to compare.")
    there = set(table[COMPARED].unique())
    missing = [str(name) for name in names if name not in there]
    if missing:
        result = compare(table.head(0), by=COMPARED, outcome=outcome, level=level, kind="completion")
        sentence = f"{variant} and {control} cannot be compared: there are no conversations of {' and '.join(missing)}."
    else:
        result = compare(
            table,
            by=COMPARED,
            outcome=outcome,
            level=level,
            control=control,
            labels=labels,
            rectifier=rectifier,
        )
        sentence, *about_labels = _sentences(result)
    is_rate = result.attrs["promptlift"]["kind"] == "completion"
    rest = table.head(0) if missing else table
    others = what_else(
        rest.drop(columns=list(by)), by=COMPARED, variant=variant, control=control,
        outcome=outcome if is_rate else "task_completed", level=level, tz=tz,
    )  # fmt: skip
    warnings = [text for text in result["warnings"] if text]
    said = (*about_labels, *notes, *warnings, *_findable(result), *([] if missing else [_NOT_AN_EXPERIMENT]))
    return Parts(sentence, result, others, said, table)


def _sentences(result: pd.DataFrame) -> list[str]:
    """Return the answer, by labels where they correct it, and then what is to be said of the other number."""
    facts = result.attrs["promptlift"]
    (said,) = facts["sentences"]
    if "uncorrected" not in facts:
        return [said]
    if result["difference_points_corrected"].isna().all():
        return [said, f"Not corrected by labels. {result['not_corrected'].iloc[0]}".rstrip()]
    return [said, f"Uncorrected, as the judge says: {facts['uncorrected']['sentences'][0]}"]


def _findable(result: pd.DataFrame) -> list[str]:
    """Return in words what could have been found where nothing was."""
    if result.empty or result["verdict"].iloc[0] != "no winner" or "smallest_findable_points" not in result:
        return []
    row = result.iloc[0]
    if not pd.isna(row.get("difference_points_corrected")):
        return []
    if pd.isna(row["smallest_findable_points"]):
        return ["Unclear does not mean equal: there are too few conversations to find a rise of any size."]
    sizes = f"with {row['n']:,} and {row['n_control']:,} conversations"
    points = f"a rise of {row['smallest_findable_points']:.0f} points"
    return [f"Unclear does not mean equal: {sizes}, {points} would be found in 8 of 10 comparisons."]


def of_prompts(tables: Sequence[pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Put the conversations of several prompts into one table."""
    parts = [table.assign(**{COMPARED: name}) for table, name in zip(tables, names, strict=True)]
    whole = pd.concat(parts, ignore_index=True)
    whole.attrs["promptlift"] = facts_of(whole) | weakest_agreement(tables)
    return whole


def of_columns(
    table: pd.DataFrame, by: Sequence[str], first: Sequence[Any], second: Sequence[Any]
) -> tuple[tuple[Any, Any], pd.DataFrame]:
    """Select the conversations that have one of two values in a column, or one of two combinations in several.

    Raises
    ------
    FrameError
        When there is no such column.
    ValueError
        When a combination has another number of values than there are columns, or no conversation has it; the message
        lists those that there are.
    """
    missing = [name for name in by if name not in table]
    if missing:
        raise FrameError(missing, list(map(str, table)), hint="by names columns of the conversations.")
    if len(first) != len(by) or len(second) != len(by):
        raise ValueError(
            f"by names {len(by)} columns, so each side needs {len(by)} values, one for each of {', '.join(by)}."
        )
    masks = [_has_values(table, by, values) for values in (first, second)]
    for values, mask in zip((first, second), masks, strict=True):
        if not mask.any():
            raise ValueError(_not_there(table, by, values))
    names = _side(first), _side(second)
    side = np.where(masks[1], 1, 0)
    named = np.array([*names, ""], dtype=object)[side]
    return names, table.assign(**{COMPARED: named})[masks[0] | masks[1]]


def _has_values(table: pd.DataFrame, by: Sequence[str], values: Sequence[Any]) -> NDArray[np.bool_]:
    found = np.ones(len(table), dtype=bool)
    for name, value in zip(by, values, strict=True):
        found &= table[name].isin([value]).to_numpy(dtype=bool, na_value=False)
    return found


def _side(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else GROUP_SEPARATOR.join(map(str, values))


def _not_there(table: pd.DataFrame, by: Sequence[str], values: Sequence[Any]) -> str:
    present = table[list(by)].dropna().drop_duplicates().astype(object).itertuples(index=False, name=None)
    shown = sorted((one[0] if len(by) == 1 else one for one in present), key=str)
    listed = ", ".join(map(repr, shown[:_MOST_LISTED])) or "no values"
    more = ", …" if len(shown) > _MOST_LISTED else ""
    asked, where = (values[0], by[0]) if len(by) == 1 else (tuple(values), f"({', '.join(by)})")
    return f"No conversation has {asked!r} in {where}. It has: {listed}{more}."


def of_versions(
    table: pd.DataFrame, versions: pd.DataFrame, first: Any, second: Any
) -> tuple[tuple[str, str], pd.DataFrame]:
    """Select the conversations that began while one of two versions of a prompt was live.

    Raises
    ------
    ValueError
        When there is no such version; the message lists those that there are.
    """
    known = read_versions(versions)
    numbers = [int(number) for number in known.table["number"]]
    spans, names = [], []
    for value in (first, second):
        text = str(value).removeprefix("v")
        if not text.isdecimal() or int(text) not in numbers:
            listed = ", ".join(f"v{number}" for number in numbers)
            raise ValueError(
                f"There is no version {value!r} of this prompt. It has: {listed}. To compare two values of a column, "
                "such as models, name it with by=."
            )
        spans.append(known.spans[numbers.index(int(text))])
        names.append(f"v{int(text)}")
    return (names[0], names[1]), _in_spans(table, spans, names)


def of_periods(
    table: pd.DataFrame, first: Any, second: Any, names: tuple[str, str] | None = None
) -> tuple[tuple[str, str], pd.DataFrame]:
    """Select the conversations that began in one of two periods, pairs of times.

    Raises
    ------
    ValueError
        When a period does not begin before it ends, or both overlap.
    """
    spans = [_span(*period) for period in (first, second)]
    if any(span.low >= span.high for span in spans):
        raise ValueError("A period is a pair of times, and must begin before it ends.")
    if max(spans[0].low, spans[1].low) < min(spans[0].high, spans[1].high):
        raise ValueError("The two periods overlap: a conversation cannot be in both.")
    called = names or (_period_name(spans[0]), _period_name(spans[1]))
    return called, _in_spans(table, spans, called)


def is_period(value: Any) -> bool:
    """Return whether a value is a pair, such as a period."""
    return isinstance(value, tuple | list) and len(value) == 2


def last_began(table: pd.DataFrame) -> pd.Timestamp | None:
    """Return when the last conversation began; None when there is none."""
    began = _began(table)
    dated = began[began != NO_TIME]
    return pd.Timestamp(int(dated.max()), unit="us", tz="UTC") if len(dated) else None


def _span(low: Any, high: Any) -> Span:
    everything = Span()
    return Span(
        everything.low if low is None else instant(low, "a period's begin"),
        everything.high if high is None else instant(high, "a period's end"),
    )


def _in_spans(table: pd.DataFrame, spans: Sequence[Span], names: Sequence[str]) -> pd.DataFrame:
    began = _began(table)
    place = np.select([span.contains(began) for span in spans], list(range(len(spans))), -1)
    place[began == NO_TIME] = -1
    named = np.array([*names, ""], dtype=object)[place]
    return table.assign(**{COMPARED: named})[place >= 0]


def _began(table: pd.DataFrame) -> NDArray[np.int64]:
    times = times_of(table)
    return started(table, times)


def _period_name(span: Span) -> str:
    low, high = span.ends
    said = [
        f"{end:%Y-%m-%d}" if end == end.normalize() else f"{end:%Y-%m-%d %H:%M}" for end in (low, high) if end
    ]
    if low is None or high is None:
        return f"{said[0]} and {'before' if low is None else 'later'}" if said else "all time"
    return " to ".join(said)
