"""Usage against limits by its artists."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis, plots
from support.drawn import words


def usage(used=(4, 9, 310, 1_234_567), limit=(5, 10, 500, None)):
    n = len(used)
    return pd.DataFrame(
        {
            "resource": pd.Series(["prompts", "optimizations", "conversations", "tokens"][:n], dtype="str"),
            "used": pd.array(used, dtype="Int64"),
            "limit": pd.array(limit[:n], dtype="Int64"),
            "period_start": pd.to_datetime(["2026-04-01"] * n, utc=True),
            "period_end": pd.to_datetime(["2026-05-01"] * n, utc=True),
        }
    )


def test_bars_are_shares_and_diamonds_projections():
    ax = plots.usage(usage(), now="2026-04-16")
    found = analysis.usage(usage(), now="2026-04-16")
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(found["used_share"].fillna(0).tolist())
    (diamonds,) = (line for line in ax.lines if line.get_marker() == "D")
    assert diamonds.get_xdata().tolist() == pytest.approx(found["projected_share"].dropna().tolist())


def test_rows_say_numbers_and_when_the_limit_is_reached():
    texts = words(plots.usage(usage(), now="2026-04-16"))
    assert "4 of 5" in texts
    assert "310 of 500 · about 620 by the end at this rate · limit reached around 25 Apr" in texts
    assert "1,234,567 used, unlimited · about 2,500,000 by the end at this rate" in texts
    assert any("has no interval" in text.replace("\n", " ") for text in texts)


def test_what_runs_past_the_picture_is_an_arrow_at_its_edge():
    ax = plots.usage(usage(used=(1, 9, 400)), now="2026-04-05")
    (arrows,) = (line for line in ax.lines if line.get_marker() == ">")
    assert set(arrows.get_xdata()) == {ax.get_xlim()[1]}


def test_early_in_the_period_nothing_is_projected():
    ax = plots.usage(usage(), now="2026-04-02")
    assert not [line for line in ax.lines if line.get_marker() in ("D", ">")]
    assert any("No projection: too early" in text for text in words(ax))


def test_a_full_limit_and_an_empty_table_are_said():
    assert any(
        text.endswith("limit reached") for text in words(plots.usage(usage(used=(5, 10)), now="2026-04-16"))
    )
    assert "No usage reported" in words(plots.usage(usage().iloc[:0], now="2026-04-16"))


def test_the_answer_of_the_analysis_can_be_drawn_as_it_is():
    assert len(plots.usage(analysis.usage(usage(), now="2026-04-16")).patches) == 4


def test_without_any_limit_there_is_no_axis_of_shares():
    ax = plots.usage(usage(limit=(None,) * 4), now="2026-04-16")
    assert not ax.get_xticks().size
    assert ax.get_xlabel() == "No limits"
    assert not ax.lines or all(line.get_marker() != "D" or not line.get_xdata().size for line in ax.lines)
