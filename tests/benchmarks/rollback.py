"""Harm in simulated production: how long the service leaves it live, and how often it takes back a quiet text.

The database, the watch and the rollback are the service's; only the conversations are drawn. In a deployed text task
completion falls by 10, 20 or 30 points against the text before: from the first day (``pending``), or 120 conversations
after the fix was ``verified`` or found ``not_fixed``.

Run ``python tests/benchmarks/rollback.py`` for the table of the documentation.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from promptlift.service.store.database import Database
from support.production import HARMS, PHASES, Life, harmed, quiet


def summary(lives: list[Life]) -> dict[str, float | int | None]:
    """Return how many were rolled back, and the median and the 90th percentile of how late, in conversations."""
    found = sorted(life.conversations for life in lives if life.conversations is not None)
    return {
        "deployments": len(lives),
        "rolledBack": len(found),
        "median": float(np.median(found)) if found else None,
        "p90": float(np.quantile(found, 0.9)) if found else None,
        "regressedTold": sum("deployment.regressed" in life.kinds for life in lives),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="deployments a row")
    parser.add_argument("--quiet", type=int, default=200, help="quiet deployments")
    parser.add_argument("--days", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'promptlift.db'}")
        database.migrate()
        for phase in PHASES:
            for harm in HARMS:
                lives = [
                    harmed(database, random, phase, harm, days=given.days // 2) for _ in range(given.runs)
                ]
                print(json.dumps({"after": phase, "harm": round(100 * harm), **summary(lives)}), flush=True)
        lives = [quiet(database, random, days=given.days) for _ in range(given.quiet)]
        print(json.dumps({"quiet": True, **summary(lives)}), flush=True)
        database.close()


if __name__ == "__main__":
    main()
