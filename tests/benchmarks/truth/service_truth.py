"""Whole optimizations over HTTP against a stub model with a known truth, as a table with the bounds of the design.

    python tests/benchmarks/truth/service_truth.py --runs 60 --out truth.jsonl

Starts a service and a stub of its own. Every optimization that ends is a line in the file; started again with the same
file it goes on from there. Rows are effect × mode × confidence mode; the variants, 2 to 5, take turns inside a row.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

# Run as a program, it finds the tests' shared modules one floor up.
sys.path.insert(0, str(Path(__file__).parents[2]))

import truth_bounds
import truth_table
from model_stub import environment, running_stub
from optimization_runs import AT_ONCE, OptimizationRuns, Wanted

from support.service_process import ServiceProcess

# Numbers of runs in one row; a run's number says its row, so that no two share a world.
RUNS_MAX = 10_000
CALLS_AT_A_TIME = 16


def row_name(effect: float, mode: str, confidence_mode: str) -> str:
    """How ``--rows`` names a row."""
    return f"{100 * effect:.0f}:{mode}:{confidence_mode}"


def plan(runs: int, rows: list[str], *, first: int = 0) -> list[Wanted]:
    """The optimizations to run: one of each row in turn, so that what is there early is balanced.

    Another ``first`` draws other worlds.
    """
    kinds = list(product(truth_table.EFFECTS, truth_table.MODES, truth_table.CONFIDENCE_MODES))
    return [
        Wanted(number * RUNS_MAX + at, effect, 2 + at % 4, mode, confidence_mode)
        for at in range(first, first + runs)
        for number, (effect, mode, confidence_mode) in enumerate(kinds)
        if any(fnmatch(row_name(effect, mode, confidence_mode), row) for row in rows)
    ]


def kept(file: Path) -> list[dict]:
    """The records of a file; a line that a killed run left half written is passed over."""
    if not file.exists():
        return []
    found = []
    for line in file.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def run_missing(missing: list[Wanted], file: Path, *, at_once: int, calls_at_a_time: int) -> None:
    """Run what is not in the file yet, and add it."""
    with (
        tempfile.TemporaryDirectory(prefix="promptlift-truth-") as folder,
        running_stub() as (model, endpoint),
        file.open("a") as out,
    ):
        # A line that was left half written ends here.
        if file.stat().st_size and not file.read_text().endswith("\n"):
            out.write("\n")
        service = ServiceProcess(
            Path(folder) / "service", env=environment(endpoint, at_a_time=calls_at_a_time)
        ).start()
        runs = OptimizationRuns(service.base_url, service.key, model=endpoint.settings.model)
        started = time.monotonic()
        try:
            for done, record in enumerate(runs.results(missing, at_once=at_once), start=1):
                out.write(json.dumps(record) + "\n")
                out.flush()
                _tell(done, len(missing), record, time.monotonic() - started)
        finally:
            runs.close()
            service.stop()
        calls = model.purposes.total()
        rate = calls / (time.monotonic() - started)
        print(f"{calls} model calls, {rate:.0f} a second.", file=sys.stderr)
        assert not model.leaks, f"{model.leaks} requests gave an arm away that must not know it"
        assert not model.not_understood, f"{model.not_understood} requests were not understood"


def _tell(done: int, of: int, record: dict, seconds: float) -> None:
    left = seconds / done * (of - done)
    problem = f" {record['problems'][0]}" if record["problems"] else ""
    print(f"{done} of {of}, about {left / 60:.0f} minutes left{problem}", file=sys.stderr, flush=True)


def main() -> None:
    """Run what is missing, print the tables; ends with 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60, help="optimizations a row")
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="number of the first one in each row: another one draws other worlds",
    )
    parser.add_argument(
        "--rows", nargs="*", default=["*"], help="such as 10:validation:* (points, mode, confidence)"
    )
    parser.add_argument("--out", type=Path, default=Path("service-truth.jsonl"))
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--calls-at-a-time", type=int, default=CALLS_AT_A_TIME)
    options = parser.parse_args()
    wanted = {one.run: one for one in plan(options.runs, options.rows, first=options.first)}
    there = {record["run"] for record in kept(options.out)}
    missing = [one for run, one in wanted.items() if run not in there]
    if missing:
        run_missing(missing, options.out, at_once=options.at_once, calls_at_a_time=options.calls_at_a_time)
    rows = truth_table.rows_of(record for record in kept(options.out) if record["run"] in wanted)
    print(truth_bounds.report(rows))
    sys.exit(any(not bound.holds for bound in truth_bounds.bounds(rows)))


if __name__ == "__main__":
    main()
