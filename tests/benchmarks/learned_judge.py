"""What a judge that learns from labels is worth on real agents whose outcomes are known, beside the majority and the word list.

``python tests/benchmarks/learned_judge.py [draws] [set …]`` prints the tables in Markdown. Each draw labels conversations of one half of
the tasks at random and tests on the tasks of the other half, which have no label.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.tables import markdown
from promptlift.schema.transcript import Message, Transcript
from promptlift.service.insights.learned import features_of
from promptlift.service.insights.lexicon.judge import LexiconJudge
from promptlift.stats.learned import auc_of, learn
from support.shared_data import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILES: Final = ("taubench-airline", "tau2-airline", "tau2-retail", "sgd-service", "uss-sgd")
LABELS: Final = (30, 60, 100)
TESTED: Final = 20


@dataclass(frozen=True)
class Known:
    """One conversation with its truth, which no feature has seen."""

    features: dict[str, float]
    truth: bool
    words: bool
    score: float
    task: str
    run: str


def known(record: dict[str, Any]) -> Known:
    transcript = Transcript(
        messages=[Message(role=m["role"], content=m["content"]) for m in record["messages"]]
    )
    judged = LexiconJudge().judge(transcript)
    metadata = record.get("metadata") or {}
    return Known(
        features_of(transcript, judged, record["status"]),
        bool(record["truth"]["taskCompleted"]),
        judged.task_completed,
        judged.quality,
        str(metadata.get("taskId") or record["sourceId"]),
        str(metadata.get("run") or ""),
    )


def sets() -> Iterator[tuple[str, list[Known]]]:
    """Every file, and every agent in it."""
    for name in FILES:
        rows = [known(one) for one in load(name) if one["truth"]["taskCompleted"] is not None]
        yield name, rows
        runs = defaultdict(list)
        for row in rows:
            runs[row.run].append(row)
        if len(runs) > 1:
            yield from (
                (f"{name}: {run}", mine) for run, mine in runs.items() if len(mine) >= LABELS[0] + TESTED
            )


@dataclass(frozen=True)
class Found:
    """One draw."""

    majority: float
    words: float
    words_auc: float
    accuracy: float
    auc: float
    judges: bool
    no_harm: bool


class World:
    """A set as arrays."""

    def __init__(self, rows: Sequence[Known]) -> None:
        self.features = [row.features for row in rows]
        self.y = np.array([row.truth for row in rows], np.float64)
        self.words = np.array([row.words for row in rows])
        self.score = np.array([row.score for row in rows])
        self.task = np.unique([row.task for row in rows], return_inverse=True)[1]

    def draw(self, n: int, rng: np.random.Generator) -> Found | None:
        """Label ``n`` conversations, and test; ``None`` where the set is too small, or labels are all alike."""
        y = self.y
        order = rng.permutation(self.task.max() + 1)
        place = np.argsort(np.argsort(order)[self.task], kind="stable")
        half = max(n, len(y) // 2)
        pool, test = place[:half], place[half:]
        test = test[~np.isin(self.task[test], self.task[pool])]
        if len(test) < TESTED or len(set(y[test])) < 2:
            return None
        labelled = rng.permutation(pool)[:n]
        if min(y[labelled].sum(), n - y[labelled].sum()) < 2:
            return None
        found = learn(self.features, labelled, y[labelled], self.task[labelled])
        chances = found.judge.chances([self.features[at] for at in test])
        groups = self.task[test]
        words = float((self.words[test] == y[test]).mean())
        accuracy = float(((chances >= 0.5) == y[test]).mean())
        return Found(
            majority=max(y[test].mean(), 1.0 - y[test].mean()),
            words=words,
            words_auc=auc_of(y[test], self.score[test], groups).value,
            accuracy=accuracy,
            auc=auc_of(y[test], chances, groups).value,
            judges=not found.refusal,
            no_harm=bool(found.refusal) or accuracy > words,
        )


HEAD: Final = (
    "set", "labels", "draws", "majority", "word list", "learned", "AUC: word list", "learned", "judges",
    "better than the word list or refused",
)  # fmt: skip


def report(draws: int, only: Sequence[str] = ()) -> Iterator[str]:
    """The table in Markdown."""
    cells = []
    for name, rows in sets():
        if only and name not in only:
            continue
        world = World(rows)
        for n in LABELS:
            drawn = (world.draw(n, np.random.default_rng(seed)) for seed in range(draws))
            found = [one for one in drawn if one is not None]
            if not found:
                continue
            mean = {
                key: np.nanmean([getattr(one, key) for one in found]) for key in Found.__dataclass_fields__
            }
            cells.append(
                [name, f"{n}", f"{len(found)}"]
                + [f"{mean[key]:.2f}" for key in ("majority", "words", "accuracy")]
                + [f"{mean[key]:.2f}" for key in ("words_auc", "auc")]
                + [f"{mean[key]:.0%}" for key in ("judges", "no_harm")]
            )
            print(" | ".join(cells[-1]), file=sys.stderr, flush=True)
    yield from markdown(HEAD, cells)


if __name__ == "__main__":
    print(*report(int(sys.argv[1]) if len(sys.argv) > 1 else 40, sys.argv[2:]), sep="\n")
