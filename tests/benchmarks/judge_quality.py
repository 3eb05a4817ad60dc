"""How right the lexicon judge is on real conversations, beside baselines.

``python tests/benchmarks/judge_quality.py`` prints the tables in Markdown, good or bad. That errors of tools count
was decided on tau2-retail; no other rule was fitted to these conversations, and the judge sees only roles and texts,
never the truth.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.tables import markdown
from promptlift.schema.transcript import Message, Transcript
from promptlift.service.insights.lexicon import phrases
from promptlift.service.insights.lexicon.judge import (
    POSITIVE_FROM,
    LexiconJudge,
    read_conversation,
)
from promptlift.service.insights.lexicon.vader import vader
from promptlift.service.insights.turns import plain_words
from promptlift.stats import wilson
from support.shared_data import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
    length: float
    thanks: float
    whole_text: float


def transcript_of(record: dict[str, Any]) -> Transcript:
    """Roles and texts, nothing else."""
    return Transcript(messages=[Message(role=m["role"], content=m["content"]) for m in record["messages"]])


def measure(record: dict[str, Any]) -> Measured:
    transcript = transcript_of(record)
    reading = read_conversation(transcript)
    judgement = LexiconJudge().judge(transcript)
    last = next((m.content for m in reversed(transcript.messages) if m.role == "user"), "")
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
        length=float(len(transcript.messages)),
        thanks=float(any(phrase in plain_words(last) for phrase in phrases.THANKS)),
        whole_text=vader().compound("\n".join(m.content for m in transcript.messages)),
    )


def auc(scores: np.ndarray, truth: np.ndarray) -> float:
    """Chance that a true case scores above a false one, ties half (Mann-Whitney); NaN without both."""
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if not positives or not negatives:
        return math.nan
    ranks = rankdata(scores)
    return float((ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def spearman(scores: np.ndarray, truth: np.ndarray) -> float:
    first, second = rankdata(scores), rankdata(truth)
    if first.std() == 0 or second.std() == 0:
        return math.nan
    return float(np.corrcoef(first, second)[0, 1])


def interval(
    figure: Callable[[np.ndarray, np.ndarray], float],
    scores: np.ndarray,
    truth: np.ndarray,
    groups: Sequence[str],
    samples: int = SAMPLES,
) -> tuple[float, float]:
    """95 % percentile bootstrap over groups, with a fixed seed."""
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    members = [np.flatnonzero(index == g) for g in range(len(names))]
    rng = np.random.default_rng(20260101)
    found = []
    for _ in range(samples):
        rows = np.concatenate([members[g] for g in rng.integers(0, len(names), len(names))])
        found.append(figure(scores[rows], truth[rows]))
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return float(low), float(high)


def _ranged(value: float, bounds: tuple[float, float]) -> str:
    return "n/a" if math.isnan(value) else f"{value:.2f} ({bounds[0]:.2f} to {bounds[1]:.2f})"


def _share(hits: int, n: int) -> str:
    low, high = map(float, wilson(hits, n))
    return f"{100 * hits / n:.1f}% ({100 * low:.1f} to {100 * high:.1f})"


SENTIMENT_MEASURES: dict[str, Callable[[Measured], float]] = {
    "**lexicon sentimentScore**": lambda m: m.sentiment,
    "VADER on the whole text": lambda m: m.whole_text,
    "thanks in the last user turn": lambda m: m.thanks,
    "number of messages": lambda m: m.length,
}


def sentiment_rows(name: str, measured: Sequence[Measured], samples: int = SAMPLES) -> Iterator[list[str]]:
    """Satisfaction (1 to 5) against each measure, all ratings for Spearman, >3 against <3 for AUC."""
    rated = [m for m in measured if m.truth.get("satisfaction") is not None]
    clear = [m for m in rated if m.truth["satisfaction"] != 3]
    ratings = np.array([m.truth["satisfaction"] for m in rated], dtype=float)
    happy = np.array([m.truth["satisfaction"] > 3 for m in clear])
    for label, score in SENTIMENT_MEASURES.items():
        every = np.array([score(m) for m in rated])
        some = np.array([score(m) for m in clear])
        rho = interval(spearman, every, ratings, [m.group for m in rated], samples)
        area = interval(auc, some, happy, [m.group for m in clear], samples)
        yield [
            name,
            f"{len(rated)} ({int((~happy).sum())} / {int(happy.sum())})",
            label,
            _ranged(spearman(every, ratings), rho),
            _ranged(auc(some, happy), area),
        ]


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
    """Each measure against whether the task was completed."""
    for subset, chosen in subsets(measured):
        truth = np.array([m.truth["taskCompleted"] for m in chosen])
        groups = [m.group for m in chosen]
        cases: list[tuple[str, np.ndarray | None, np.ndarray | None]] = [
            (
                "**lexicon**",
                np.array([m.completion for m in chosen]),
                np.array([m.completed for m in chosen]),
            ),
            ("majority class", None, np.full(len(truth), truth.mean() >= 0.5)),
            ("thanks in the last user turn", *(np.array([m.thanks for m in chosen]),) * 2),
            (
                "VADER on the whole text",
                np.array([m.whole_text for m in chosen]),
                np.array([m.whole_text >= POSITIVE_FROM for m in chosen]),
            ),
            ("number of messages", np.array([m.length for m in chosen]), None),
        ]
        for label, scores, verdicts in cases:
            area = (
                "0.50"
                if scores is None
                else _ranged(auc(scores, truth), interval(auc, scores, truth, groups, samples))
            )
            right = said = "n/a"
            if verdicts is not None:
                verdict = verdicts.astype(bool)
                right = _share(int((verdict == truth).sum()), len(truth))
                said = f"{100 * verdict.mean():.1f}%"
            rate = f"{100 * truth.mean():.1f}%"
            yield [name, subset, f"{len(truth)} ({rate})", label, area, right, said]


def judge_rows(measured: Sequence[Measured]) -> Iterator[list[str]]:
    """The lexicon beside four recorded prompts of an LLM judge (gpt-4o), on the same conversations."""
    recorded = load("judge-variants")
    own = {m.ref: m for m in measured}
    for subset in ("without corrected tasks", "all"):
        for domain in ("airline", "retail"):
            chosen = [
                r
                for r in recorded
                if r["domain"] == domain and (subset == "all" or r["goldChangedLater"] is False)
            ]
            for prompt in sorted({r["variant"] for r in chosen}):
                mine = [r for r in chosen if r["variant"] == prompt]
                hits = sum(r["verdictPass"] == r["truth"] for r in mine)
                yield [domain, subset, str(len(mine)), f"LLM judge, {prompt}", _share(hits, len(mine))]
            truths = {r["conversationRef"]: r["truth"] for r in chosen}
            found = {ref: own[ref] for ref in truths if ref in own}
            hits = sum(m.completed == truths[ref] for ref, m in found.items())
            yield [domain, subset, str(len(found)), "**lexicon**", _share(hits, len(found))]
            most = max(sum(truths.values()), len(truths) - sum(truths.values()))
            yield [domain, subset, str(len(truths)), "majority class", _share(most, len(truths))]


def report() -> Iterator[str]:
    """Every line of the tables."""
    measured: dict[str, list[Measured]] = {}
    for name in dict.fromkeys((*COMPLETION_FILES, *SATISFACTION_FILES)):
        measured[name] = [measure(record) for record in load(name)]
    yield "### Sentiment against satisfaction\n"
    rows = [row for name in SATISFACTION_FILES for row in sentiment_rows(name, measured[name])]
    yield from markdown(("file", "n (below 3 / above 3)", "measure", "Spearman, 95 %", "AUC, 95 %"), rows)
    yield "\nShare labelled positive:\n"
    rows = [row for name in SATISFACTION_FILES for row in label_rows(name, measured[name])]
    yield from markdown(("file", "satisfaction", "n", "labelled positive, 95 %"), rows)
    yield "\n### Completion against the truth\n"
    rows = [row for name in COMPLETION_FILES for row in completion_rows(name, measured[name])]
    head = (
        "file",
        "conversations",
        "n (completed)",
        "measure",
        "AUC, 95 %",
        "accuracy, 95 %",
        "says completed",
    )
    yield from markdown(head, rows)
    yield "\n### Completion beside a recorded LLM judge, the same conversations of gpt-4o\n"
    rows = list(judge_rows([*measured["tau2-airline"], *measured["tau2-retail"]]))
    yield from markdown(("domain", "conversations", "n", "judge", "accuracy, 95 %"), rows)
    yield f"\n{_speed([t for name in measured for t in map(transcript_of, load(name))])}"


def _speed(transcripts: Sequence[Transcript]) -> str:
    judge = LexiconJudge()
    start = time.process_time()
    for transcript in transcripts:
        judge.judge(transcript)
    spent = time.process_time() - start
    size = sum(len(m.content) for t in transcripts for m in t.messages)
    return (
        f"{len(transcripts)} conversations of {size / len(transcripts):.0f} characters on average: "
        f"{1000 * spent / len(transcripts):.2f} ms CPU each."
    )


if __name__ == "__main__":
    print(*report(), sep="\n")
