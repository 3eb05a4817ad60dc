"""Which conversations fail more often: every value of every column compared with the rest."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.corrected import as_labelled, segment_columns
from promptlift.analysis.engines import is_remote
from promptlift.analysis.period_counts import times_of
from promptlift.analysis.periods import check_zone, zone_name
from promptlift.analysis.reading import (
    agreement_of,
    basis_of,
    blank,
    collect,
    names_of,
    require,
    with_provenance,
)
from promptlift.analysis.segment_columns import HOUR, Segment, Split, unused
from promptlift.analysis.segment_readers import Reader
from promptlift.analysis.segment_rows import judged_outcomes
from promptlift.analysis.sentences import segment_in_words, segment_sentence
from promptlift.analysis.verdicts import judge_facts, read_outcome
from promptlift.errors import FrameError
from promptlift.schema.basis import LABELS_OF_A_PROOF, UNTOLD, as_seen_by, may_say_clearly, may_tell
from promptlift.schema.metadata import METADATA_PREFIX, SCORE_PREFIX
from promptlift.stats.differences import FEWEST, design_effect, score_interval, score_test_p
from promptlift.stats.intervals import check_level, rate_and_interval
from promptlift.stats.multiplicity import holm
from promptlift.stats.planning import findable_points_unpaired
from promptlift.words.figures import counted, figures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    from numpy.typing import NDArray

COLUMNS: Final = (
    "column", "segment", "verdict", "difference_points", "difference_points_low", "difference_points_high", "n",
    "completed", "rate", "rate_low", "rate_high", "n_rest", "rate_rest", "p", "p_holm", "smallest_findable_points",
    "n_merged",
)  # fmt: skip
CONTRAST: Final = ("difference_points", "difference_points_low", "difference_points_high")
_TEXTS: Final = ("column", "segment", "verdict")
_INTEGERS: Final = ("n", "completed", "n_rest", "n_merged")

# What the analyser says of a conversation beside its outcome, and texts and states that are no segments.
_LEFT_OUT: Final = frozenset(
    (
        "task_completed", "status", "has_insights", "sentiment", "sentiment_score", "quality", "issues", "summary",
        "content", "title", "insights_error", "analyser", "basis", "completion_chance", "rehearsal",
    )
)  # fmt: skip


# Of columns that say the same, the first is named.
_PLAINEST: Final = (
    "prompt", "llm_model", "topics", "n_turns", "tool_calls", "tool_errors", "duration_s", "tokens", "input_tokens",
    "output_tokens", "latency_ms", "cost",
)  # fmt: skip
# unspecified: from which rank correlation of their quartiles on two columns of numbers say the same. Turns and calls of tools of three
# agents have 0.75 to 0.84 (0.86 to 0.91 without bins).
_SAME_RANKS: Final = 0.7
# unspecified: how much pairs may gain at most; a smaller variance of few tasks is chance.
_LEAST_EFFECT: Final = 0.5
_UNPROVEN: Final = f"At least {LABELS_OF_A_PROOF} labels (analysis.label_plan, labels=) can."
_TASK: Final = re.compile(r"task([_-]?id)?", re.IGNORECASE)
_OF_SNAPSHOTS: Final = ("month", "position")
_OF_VERDICTS: Final = ("judge", "judge_version", "reason", "problem")


def segments(
    conversations: Any,
    *,
    outcome: str = "task_completed",
    topics: Any = None,
    by: str | Sequence[str] | None = None,
    pairs: bool | Sequence[tuple[str, str]] = False,
    tz: str | tzinfo = "UTC",
    labels: Any = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Find what failures have in common: a model, channel, topic, length, hour, tool error or metadata value.

    Every segment is compared with the rest by the score test, adjusted by Holm over all of them, so that about
    5% of tables without any true difference name a segment; a segment is only named if it and its rest have at least 10.
    Numbers and the hours of the day are cut into quarters. Values with fewer than 20 conversations are merged into one segment of
    their column, and a segment and its rest have as many. Of redundant columns (numbers whose quartiles correlate, such as turns and tool calls, and values that select
    the same conversations) only the plainest is split. If the logs name a task that several conversations share (``task_id``,
    ``metadata.taskId``), these count together: models with the same tasks are compared in pairs, and ten runs of one task are
    not ten tasks. Nothing is named on the basis of a word list, nor of a model or learned judge without labels that prove it.
    This is an observation: what failures have in common need not be their cause.

    Parameters
    ----------
    conversations
        Table with ``outcome`` and, if there, ``status``, and columns to split by; or verdicts of a judge of your own
        (``lift.judges.verdicts``), whose outcome is the verdict.
    outcome
        Column of true and false. Conversations in progress have no ``task_completed``. ``"verdict"`` is that of a judge where
        the table has both, such as verdicts joined to conversations.
    topics
        The topics as a long table, one row per mention, such as ``frames.topics_table(df)`` gives, instead of a column of lists; needed
        where an engine (DuckDB, Spark) has the conversations, and in the same engine.
    by
        Columns to split by, ``"hour"`` for the hour of the day. By default all that can name a segment; sentiment,
        quality and issues are not among them, because the analyser finds them together with the outcome.
    pairs
        Pairs of columns to split by as well, such as ``[("llm_model", "metadata.channel")]``; true for all pairs.
        More segments make each one harder to find.
    tz
        Zone whose clock says the hour.
    labels
        People's labels that correct the rates, or are the outcome if every conversation has one, as for ``completion``.
    level
        Coverage of each interval; ``1 - level`` bounds the chance of any false alarm in the table.

    Returns
    -------
    DataFrame
        One row per segment, the smallest p first (of a column with two, the one that fails more often): ``column``, ``segment``, ``verdict`` (``lower``, ``higher`` or
        ``unclear``; by the corrected difference where labels correct it), ``difference_points`` of its rate to that of the rest with the
        interval of Miettinen and Nurminen (``…_low``, ``…_high``), which inverts the score test of this segment alone, ``n`` conversations, ``completed``, ``rate`` with its ends (fractions, Wilson),
        ``n_rest``, ``rate_rest``, ``p`` and ``p_holm``, ``smallest_findable_points`` (a drop of that many points below
        the rest would be found in 80% of such tables), ``n_merged``, the values merged into it; with ``labels`` also
        ``rate_corrected``, ``difference_points_corrected`` (to the rest), ``n_labels``, ``n_effective``, ``not_corrected``.
        ``attrs["promptlift"]`` has in ``sentences`` what each row shows, ``task`` (the column of shared tasks), ``n_tests``, ``merged`` (values by column),
        ``left_out`` (columns and why), and the smallest ``smallest_findable_points`` of the table with its ``summary``.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When an argument cannot be used, or ``outcome`` does not hold true and false.

    References
    ----------
    J. N. K. Rao, A. J. Scott (1992), A simple method for the analysis of clustered binary data. Biometrics 48, 577-585 (tasks).
    """
    level, zone = check_level(level), check_zone(tz)
    if labels is not None:
        topics = None if topics is None else collect(topics, names_of(topics))
    conversations, outcome = read_outcome(conversations, outcome)
    conversations, labels = as_labelled(conversations, labels, outcome)
    task = task_of(conversations)
    found = splits_of(conversations, outcome=outcome, topics=topics, by=by, pairs=pairs, zone=zone, task=task)
    table, n_tests = _verdicts(found, level)
    facts = _facts(found, outcome=outcome, level=level, n_tests=n_tests)
    facts["task"] = task
    facts["tz"] = zone_name(zone)
    facts |= judge_facts(conversations) if outcome == "task_completed" else {}
    if labels is not None:
        judged, _ = judged_outcomes(conversations, outcome)
        masks = [(one.members, split.known & ~one.members) for split in found.used for one in split.segments]
        columns, facts["corrected"] = segment_columns(
            conversations[judged], labels, masks, outcome=outcome, level=level
        )
        table = pd.concat([table, columns], axis=1)
        facts["n_tests"] = _decide_by_labels(table, found, level)
        by_labels = table.pop("p_corrected").notna().to_numpy()
    facts["basis"] = basis_of(conversations, outcome)
    if not may_tell(facts["basis"]):
        # What remains is what labels correct.
        told = by_labels if labels is not None else np.zeros(len(table), bool)
        table, by_labels = table[told].reset_index(drop=True), told[told]
        blank(table, (*CONTRAST, "smallest_findable_points"))
    if labels is not None and len(table) and by_labels.all():
        facts["basis"] = "label"
    elif not may_say_clearly(facts["basis"], agreement_of(facts)):
        # By a judge that nothing proves, differences are shown and no segment is named.
        named = by_labels if labels is not None else np.zeros(len(table), bool)
        table["verdict"] = table["verdict"].where(named, "unclear")
    table = table.sort_values(["p", "difference_points", "column", "segment"], ignore_index=True)
    return _in_words(with_provenance(table, conversations, "segments", **facts))


