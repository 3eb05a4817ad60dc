"""The finding of a result in one sentence with its number, short enough for the title of a plot.

A sentence says "more", "less", "rises" or "falls" only where the interval does not hold 0 and the table's own test agrees.
Where nothing was found it says so, with what was measured.

>>> import pandas as pd
>>> from promptlift.analysis import compare
>>> table = pd.DataFrame({"prompt": ["v1"] * 50 + ["v2"] * 50, "task_completed": [i % 4 != 0 for i in range(100)]})
>>> finding(compare(table, by="prompt", control="v1"))
'No clear difference between v2 and v1: +2 points measured (−15 to +19)'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.analysis.reading import agreement_of, facts_of
from promptlift.analysis.sentences import TOO_FEW, ends_of, outcome_name, why_not
from promptlift.analysis.view_findings import VIEWS
from promptlift.schema.basis import UNTOLD, as_seen_by, may_say_clearly
from promptlift.stats.differences import FEWEST, compare_unpaired
from promptlift.stats.intervals import rate_and_interval
from promptlift.words.figures import (
    counted,
    figures,
    known,
    percent,
    points,
    signed,
    signed_figures,
    size_figures,
)
from promptlift.words.names import capital, names_in_title, quoted
from promptlift.words.sentences import (
    COMPLETION,
    Ends,
    alike,
    completed,
    differs,
    labels_differ,
    leaves_out_zero,
    often,
    trend,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_NO_INSIGHTS: Final = "No conversations with insights"


def finding(table: pd.DataFrame) -> str:
    """Return what a result of an analysis shows, in one sentence without a full stop.

    Parameters
    ----------
    table
        Result of an analysis that has a plot.

    Raises
    ------
    ValueError
        When the table is not such a result.
    """
    facts = facts_of(table)
    say = _FINDINGS.get(str(facts.get("table")))
    if say is None:
        raise ValueError(
            "There is no sentence for this table. Pass the result of an analysis that has a plot, such as "
            "analysis.completion_trend(conversations)."
        )
    by_labels = _by_labels(table)
    untold = (
        _UNTOLD.get(str(facts["table"])) if facts.get("basis") == "words" and not by_labels.any() else None
    )
    if untold:
        return _scored(facts["usual"]) if untold is _SENTIMENT else untold
    few = _too_few(table, facts)
    said = few or say(_shown(table, by_labels), facts)
    if few or facts["table"] == "segments":
        return said
    if "corrected" not in facts:
        return said + as_seen_by(facts.get("basis")) if facts["table"] in _UNTOLD else said
    if not by_labels.any():
        return f"Uncorrected, as the judge says: {said}"
    if len(table) == 1 and facts["table"] == "compare":
        return str(facts["sentences"][0]).removesuffix(".")
    return f"{'Corrected' if by_labels.all() else 'Partly corrected'} by labels: {said}"


def _too_few(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    """Return that a few conversations give no finding of how often something is; empty where there are enough, or none."""
    if table.empty or facts["table"] not in _SHARES:
        return ""
    n = int(facts["n_judged"] if "n_judged" in facts else table["n"].sum())
    return f"Only {counted(n, 'conversation')}, too few for a finding" if 0 < n < FEWEST else ""


def _by_labels(table: pd.DataFrame) -> pd.Series[bool]:
    """Return which differences of a table are corrected by labels, and so have their verdict from them."""
    if "difference_points_corrected" not in table:
        return pd.Series(data=False, index=table.index)
    return table["difference_points_corrected"].notna()


def _shown(table: pd.DataFrame, by_labels: pd.Series[bool]) -> pd.DataFrame:
    """Return a table whose differences are those that its verdicts come from."""
    if not by_labels.any():
        return table
    ends = ("", "_low", "_high")
    corrected = {
        f"difference_points{end}": table[f"difference_points_corrected{end}"].where(
            by_labels, table[f"difference_points{end}"]
        )
        for end in ends
    }
    return table.assign(**corrected)


def _completion_trend(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    if not table["n"].sum():
        return "No ended conversation is judged"
    by = facts["by"]
    tested = facts.get("trends") or []
    found = [
        one for one in tested if one["is_trend"] and leaves_out_zero(one["points_low"], one["points_high"])
    ]
    if found:
        more = f"; {len(found) - 2} more {'rises or falls' if len(found) == 3 else 'rise or fall'}"
        first, *second = (_slope(one, by) for one in found[:2])
        said = "; ".join([first, *(one.replace("Completion", "completion", 1) for one in second)])
        return said + more if len(found) > 2 else said
    if by is not None:
        return _groups(
            _pooled(table, by, "completed", "n"), "complete their task", facts["level"], COMPLETION
        )
    n = int(table["n"].sum())
    said = completed(_rate(table["completed"].sum(), n, facts["level"]), n)
    if not tested:
        return said
    none = _slope(tested[0], by)
    return f"{none}; {said}"


def _slope(found: Mapping[str, Any], by: str | None) -> str:
    ends = found["points_per_day"], found["points_low"], found["points_high"]
    name = "" if by is None else names_in_title([found["group"]])[0]
    return trend(ends, name, is_trend=found["is_trend"])


def _sentiment_distribution(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    by = facts["by"]
    if not table["n"].sum():
        return _NO_INSIGHTS
    if by is not None:
        negative = table[table["sentiment"] == "negative"]
        return _groups(_pooled(negative, by, "n", "total"), "are negative", facts["level"], _NEGATIVE)
    rows = table.set_index(table["sentiment"].astype("str"))
    return _sentiments(
        {label: rows.loc[label, "n"] for label in rows.index}, rows["total"].iloc[0], facts["level"]
    )


def _sentiment_trend(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    by, n = facts["by"], int(table["n"].sum())
    if not n:
        return _NO_INSIGHTS
    if by is not None:
        return _groups(_pooled(table, by, "negative", "n"), "are negative", facts["level"], _NEGATIVE)
    return _sentiments({label: table[label].sum() for label in ("negative", "positive")}, n, facts["level"])


def _sentiments(counts: Mapping[str, Any], n: int, level: float) -> str:
    shares = {
        label: percent(*_rate(count, n, level)) for label, count in counts.items() if label != "neutral"
    }
    are = "is" if n == 1 else "are"
    parts = [f"{share[0]} {are} {label} ({share[1]} to {share[2]})" for label, share in shares.items()]
    return f"Of {counted(n, 'conversation')}, {' and '.join(parts)}"


def _scored(usual: float) -> str:
    return f"{_SENTIMENT} {signed(usual, 2)}" if known(usual) else _NO_INSIGHTS


def _mentions(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    label = facts["table"].removesuffix("s")
    if not facts["n_judged"]:
        return _NO_INSIGHTS
    if table.empty:
        return f"No {label} was found in {counted(facts['n_judged'], 'conversation')} with insights"
    by = facts["by"]
    first = table[table[label] == table[label].iloc[0]]
    titles = list(dict.fromkeys(table[label]))
    title = quoted(names_in_title(titles)[0])
    counts = table.groupby(label, sort=False)["n"].sum()
    also = int(counts.eq(counts.iloc[0]).sum()) - 1
    most = f"{title} is the most frequent {label}"
    if also:
        most = f"{title} and {also} other{'s' if also > 1 else ''} are the most frequent {label}s"
    each = " each" if also else ""
    if by is None:
        row = first.iloc[0]
        share, low, high = percent(row["share"], row["share_low"], row["share_high"])
        of = counted(row["total"], "conversation")
        return f"{most}: {row['n']:,} of {of}{each} ({share}, {low} to {high})"
    groups = _pooled(first[first["total"] > 0], by, "n", "total")
    if also or len(groups) > 2:
        n, total = sum(one[1] for one in groups), sum(one[2] for one in groups)
        return f"{most}: {n:,} of {counted(total, 'conversation')}{each}"
    shares = [f"{percent(n / total)[0]} in {name}" for name, n, total in groups]
    return f"{most}: {', '.join(shares)}"


def _changes(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    label = facts["of"].removesuffix("s")
    if not (facts["n_before"] and facts["n_after"]):
        return "Nothing to compare: one of the periods has no conversations with insights"
    if table.empty:
        return f"No {label}s in either period"
    largest = table.loc[table["difference"].abs().sort_values(ascending=False, kind="stable").index]
    largest = largest.assign(**{label: names_in_title(list(largest[label]))})
    changed = largest[largest["change"].ne("unclear")]
    if changed.empty:
        row = largest.iloc[0]
        shown, low, high = signed_figures(*ends_of(row, "difference"))
        said = f"No clear change: most for {quoted(row[label])}, {points(shown)} ({low} to {high})"
        return said + _why_not(row, facts, "difference")
    row = changed.iloc[0]
    before, after = percent(row["share_before"], row["share_after"])
    shown, low, high = size_figures(*ends_of(row, "difference"))
    way = "more" if row["difference"] > 0 else "less"
    more = f"; {len(changed) - 1} more changed" if len(changed) > 1 else ""
    return f"{quoted(row[label])} is {way} frequent: {before} to {after}, {points(shown)} {way} ({low} to {high}){more}"


def _compare(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    if table.empty:
        return "No variants to compare"
    names = dict(zip(table.index, names_in_title([*table["variant"], facts["control"]]), strict=False))
    control = names_in_title([*table["variant"], facts["control"]])[-1]
    column = "difference_points" if "difference_points" in table else "difference"
    size: Any = table[column].abs()
    decided = {
        verdict: table[table["verdict"].eq(verdict).fillna(value=False)]
        for verdict in ("winner", "worse", "different")
    }
    for verdict, rows in decided.items():
        if len(rows):
            best = size[rows.index].idxmax() if size[rows.index].notna().any() else rows.index[0]
            said = _verdict_in_words(table.loc[best], column, verdict, (names[best], control), facts)
            return said + _others(len(table), {name: len(part) for name, part in decided.items()})
    if table["verdict"].isna().all():
        return f"Nothing to compare with {control}: no outcomes of the same items"
    among = counted(len(table), "variant") if len(table) > 1 else ""
    if size.isna().all():
        return "No clear difference" + (f" among {among}" if among else "")
    best = size.idxmax()
    row, score = table.loc[best], facts["kind"] == "score"
    said = alike(names[best], control, ends_of(row, column), outcome_name(facts), score=score, among=among)
    return said + _why_not(row, facts, column)


def _why_not(row: Any, facts: Mapping[str, Any], column: str) -> str:
    """Return why a difference has no verdict although its interval leaves out 0."""
    why = why_not(row, facts) if leaves_out_zero(*ends_of(row, column)[1:]) else ""
    return f"; {why}" if why else ""


def _verdict_in_words(
    row: Any, column: str, verdict: str, names: tuple[str, str], facts: Mapping[str, Any]
) -> str:
    ends, score = ends_of(row, column), facts["kind"] == "score"
    if facts["kind"] == "label" or not known(ends[0]):
        return labels_differ(*names, outcome_name(facts), verdict, row["p_holm"])
    if leaves_out_zero(*ends[1:]):
        return differs(*names, ends, outcome_name(facts), score=score)
    better = "better" if verdict == "winner" else "worse"
    return f"{names[0]} is {better} by its test. {alike(*names, ends, outcome_name(facts), score=score)}"


def _others(k: int, counts: Mapping[str, int]) -> str:
    if k < 2:
        return ""
    words = {"winner": "better", "worse": "worse", "different": "different"}
    return f"; of {k} variants, {' and '.join(f'{n} {words[name]}' for name, n in counts.items() if n)}"


def _prompt_timeline(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    del facts
    compared = [place for place, is_known in enumerate(table["difference"].notna()) if is_known]
    if not compared:
        n = int(table["n"].sum()) if len(table) else 0
        return (
            "No version can be compared with the one before yet" if n else "No ended conversation is judged"
        )
    row, before = table.iloc[compared[-1]], int(table["n"].iloc[compared[-1] - 1])
    name = f"version {row['number']}" if known(row["number"]) else "the last version"
    if min(before, row["n"]) < FEWEST:
        return f"Too few conversations to compare {name} with the one before: {row['n']:,} and {before:,}"
    return _difference(ends_of(row, "difference"), name, "the one before")


def _atlas(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    if table.empty:
        return "No topics were found"
    row = table.iloc[0]
    name = quoted(row["name"])
    if known(row.get("rate")):
        rate, *ends = percent(row["rate"], row["rate_low"], row["rate_high"])
        n = counted(row["n_known"], "conversation")
        return f"The topic with the most failures is {name}: {rate} ({ends[0]} to {ends[1]}) of its {n} completed their task{as_seen_by(facts['basis'])}"
    share, *ends = percent(row["share"], row["share_low"], row["share_high"])
    return f"The largest of {counted(len(table), 'topic')} is {name}: {share} ({ends[0]} to {ends[1]}) of the conversations"


def _segments(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    if table.empty:
        return "No segments to compare"
    found = table[table["verdict"].ne("unclear")]
    basis = facts.get("basis")
    if found.empty and not may_say_clearly(basis, agreement_of(facts)):
        which = "The only segment is not" if len(table) == 1 else f"None of {len(table):,} segments is"
        return f"{which} named: no labels show that the judge is right"
    if found.empty:
        least = facts["smallest_findable_points"]
        missed = "" if least is None else f"; drops of less than {figures(least)[0]} points may be missed"
        none = (
            "The only segment does not clearly differ"
            if len(table) == 1
            else f"None of {len(table):,} segments clearly differs"
        )
        return f"{none} from the rest{missed}"
    row = found.iloc[0]
    by_labels = known(row.get("difference_points_corrected"))
    name = quoted(f"{row['column']}: {row['segment']}")
    ends = ends_of(row, f"difference_points{'_corrected' if by_labels else ''}")
    said = differs(name, "the rest", ends, outcome_name(facts))
    said = f"Corrected by labels: {said}" if by_labels else said + as_seen_by(basis)
    others = len(found) - 1
    differ = f"clearly differ{'s' if others == 1 else ''}"
    return f"{said}; {others:,} more of {len(table):,} segments {differ}" if others else said


def _where_it_differs(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    del facts
    everything = table[table["part"] == "all"]
    if everything.empty or not everything["n"].iloc[0]:
        return "No pairs of simulated conversations"
    row = everything.iloc[0]
    if row["n"] < FEWEST:
        return f"Too few pairs to compare the variant with the original: {row['n']:,}"
    return f"{_difference(ends_of(row, 'difference'), 'the variant', 'the original')}, {counted(row['n'], 'pair')}"


def _difference(ends: Ends, one: str, other: str) -> str:
    """Return how the completion of two differs, decided by the interval alone."""
    return capital(differs(one, other, ends) if leaves_out_zero(*ends[1:]) else alike(one, other, ends))


def _groups(groups: Sequence[tuple[str, int, int]], deed: str, level: float, outcome: str) -> str:
    """Return how the shares of groups differ: two with a test, more from the lowest to the highest."""
    known_groups = [group for group in groups if group[2]]
    if not known_groups:
        return _NO_INSIGHTS
    if len(known_groups) != 2:
        large = [group for group in known_groups if group[2] >= FEWEST]
        if not large and len(known_groups) > 1:
            return f"No group has the {FEWEST} conversations that a comparison needs"
        ranked = sorted(large or known_groups, key=lambda group: group[1] / group[2])
        parts: list[str] = []
        for name, n, total in dict.fromkeys((ranked[0], ranked[-1])):
            share, least, most = percent(*_rate(n, total, level))
            parts.append(
                f"{share} of {'those' if parts else 'the conversations'} of {name} ({least} to {most})"
            )
        among = f": the lowest and the highest of {len(large)} groups" if len(parts) > 1 else ""
        return f"{' and '.join(parts)} {deed}{among}"
    (control, x0, n0), (name, x1, n1) = known_groups
    test = compare_unpaired(x1, n1, x0, n0, level=level)
    ends = test.lift_points, test.lift_points_low, test.lift_points_high
    if test.direction == "unclear":
        why = f"; {TOO_FEW}" if leaves_out_zero(*ends[1:]) else ""
        return f"{alike(name, control, ends, outcome)}{why}"
    rates = " and ".join(percent(x1 / n1, x0 / n0))
    return often(f"Conversations of {name}", deed, ends, f"those of {control}", f"{rates}; ")


def _pooled(table: pd.DataFrame, by: str, part: str, whole: str) -> list[tuple[str, int, int]]:
    sums = table.groupby(by, sort=False, dropna=False, observed=True)[[part, whole]].sum()
    names = names_in_title(list(sums.index))
    return [(name, int(n), int(total)) for name, (n, total) in zip(names, sums.to_numpy(), strict=True)]


def _rate(part: Any, whole: Any, level: float) -> tuple[float, float, float]:
    share, low, high = (float(end[0]) for end in rate_and_interval([int(part)], [int(whole)], level=level))
    return share, low, high


_NEGATIVE: Final = "the share of negative conversations"
_COMPLETION: Final = f"Whether tasks were completed {UNTOLD}"
_SENTIMENT: Final = "Sentiment as a word list scores it, relative to the usual score of"
# Titles in the place of findings that a word list cannot carry.
_UNTOLD: Final = {
    **dict.fromkeys(("compare", "completion_trend", "prompt_timeline", "segments"), _COMPLETION),
    **dict.fromkeys(("sentiment_distribution", "sentiment_trend"), _SENTIMENT),
}  # fmt: skip
_SHARES: Final = ("completion_trend", "sentiment_distribution", "sentiment_trend", "issues", "topics")
_FINDINGS: Final[dict[str, Callable[..., str]]] = {
    "atlas": _atlas,
    "compare": _compare,
    "completion_trend": _completion_trend,
    "changes": _changes,
    "issues": _mentions,
    **dict.fromkeys(("calibration", "live"), lambda _, facts: facts["sentence"]),
    "where_it_differs": _where_it_differs,
    "prompt_timeline": _prompt_timeline,
    "segments": _segments,
    "sentiment_distribution": _sentiment_distribution,
    "sentiment_trend": _sentiment_trend,
    "topics": _mentions,
    **VIEWS,
}
