"""Variants against a control, on your own A/B data.

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

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.arms import Arms, Kind, items_of, read_arms
from promptlift.analysis.comparison_rows import (
    COLUMNS,
    CONFIDENCE_NEEDED,
    Rule,
    Sample,
    decide,
    label_row,
    paired_completion_row,
    paired_score_row,
    unpaired_completion_row,
    unpaired_score_row,
)
from promptlift.analysis.corrected import Rectifier, as_labelled, comparison_columns, judged_rows
from promptlift.analysis.reading import JUDGED, By, basis_of, blank, one_group_column, with_provenance
from promptlift.analysis.sentences import comparison_sentence, score_rule
from promptlift.analysis.verdicts import judge_facts, mixed_judges, read_outcome
from promptlift.schema.basis import may_tell
from promptlift.stats.evidence import MIXTURE
from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_INTEGERS = ("n", "n_control", "completed", "completed_control", "n_dropped")
_NULLABLE = ("n_pairs", "n11", "n10", "n01", "n00", "n_better", "n_worse", "n_unmatched")
_TEXTS = ("test", "warnings", "verdict")
# What remains where the basis carries no direction: the rates of each group by itself.
_TOLD = frozenset(
    f"{name}{end}"
    for name in ("variant", "control", "n", "completed", "rate", "rate_low", "rate_high", "mean", "mean_low", "mean_high", "test")
    for end in ("", "_control")
) | {"rate_control_low", "rate_control_high", "mean_control_low", "mean_control_high", "n_dropped", "n_unmatched", "n_pairs", "warnings"}  # fmt: skip


def compare(
    data: Any,
    *,
    by: By,
    pair: str | Sequence[str] | None = None,
    outcome: str = "task_completed",
    control: Any = None,
    level: float = 0.95,
    kind: Kind | None = None,
    labels: Any = None,
    rectifier: Rectifier = "own",
) -> pd.DataFrame:
    """Compare variants with a control and decide for each: winner, worse, or no winner.

    With ``pair``, only items with an outcome in both groups count, for the rates too; without it rows must be independent.
    In pairs of **true and false**, a ``winner`` has a confidence of at least 0.90 and
    an exact McNemar p, adjusted by Holm over the variants, below ``1 - level``; ``worse`` is the same in the opposite
    direction. Without pairs the score test decides alone, whose interval is shown, and groups of fewer than 10 get no verdict.
    **Numbers** are decided by Wilcoxon's signed ranks in pairs
    (t interval), else by Mann-Whitney (Welch's interval), and only where ranks and means agree in direction. **Labels**
    are decided by chi², or by permutation where an expected count is below 5: sentiments win or lose when their order
    is shifted too, other labels are ``different``. Higher is better. ``no winner`` does not mean equal: see
    ``smallest_findable_points``. P-values are valid for one look at the data, the confidence of pairs for any number of looks.
    A variant that shares no item with the control gets a warning instead of a verdict.

    Parameters
    ----------
    data
        Any table that narwhals accepts, one row per trial; or verdicts of a judge of your own (``lift.judges.verdicts``), whose
        outcome is the verdict.
    by
        Column of the variant, or a list of columns that make one. Rows without one are left out and counted in ``attrs``.
    pair
        Column of the item (task, question, persona), or all columns that make one, such as ``["persona", "scenario"]``.
    outcome
        Column of true and false (or 0 and 1), numbers, or labels. Conversations in progress have no ``task_completed``.
        ``"verdict"`` is that of a judge where the table has both.
    control
        The variant to compare with; by default one called control, original or baseline, else the largest.
    level
        Coverage of the intervals; ``1 - level`` bounds the chance of any false verdict by p-values.
    kind
        ``completion``, ``score`` or ``label`` where the column is ambiguous; 0 and 1 are true and false by default.
    labels
        Labels of people, some of whose conversations were drawn at random with a known ``chance`` (`label_plan`). They
        correct rates of true and false, and their difference, which are then right whatever the judge is. Where every conversation
        has one, they are the outcome, and there are no columns of what is corrected.
    rectifier
        ``own`` corrects each arm by its own labels. ``pooled`` estimates the judge's errors from the labels of both arms: more
        precise, but wrong if the errors differ by arm, which ``p_equal_error`` tests.

    Returns
    -------
    DataFrame
        One row per variant: ``variant``, ``control``, ``verdict``; ``difference_points`` with its ends ``_low`` and
        ``_high`` (percentage points, without pairs by Miettinen and Nurminen; of numbers ``difference``, in the score's unit); ``n``, ``n_control`` (that count),
        ``test``, ``p``, ``p_holm``, ``smallest_findable_points`` (found with 80% probability; of numbers
        ``smallest_findable``), ``n_dropped`` (no outcome), ``n_unmatched`` (items of one group), ``warnings``.
        Of true and false: ``completed``, ``rate`` with its ends (fractions, Wilson), the same with ``_control``,
        ``lift_percent``; in pairs also its ends (Fieller), ``lift_percent_expected``, ``n_pairs``, ``n11``, ``n10``,
        ``n01``, ``n00`` (both, only the variant, only the control, neither), ``e_value``, ``confidence``,
        ``confidence_worse``. Of numbers: ``mean`` (t intervals), ``cliffs_delta``, ``n_better``, ``n_worse``. Of labels:
        ``cramers_v``; of sentiments also ``cliffs_delta``, and the share of ``positive`` as ``rate``, which is empty on a word list.
        With ``labels`` also ``difference_points_corrected`` and ``rate_corrected`` with their ends, the same with
        ``_control``, ``n_labels``, ``n_effective``, how much the judge's errors differ by arm (``tpr_difference``, ``tnr_difference``,
        ``p_equal_error``), and in ``not_corrected`` why a row could not be corrected. Where a difference is corrected, ``verdict``, ``p`` and
        ``p_holm`` belong to the corrected difference. ``attrs["promptlift"]`` has control, unit, rule, ``confidence_method``,
        a sentence per row in ``sentences``, and in ``uncorrected`` each row's verdict, p and sentence without the labels.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When an argument or a column cannot be used, or items repeat; the message says what to do.
    """
    _check_rectifier(rectifier, pair)
    level = check_level(level)
    data, outcome = read_outcome(data, outcome)
    data, by = one_group_column(data, by)
    data, labels = as_labelled(data, labels, outcome)
    arms = read_arms(data, by=by, pair=pair, outcome=outcome, control=control, kind=kind)
    table = _kind_of_rows(arms, outcome, pair, labelled=labels is not None)
    result, rule = _verdicts(arms, table, level=level, by=by)
    facts = _facts(arms, rule, table, control=control, paired=pair is not None)
    if labels is not None:
        rows = judged_rows(data[data[by].notna()], labels, outcome)
        columns, facts["corrected"] = comparison_columns(
            rows, arms.group, arms.control or 0, arms.others, item=arms.item, rectifier=rectifier, level=level
        )
        facts["rule"] += " Where labels correct a difference, the corrected one decides."
    facts["options"] = {"pair": [pair] if isinstance(pair, str) else pair and list(pair), "kind": kind}
    facts["basis"] = basis_of(data, outcome)
    # Any other outcome is the caller's own, whichever analyser judged the conversations.
    facts |= {} if JUDGED.intersection((by, outcome)) else {"analyser": None}
    facts |= judge_facts(data) if outcome == "task_completed" else {}
    if not may_tell(facts["basis"]):
        # The share of a label of a word list says nothing by itself either.
        told = _TOLD if table != "label" else {name for name in _TOLD if not name.startswith("rate")}
        blank(result, [name for name in result if name in COLUMNS[table] and name not in told])
    if mixed := mixed_judges(facts):
        result["warnings"] = (result["warnings"] + " " + mixed).str.strip()
    judged = result
    if labels is not None:
        result = _decided_by_labels(judged, columns)
    # pandas copies the attributes of a table with each of its columns.
    shown = result.to_dict("records")
    made = with_provenance(result, data, "compare", by=by, outcome=outcome, **facts)
    return _in_words(made, shown, judged)


def _check_rectifier(rectifier: str, pair: Any) -> None:
    if rectifier not in ("own", "pooled"):
        raise ValueError(f"rectifier must be 'own' or 'pooled', not {rectifier!r}.")
    if rectifier == "pooled" and pair is not None:
        raise ValueError(
            "rectifier='pooled' compares independent groups. Leave pair out, or use rectifier='own'."
        )


def _kind_of_rows(arms: Arms, outcome: str, pair: Any, *, labelled: bool) -> Kind:
    """Return what the rows of the result compare, if it can be compared so."""
    if arms.kind == "label" and pair is not None:
        raise ValueError(
            f"Labels such as those of {outcome} cannot be compared in pairs. Leave pair out, or compare a number, "
            "such as sentiment_score."
        )
    if labelled and arms.kind != "completion":
        raise ValueError(
            f"labels correct rates of true and false, and {outcome} is compared as {arms.kind}. Leave them out."
        )
    return arms.kind


def _verdicts(arms: Arms, table: Kind, *, level: float, by: str | None) -> tuple[pd.DataFrame, Rule]:
    """Return a row for each variant, and the rule by which it was decided."""
    samples = _samples(arms, by)
    rule = Rule(level, sum(sample.comparable for sample in samples))
    rows = [_row(arms, sample, rule, table) for sample in samples]
    decide(rows, rule, labels=table == "label")
    return _table(arms, rows, table), rule


def _decided_by_labels(judged: pd.DataFrame, columns: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with what labels make of them, which decide where they correct a difference."""
    corrected = columns["difference_points_corrected"].notna()
    deciding = {"verdict": "verdict_corrected", "p": "p_corrected", "p_holm": "p_corrected_holm"}
    decided = {
        name: columns[by_labels].where(corrected, judged[name]) for name, by_labels in deciding.items()
    }
    decided = {name: column.astype(judged[name].dtype) for name, column in decided.items()}
    return pd.concat([judged.assign(**decided), columns.drop(columns=list(deciding.values()))], axis=1)


def _in_words(result: pd.DataFrame, rows: list[dict[Any, Any]], judged: pd.DataFrame) -> pd.DataFrame:
    """Write into the attributes what each row shows, and where there are labels, what it was without them."""
    about = result.attrs["promptlift"]
    about["sentences"] = [comparison_sentence(row, about) for row in rows]
    if "corrected" in about:
        about["uncorrected"] = {
            **{name: judged[name].tolist() for name in ("verdict", "p", "p_holm")},
            "sentences": [comparison_sentence(row, about) for row in judged.to_dict("records")],
        }
    return result


def _facts(arms: Arms, rule: Rule, table: Kind, *, control: Any, paired: bool) -> dict[str, Any]:
    return {
        "control": arms.names.iloc[arms.control] if arms.control is not None else control,
        "kind": table,
        "paired": paired,
        "unit": "score" if table == "score" else "points",
        "level": rule.level,
        "n_tests": rule.n_tests,
        "confidence_needed": CONFIDENCE_NEEDED,
        # Nobody fixed a theta before these data were seen.
        "confidence_method": MIXTURE if paired and table == "completion" else None,
        "labels": arms.labels,
        "n_without_variant": arms.n_without_variant,
        "n_without_item": arms.n_without_item,
        "rule": _rule_in_words(rule, table, paired=paired),
    }


def _samples(arms: Arms, by: str | None) -> list[Sample]:
    if arms.control is None:
        return []
    if arms.item is None:
        known = [_known(arms, place) for place in range(len(arms.names))]
        control, missing_control = known[arms.control]
        return [
            Sample(values, control, missing, missing_control, n_dropped=missing + missing_control)
            for values, missing in (known[place] for place in arms.others)
        ]
    control, control_there = items_of(arms, arms.control, by=by)
    samples = []
    for place in arms.others:
        variant, there = items_of(arms, place, by=by)
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


def _known(arms: Arms, place: int) -> tuple[NDArray[np.float64], int]:
    """Return the known outcomes of a variant, and how many rows have none."""
    mine = arms.group == place
    known = mine & ~np.isnan(arms.value)
    return arms.value[known], int(mine.sum() - known.sum())


def _row(arms: Arms, sample: Sample, rule: Rule, table: Kind) -> dict[str, Any]:
    if table == "label":
        return label_row(sample, rule, arms.labels, ordered=arms.ordered)
    paired = arms.item is not None
    if table == "score":
        return paired_score_row(sample, rule) if paired else unpaired_score_row(sample, rule)
    return paired_completion_row(sample, rule) if paired else unpaired_completion_row(sample, rule)


def _table(arms: Arms, rows: list[dict[str, Any]], table: Kind) -> pd.DataFrame:
    for row in rows:
        row["warnings"] = " ".join(filter(None, (row["warnings"], row.get("caveat"))))
    columns = [name for name in COLUMNS[table] if name not in ("variant", "control")]
    names = arms.names.astype(object).to_numpy()
    label = arms.names.dtype
    return pd.DataFrame(
        {
            "variant": pd.Series(names[arms.others], dtype=label),
            "control": pd.Series([names[arms.control]] * len(rows) if rows else [], dtype=label),
            **{name: pd.Series([row.get(name) for row in rows], dtype=_dtype(name)) for name in columns},
        }
    )


def _dtype(name: str) -> str:
    if name in _INTEGERS:
        return "int64"
    if name in _NULLABLE:
        return "Int64"
    return "str" if name in _TEXTS else "float64"


def _rule_in_words(rule: Rule, table: Kind, *, paired: bool) -> str:
    if table == "completion" and not paired:
        return f"Higher or lower: {score_rule(rule.level, rule.n_tests)}."
    adjusted = "p" if rule.n_tests < 2 else f"p, adjusted for {rule.n_tests} variants,"
    below = f"{adjusted} below {rule.alpha:.3g}"
    if table == "completion":
        return f"Winner or worse: confidence {CONFIDENCE_NEEDED:.2f} or more, and {below}."
    if table == "label":
        return f"Different: {below}. Sentiments win or lose only when their order is shifted, too."
    return f"{'Winner or worse' if paired else 'Higher or lower'}: {below}."