@dataclass(frozen=True)
class Splits:
    """The columns of a table as segments.

    Attributes
    ----------
    splits
        One a column or pair of columns.
    everyone
        All conversations with a known outcome, by side and outcome.
    same
        Says which segments, each a place in ``splits`` and one in its segments, are the same conversations, or each other's
        rest: these have the same number.
    """

    splits: list[Split]
    everyone: NDArray[np.int64]
    same: Callable[[Sequence[Split]], list[int]]

    @property
    def used(self) -> list[Split]:
        """Those that have segments to compare."""
        return [split for split in self.splits if split.segments]


def splits_of(
    conversations: Any,
    *,
    outcome: str,
    by: str | Sequence[str] | None,
    pairs: bool | Sequence[tuple[str, str]],
    zone: tzinfo,
    topics: Any = None,
    side: tuple[str, Any] | None = None,
    without: Sequence[str] = (),
    task: str | None = None,
) -> Splits:
    """Split the conversations with a known outcome.

    Parameters
    ----------
    conversations, outcome, by, pairs, zone, topics
        As `segments` has them.
    side
        Of a pandas table, a column and one of its values: segments are counted apart for it and for the rest.
    without
        Columns that cannot split.
    task
        Column of the task that several conversations share.
    """
    present = names_of(conversations)
    given = None if by is None else [by] if isinstance(by, str) else list(by)
    given_pairs = [] if isinstance(pairs, bool) else [(str(one), str(other)) for one, other in pairs]
    asked = [*(given or []), *(name for pair in given_pairs for name in pair)]
    named = [*present, *(["topics"] if topics is not None and "topics" not in present else [])]
    computed = [name for name in (HOUR, *named[len(present) :]) if name not in present]
    needed = [outcome, *(name for name in asked if name not in computed)]
    hint = (
        f"outcome ({outcome}) is a column of true and false, and by names columns to split by. "
        "Read the table with lift.conversations(prompt_id=…, insights=True)."
    )
    require(conversations, needed, hint=hint)
    if outcome in asked:
        raise ValueError(f"{outcome} is the outcome, so it cannot be a segment as well.")
    times = _times(conversations, required=HOUR in asked and HOUR not in present)
    # What a snapshot's files have beside the table: the month of their folder, and the order of the rows.
    scanned = not isinstance(conversations, pd.DataFrame) and {"prompt_id", "month"} <= set(present)
    judged = {"judge", "judge_version"} <= set(present)
    left_out = {
        *without,
        *([task] if task else []),
        *(_OF_SNAPSHOTS if scanned else ()),
        *(_OF_VERDICTS if judged else ()),
    }
    by_default = [name for name in named if name not in left_out and _is_segment(name, outcome, present)]
    single = [*by_default, *([HOUR] if times and HOUR not in present else [])] if given is None else given
    names = list(dict.fromkeys([*single, *asked]))
    if not is_remote(conversations):
        sides = [side[0]] if side else []
        columns = dict.fromkeys(
            [*needed, *times, *sides, *([task] if task else []), *names, "status", "conversation_id"]
        )
        conversations = collect(conversations, [name for name in columns if name in present])
    reader = Reader(conversations, outcome, zone, times, side, topics, present, task)
    splits = {name: reader.split(name) for name in names}
    if given is None:
        splits |= _without_twins([splits[name] for name in dict.fromkeys(single)], reader)
    usable = [name for name, split in splits.items() if split.segments and split.exclusive]
    chosen = given_pairs or (list(combinations(usable, 2)) if pairs is True else [])
    together = [reader.pair(splits[one], splits[other]) for one, other in chosen]
    alone = [splits[name] for name in dict.fromkeys(single)]
    return Splits([*map(_without_rest, (*alone, *together))], reader.everyone(), reader.same)


