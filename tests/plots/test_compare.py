"""The comparison with a control in words."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color

from promptlift import plots
from support.drawn import points, said, whiskers, words
from support.sentences import PLOTS


def runs(n=80, rates=(0.5, 0.9, 0.1)):
    rng = np.random.default_rng(7)
    return pd.concat(
        [
            pd.DataFrame({"run": name, "task": range(n), "task_completed": rng.random(n) < rate, "quality": rng.normal(rate, 1, n)})
            for name, rate in zip("abc", rates, strict=False)
        ],
        ignore_index=True,
    )  # fmt: skip


def test_verdicts_numbers_and_rule_are_words():
    table = runs()
    table.loc[table["run"].eq("c"), "task"] += 40
    ax = plots.compare(table, by="run", pair="task", control="a", color="black")
    texts = words(ax)
    assert {"b: winner", "c: worse"} <= set(texts)
    assert any("40 pairs · confidence" in text and text.endswith("that it is worse") for text in texts)
    assert "Winner or worse: confidence 0.90 or more" in said(ax)
    assert "task completed, difference to a in percentage points (95% interval)" in texts
    observed = plots.compare(table, by="run", control="a")
    assert {"b: higher", "c: lower"} <= set(words(observed))
    assert "winner" not in said(observed).lower()
    table.loc[table["run"].eq("c"), "task"] += 1_000
    texts = words(plots.compare(table, by="run", pair="task", control="a"))
    assert {"b: winner", "c: not compared", "0 pairs"} <= set(texts)


def test_without_an_interval_the_points_are_hollow_and_have_no_whiskers():
    ax = plots.compare(runs().groupby("run").head(1), by="run", outcome="quality", control="a")
    drawn = [line for line in ax.lines if line.get_marker() == "o"]
    assert all(same_color(line.get_markerfacecolor(), ax.get_facecolor()) for line in drawn)
    assert not np.isfinite(whiskers(ax)).any()
    assert PLOTS["no interval"] in said(ax)


def test_scores_and_labels_are_drawn_in_their_own_way():
    ax = plots.compare(runs(), by="run", pair="task", outcome="quality", control="a")
    assert ax.get_xlabel() == "quality, difference to a of means (95% interval)"
    table = runs().assign(
        sentiment=np.resize(["positive", "neutral", "negative", "neutral"], 240), end="STOP"
    )
    ax = plots.compare(table, by="run", outcome="sentiment", control="a")
    assert "sentiment: positive" in ax.get_xlabel()
    assert len(points(ax)) == 2
    ax = plots.compare(table, by="run", outcome="end", control="a")
    assert not points(ax)
    assert "c: no winner" in words(ax)


def test_at_most_twenty_variants_are_drawn_and_an_empty_table_has_none():
    table = pd.concat([runs().assign(run=f"v{i}") for i in range(24)], ignore_index=True)
    ax = plots.compare(table, by="run", control="v0")
    assert len(points(ax)) == 20
    assert PLOTS["most trials"] in said(ax)
    ax = plots.compare(table.head(0), by="run", pair="task")
    assert "No variants to compare" in words(ax)


def test_axes_are_used_and_bad_values_refused():
    _, ax = plt.subplots()
    assert plots.compare(runs(), by="run", ax=ax) is ax
    with pytest.raises(ValueError, match="by must be"):
        plots.compare(runs())
