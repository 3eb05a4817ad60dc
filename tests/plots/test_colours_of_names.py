"""A name has its colour in every picture and in every run."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from promptlift import plots
from promptlift.plots.palette import slots_of
from promptlift.plots.theme import MAX_GROUPS, PALETTE

NAMES = ["Support", "Sales", "Billing", "Returns", "Onboarding", "Search"]
DRAW = "from promptlift.plots.palette import slots_of; print(slots_of(['Support', 'Sales', 'Billing', 'Returns'], 6))"


def table(names):
    rows = [(name, number) for name in names for number in range(8)]
    return pd.DataFrame(
        {
            "prompt": [name for name, _ in rows],
            "status": "completed",
            "task_completed": [number % 2 == 0 for _, number in rows],
            "sentiment": ["negative" if number % 2 else "positive" for _, number in rows],
            "started_at": [
                pd.Timestamp("2026-01-01", tz="UTC") + pd.Timedelta(days=number) for _, number in rows
            ],
        }
    )


def colours(ax):
    box = ax.get_legend()
    shown = [text.get_text().rpartition(" (n")[0] for text in box.get_texts()]
    return dict(zip(shown, [to_hex(handle.get_color()) for handle in box.legend_handles], strict=True))


# A trend gives every group a lane of its own from four groups on.
@pytest.mark.parametrize(("draw", "most"), [(plots.completion_trend, 3), (plots.sentiment_distribution, 6)])
def test_the_colour_of_a_name_does_not_depend_on_the_order_or_the_numbers(draw, most):
    every = colours(draw(table(NAMES[:most]), by="prompt"))
    assert colours(draw(table(NAMES[:most][::-1]), by="prompt")) == every
    assert set(every) == set(NAMES[:most])
    assert len(set(every.values())) == min(most, MAX_GROUPS)


def test_a_name_keeps_its_colour_in_another_plot_and_beside_another_name():
    pair = colours(plots.completion_trend(table(["Support", "Search"]), by="prompt"))
    assert colours(plots.sentiment_distribution(table(["Support", "Search"]), by="prompt")) == pair
    alone = {
        name: colours(plots.completion_trend(table([name, name + "!"]), by="prompt"))[name] for name in pair
    }
    clash = len(set(alone.values())) < len(alone)
    assert clash or alone == pair


@pytest.mark.slow
def test_the_colours_are_the_same_in_another_process():
    said = {
        subprocess.run([sys.executable, "-c", DRAW], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(said) == 1


def test_two_names_of_one_place_have_two_colours():
    names = [f"name {number}" for number in range(MAX_GROUPS)]
    found = colours(plots.sentiment_distribution(table(names), by="prompt"))
    assert len(set(found.values())) == MAX_GROUPS
    assert set(found.values()) <= {to_hex(color) for color in PALETTE}
    for size in range(2, MAX_GROUPS):
        assert len(set(slots_of(names[:size], len(PALETTE)))) == size