def _without_rest(split: Split) -> Split:
    """Return a split of two segments with the one that fails more often: the other is its rest, and says the same."""
    if len(split.segments) != 2 or not split.exclusive:
        return split
    one, other = sorted(split.segments, key=lambda segment: segment.label)
    if not np.array_equal(one.counts + other.counts, split.totals):
        return split
    rates = [float(segment.counts[:, 1].sum() / segment.counts.sum()) for segment in (one, other)]
    return replace(split, segments=(one if rates[0] <= rates[1] else other,))


def _without_twins(splits: Sequence[Split], reader: Reader) -> dict[str, Split]:
    """Return the splits that say something of their own: of columns that say the same the plainest.

    Columns of numbers say the same where the ranks of their bins agree, others where their segments are the same conversations.
    """
    # The columns of the service first, what the logs call their own after them.
    order = {name: at for at, name in enumerate(_PLAINEST)}
    ordered = sorted(
        splits, key=lambda one: (one.column.startswith(METADATA_PREFIX), order.get(one.column, len(order)))
    )
    numbers = iter(reader.same(ordered))
    kept: list[Split] = []
    owner: dict[int, str] = {}
    changed: dict[str, Split] = {}
    for split in ordered:
        mine = [next(numbers) for _ in split.segments]
        bins = [one for one in kept if one.ordered and split.ordered]
        alike = (one for one in bins if abs(reader.rank_correlation(one, split)) >= _SAME_RANKS)
        twin = next((one.column for one in alike), None)
        own = tuple(one for one, number in zip(split.segments, mine, strict=True) if number not in owner)
        if twin is None and mine and not own:
            twin = owner[mine[0]]
        changed[split.column] = replace(split, segments=own)
        if twin is not None:
            changed[split.column] = unused(split.column, f"it says the same as {twin}")
        elif own:
            kept.append(changed[split.column])
            owner = dict.fromkeys(mine, split.column) | owner
    return changed


