"""How right the lexicon judge is on real conversations.

``python tests/benchmarks/judge_quality.py`` prints the tables in Markdown, good or bad. That errors of tools count
was decided on tau2-retail; no other rule was fitted to these conversations, and the judge sees only roles and texts,
never the truth.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.tables import markdown
from promptlift.schema.transcript import Message, Transcript
from promptlift.service.insights.lexicon.judge import (
    LexiconJudge,
    read_conversation,
)
from promptlift.stats import wilson
from support.shared_data import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SATISFACTION_FILES = ("uss-sgd", "uss-redial", "topicalchat")
COMPLETION_FILES = ("tau2-airline", "tau2-retail", "taubench-airline", "sgd-service", "uss-sgd")
SAMPLES = 2_000


@dataclass(frozen=True)
class Measured:
    """One conversation: what the judge and the baselines say, and the truth that they did not see."""

    ref: str
    group: str
    truth: dict[str, Any]
    sentiment: float
    positive: bool
    completion: float
    completed: bool


def transcript_of(record: dict[str, Any]) -> Transcript:
    """Roles and texts, nothing else."""
    return Transcript(messages=[Message(role=m["role"], content=m["content"]) for m in record["messages"]])


def measure(record: dict[str, Any]) -> Measured:
    transcript = transcript_of(record)
    reading = read_conversation(transcript)
    judgement = LexiconJudge().judge(transcript)
    metadata = record.get("metadata") or {}
    return Measured(
        ref=record["sourceId"],
        # The same task is played by several models: these conversations are not independent.
        group=str(metadata.get("taskId") or record["sourceId"]),
        truth=record["truth"],
        sentiment=judgement.sentiment_score,
        positive=judgement.sentiment == "positive",
        completion=reading.completion_score,
        completed=judgement.task_completed,
    )


def auc(scores: np.ndarray, truth: np.ndarray) -> float:
    """Chance that a true case scores above a false one, ties half (Mann-Whitney); NaN without both."""
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if not positives or not negatives:
        return math.nan
    ranks = rankdata(scores)
    return float((ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def interval(
    scores: np.ndarray, truth: np.ndarray, groups: Sequence[str], samples: int = SAMPLES
) -> tuple[float, float]:
    """95% percentile bootstrap over groups, with a fixed seed."""
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    members = [np.flatnonzero(index == g) for g in range(len(names))]
    rng = np.random.default_rng(20260101)
    found = []
    for _ in range(samples):
        rows = np.concatenate([members[g] for g in rng.integers(0, len(names), len(names))])
        found.append(auc(scores[rows], truth[rows]))
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return float(low), float(high)


def _ranged(value: float, bounds: tuple[float, float]) -> str:
    return "n/a" if math.isnan(value) else f"{value:.2f} ({bounds[0]:.2f} to {bounds[1]:.2f})"


def _share(hits: int, n: int) -> str:
    low, high = map(float, wilson(hits, n))
    return f"{100 * hits / n:.1f}% ({100 * low:.1f} to {100 * high:.1f})"


def sentiment_row(name: str, measured: Sequence[Measured], samples: int = SAMPLES) -> list[str]:
    """Satisfaction above 3 (of 1 to 5) against below 3."""
    rated = [m for m in measured if m.truth.get("satisfaction") not in (None, 3)]
    happy = np.array([m.truth["satisfaction"] > 3 for m in rated])
    scores = np.array([m.sentiment for m in rated])
    area = interval(scores, happy, [m.group for m in rated], samples)
    return [name, f"{int((~happy).sum())} / {int(happy.sum())}", _ranged(auc(scores, happy), area)]


def label_rows(name: str, measured: Sequence[Measured]) -> Iterator[list[str]]:
    """How often the label is positive, by what people thought."""
    rated = [m for m in measured if m.truth.get("satisfaction") is not None]
    for what, chosen in (
        ("below 3", [m for m in rated if m.truth["satisfaction"] < 3]),
        ("above 3", [m for m in rated if m.truth["satisfaction"] > 3]),
    ):
        yield [name, what, str(len(chosen)), _share(sum(m.positive for m in chosen), len(chosen))]


def subsets(measured: Sequence[Measured]) -> Iterator[tuple[str, list[Measured]]]:
    """Where the benchmark later corrected an expectation: without these first, then all."""
    known = [m for m in measured if m.truth.get("taskCompleted") is not None]
    kept = [m for m in known if m.truth.get("goldChangedLater") is False]
    if kept:
        yield "without corrected tasks", kept
    yield "all", known


def completion_rows(name: str, measured: Sequence[Measured], samples: int = SAMPLES) -> Iterator[list[str]]:
    """The judge against whether the task was completed, beside always the more common answer."""
    for subset, chosen in subsets(measured):
        truth = np.array([m.truth["taskCompleted"] for m in chosen])
        scores = np.array([m.completion for m in chosen])
        verdict = np.array([m.completed for m in chosen])
        area = interval(scores, truth, [m.group for m in chosen], samples)
        completed = f"{len(truth)} ({100 * truth.mean():.1f}%)"
        right, most = int((verdict == truth).sum()), max(truth.mean(), 1 - truth.mean())
        yield [
            name,
            subset,
            completed,
            _ranged(auc(scores, truth), area),
            _share(right, len(truth)),
            f"{100 * most:.1f}%",
        ]


def report() -> Iterator[str]:
    """Every line of the tables."""
    measured: dict[str, list[Measured]] = {}
    for name in dict.fromkeys((*COMPLETION_FILES, *SATISFACTION_FILES)):
        measured[name] = [measure(record) for record in load(name)]
    yield "### Sentiment against satisfaction\n"
    rows = [sentiment_row(name, measured[name]) for name in SATISFACTION_FILES]
    yield from markdown(("file", "n (below 3 / above 3)", "AUC, 95%"), rows)
    yield "\nShare labelled positive:\n"
    rows = [row for name in SATISFACTION_FILES for row in label_rows(name, measured[name])]
    yield from markdown(("file", "satisfaction", "n", "labelled positive, 95%"), rows)
    yield "\n### Completion against the truth\n"
    rows = [row for name in COMPLETION_FILES for row in completion_rows(name, measured[name])]
    head = ("file", "conversations", "n (completed)", "AUC, 95%", "accuracy, 95%", "always the more common")
    yield from markdown(head, rows)


if __name__ == "__main__":
    print(*report(), sep="\n")
