"""The arms of a benchmark by their artists."""

from __future__ import annotations

import pytest

from promptlift import analysis, plots
from promptlift.schema.benchmarks import Benchmark
from support import every_plot
from support.drawn import points, said, whiskers, words

PRICES = {"gpt-4o": {"input": 2.5, "output": 10.0}, "gpt-4o-mini": {"input": 0.15, "output": 0.6}}


def benchmark(**changes):
    """A benchmark of three arms as the service gives it: the second is not worse, the third is."""
    wire = every_plot.benchmark(("Now", "Short", "Cheap"), 400).to_wire()
    wire["results"]["acceptable"] = [0, 1]
    wire["results"]["arms"][2]["llmModel"] = "gpt-4o-mini"
    wire["results"]["comparisons"][0] |= {"verdict": "unclear", "notWorse": True, "notWorseP": 0.01}
    return Benchmark.from_wire(wire | changes)


def test_differences_have_intervals_verdicts_and_the_margin():
    table, ax = analysis.benchmark(benchmark()), plots.benchmark(benchmark(), prices=PRICES)
    assert {round(x, 6) for x, _ in points(ax, "o")} == {0.0, -8.0, -16.0}
    expected = table.loc[1:, ["difference_low", "difference_high"]].to_numpy().tolist()
    assert {tuple(pair) for pair in expected} <= {tuple(pair) for pair in whiskers(ax)}
    for text in (
        "Now: reference", "Short: not worse", "Cheap: worse", "difference to Now", "−5 points, the margin",
        "100.0% · 0.013 a conversation · 400 cells",
    ):  # fmt: skip
        assert text in said(ax)
    # A short mark in each row, at no difference and at the margin.
    assert sorted(points(ax, "|")) == [(x, row) for x in (-5.0, 0.0) for row in range(3)]


def test_costs_have_the_cheapest_acceptable_arm_or_tokens_where_a_price_is_missing():
    ax = plots.benchmark(benchmark(), prices=PRICES, value="cost")
    assert "Short: not worse, the cheapest" in said(ax)
    assert "currency of the prices" in said(ax)
    assert sorted(x for x, _ in points(ax, "o")) == pytest.approx([0.00069, 0.01225, 0.013])
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
