"""The arms of a benchmark by their artists."""

from __future__ import annotations

import pytest

from promptlift import analysis, plots
from promptlift.schema.benchmarks import Benchmark
from support.drawn import points, said, whiskers, words

ARMS = [
    ("Now", "gpt-4o", 80.0, 4_000, 400),
    ("Short", "gpt-4o", 79.0, 2_000, 300),
    ("Cheap", "gpt-4o-mini", 60.0, 2_000, 300),
]
PRICES = {"gpt-4o": {"input": 2.5, "output": 10.0}, "gpt-4o-mini": {"input": 0.15, "output": 0.6}}


def benchmark(**changes):
    """A benchmark of three arms as the service gives it."""
    pairs = [(1, 310, 6, 10, 74, 0.45, True, "unclear"), (2, 220, 20, 100, 60, 0.0001, False, "worse")]
    results = {
        "arms": [
            {
                "number": n, "name": name, "llmModel": model, "n": 400, "dropped": 0, "taskCompletion": rate,
                "taskCompletionLow": rate - 4, "taskCompletionHigh": rate + 4, "sentiment": 0.2, "quality": 70.0, "turns": 2.5,
                "inputTokens": read, "outputTokens": written, "tokensEstimated": False,
            }
            for n, (name, model, rate, read, written) in enumerate(ARMS)
        ],
        "comparisons": [
            {
                "number": n, "reference": 0, "n": 400, "n11": n11, "n10": n10, "n01": n01, "n00": n00,
                "points": (n10 - n01) / 4, "pointsLow": (n10 - n01) / 4 - 3, "pointsHigh": (n10 - n01) / 4 + 3,
                "p": p, "pHolm": p, "verdict": verdict, "notWorse": fine, "notWorseP": 0.01 if fine else 1.0,
            }
            for n, n11, n10, n01, n00, p, fine, verdict in pairs
        ],
        "reference": 0, "margin": 5.0, "level": 0.95, "acceptable": [0, 1], "cheapest": None, "final": True,
        "warnings": [], "rehearsal": False,
    }  # fmt: skip
    wire = {"id": "bmk_1", "name": "Which", "status": "completed", "rehearsal": False, "results": results}
    return Benchmark.from_wire(wire | changes)


def test_differences_have_intervals_verdicts_and_the_margin():
    table, ax = analysis.benchmark(benchmark()), plots.benchmark(benchmark(), prices=PRICES)
    assert {round(x, 6) for x, _ in points(ax, "o")} == {0.0, -1.0, -20.0}
    expected = table.loc[1:, ["difference_low", "difference_high"]].to_numpy().tolist()
    assert {tuple(pair) for pair in expected} <= {tuple(pair) for pair in whiskers(ax)}
    for text in (
        "Now: reference", "Short: not worse", "Cheap: worse", "difference to Now", "−5 points, the margin",
        "80.0% · 0.014 a conversation · 400 cells",
    ):  # fmt: skip
        assert text in said(ax)
    assert any(line.get_linestyle() == "--" and line.get_xdata()[0] == -5.0 for line in ax.lines)


def test_costs_have_the_cheapest_acceptable_arm_or_tokens_where_a_price_is_missing():
    ax = plots.benchmark(benchmark(), prices=PRICES, value="cost")
    assert "Short: not worse, the cheapest" in said(ax)
    assert "currency of the prices" in said(ax)
    assert sorted(x for x, _ in points(ax, "o")) == pytest.approx([0.00048, 0.008, 0.014])
    without = said(plots.benchmark(benchmark(), value="cost"))
    assert "Tokens of a conversation" in without
    assert "Not every arm has a price" in without


def test_a_rehearsal_an_unfinished_benchmark_and_one_without_results_are_marked():
    unfinished = benchmark().results.to_wire() | {"final": False}
    text = said(plots.benchmark(benchmark(rehearsal=True, results=unfinished)))
    assert "REHEARSAL" in text
    assert "has not completed" in text
    for value in ("difference", "cost"):
        assert "Nothing is measured yet" in words(plots.benchmark(benchmark(results=None), value=value))
    with pytest.raises(ValueError, match="'difference' or 'cost'"):
        plots.benchmark(benchmark(), value="height")
