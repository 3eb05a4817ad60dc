"""Every plot on tables of every size, with two and six groups, and with long and hostile names."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.cbook import is_math_text
from matplotlib.text import Text

from promptlift import plots
from promptlift.analysis.atlas import Atlas
from promptlift.frames import (
    calibration_table,
    production_metrics_table,
    targets_table,
    variants_table,
)
from promptlift.schema.benchmarks import Benchmark
from support.side_by_side import experiment
from support.synthetic_tables import TITLES, conversations
from support.synthetic_versions import simulations, variants, versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# They start and end alike: only the middle tells them apart.
LONG: Final = tuple(
    f"Support assistant for the customers of the web shop in {city}, second edition of the year"
    for city in ("Amsterdam", "Berlin", "Copenhagen", "Dublin", "Edinburgh", "Florence")
)
HOSTILE: Final = (
    r"$\frac{1}{0}$ <script>alert(1)</script>",
    "two\nlines\x00 \u202egnp.exe",
    "",
    "_hidden 👩‍👩‍👧 שלום مرحبا",
    "日本語の顧客サポートのための長い名前のプロンプトです" * 2,
    "W" * 120,
)
FEW: Final = 5


def table(n: int, names: tuple[str, ...] = ("v1", "v2"), titles: tuple[str, ...] = TITLES) -> pd.DataFrame:
    """Make conversations of these prompts, with issues of these titles."""
    found = conversations(n, prompts=names, seed=3)
    renamed = dict(zip(TITLES, titles, strict=False))
    found["issues"] = [
        None if cell is None else [one | {"title": renamed[one["title"]]} for one in cell]
        for cell in found["issues"]
    ]
    found["topics"] = [
        [renamed[TITLES[len(cell)]], renamed[TITLES[0]]][: len(cell)] for cell in found["topics"]
    ]
    return found


def of_conversations(data: pd.DataFrame, *, several: bool) -> Iterator[tuple[str, Any]]:
    """Name every plot of conversations with a call that draws it."""
    by = "prompt_id" if several else None
    for name in ("completion_trend", "sentiment_trend", "sentiment_distribution", "issues", "topics"):
        draw = getattr(plots, name)
        yield name, lambda draw=draw, **more: draw(data, by=by, **more)
    for of in ("issues", "topics"):
        yield f"changes of {of}", lambda of=of, **more: plots.changes(data, of=of, at="2026-02-10", **more)
    yield "compare", lambda **more: plots.compare(data, by="prompt_id", **more)
    yield "segments", lambda **more: plots.segments(data, **more)
    yield "prompt_overview", lambda **more: plots.prompt_overview(data, **more)
    texts = versions(["2026-01-20", "2026-02-01", "2026-02-12", "2026-03-01"])
    one = data.assign(prompt_id=data["prompt_id"].iloc[0]) if len(data) else data
    yield "completion_trend of versions", lambda **more: plots.completion_trend(one, versions=texts, **more)
    applied, _ = calibration_table(
        [
            {"optimizationId": f"o{place}", "variantId": f"v{place}", "name": name, "predicted": 4.0 + place, "predictedN": 90,
             "predictedLow": -1.0, "predictedHigh": 9.0, "predictedLevel": 0.9, "predictedExpected": 3.0, "nBefore": len(one),
             "nAfter": 3, "difference": 2.0, "source": "before and after", "appliedAt": f"2026-01-{place:02}T00:00:00Z"}
            for place, name in enumerate(dict.fromkeys(data["prompt_id"]), 1)
        ]
    )  # fmt: skip
    applied.attrs["promptlift"] = {
        "table": "calibration",
        "sentence": "What simulations are worth is not known yet",
    }
    yield "simulated_vs_production", lambda **more: plots.simulated_vs_production(applied, **more)


def of_optimizations(n: int, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Name every plot of optimizations, benchmarks and the service's views with a call that draws it."""
    few = names if n else ()
    lifts = variants(
        [
            {"optimization_id": "o1", "variant_id": f"v{place}", "name": name, "is_original": place == 0, "is_winner": place == 1,
             "stage": "confirm" if place < 2 else "screen", "lift": 0.0 if place == 0 else 17.0 - 12 * place,
             "lift_low": np.nan if place == 0 else -3.0 - 12 * place, "lift_high": np.nan if place == 0 else 40.0 - 12 * place,
             "lift_expected": 9.0 - 6 * place, "interval_level": 0.9, "confidence": 0.93 if place == 1 else np.nan, "n_pairs": n}
            for place, name in enumerate(few)
        ]
    )  # fmt: skip
    lifts["uncertainty_source"] = np.where(lifts["lift_low"].notna(), "service", "none")
    lifts["lift_basis"], lifts["warnings"], lifts["n_variants_tested"] = "relative_completion", "", len(few)
    about = {
        "optimization_id": "o1",
        "status": "completed",
        "confidence": 0.93,
        "threshold": 0.9,
        "winner_selected": True,
    }
    lifts.attrs["promptlift"] = {"table": "variants", "trace": [0.5, 0.71, 0.66, 0.93], **about}
    yield "variant_lift", lambda **more: plots.variant_lift(lifts, **more)
    yield "variant_confidence", lambda **more: plots.variant_confidence(lifts, **more)
    live = experiment(("v2", *few), n)
    yield "compare live", lambda **more: plots.compare(live, **more)
    found = searched(few, n)
    yield "search", lambda **more: plots.search(found, **more)
    for personas, scenarios in ((4, 3), (30, 40)):
        pairs = simulations(min(n, 2_000), personas=personas, scenarios=scenarios)
        if len(names) > 2:
            for column in ("persona", "scenario"):
                pairs[column] = [
                    f"{names[int(text.split()[1]) % len(names)]} {text}" for text in pairs[column]
                ]
        yield (
            f"where_it_differs {personas}",
            lambda pairs=pairs, **more: plots.where_it_differs(pairs, **more),
        )
    measured = benchmark(few, n)
    for value in ("difference", "cost"):
        yield f"benchmark {value}", lambda value=value, **more: plots.benchmark(measured, value=value, **more)
    topics = atlas_of(few, n)
    yield "atlas", lambda **more: plots.atlas(topics, **more)
    yield from of_views(few, n)


