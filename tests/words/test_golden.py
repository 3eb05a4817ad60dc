"""Every sentence once, on fixed tables: what it says is in ``golden.json``; run this file to write it anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.analysis.sentences import completion_sentence, other_difference_sentence, score_rule
from promptlift.frames import (
    production_metrics_table,
    targets_table,
)
from promptlift.schema.basis import Agreement
from promptlift.schema.benchmarks import Benchmark
from promptlift.words import figures, names, sentences
from support.synthetic_tables import conversations, small
from support.synthetic_versions import simulations, variants, versions

GOLDEN = Path(__file__).with_name("golden.json")
LABELS = ("negative", "neutral", "positive")
CLEAR, BELOW, OPEN, UNKNOWN = (19.0, 9.1, 28.2), (-19.0, -28.2, -9.1), (3.0, -6.0, 12.0), (None, None, None)


def outcomes(at="2026-01-01", **counts):
    """Conversations of each prompt: how many completed, of how many."""
    rows = [(name, place < done) for name, (done, n) in counts.items() for place in range(n)]
    return small(
        prompt_id=[name for name, _ in rows],
        task_completed=[done for _, done in rows],
        started_at=[at] * len(rows),
        conversation_id=[str(place) for place in range(len(rows))],
    )


def moods(**counts):
    """Conversations of each prompt: how many are negative, neutral and positive."""
    rows = [(name, label) for name, of in counts.items() for label, n in zip(LABELS, of, strict=True) for _ in range(n)]  # fmt: skip
    return small(
        prompt_id=[name for name, _ in rows],
        sentiment=[label for _, label in rows],
        sentiment_score=[LABELS.index(label) - 1.0 for _, label in rows],
        started_at=["2026-01-01"] * len(rows),
    )


def daily(slope, group="a"):
    """Ten conversations on each of 30 days, more or fewer of which complete their task."""
    day = np.repeat(np.arange(30), 10)
    rng = np.random.default_rng(1)
    return small(
        prompt_id=[group] * 300,
        started_at=pd.Timestamp("2026-01-01") + pd.to_timedelta(day, "D"),
        task_completed=list(rng.random(300) < 0.5 + slope * (day - 15)),
        conversation_id=[f"{group}{place}" for place in range(300)],
    )


def titled(*cells, at=None):
    cells = [[{"title": title, "severity": "low"} for title in cell] for cell in cells]
    return small(
        conversation_id=[str(place) for place in range(len(cells))],
        prompt_id=["ab"[place % 2] for place in range(len(cells))],
        issues=cells,
        task_completed=[True] * len(cells),
        started_at=at or ["2026-01-01"] * len(cells),
    )


def compared(table, **options):
    return analysis.compare(table, by="prompt_id", **options)


def pairs(n11, n10, n01, n00):
    both = [(1, 1)] * n11 + [(1, 0)] * n10 + [(0, 1)] * n01 + [(0, 0)] * n00
    rows = [
        (name, item, bool(done))
        for item, pair in enumerate(both)
        for name, done in zip("ba", pair, strict=True)
    ]
    return pd.DataFrame(rows, columns=["prompt_id", "task", "task_completed"])


def tried(*lifts, winner=None, basis="relative_completion"):
    table = variants(
        [
            {"optimization_id": "o", "variant_id": f"v{place}", "name": "ABCD"[place], "is_winner": place == winner,
             "stage": "confirm", "lift": value, "lift_low": low, "lift_high": high, "interval_level": 0.9, "confidence": 0.93}
            for place, (value, low, high) in enumerate(lifts)
        ]
    )  # fmt: skip
    table["uncertainty_source"], table["lift_basis"] = "service", basis
    return analysis.variant_lift(table)


def sure(*trace, threshold):
    table = variants([{"optimization_id": "o", "variant_id": "v", "name": "A"}])
    table.attrs["promptlift"] = {"optimization_id": "o", "trace": list(trace), "threshold": threshold}
    return analysis.variant_confidence(table)


def targets(*found):
    rows = [
        {"optimizationId": "o", "target": f"T{place}", "original": 50.0, "variant": 50.0 + value, "points": value,
         "pointsLow": low, "pointsHigh": high, "intervalLevel": 0.95, "n": 90,
         "change": "improved" if low > 0 else "worse" if high < 0 else "unclear"}
        for place, (value, low, high) in enumerate(found)
    ]  # fmt: skip
    return analysis.targets(targets_table(rows)[0])


def metrics(*found):
    rows = [
        {"metric": metric, "before": before, "after": after, "conversationsBefore": 90, "conversations": 60, "p": p,
         "level": 0.01, "regressed": p is not None and p < 0.01}
        for metric, before, after, p in found
    ]  # fmt: skip
    return analysis.production_metrics(production_metrics_table(rows)[0])


def benchmark(*found, cheapest=False):
    arms = [
        {"number": place, "name": name, "llmModel": "m", "n": 90, "dropped": 0, "taskCompletion": 50.0,
         "taskCompletionLow": 40.0, "taskCompletionHigh": 60.0, "sentiment": 0.2, "quality": 70.0, "turns": 2.5,
         "inputTokens": 9, "outputTokens": 9, "tokensEstimated": False}
        for place, name in enumerate(("Now", "Ada", "Bea")[: 1 + len(found)])
    ]  # fmt: skip
    against = [
        {"number": place, "reference": 0, "n": 90, "n11": 90, "n10": 0, "n01": 0, "n00": 0, "points": value,
         "pointsLow": low, "pointsHigh": high, "p": 0.01, "pHolm": 0.04, "notWorse": low > -5, "notWorseP": 0.01,
         "verdict": "better" if low > 0 else "worse" if high < 0 else "unclear"}
        for place, (value, low, high) in enumerate(found, 1)
    ]  # fmt: skip
    results = {
        "arms": arms, "comparisons": against, "reference": 0, "margin": 5.0, "level": 0.95, "acceptable": [0],
        "cheapest": {"number": 0, "name": "Now", "basis": "price"} if cheapest else None, "final": True,
        "warnings": [], "rehearsal": False,
    }  # fmt: skip
    wire = {
        "id": "b",
        "name": "B",
        "status": "completed",
        "rehearsal": False,
        "results": results if found else None,
    }
    return analysis.benchmark(Benchmark.from_wire(wire))


def timeline(*counts):
    days = [f"2026-01-{1 + 10 * place:02}" for place in range(len(counts))]
    parts = [outcomes(at=f"{day} 12:00", p=count) for day, count in zip(days, counts, strict=True)]
    return analysis.prompt_timeline(pd.concat(parts), versions=versions(days))


def other(kind, ends, verdict="clear"):
    row = {
        "kind": kind, "name": "latency_ms" if kind == "measure" else "Delay", "difference": ends[0],
        "difference_low": ends[1], "difference_high": ends[2], "value": 4.0, "value_control": 9.0, "verdict": verdict,
        "p_holm": 0.2, "n": 90, "n_control": 90,
    }  # fmt: skip
    return other_difference_sentence(row, {"variant": "b", "control": "a", "level": 0.95, "n_tests": 7})


def tables():
    """Return the results whose titles, and sentences where they have any, are kept."""
    judged = segments_table()
    dates = ["2026-01-01"] * 50 + ["2026-02-01"] * 50
    slow = [["Slow"] if place % 50 < (5 if place < 50 else 30) else [] for place in range(100)]
    often = [["Slow"] if place % 50 < (5 if place < 50 else 7) else [] for place in range(100)]
    three = {f"v{place}": (20 + place, 40) for place in range(1, 5)}
    return {
        "compare, clear": compared(outcomes(v1=(130, 200), v2=(151, 200)), control="v1"),
        "compare, below": compared(outcomes(v1=(151, 200), v2=(130, 200)), control="v1"),
        "compare, unclear": compared(outcomes(v1=(50, 100), v2=(51, 100)), control="v1"),
        "compare, too few": compared(outcomes(v1=(5, 5), v2=(24, 197)), control="v1"),
        "compare, several": compared(outcomes(**three), control="v1"),
        "compare, one of several": compared(outcomes(v1=(30, 60), v2=(50, 60), v3=(31, 60)), control="v1"),
        "compare, pairs": compared(pairs(84, 31, 14, 21), pair="task", control="a"),
        "compare, pairs that are not sure": compared(pairs(84, 27, 14, 25), pair="task", control="a"),
        "compare, an outcome": compared(
            outcomes(v1=(130, 200), v2=(151, 200)).rename(columns={"task_completed": "refunded"}),
            outcome="refunded", control="v1",
        ),
        "compare, a score": compared(moods(a=(40, 10, 10), b=(10, 10, 40)), outcome="sentiment_score", control="a"),
        "compare, a score, unclear": compared(
            moods(a=(20, 10, 10), b=(19, 10, 11)), outcome="sentiment_score", control="a"
        ),
        "compare, a score of few": compared(
            moods(a=(8, 1, 0), b=(0, 1, 8)), outcome="sentiment_score", control="a"
        ),
        "compare, a score that does not vary": compared(moods(a=(20, 0, 0), b=(0, 0, 20)), outcome="sentiment_score", control="a"),
        "compare, labels of few": compared(moods(a=(9, 0, 0), b=(0, 0, 9)), outcome="sentiment", control="a"),
        "compare, labels": compared(moods(a=(40, 10, 10), b=(10, 10, 40)), outcome="sentiment", control="a"),
        "compare, labels alike": compared(moods(a=(20, 10, 10), b=(19, 10, 11)), outcome="sentiment", control="a"),
        "compare, labels at both ends": compared(moods(a=(0, 60, 0), b=(30, 0, 30)), outcome="sentiment", control="a"),
        "compare, by a model": compared(
            outcomes(v1=(130, 200), v2=(151, 200)).assign(basis="model"), control="v1"
        ),
        "compare, by a word list": compared(
            outcomes(v1=(130, 200), v2=(151, 200)).assign(basis="words"), control="v1"
        ),
        "trend, rising": analysis.completion_trend(daily(0.02), freq="D"),
        "trend, falling": analysis.completion_trend(daily(-0.02), freq="D"),
        "trend, none": analysis.completion_trend(daily(0.0), freq="D"),
        "trend, one day": analysis.completion_trend(outcomes(a=(3, 4)), freq="D"),
        "trend, one conversation": analysis.completion_trend(outcomes(a=(1, 1)), freq="D"),
        "trend, nothing": analysis.completion_trend(conversations(0)),
        "trend, a group": analysis.completion_trend(
            pd.concat([daily(0.02), daily(-0.02, "b"), daily(0.02, "c")]), by="prompt_id", freq="D"
        ),
        "trend, two groups": analysis.completion_trend(outcomes(a=(30, 60), b=(50, 60)), by="prompt_id", freq="D"),
        "trend, two alike": analysis.completion_trend(outcomes(a=(30, 60), b=(31, 60)), by="prompt_id", freq="D"),
        "trend, three groups": analysis.completion_trend(
            outcomes(a=(30, 60), b=(31, 60), c=(50, 60)), by="prompt_id", freq="D"
        ),
        "trend, small groups": analysis.completion_trend(
            outcomes(a=(0, 6), b=(4, 6), c=(6, 6)), by="prompt_id", freq="D"
        ),
        "trend, one group of three is large": analysis.completion_trend(
            outcomes(a=(0, 3), b=(31, 60), c=(3, 3)), by="prompt_id", freq="D"
        ),
        "sentiment": analysis.sentiment_distribution(moods(a=(10, 20, 30))),
        "sentiment, few": analysis.sentiment_distribution(moods(a=(0, 4, 5))),
        "sentiment, two": analysis.sentiment_distribution(moods(a=(10, 20, 30), b=(30, 20, 10)), by="prompt_id"),
        "sentiment, two alike": analysis.sentiment_distribution(
            moods(a=(10, 20, 30), b=(11, 20, 30)), by="prompt_id"
        ),
        "sentiment, by a word list": analysis.sentiment_distribution(
            moods(a=(10, 20, 30), b=(30, 20, 11)).assign(analyser="lexicon"), by="prompt_id"
        ),
        "sentiment trend, by a word list": analysis.sentiment_trend(
            moods(a=(0, 1, 0)).assign(analyser="lexicon", sentiment_score=0.4215), freq="D"
        ),
        "sentiment trend": analysis.sentiment_trend(moods(a=(10, 20, 30)), freq="D"),
        "sentiment trend, two": analysis.sentiment_trend(
            moods(a=(10, 20, 30), b=(30, 20, 10)), by="prompt_id", freq="D"
        ),
        "issues": analysis.issues(titled(*4 * (["A"], ["A", "B"], []))),
        "issues, equally frequent": analysis.issues(titled(*6 * (["A"], ["B"]))),
        "issues, groups": analysis.issues(titled(*4 * (["A"], ["A"], [], ["A"])), by="prompt_id"),
        "issues, none": analysis.issues(titled([])),
        "change, more": analysis.changes(titled(*slow, at=dates), at="2026-01-15"),
        "change, none": analysis.changes(titled(*often, at=dates), at="2026-01-15"),
        "segments": analysis.segments(judged),
        "segments, none": analysis.segments(judged.assign(task_completed=np.arange(200) % 4 > 0)),
        "segments, a bin": analysis.segments(
            judged.assign(channel="web", n_turns=np.r_[np.arange(100) % 50, np.arange(100) % 80 + 9])
        ),
        "segments, topics": analysis.segments(
            judged.rename(columns={"channel": "topics"}).assign(topics=100 * [["refund · card"]] + 100 * [["late · parcel"]])
        ),
        "segments, unproven": analysis.segments(judged.assign(basis="model")),
        "timeline": timeline((20, 40), (35, 40)),
        "timeline, alike": timeline((20, 40), (21, 40)),
        "timeline, few": timeline((20, 40), (3, 4)),
        "where it differs": analysis.where_it_differs(simulations(200, lift=0.4)),
        "where it differs, alike": analysis.where_it_differs(simulations(60, lift=0.0)),
        "where it differs, none": analysis.where_it_differs(simulations(0)),
        "targets": targets((9.0, 4.0, 14.0), (-8.0, -13.0, -3.0)),
        "targets, unclear": targets((2.0, -3.0, 7.0)),
        "targets, without an interval": analysis.targets(
            pd.DataFrame([{"target": "A", "change": "unclear", "original_met": 1.0, "variant_met": 2.0, "points": 1.0,
                           "points_low": None, "points_high": None, "interval_level": None, "n_pairs": 1}])
        ),
        "metrics, harm": metrics(("task_completion", 60.0, 40.0, 0.001), ("quality", 80.0, 70.0, 0.002)),
        "metrics, no harm": metrics(("task_completion", 60.0, 58.0, 0.3)),
        "benchmark, better": benchmark((9.0, 4.0, 14.0), (-8.0, -13.0, -3.0), cheapest=True),
        "benchmark, worse": benchmark((-8.0, -13.0, -3.0)),
        "benchmark, not worse": benchmark((1.0, -3.0, 5.0)),
        "benchmark, unclear": benchmark((-2.0, -12.0, 8.0), (-4.0, -14.0, 6.0)),
        "benchmark, nothing": benchmark(),
        "lift, a winner": tried((9.0, 2.0, 20.0), (1.0, -4.0, 6.0), winner=0),
        "lift, a winner that may not be": tried((9.0, -2.0, 20.0), winner=0),
        "lift, no winner": tried((9.0, -2.0, 20.0)),
        "lift, in points": tried((9.0, 2.0, 20.0), winner=0, basis="points_completion"),
        "confidence, reached": sure(0.5, 0.93, threshold=0.9),
        "confidence, nearly": sure(0.8999, threshold=0.9),
    }  # fmt: skip


def segments_table():
    done = np.r_[np.ones(100, bool), np.arange(100) < 60]
    channel = ["web"] * 100 + ["phone"] * 100
    return small(
        conversation_id=[str(place) for place in range(200)], channel=channel, task_completed=list(done)
    )


def values():
    """Return the sentences of values."""
    proven = Agreement(60, 0.8, 0.6)
    strengths = {
        f"strength, {basis}, {decided}": sentences.strength_of(CLEAR, decided=decided, basis=basis)
        for basis in ("outcome", "model")
        for decided in (True, False)
    }
    return strengths | {
        "strength, proven": sentences.strength_of(BELOW, decided=True, basis="model", agreement=proven),
        "strength, not known": sentences.strength_of(UNKNOWN, decided=True),
        "completed": completion_sentence((0.95, 0.83, 0.99), 40),
        "completed, nobody": completion_sentence((np.nan, np.nan, np.nan), 0),
        "trend, few days": sentences.trend(UNKNOWN, "Support", is_trend=False),
        "a lift with an open end": sentences.lift("A", (24.0, 8.0, None), sure=0.999),
        "a lift without an interval": sentences.lift("A", (12.5, None, None)),
        "a lift that is not known": sentences.lift("A", UNKNOWN, sure=0.9),
        **{f"ended, {reason}": sentences.ended(reason) for reason in ("futility", "guardrail", "of others")},
        **{f"other, {kind}": other(kind, CLEAR) for kind in ("issue", "topic", "measure", "segment")},
        **{f"other, {kind}, unclear": other(kind, OPEN, "unclear") for kind in ("issue", "measure")},
        "other, perhaps": other("issue", CLEAR, "unclear"),
        "users, one": sentences.of_users("1", up=True, completes=True),
        "users, of more": sentences.of_users("0.31", up=False, completes=True),
        **{
            f"live, {name}": sentences.side_by_side("v2", {"v3": ends, "v4": OPEN}, 812, basis=basis)
            for name, ends, basis in (
                ("better", CLEAR, "outcome"),
                ("worse", BELOW, "model"),
                ("unclear", UNKNOWN, "learned"),
                ("words", CLEAR, "words"),
                ("nothing judged", CLEAR, None),
            )
        },
        "live, few": sentences.side_by_side("v2", {"v3": UNKNOWN}, 12, basis="label"),
        "live, off": sentences.side_by_side(
            "v2", {"v3": CLEAR}, 812, basis="outcome", off=("v3", 1204, 1402.5)
        ),
        "worth": sentences.worth((0.71, 0.4, 1.02), 6, needed=5),
        "worth, not known": sentences.worth(UNKNOWN, 1, needed=5),
        "rule": score_rule(0.95, 3),
        "figures": " ".join(figures.figures(70.04, 69.98, 70.1)),
        "signs": " ".join(figures.signed_figures(0.0, -0.4, 3.0)),
        "percent": " ".join(figures.percent(0.9997, 0.992, 1.0)),
        "percent, small": " ".join(figures.percent(0.002, 0.0004, 0.0112)),
        "a hostile name": names.name_in_words("v2\n\x1b[31m<script>\u202e" + "x" * 500),
    }


def said():
    found = values()
    for name, table in tables().items():
        found[name] = finding(table)
        for place, sentence in enumerate(table.attrs["promptlift"].get("sentences", ())):
            found[f"{name}, sentence {place + 1}"] = sentence
    return found


def test_every_sentence_is_the_golden_one():
    assert said() == json.loads(GOLDEN.read_text("utf-8"))


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(said(), indent=1, ensure_ascii=False) + "\n", "utf-8")
