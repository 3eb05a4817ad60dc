"""The findings of optimizations, benchmarks, usage and the service's views, in one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.sentences import ends_of, why_not
from promptlift.analysis.service_views import metric_name, metric_text
from promptlift.frames.headline import TESTED_LIFT, headlines_of
from promptlift.stats.differences import FEWEST
from promptlift.words.figures import confidences, counted, known, points, size_figures
from promptlift.words.names import name_in_title, names_in_title, quoted
from promptlift.words.sentences import alike, differs, leaves_out_zero, lift, measured, measured_lift, often

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

_NOTHING_MEASURED: Final = "Nothing is measured yet"


def _variant_lift(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    several = facts["n_optimizations"]
    if table.empty:
        return "No variants yet"
    table = headlines_of(table.assign(name=names_in_title(list(table["name"]))))
    winners = table[table["is_winner"].astype(bool)]
    if several > 1:
        won = winners["optimization_id"].nunique()
        return f"{won} of {several} optimizations found a winner"
    if len(winners):
        return _winner(winners.iloc[0], facts)
    status = facts.get("status")
    measured = table[table["lift"].notna()]
    confirmed = measured[measured["stage"].astype("str").eq("confirm")]
    best = confirmed if len(confirmed) else measured
    said = ""
    if len(best):
        row = best.iloc[best["lift"].argmax()]
        where = " in the screening" if row["stage"] == "screen" else ""
        shown = measured_lift(ends_of(row, "lift"), in_points=row["lift_basis"] == "points_completion")
        said = f": the best measured{where}, {quoted(row['name'])}, {shown}{_where(row)}"
    if status not in (None, "completed"):
        return f"{str(status).replace('_', ' ').capitalize()}, no winner so far{said}"
    return f"No winner was found{said}"


def _winner(row: Any, facts: Mapping[str, Any]) -> str:
    confidence = facts.get("confidence")
    sure = row["confidence"] if confidence is None else confidence
    in_points = row["lift_basis"] == "points_completion"
    return lift(quoted(row["name"]), ends_of(row, "lift"), in_points=in_points, where=_where(row), sure=sure)


def _where(row: Any) -> str:
    """Return the mix that a lift refers to, if it is not the tested one."""
    return " on the logged mix" if known(row[TESTED_LIFT["lift"]]) else ""


def _variant_confidence(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    rows = table[table["confidence"].notna()]
    if rows.empty:
        return "No confidence yet"
    runs = [part.iloc[-1] for _, part in rows.groupby("optimization_id", sort=False, dropna=False)]
    if len(runs) > 1:
        reached = sum(known(run["threshold"]) and run["confidence"] >= run["threshold"] for run in runs)
        return f"{reached} of {len(runs)} optimizations reached the confidence that a winner needs"
    last, needed = runs[0]["confidence"], runs[0]["threshold"]
    if not known(needed):
        return f"Confidence {confidences(last)[0]}"
    shown, least = confidences(last, needed)
    after = f" after pass {int(runs[0]['look'])}" if facts.get("has_trace") and known(runs[0]["look"]) else ""
    if last >= needed:
        return f"Confidence {shown}{after} reaches the {least} that a winner needs"
    return f"Confidence {shown}{after}, below the {least} that a winner needs"


def _benchmark(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    if table.empty:
        return _NOTHING_MEASURED
    names = dict(zip(table.index, names_in_title(list(table["name"])), strict=True))
    is_reference = table["is_reference"].astype(bool)
    reference = next((names[place] for place in table.index[is_reference]), "the reference")
    arms = table[~is_reference & table["difference"].notna()]
    if arms.empty:
        return f"Nothing to compare with {reference} yet"
    found = {
        verdict: arms[arms["verdict"].eq(verdict).fillna(value=False)] for verdict in ("better", "worse")
    }
    cheapest = table.index[table["is_cheapest"].fillna(value=False).astype(bool)]
    cheap = f"; {names[cheapest[0]]} is the cheapest acceptable one" if len(cheapest) else ""
    better = found["better"]
    if len(better):
        row = better.iloc[better["difference"].argmax()]
        return _by_points(row, names[row.name], reference) + cheap
    fine = arms[arms["not_worse"].fillna(value=False).astype(bool)]
    if len(fine):
        more = f" and {len(fine) - 1} more are" if len(fine) > 1 else " is"
        margin = facts.get("margin")
        loss = f" (a loss of {margin:g} points is excluded)" if margin else ""
        return f"No arm is better than {reference}; {names[fine.index[0]]}{more} not worse{loss}{cheap}"
    if len(found["worse"]) == len(arms):
        row = arms.iloc[arms["difference"].argmax()]
        return _by_points(row, names[row.name], reference) + (
            ", the best of the others" if len(arms) > 1 else ""
        )
    row = arms.iloc[arms["difference"].argmax()]
    ends = ends_of(row, "difference")
    about = {"level": facts.get("level") or 0.95, "n_tests": len(arms)}
    # An interval that leaves out 0 needs a reason beside it.
    why = why_not({**row, "n": row["n_pairs"]}, about) if leaves_out_zero(*ends[1:]) else ""
    best = alike(names[row.name], reference, ends, among=counted(len(arms), "arm") if len(arms) > 1 else "")
    return f"{best}; {why}" if why else best


def _by_points(row: Any, name: str, reference: str) -> str:
    ends = ends_of(row, "difference")
    if leaves_out_zero(*ends[1:]):
        return differs(name, reference, ends)
    return f"{name} is {row['verdict']} by its test. {alike(name, reference, ends)}"


def _search(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    del facts
    if table.empty:
        return "This optimization has no search"
    counts = counted(len(table), "candidate")
    generations = table["generation"].nunique()
    if generations > 1:
        counts += f" of {generations} generations"
    table = table.assign(name=names_in_title(list(table["name"])))
    kept = table[table["state"].ne("rejected")]
    ahead = kept[kept["points_low"].gt(0) & kept["points_high"].notna() & kept["n_pairs"].ge(FEWEST)]
    if ahead.empty:
        return f"None of {counts} is clearly ahead of the original in the search"
    row = ahead.iloc[ahead["points_low"].argmax()]
    shown, low, high = size_figures(*ends_of(row, "points"))
    said = f"The search puts {quoted(row['name'])} {points(shown)} above the original ({low} to {high})"
    return said if len(table) == 1 else f"{said}, the best of {counts}"


def _targets(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    del facts
    if table.empty:
        return "This optimization has no targets"
    tested = table[table["difference"].notna()]
    if tested.empty:
        return "No target was measured on a pair of conversations yet"
    tested = tested.assign(target=names_in_title(list(tested["target"])))
    is_change = tested["change"].eq
    improved = tested[is_change("improved") & tested["difference_low"].gt(0)]
    worse = tested[is_change("worse") & tested["difference_high"].lt(0)].iloc[::-1]
    if improved.empty and worse.empty:
        row = tested.iloc[tested["difference"].abs().argmax()]
        return f"No target clearly improved or became worse: most for {quoted(row['target'])}, {measured(ends_of(row, 'difference'))}"
    first = (improved if len(improved) else worse).iloc[0]
    said = often(quoted(first["target"]), "is met", ends_of(first, "difference"))
    if len(table) == 1:
        return said
    counts = {"improved": len(improved), "became worse": len(worse)}
    return (
        f"{said}; of {len(table)} targets, {' and '.join(f'{n} {word}' for word, n in counts.items() if n)}"
    )


def _production_metrics(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    del facts
    if table.empty:
        return "No look yet: the first is at 30 judged conversations"
    compared = table[table["before"].notna() & table["after"].notna()]
    if compared.empty:
        return "Nothing to compare before and after yet"
    harmed = compared[compared["regressed"].fillna(value=False).astype(bool)]
    if len(harmed):
        row = harmed.iloc[0]
        before, after = (metric_text(row["metric"], row[side]) for side in ("before", "after"))
        others = [name_in_title(metric_name(metric).lower(), 28) for metric in harmed["metric"].iloc[1:]]
        also = f"; {', '.join(others)} regressed too" if others else ""
        return f"{name_in_title(metric_name(row['metric']))} regressed from {before} to {after}{_test_of(row)}{also}"
    metrics = counted(len(compared), "metric")
    tested = compared[compared["p"].notna()]
    least = tested.iloc[tested["p"].argmin()] if len(tested) else None
    where = (
        "" if least is None else f": least sure for {metric_name(least['metric']).lower()}{_test_of(least)}"
    )
    return f"No harm was found in {metrics}{where}"


def _test_of(row: Any) -> str:
    if not (known(row["p"]) and known(row["level"])):
        return ""
    return f" (p {row['p']:.2g}, {'below' if row['p'] < row['level'] else 'not below'} {row['level']:.2g})"


VIEWS: Final[dict[str, Callable[..., str]]] = {
    "benchmark": _benchmark,
    "production_metrics": _production_metrics,
    "search": _search,
    "targets": _targets,
    "variant_confidence": _variant_confidence,
    "variant_lift": _variant_lift,
}