def task_of(conversations: Any) -> str | None:
    """Return the column that names the task of a conversation, as benchmarks and replays log it; None without one."""
    names = names_of(conversations)
    return next((name for name in names if _TASK.fullmatch(name.removeprefix(METADATA_PREFIX))), None)


def _is_segment(name: str, outcome: str, present: Sequence[str]) -> bool:
    if name in _LEFT_OUT or name == outcome or name.endswith("_at") or name.startswith(SCORE_PREFIX):
        return False
    if name == "prompt_id":
        return "prompt" not in present
    return not name.endswith("_id") or name.startswith("metadata.")


def _times(conversations: Any, *, required: bool) -> list[str]:
    try:
        return list(times_of(conversations))
    except FrameError:
        if required:
            raise
        return []


def _verdicts(found: Splits, level: float) -> tuple[pd.DataFrame, int]:
    """Return a row for each segment, and how many tests these are."""
    used = found.used
    rows = [_row(split, segment, level) for split in used for segment in split.segments]
    n_tests = _decide(rows, used, found.same, level)
    table = pd.DataFrame(rows, columns=[*COLUMNS, "_test"]).drop(columns="_test")
    dtypes = dict.fromkeys(_TEXTS, "str") | dict.fromkeys(_INTEGERS, "int64")
    return table.astype({name: dtypes.get(name, "float64") for name in COLUMNS}), n_tests


def _facts(found: Splits, *, outcome: str, level: float, n_tests: int) -> dict[str, Any]:
    n_judged, n_completed = int(found.everyone.sum()), int(found.everyone[:, 1].sum())
    return {
        "outcome": outcome,
        "by": None,
        "level": level,
        "n_judged": n_judged,
        "rate": n_completed / n_judged if n_judged else None,
        "n_tests": n_tests,
        "merged": {
            split.column: [*one.merged] for split in found.used for one in split.segments if one.merged
        },
        "left_out": {split.column: split.why_not for split in found.splits if split.why_not},
    }


def _in_words(result: pd.DataFrame) -> pd.DataFrame:
    """Write into the attributes what each row shows, and what the table found and could have found."""
    about = result.attrs["promptlift"]
    least = result["smallest_findable_points"].min()
    about["smallest_findable_points"] = None if pd.isna(least) else float(least)
    about["sentences"] = [segment_sentence(row, about) for row in result.to_dict("records")]
    about["summary"] = _summary(result, about)
    return result


def _row(split: Split, segment: Segment, level: float) -> dict[str, Any]:
    inside, whole = segment.counts.sum(axis=0), split.totals.sum(axis=0)
    x1, n1 = int(inside[1]), int(inside.sum())
    x0, n0 = int(whole[1]) - x1, int(whole.sum()) - n1
    effect, tasks = _of_tasks(split, segment)
    counts = tuple(count / effect for count in (x1, n1, x0, n0))
    ends = score_interval(*counts, level=level)
    rate, low, high = rate_and_interval(np.array([x1, x0]), np.array([n1, n0]), level=level)
    return {
        "column": split.column,
        "segment": segment.label,
        "difference_points": 100.0 * (x1 / n1 - x0 / n0),
        "difference_points_low": 100.0 * float(ends[0]),
        "difference_points_high": 100.0 * float(ends[1]),
        "n": n1,
        "completed": x1,
        "rate": rate[0],
        "rate_low": low[0],
        "rate_high": high[0],
        "n_rest": n0,
        "rate_rest": rate[1],
        "p": score_test_p(*counts),
        "n_merged": len(segment.merged),
        "_test": (n0 - x0, n0, effect, tasks),
    }


