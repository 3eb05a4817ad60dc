"""Variants against a control, on A/B data that somebody brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.arms import Arms, Kind, Repeats, items_of, read_arms
from promptlift.analysis.comparison_rows import (
    COLUMNS,
    Rule,
    Sample,
    decide,
    label_row,
    paired_completion_row,
    paired_score_row,
    unpaired_completion_row,
    unpaired_score_row,
)
from promptlift.analysis.reading import provenance
from promptlift.schema.insights import Insights
from promptlift.stats.evidence import CONFIDENCE_THRESHOLDS
from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.stats.evidence import ConfidenceMode

__all__ = ["compare"]

_INTEGERS = ("n", "n_control", "completed", "completed_control", "n_dropped")
_NULLABLE = ("n_pairs", "n11", "n10", "n01", "n00", "n_better", "n_worse", "n_unmatched")
_TEXTS = ("test", "warnings", "verdict")
# Columns that an analyser fills; any other outcome is the caller's own, whoever judged the conversations.
_JUDGED = frozenset(Insights.model_fields) - {"conversation_id", "analyser", "created_at"}


def compare(
    data: Any,
    *,
    by: str,
    pair: str | Sequence[str] | None = None,
    outcome: str = "task_completed",
    control: Any = None,
    level: float = 0.95,
    confidence_mode: ConfidenceMode = "moderate",
    repeats: Repeats = "refuse",
    kind: Kind | None = None,
) -> pd.DataFrame:
    """Compare variants with a control and decide for each: winner, worse, or neither.

    With ``pair``, only items that both did and that have both outcomes count, and rates are those of these
    pairs, so that the two printed rates give the printed lift. Without it the rows are taken to be independent:
    if the same task is in both groups, name it, because pairs find smaller differences.

    A variant of **true and false** in pairs is ``winner`` when its confidence reaches 0.80 / 0.90 / 0.95 (mode
    low / moderate / high) and the exact McNemar p, adjusted by Holm over all variants, is below ``1 - level``;
    ``worse`` when both hold the other way round. Everything else is ``no winner``, which does not say that they
    are equal: ``smallest_findable`` says what could have been seen. A variant that shares no item with the control,
    or has no known outcome, is not compared: it has no verdict, a warning says why, and Holm does not count it.
    Without pairs, Fisher's exact p decides
    alone. **Numbers** are decided by the signed-rank test in pairs (with the t interval of the mean difference),
    else by Mann-Whitney (with Welch's interval), and only where ranks and means point the same way.
    **Labels** are decided by chi², or by permutation where an expected count is below 5; sentiments can win or
    lose when their order, too, is shifted with p below ``1 - level``, other labels are ``different``. More is
    taken to be better. Several winners are not ranked among themselves. P-values hold for one look at the
    data; the confidence of pairs holds however often somebody looked.

    Parameters
    ----------
    data
        Any table that narwhals accepts, one row a trial.
    by
        Column that says the variant. Rows without a value are left out and counted in ``attrs``.
    pair
        Column that says which item (task, question, persona) a row is about, or all columns that make one, such
        as ``["persona", "scenario"]``. Rows without an item are left out and counted in ``attrs``.
    outcome
        Column of true and false (or 0 and 1), numbers, or labels. Missing values count neither way. For
        ``task_completed``, rows whose ``status`` is ``in_progress`` count neither way, too.
    control
        The variant that the others are compared with. Without it, the one called control, original or baseline;
        else the one with the most rows, the first by name among equals.
    level
        Coverage of the intervals; ``1 - level`` bounds the chance of any false verdict by p-values.
    confidence_mode
        ``low``, ``moderate`` or ``high``: the threshold of the confidence of pairs.
    repeats
        An item that a variant did several times is no further pair. ``refuse`` raises. ``mean`` compares the
        means of the items as numbers; true and false become each item's completion rate, from 0 to 1.
    kind
        ``completion``, ``score`` or ``label`` where the column leaves it open: 0 and 1 are taken for true and
        false, whatever their type.

    Returns
    -------
    DataFrame
        One row a variant: ``variant``, ``control``, ``n``, ``n_control`` (those that count), the estimate with
        its interval, ``difference``, ``difference_low``, ``difference_high`` (points, or the score's unit), and
        at the end ``test``, ``p``, ``p_holm``, ``smallest_findable`` (the true difference found with 80 % by
        this many, in the unit of ``difference``; a plan, no result), ``n_dropped`` (left out for a missing
        outcome), ``n_unmatched`` (items of one group only), ``warnings`` and ``verdict``.

        Of true and false: ``completed``, ``rate``, ``rate_low``, ``rate_high`` (fractions, Wilson), the same
        with ``_control``, ``lift``; in pairs also ``lift_low``, ``lift_high`` (percent, Fieller),
        ``lift_expected``, ``n_pairs``, ``n11``, ``n10``, ``n01``, ``n00`` (both, only the variant, only the
        control, neither), ``e_value``, ``confidence`` that it is better, and ``confidence_worse``. The interval
        of the difference is the paired one, else Newcombe's. Of numbers: ``mean`` with t intervals,
        ``cliffs_delta``, ``n_better``, ``n_worse``. Of labels: ``cramers_v``; of sentiments also the share of
        ``positive`` as ``rate``, and ``cliffs_delta``. Missing where it cannot be known.

        ``attrs["promptlift"]`` says the control, the kind, whether in pairs, the unit and the rule; ``analyser`` only
        where an analyser judged the outcome (or the variants), not where the column is your own.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When an argument or a column cannot be used, or items repeat; the message says what to do.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "prompt": ["old"] * 40 + ["new"] * 40,
    ...         "task": [*range(40)] * 2,
    ...         "task_completed": [True] * 20 + [False] * 20 + [True] * 36 + [False] * 4,
    ...     }
    ... )
    >>> answer = compare(table, by="prompt", pair="task", control="old")
    >>> answer[["variant", "n_pairs", "n10", "n01", "verdict"]].to_dict("records")
    [{'variant': 'new', 'n_pairs': 40, 'n10': 16, 'n01': 0, 'verdict': 'winner'}]
    """
    level = check_level(level)
    if confidence_mode not in CONFIDENCE_THRESHOLDS:
        raise ValueError(f"confidence_mode must be low, moderate or high, not {confidence_mode!r}.")
    if repeats not in ("refuse", "mean"):
        raise ValueError(f"repeats must be 'refuse' or 'mean', not {repeats!r}.")
    if repeats == "mean" and pair is None:
        raise ValueError("repeats='mean' needs pair, the column that says which item a row is about.")
    arms = read_arms(data, by=by, pair=pair, outcome=outcome, control=control, kind=kind)
    if arms.kind == "label" and pair is not None:
        raise ValueError(
            f"Labels such as those of {outcome} cannot be compared in pairs. Leave pair out, or compare a number, "
            "such as sentiment_score."
        )
    table: Kind = "score" if repeats == "mean" else arms.kind
    others = [place for place in range(len(arms.names)) if place != arms.control]
    samples = _samples(arms, others, repeats, by)
    rule = Rule(level, confidence_mode, sum(sample.comparable for sample in samples))
    rows = [_row(arms, sample, rule, table) for sample in samples]
    decide(rows, rule, labels=table == "label")
    result = _table(arms, rows, others, table)
    result.attrs.update(
        provenance(
            data,
            "compare",
            by=by,
            outcome=outcome,
            control=arms.names.iloc[arms.control] if arms.control is not None else control,
            kind=table,
            paired=pair is not None,
            unit="score" if table == "score" else "points",
            level=level,
            confidence_mode=confidence_mode,
            confidence_needed=CONFIDENCE_THRESHOLDS[confidence_mode],
            labels=arms.labels,
            n_without_variant=arms.n_without_variant,
            n_without_item=arms.n_without_item,
            rule=_rule_in_words(rule, table, paired=pair is not None),
            **({} if _JUDGED.intersection((by, outcome)) else {"analyser": None}),
        )
    )
    return result


def _samples(arms: Arms, others: list[int], repeats: Repeats, by: str) -> list[Sample]:
    if arms.control is None:
        return []
    if arms.item is None:
        known = [_known(arms.value[arms.group == place]) for place in range(len(arms.names))]
        control, missing_control = known[arms.control]
        return [
            Sample(values, control, missing, missing_control, n_dropped=missing + missing_control)
            for values, missing in (known[place] for place in others)
        ]
    control, control_there = items_of(arms, arms.control, repeats=repeats, by=by)
    samples = []
    for place in others:
        variant, there = items_of(arms, place, repeats=repeats, by=by)
        both = there & control_there
        lost, lost_control = np.isnan(variant) & both, np.isnan(control) & both
        pairs = both & ~lost & ~lost_control
        samples.append(
            Sample(
                variant[pairs],
                control[pairs],
                missing=int((lost & ~lost_control).sum()),
                missing_control=int((lost_control & ~lost).sum()),
                n_dropped=int((lost | lost_control).sum()),
                n_unmatched=int((there ^ control_there).sum()),
            )
        )
    return samples


def _known(
    values: np.ndarray[Any, np.dtype[np.float64]],
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int]:
    missing = np.isnan(values)
    return values[~missing], int(missing.sum())


def _row(arms: Arms, sample: Sample, rule: Rule, table: Kind) -> dict[str, Any]:
    if table == "label":
        return label_row(sample, rule, arms.labels, ordered=arms.ordered)
    paired = arms.item is not None
    if table == "score":
        return paired_score_row(sample, rule) if paired else unpaired_score_row(sample, rule)
    return paired_completion_row(sample, rule) if paired else unpaired_completion_row(sample, rule)


def _table(arms: Arms, rows: list[dict[str, Any]], others: list[int], table: Kind) -> pd.DataFrame:
    for row in rows:
        row["warnings"] = " ".join(filter(None, (row["warnings"], row.get("disagree"))))
    columns = [name for name in COLUMNS[table] if name not in ("variant", "control")]
    dtypes = {name: _dtype(name) for name in columns}
    result = pd.DataFrame([{name: row.get(name) for name in columns} for row in rows], columns=columns)
    result = result.astype(dtypes)
    names = arms.names.astype(object).to_numpy()
    label = arms.names.dtype
    result.insert(0, "variant", pd.Series(names[others], dtype=label))
    result.insert(1, "control", pd.Series([names[arms.control]] * len(rows) if rows else [], dtype=label))
    return result


def _dtype(name: str) -> str:
    if name in _INTEGERS:
        return "int64"
    if name in _NULLABLE:
        return "Int64"
    return "str" if name in _TEXTS else "float64"


def _rule_in_words(rule: Rule, table: Kind, *, paired: bool) -> str:
    adjusted = "p" if rule.n_tests < 2 else f"p, adjusted for {rule.n_tests} variants,"
    below = f"{adjusted} below {rule.alpha:.3g}"
    if table == "completion" and paired:
        needed = CONFIDENCE_THRESHOLDS[rule.confidence_mode]
        return f"Winner or worse: confidence {needed:.2f} or more, and {below}."
    if table == "label":
        return f"Different: {below}. Sentiments win or lose when their order is shifted, too."
    return f"Winner or worse: {below}."
