"""What conversations show under each text of a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, count_by, open_table, with_instant
from promptlift.analysis.outcomes import OUTCOMES, outcome_codes, rate_columns
from promptlift.analysis.period_counts import times_of
from promptlift.analysis.periods import Span
from promptlift.analysis.reading import (
    NO_TIME,
    blank,
    collect,
    count_by_key,
    distinct,
    facts_of,
    instants,
    names_of,
    require,
    rows_with,
    with_provenance,
)
from promptlift.schema.basis import may_tell
from promptlift.stats.differences import score_interval
from promptlift.stats.intervals import check_level, rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BEGAN = "_began"
_OPTIONAL = ("number", "version_id", "origin", "is_live", "optimization_id", "variant_id")


@dataclass(frozen=True)
class Versions:
    """The texts of one prompt in the order in which they were live.

    Attributes
    ----------
    table
        One row per text, the first one first, with every optional column.
    spans
        From when to when each was live. The first text reaches back to the first conversation when it is the one
        that the prompt was created with: logs are often imported later.
    """

    table: pd.DataFrame
    spans: tuple[Span, ...]


def prompt_timeline(conversations: Any, *, versions: Any, level: float = 0.95) -> pd.DataFrame:
    """Compute the completion rate under each text of a prompt, and its difference from the text before.

    The comparison is observational: users and their requests may have changed with the text. The rate
    by period, which the picture shows too, is ``completion_trend``.

    Parameters
    ----------
    conversations
        Conversations of one prompt: ``status``, ``task_completed`` and ``started_at`` or ``created_at``.
    versions
        Its texts, as ``lift.versions(prompt_id)`` gives them: ``created_at`` and, if there, ``number``, ``origin``,
        ``version_id``, ``is_live``, ``optimization_id``, ``variant_id``.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        One row per text, in order of time: ``number``, ``version_id``, ``origin``, ``optimization_id``, ``variant_id``,
        ``is_live``, ``live_from`` and ``live_until`` (UTC; missing where it is live still); of the conversations that
        began meanwhile ``n``, ``completed``, ``rate``, ``rate_low``, ``rate_high``, ``n_missing``,
        ``n_in_progress`` as of ``completion`` (the text that a prompt was created with has the older ones too,
        because logs are often imported later: ``attrs["promptlift"]["first_reaches_back"]``); and the ``difference`` of the rate to the text before in percentage
        points with the interval of Miettinen and Nurminen, ``difference_low``, ``difference_high``.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When the conversations are of several prompts, or ``level`` cannot be used.
    """
    level = check_level(level)
    known = read_versions(versions)
    require(conversations, ["status", "task_completed"])
    times = times_of(conversations)
    frame = with_instant(open_table(of_one_prompt(conversations, versions)), times, _BEGAN)
    counts = np.array([_counts(frame, span) for span in known.spans], np.int64).reshape(-1, len(OUTCOMES))
    rates = rate_columns(counts, level)
    n, done = rates["n"], rates["completed"]
    n_before, done_before = (np.r_[0, one[:-1]][: len(counts)] for one in (n, done))
    low, high = score_interval(done, n, done_before, n_before, level=level)
    texts = known.table
    table = pd.DataFrame(
        {
            **{name: texts[name] for name in _OPTIONAL},
            "live_from": texts["created_at"],
            "live_until": texts["created_at"].shift(-1),
            **rates,
            "difference": 100 * (rate(done, n) - rate(done_before, n_before)),
            "difference_low": 100 * low,
            "difference_high": 100 * high,
        }
    )
    facts = {
        "by": None,
        "level": level,
        "n_undated": int(count_by(frame.filter(nw.col(_BEGAN).is_null()), [])[ROWS].iloc[0]),
        "first_reaches_back": bool(known.spans) and known.spans[0].low == Span().low,
    }
    result = with_provenance(table, conversations, "prompt_timeline", **facts)
    if not may_tell(facts_of(result)["basis"]):
        blank(result, ("difference", "difference_low", "difference_high"))
    return result


def _counts(frame: nw.LazyFrame[Any], span: Span) -> NDArray[np.int64]:
    """Count the outcomes of the conversations that began in a span of time, in the order of ``OUTCOMES``."""
    inside = (nw.col(_BEGAN) >= span.low) & (nw.col(_BEGAN) < span.high)
    counted = count_by(frame.filter(inside), ["status", "task_completed"])
    return count_by_key(
        outcome_codes(counted).astype(np.intp), len(OUTCOMES), counted[ROWS].to_numpy(np.int64)
    )


def read_versions(versions: Any) -> Versions:
    """Read the texts of one prompt in order of time.

    Raises
    ------
    FrameError
        When ``created_at`` is missing.
    ValueError
        When the texts are of several prompts, or have no times.
    """
    require(versions, ["created_at"], of="versions")
    present = names_of(versions)
    if "prompt_id" in present and len(distinct(versions, "prompt_id")) > 1:
        raise ValueError("versions are of several prompts. Read those of one: lift.versions(prompt_id).")
    table = collect(versions, ["created_at", *[name for name in _OPTIONAL if name in present]])
    at = instants(table["created_at"])
    if (at == NO_TIME).any():
        raise ValueError(
            "Column created_at of versions has rows without a time, so their order is not known."
        )
    table = table.assign(created_at=pd.DatetimeIndex(at.view("datetime64[us]"), tz="UTC"))
    for name in _OPTIONAL:
        if name not in table:
            table[name] = pd.Series(pd.NA, index=table.index, dtype="str")
    by = ["created_at", "number"] if "number" in present else ["created_at"]
    table = table.sort_values(by, kind="stable").reset_index(drop=True)
    if "number" not in present:
        table["number"] = pd.Series(np.arange(1, len(table) + 1), dtype="Int64")
    starts = np.sort(at).tolist()
    ends = [*starts[1:], Span().high] if starts else []
    spans = [Span(low, high) for low, high in zip(starts, ends, strict=True)]
    if spans and _is_first(table.iloc[0]):
        spans[0] = Span(high=spans[0].high)
    return Versions(table, tuple(spans))


def _is_first(text: pd.Series[Any]) -> bool:
    """Return whether it is the text that the prompt was created with."""
    if pd.notna(text["origin"]):
        return bool(text["origin"] == "created")
    return bool(pd.notna(text["number"]) and text["number"] == 1)


def of_one_prompt(conversations: Any, versions: Any) -> Any:
    """Return the conversations of the prompt that texts belong to.

    Parameters
    ----------
    conversations
        Table of conversations.
    versions
        Table of texts, which may say their prompt in a column ``prompt_id`` or in its attributes.

    Raises
    ------
    ValueError
        When the conversations are of several prompts and nothing says which one is meant.
    """
    if "prompt_id" not in names_of(conversations):
        return conversations
    if (prompt := _prompt_of(versions)) is not None:
        return rows_with(conversations, "prompt_id", [prompt])
    found = distinct(conversations, "prompt_id")
    if len(found) > 1:
        raise ValueError(
            f"The conversations are of {len(found):,} prompts, the texts of one. Select those of one prompt: "
            "conversations[conversations['prompt_id'] == '…']."
        )
    return conversations


def _prompt_of(table: Any) -> str | None:
    """Return the one prompt that a table belongs to, by its column or its attributes."""
    if "prompt_id" in names_of(table):
        found = distinct(table, "prompt_id")
        return str(found[0]) if len(found) == 1 else None
    filters = facts_of(table).get("filters")
    prompt = filters.get("prompt_id") if isinstance(filters, dict) else None
    return prompt if isinstance(prompt, str) else None