def atlas_of(names: tuple[str, ...], n: int) -> Atlas:
    """Make topics of these names, the first of which fails most."""
    count = len(names)
    shares, rates = np.linspace(0.4, 0.1, count), np.linspace(0.2, 0.9, count)
    columns = {"cluster": np.arange(1, count + 1), "name": pd.Series(names, dtype="str"), "n": [n] * count, "share": shares,
               "share_low": 0.8 * shares, "share_high": 1.2 * shares, "stability": [0.9] * count, "n_known": [n] * count, "rate": rates,
               "rate_low": rates - 0.1, "rate_high": rates + 0.1}  # fmt: skip
    table, ids = pd.DataFrame(columns), [f"c{at}" for at in range(n * count)]
    table.attrs["promptlift"] = {"table": "atlas", "n": n * count, "level": 0.95, "basis": "outcome"}
    topic = pd.Series(np.repeat(np.array(names, object), n), dtype="str")
    assignments = pd.DataFrame(
        {"conversation_id": ids, "cluster": np.repeat(np.arange(count), n), "name": topic}
    )
    return Atlas(table, assignments, pd.DataFrame({"conversation_id": ids, "topic": topic}))


def searched(names: tuple[str, ...], n: int) -> pd.DataFrame:
    """Make the table of variants of a search: several generations of candidates of each name."""
    rows = [
        {"id": f"v{place}", "name": name, "isOriginal": False, "generation": 1 + place // 3, "parentVariantId": "v0",
         "search": {"pairs": n, "won": 9, "lost": 3, "tied": max(0, n - 12), "points": 4.0 * place - 6.0,
                    "pointsLow": 4.0 * place - 18.0, "pointsHigh": 4.0 * place + 6.0, "conversationsSpent": 16 * (place + 1) + n,
                    "state": ("pool", "rejected", "testing", "finalist")[place % 4], "reason": None}}
        for place, name in enumerate(names * 3)
    ]  # fmt: skip
    return variants_table([{"id": "o1", "optimization": {"id": "o1"}, "variants": rows}])[0]


def of_views(few: tuple[str, ...], n: int) -> Iterator[tuple[str, Any]]:
    """Name every plot of the service's own views with a call that draws it."""
    results = [
        {"optimizationId": "o1", "target": name, "change": "improved" if place < 2 else "unclear", "original": 40.0,
         "variant": 60.0 - 9 * place, "points": 20.0 - 9 * place, "pointsLow": 10.0 - 9 * place,
         "pointsHigh": 30.0 - 9 * place, "intervalLevel": 0.95, "n": n}
        for place, name in enumerate(few)
    ]  # fmt: skip
    met = targets_table(results)[0]
    met.attrs["promptlift"] = {
        "table": "targets",
        "hypothesis": {"text": few[0] if few else "It helps.", "held": True, "measuredBy": "targets"},
    }
    yield "targets", lambda **more: plots.targets(met, **more)
    watched = [
        {"metric": name, "before": before, "after": after, "conversationsBefore": n, "conversations": n // 2, "p": p,
         "level": 0.008, "regressed": p in (0.001, 0.0001)}
        for name, before, after, p in (
            ("task_completion", 60.0, 20.0, 0.001), ("sentiment", 0.4, -0.4, 0.9), ("quality", 70.0, 70.0, 1.0),
            ("abandonment", 0.0, 100.0, 0.0001), ("response_time", 1e5, 2.0, 1.0), ("length", None, 3.0, None),
        )
    ]  # fmt: skip
    known = production_metrics_table(watched[: 3 * len(few)])[0]
    yield "production_metrics", lambda **more: plots.production_metrics(known, **more)