def _of_tasks(split: Split, segment: Segment) -> tuple[float, float]:
    """Return the design effect of the tasks that conversations share, and how many tasks the segment, or its rest, has at least."""
    if segment.by_task is None or split.by_task is None:
        return 1.0, math.inf
    inside, outside = segment.by_task, split.by_task - segment.by_task
    fewest = min(int((side[:-1].sum(axis=1) > 0).sum() + side[-1].sum()) for side in (inside, outside))
    # Few tasks do not show how much alike their conversations are.
    effect = design_effect(inside, outside)
    return max(effect, 1.0) if fewest < FEWEST else max(effect, _LEAST_EFFECT), fewest


def _decide(
    rows: list[dict[str, Any]],
    used: Sequence[Split],
    same: Callable[[Sequence[Split]], list[int]],
    level: float,
) -> int:
    """Write verdicts and what could be found into the rows, and return the number of tests.

    A segment and its rest, where the rest is a segment too, are one test: both rows have the same p.
    """
    of_row = same(used)
    p, adjusted = _adjusted([row["p"] for row in rows], of_row)
    alpha = 1.0 - level
    for row, at in zip(rows, of_row, strict=True):
        row["p_holm"] = float(adjusted[at])
        failed, n, effect, tasks = row["_test"]
        clear = adjusted[at] < alpha and min(row["n"], row["n_rest"], tasks) >= FEWEST
        row["verdict"] = ("higher" if row["difference_points"] > 0.0 else "lower") if clear else "unclear"
        row["smallest_findable_points"] = findable_points_unpaired(
            round(row["n"] / effect),
            round(n / effect),
            rate_control=(failed + 1) / (n + 2),
            alpha=alpha / len(p),
        )
    return len(p)


def _adjusted(
    values: Sequence[float], of_row: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the p-values of the different tests, and the same adjusted by Holm."""
    p = np.ones(len(set(of_row)))
    for value, at in zip(values, of_row, strict=True):
        p[at] = value
    return p, holm(p) if len(p) else p


def _decide_by_labels(table: pd.DataFrame, found: Splits, level: float) -> int:
    """Write the verdicts of the rows that labels correct by the corrected numbers, and return the number of tests.

    They are one family of tests with the rows that labels cannot correct.
    """
    corrected = table["not_corrected"].eq("") & table["p_corrected"].notna()
    of_row = found.same(found.used)
    table["p"] = table["p_corrected"].where(corrected, table["p"])
    p, adjusted = _adjusted(list(table["p"]), of_row)
    table["p_holm"] = adjusted[of_row]
    difference = table["difference_points_corrected"].where(corrected, table["difference_points"])
    clear = (table["p_holm"] < 1.0 - level) & (table[["n", "n_rest"]].min(axis=1) >= FEWEST)
    table["verdict"] = pd.Series(
        np.where(clear, np.where(difference > 0.0, "higher", "lower"), "unclear"), dtype="str"
    )
    return len(p)


def _summary(table: pd.DataFrame, facts: dict[str, Any]) -> str:
    """Return in words what was found among how many segments, and what could have been found."""
    if table.empty:
        if not may_tell(facts["basis"]):
            return f"Which segments differ {UNTOLD}: a word list judged the conversations."
        return "No column has two segments with enough conversations to compare."
    found = table[table["verdict"] != "unclear"]
    judged, alone = counted(facts["n_judged"], "conversation"), len(table) == 1
    none = f"The only segment of {judged}" if alone else f"None of {len(table):,} segments of {judged}"
    if len(found):
        named = ", ".join(segment_in_words(row) for row in found.head(3).to_dict("records"))
        more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
        differ = f"clearly differ{'s' if len(found) == 1 else ''} from the rest{as_seen_by(facts['basis'])}"
        first = f"{len(found):,} of {counted(len(table), 'segment')} of {judged} {differ}: {named}{more}."
    elif may_say_clearly(facts["basis"], agreement_of(facts)):
        first = f"{none} {'does not clearly differ' if alone else 'clearly differs'} from the rest."
    else:
        first = (
            f"{none} is{' not' if alone else ''} named: nothing shows that the judge is right. {_UNPROVEN}"
        )
    if "corrected" in facts:  # what could be found says nothing of labels
        return first
    least = facts["smallest_findable_points"]
    if least is None:
        return f"{first} There are too few conversations to find a difference of any size."
    (points,) = figures(least)
    return f"{first} A drop of {points} points in the best filled segment would be found in 8 of 10 such tables; smaller ones may be missed."
