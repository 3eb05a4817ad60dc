from __future__ import annotations

import pytest

from promptlift import analysis, plots
from promptlift.schema.benchmarks import Benchmark
from support.drawn import words

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
    wire = {
        "id": "bmk_1",
        "name": "Which",
        "status": "completed",
        "rehearsal": False,
        "results": results,
        **changes,
    }
    return Benchmark.from_wire(wire)


def test_points_and_whiskers_are_the_numbers_of_the_analysis():
    table = analysis.benchmark(benchmark())
    ax = plots.benchmark(benchmark())
    drawn = {round(float(x), 6) for line in ax.lines if line.get_marker() == "o" for x in line.get_xdata()}
    assert drawn == {0.0, -1.0, -20.0}
    ends = {
        tuple(segment[:, 0]) for lines in ax.collections for segment in lines.get_segments() if len(segment)
    }
    expected = table.loc[1:, ["difference_low", "difference_high"]].to_numpy().tolist()
    assert {tuple(pair) for pair in expected} <= ends


def test_the_reference_the_verdicts_and_the_margin_are_written():
    ax = plots.benchmark(benchmark(), prices=PRICES)
    text = " | ".join(words(ax))
    for said in (
        "Now: reference",
        "Short: not worse",
        "Cheap: worse",
        "difference to Now",
        "−5 points, the margin",
    ):
        assert said in text
    assert "80.0% · 0.014 a conversation · 400 cells" in text
    assert any(line.get_linestyle() == "--" and line.get_xdata()[0] == -5.0 for line in ax.lines)


def test_costs_are_drawn_with_the_cheapest_acceptable_arm():
    ax = plots.benchmark(benchmark(), prices=PRICES, value="cost")
    text = " | ".join(words(ax))
    assert "Short: not worse, the cheapest" in text
    assert "currency of the prices" in text
    xs = sorted(float(x) for line in ax.lines if line.get_marker() == "o" for x in line.get_xdata())
    assert xs == pytest.approx([0.00048, 0.008, 0.014])


def test_without_prices_tokens_are_drawn_and_said():
    text = " | ".join(words(plots.benchmark(benchmark(), value="cost")))
    assert "Tokens of a conversation" in text
    assert "Not every arm has a price" in text


def test_a_rehearsal_and_an_unfinished_benchmark_are_marked():
    unfinished = benchmark().results.to_wire() | {"final": False}
    text = " | ".join(words(plots.benchmark(benchmark(rehearsal=True, results=unfinished))))
    assert "REHEARSAL" in text
    assert "has not completed" in text


def test_without_results_the_axes_say_so():
    for value in ("difference", "cost"):
        assert "Nothing is measured yet" in words(plots.benchmark(benchmark(results=None), value=value))


def test_an_unknown_value_is_refused():
    with pytest.raises(ValueError, match="'difference' or 'cost'"):
        plots.benchmark(benchmark(), value="height")