def benchmark(names: tuple[str, ...], n: int) -> Benchmark:
    """Make a benchmark of these arms; the first is the reference."""
    arms = [
        {"number": place, "name": name, "llmModel": "gpt-4o", "n": n, "dropped": 0, "taskCompletion": 100.0 - 8 * place,
         "taskCompletionLow": 90.0 - 8 * place, "taskCompletionHigh": 100.0 - 7 * place, "sentiment": 0.2, "quality": 70.0,
         "turns": 2.5, "inputTokens": 4_000 - 300 * place, "outputTokens": 300, "tokensEstimated": False}
        for place, name in enumerate(names)
    ]  # fmt: skip
    pairs = [
        {"number": place, "reference": 0, "n": n, "n11": n, "n10": 0, "n01": 0, "n00": 0, "points": -8.0 * place,
         "pointsLow": -8.0 * place - 6, "pointsHigh": -8.0 * place + 6, "p": 0.01, "pHolm": 0.04, "verdict": "worse",
         "notWorse": False, "notWorseP": 1.0}
        for place in range(1, len(names))
    ]  # fmt: skip
    results = {
        "arms": arms, "comparisons": pairs, "reference": 0, "margin": 5.0, "level": 0.95,
        "acceptable": [0] if names else [], "cheapest": None, "final": True, "warnings": [], "rehearsal": False,
    }  # fmt: skip
    return Benchmark.from_wire(
        {"id": "bmk_1", "name": "Which", "status": "completed", "rehearsal": False, "results": results}
    )


def cases(n: int) -> Iterator[tuple[str, Any]]:
    """Name every picture to look at, with a call that draws it; plots of the same table share it."""
    # Few conversations make other ticks and intervals than many, for names of any kind; none have no names at all.
    groups = (
        ("two", ("v1", "v2"), TITLES),
        ("long", LONG, LONG),
        ("hostile", HOSTILE, tuple(reversed(HOSTILE[:4]))),
    )
    for label, names, titles in (
        ("one", ("v1",), TITLES),
        *{0: groups[:1], FEW: groups[2:]}.get(n, groups),
    ):
        for name, draw in of_conversations(table(n, names, titles), several=label != "one"):
            yield f"{name} {n} {label}", draw
    # Of a few conversations and of many these differ in a number only.
    for label, names, _ in {0: groups[:1], FEW: ()}.get(n, groups):
        for name, draw in of_optimizations(n, names):
            yield f"{name} {n} {label}", draw


def faults(drawn: Axes | Figure) -> list[str]:
    """Say which texts of a picture run out of it, into each other, or are taken for mathematics."""
    figure = drawn.figure
    figure.draw_without_rendering()
    edge = figure.bbox.padded(2)
    found, boxes = [], []
    hidden = _hidden_ticks(figure)
    for text in figure.findobj(Text):
        if not (text.get_text().strip() and text.get_visible()) or text in hidden:
            continue
        box = text.get_window_extent()
        boxes.append((text.get_text(), box))
        if is_math_text(text.get_text()):
            found.append(f"mathematics: {text.get_text()!r}")
        if not (edge.x0 <= box.x0 and box.x1 <= edge.x1 and edge.y0 <= box.y0 and box.y1 <= edge.y1):
            found.append(f"outside: {text.get_text()!r}")
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        # Boxes have some room around the letters.
        if wide > 2 and high > 0.3 * min(a.height, b.height):
            found.append(f"overlap: {one!r} and {other!r}")
    return found


def _hidden_ticks(figure: Figure) -> set[Text]:
    """Find the tick labels outside of the limits of their axes, which are not drawn."""
    hidden: set[Text] = set()
    every = [*figure.axes, *(child for ax in figure.axes for child in ax.child_axes)]
    for axis, place in ((axis, place) for ax in every for place, axis in enumerate((ax.xaxis, ax.yaxis))):
        low, high = sorted(axis.get_view_interval())
        used = axis.get_major_ticks(len(axis.get_majorticklocs()))
        for tick in (*axis.majorTicks, *axis.minorTicks):
            if tick not in used or not low <= tick.label1.get_unitless_position()[place] <= high:
                hidden |= {tick.label1, tick.label2}
    return hidden
