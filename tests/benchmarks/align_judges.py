"""How far labels improve a judge whose rubric is hidden: ``python tests/benchmarks/align_judges.py [WORLDS]``.

A service over a stub judge on a real socket. In each world 60 labels of the owner align the judge; the row says its kappa
on the labels that the improvement never saw, before and after, and how often it got a new version. Rows: the judge can be improved; the same with a tenth and a fifth of its answers wrong whatever the rubric
says; a writer that finds nothing; labels that are coin tosses.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.answering_model import serving
from support.judging_model import QUESTION, JudgingModel, world
from support.plain_client import PlainClient
from support.service_process import ServiceProcess, free_port, wait_until

LABELS = 60
ROWS = {
    "hidden rubric": ({}, False),
    "hidden rubric, 10 % noise": ({"noise": 0.1}, False),
    "hidden rubric, 20 % noise": ({"noise": 0.2}, False),
    "writer finds nothing": ({"writes": False}, False),
    "labels are coin tosses": ({}, True),
}


def align(wire: PlainClient, prompt: str, number: int, *, tosses: bool) -> dict:
    """Log the conversations of a world, align a judge of its own with their labels, and return what was found."""
    made = world(LABELS, seed=number)
    draw = random.Random(number)
    labels = []
    for key, text in made.texts.items():
        body = {"promptId": prompt, "content": text, "idempotencyKey": f"{number}-{key}"}
        conversation = wire.send("POST", "/conversations", body)[1]["id"]
        value = draw.random() < 0.5 if tosses else made.truth[key]
        labels.append({"conversationId": conversation, "value": value})
    judge = wire.send("POST", "/judges", {"name": f"refund {number}", "question": QUESTION})[1]["id"]
    status, run = wire.send("POST", f"/judges/{judge}/align", {"labels": labels, "seed": number})
    if status != 200:  # too few of either answer
        return {}
    wait_until(
        lambda: wire.send("GET", f"/judge-runs/{run['id']}")[1]["status"] not in ("queued", "running"),
        what="the alignment ends",
        seconds=120,
    )
    return wire.send("GET", f"/judge-runs/{run['id']}")[1]["alignment"]


def main(worlds: int) -> None:
    """Print one line a row."""
    for name, (options, tosses) in ROWS.items():
        with tempfile.TemporaryDirectory() as folder, serving(JudgingModel(**options)) as env:
            service = ServiceProcess(Path(folder), port=free_port(), env=env).start()
            try:
                wire = PlainClient(service)
                body = {"name": "Support", "content": "You help.", "llmModel": "gpt-4o"}
                prompt = wire.send("POST", "/prompts", body)[1]["id"]
                found = [align(wire, prompt, number, tosses=tosses) for number in range(1, worlds + 1)]
            finally:
                service.stop()
        found = [one for one in found if one]
        before, after = (
            statistics.mean(one[kind] or 0.0 for one in found) for kind in ("kappaBefore", "kappaAfter")
        )
        improved = sum(one["improved"] for one in found)
        rises = [one["kappaAfter"] - one["kappaBefore"] for one in found if one["improved"]]
        least = f", least rise of a new version {min(rises):+.2f}" if rises else ""
        print(
            f"{name}: kappa {before:.2f} -> {after:.2f}; new version in {improved} of {len(found)} worlds{least}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
