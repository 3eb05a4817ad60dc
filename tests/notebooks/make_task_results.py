"""Write ``notebooks/data/task-results.csv``, the made-up test run of notebook 04, the same bytes every time.

Run it after changing a number: ``python tests/notebooks/make_task_results.py``. Three versions of a prompt did the same
400 tasks. The truth is known: "shorter" is better by some 15 points, "friendlier" changes nothing but the wording.
"""

from __future__ import annotations

import csv
import io
import math
import random
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "notebooks" / "data" / "task-results.csv"
TASKS = 400
TOPICS = ("refund", "late delivery", "invoice", "wrong size", "address change", "voucher")
# How much easier a version makes a task, on the scale of log odds; a task's own difficulty is much larger.
VERSIONS = {"current": 0.0, "shorter": 1.0, "friendlier": 0.0}
DIFFICULTY = 1.6
EASE = 0.5


def task_results(seed: int = 20) -> list[dict[str, object]]:
    """Rows of the file, task by task."""
    rng = random.Random(seed)
    rows: list[dict[str, object]] = []
    for number in range(1, TASKS + 1):
        topic = rng.choice(TOPICS)
        ease = EASE + rng.gauss(0, DIFFICULTY)
        for version, better in VERSIONS.items():
            completed = rng.random() < 1 / (1 + math.exp(-(ease + better)))
            rating = min(5, max(1, round(rng.gauss(4.1 if completed else 2.5, 0.8))))
            rows.append(
                {
                    "task": f"task-{number:03}",
                    "topic": topic,
                    "version": version,
                    "task_completed": completed,
                    "rating": rating,
                }
            )
    return rows


def file_text() -> str:
    """The file as it is stored."""
    rows = task_results()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


if __name__ == "__main__":
    TARGET.write_text(file_text(), encoding="utf-8")
