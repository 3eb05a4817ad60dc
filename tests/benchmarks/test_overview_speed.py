"""How long the overview page of 100,000 conversations takes, beside plain pandas and matplotlib doing the same.

``python -m pytest -m benchmark tests/benchmarks/test_overview_speed.py -m benchmark -s`` prints the figures. No test asserts a
time.
"""

from __future__ import annotations

import io
import statistics
import time
from collections import Counter

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from promptlift import analysis, plots
from support.synthetic_tables import conversations

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

ROWS = 100_000
ROUNDS = 7
Z = 1.959964


def wilson(x, n):
    p = x / n
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * np.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return middle - half, middle + half


def counted_with_pandas(table):
    """What a person writes to get the same numbers."""
    ended = table[(table["status"] != "in_progress") & table["task_completed"].notna()]
    done = ended["task_completed"].astype(bool)
    at = ended["started_at"].fillna(ended["created_at"])
    daily = done.groupby(at.dt.floor("D")).agg(["sum", "count"])
    daily = daily.reindex(pd.date_range(daily.index[0], daily.index[-1], freq="D"), fill_value=0)
    labels = table["sentiment"].value_counts().reindex(["negative", "neutral", "positive"])
    found, severity = Counter(), {}
    judged = table["issues"].dropna()
    for cell in judged:
        for title in {issue["title"]: issue for issue in cell}:
            found[title] += 1
    for cell in judged:
        for issue in cell:
            severity.setdefault(issue["title"], issue["severity"])
    score = table["sentiment_score"].dropna()
    return {
        "rows": len(table),
        "n": len(done),
        "rate": done.mean(),
        "daily": daily,
        "labels": labels,
        "issues": found.most_common(5),
        "judged": len(judged),
        "score": (score.mean(), score.sem()),
    }


def drawn_with_matplotlib(numbers):
    """The same four panels with plain calls of matplotlib."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7.2))
    figure.subplots_adjust(left=0.11, right=0.975, top=0.88, bottom=0.125, wspace=0.18, hspace=0.42)
    figure.suptitle("All conversations")
    (headline, trend), (mood, issues) = axes
    headline.axis("off")
    low, high = wilson(numbers["rate"] * numbers["n"], numbers["n"])
    mean, error = numbers["score"]
    for y, big, small, sure in (
        (0.86, f"{numbers['rows']:,}", "conversations", f"{numbers['judged']:,} with insights"),
        (0.5, f"{numbers['rate']:.0%}", "completed their task", f"95% interval {low:.0%} to {high:.0%}"),
        (
            0.14,
            f"{mean:+.2f}",
            "mean sentiment",
            f"95% interval {mean - Z * error:+.2f} to {mean + Z * error:+.2f}",
        ),
    ):
        headline.text(0.3, y, big, ha="right", va="center", fontsize=22, fontweight="bold")
        headline.text(0.35, y + 0.06, small, va="center")
        headline.text(0.35, y - 0.01, sure, va="top", fontsize=8)
    daily = numbers["daily"]
    n = daily["count"].to_numpy(float)
    rate = daily["sum"].to_numpy(float) / n
    low, high = wilson(daily["sum"].to_numpy(float), n)
    trend.set_title("Task completion", loc="left")
    trend.errorbar(daily.index, rate, yerr=[rate - low, high - rate], fmt="o-", markersize=4)
    trend.bar(daily.index, 0.16 * n / n.max(), bottom=-0.24, width=0.76, alpha=0.5)
    trend.set_ylim(-0.25, 1.04)
    trend.set_ylabel("Task completion rate")
    trend.grid(visible=True, axis="y")
    labels = numbers["labels"]
    share = labels.to_numpy(float) / labels.sum()
    low, high = wilson(labels.to_numpy(float), labels.sum())
    mood.set_title("Sentiment", loc="left")
    mood.barh(range(3), share, height=0.5, alpha=0.3)
    mood.errorbar(share, range(3), xerr=[share - low, high - share], fmt="o")
    mood.set_yticks(range(3), [f"{label}\n{count:,}" for label, count in labels.items()])
    mood.set_xlabel("Share of conversations")
    mood.grid(visible=True, axis="x")
    count = np.array([count for _, count in numbers["issues"]], float)
    share = count / numbers["judged"]
    low, high = wilson(count, numbers["judged"])
    issues.set_title("Issues", loc="left")
    issues.errorbar(share, range(len(count)), xerr=[share - low, high - share], fmt="o")
    issues.set_yticks([])
    for place, (title, number) in enumerate(numbers["issues"]):
        issues.annotate(title, (0, place + 0.2), xycoords=issues.get_yaxis_transform(), fontsize=8)
        issues.annotate(
            f"{number:,}", (1, place + 0.2), xycoords=issues.get_yaxis_transform(), ha="right", fontsize=8
        )
    issues.set_xlabel("Share of conversations with insights")
    issues.grid(visible=True, axis="x")
    return figure


def saved(figure):
    from matplotlib import pyplot as plt

    out = io.BytesIO()
    figure.savefig(out, format="png")
    plt.close(figure)
    return out.getvalue()


def seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def side_by_side(ours, theirs):
    """Medians of several rounds, both in turn, so that a busy machine slows both."""
    ours()
    theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    ratio = statistics.median(mine / other for mine, other in pairs)
    return (*(statistics.median(side) for side in zip(*pairs, strict=True)), ratio)


@pytest.fixture(scope="module")
def table():
    mpl.use("agg")
    return conversations(ROWS)


def test_the_overview_of_a_hundred_thousand_conversations_beside_pandas_and_matplotlib(table):
    numbers = counted_with_pandas(table)
    counted = analysis.completion(table).iloc[0]
    assert (numbers["n"], numbers["rate"]) == (counted["n"], pytest.approx(counted["rate"]))
    assert dict(numbers["issues"]) == dict(analysis.issues(table, top=5).set_index("issue")["n"])
    ours, theirs, ratio = side_by_side(
        lambda: saved(plots.prompt_overview(table)),
        lambda: saved(drawn_with_matplotlib(counted_with_pandas(table))),
    )
    print(
        f"\noverview of {ROWS:,} conversations: ours {ours:.3f} s, pandas and matplotlib {theirs:.3f} s, ratio {ratio:.2f}"
    )


@pytest.mark.parametrize("rows", [2_000, 10_000])
def test_drawing_alone_beside_matplotlib(table, rows):
    """The counting left out as far as it can be: few rows, or numbers that are counted before."""
    some = table.iloc[:rows]
    numbers = counted_with_pandas(some)
    figure = plots.prompt_overview(some)
    assert len(figure.axes) == 4
    saved(figure)
    ours, theirs, ratio = side_by_side(
        lambda: saved(plots.prompt_overview(some)), lambda: saved(drawn_with_matplotlib(numbers))
    )
    print(
        f"\nfigure of 4 panels, {len(some):,} rows: ours {ours:.3f} s, matplotlib {theirs:.3f} s, ratio {ratio:.2f}"
    )
