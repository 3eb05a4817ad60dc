"""Measure optimizers in prompt worlds whose truth is known, and print one table.

    python tests/benchmarks/prompt_world/run.py --families additive null --worlds 5 --mode validation --engines today gepa

The engines *gepa* and *gepa-confirmed* need the package gepa. *search* asks for moderate confidence, *search-low* and
*search-high* for the other two. Every world that is done is a line in the file of ``--out``; started again with the same
file, the run goes on from there.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

# Run as a program, it finds the tests' shared modules two floors up.
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.prompt_world.engines import ENGINES
from benchmarks.prompt_world.measure import Measured, measure, table
from benchmarks.prompt_world.world import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterator

MODES = ("exploratory", "validation")


def names_of(known: tuple[str, ...]):
    """Read names with spaces or commas between them; ``all`` is every one."""

    def read(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        for name in names:
            if name != "all" and name not in known:
                raise argparse.ArgumentTypeError(
                    f"there is no {name!r}: choose of {', '.join(known)}, or all"
                )
        return list(known) if "all" in names else names

    return read


def kept(file: Path | None) -> list[Measured]:
    """Return the worlds of a file that are done; a line that a killed run left half written is passed over."""
    found = []
    for line in file.read_text().splitlines() if file is not None and file.exists() else []:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        found.append(Measured(**{**record, "copied": tuple(record["copied"]), "lost": tuple(record["lost"])}))
    return found


def measure_all(
    missing: list[tuple[str, int, str, str]], *, at_once: int, deadline: float
) -> Iterator[Measured]:
    """Measure the worlds in processes of their own, and begin none after the deadline."""
    waiting = iter(missing)
    # A fresh process inherits no threads, and no settings of a service that runs beside it.
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
        running: set[Future[Measured]] = set()
        while True:
            while len(running) < at_once and time.monotonic() < deadline:
                if (key := next(waiting, None)) is None:
                    break
                running.add(pool.submit(measure, *key))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (one.result() for one in ended)


def main(arguments: list[str] | None = None) -> int:
    """Run what is missing, and print the table."""
    options = _options(arguments)
    wanted = [
        (family, options.seed + number, engine, mode)
        for number in range(options.worlds)
        for mode in _flat(options.mode)
        for family in _flat(options.families)
        for engine in _flat(options.engines)
    ]
    done = {(one.family, one.seed, one.engine, one.mode): one for one in kept(options.out)}
    missing = [key for key in wanted if key not in done]
    deadline = math.inf if options.minutes is None else time.monotonic() + 60 * options.minutes
    results = measure_all(missing, at_once=options.at_once, deadline=deadline)
    for number, one in enumerate(results, start=1):
        done[one.family, one.seed, one.engine, one.mode] = one
        if options.out is not None:
            with options.out.open("a") as file:
                file.write(json.dumps(dataclasses.asdict(one)) + "\n")
        print(
            f"{number} of {len(missing)}: {one.engine} {one.mode} {one.family} {one.seed}: {one.gain:+.1f}"
            f"{'' if one.named else ' (nothing named)'}, {one.conversations} conversations, {one.seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    left = sum(key not in done for key in missing)
    if left:
        print(f"Time is up: {left} worlds are left.", file=sys.stderr)
    order = sorted((key for key in wanted if key in done), key=_place)
    print(table([done[key] for key in order]))
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", type=names_of(FAMILIES), default=[list(FAMILIES)])
    parser.add_argument("--worlds", type=int, default=20, help="of each family")
    parser.add_argument("--mode", nargs="+", type=names_of(MODES), default=[["exploratory"]])
    parser.add_argument("--engines", nargs="+", type=names_of(tuple(ENGINES)), default=[["today"]])
    parser.add_argument("--at-once", type=int, default=2, help="worlds under way")
    parser.add_argument("--seed", type=int, default=0, help="of the first world; the others follow")
    parser.add_argument("--out", type=Path, help="file of JSON lines that keeps what is done")
    parser.add_argument("--minutes", type=float, help="begin no further world after this time")
    return parser.parse_args(arguments)


def _flat(lists: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(name for one in lists for name in one))


def _place(key: tuple[str, int, str, str]) -> tuple[int, int, int, int]:
    family, seed, engine, mode = key
    return FAMILIES.index(family), MODES.index(mode), list(ENGINES).index(engine), seed


if __name__ == "__main__":
    sys.exit(main())
