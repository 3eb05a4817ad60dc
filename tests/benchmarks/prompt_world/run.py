"""Measure optimizers in prompt worlds whose truth is known, and print a table of families and one of means.

    python tests/benchmarks/prompt_world/run.py --families additive null --worlds 5 --mode validation --engines search gepa

The *gepa* engines need the package gepa. *gepa* spends as many conversations as the search did in the same world,
*gepa-tokens* as many tokens. *search* asks for moderate confidence, *search-low* and *search-high* for the other two.
Every world that is done is a line in the file of ``--out``; started again with the same file, the run goes on from there.

    python tests/benchmarks/prompt_world/run.py --lightning

is for tuning: the search in three worlds of each family and both modes, in two minutes of one quiet core. A final report
draws its worlds after the last change: choose a ``--seed`` that nobody has looked at.
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
from typing import TYPE_CHECKING, Any

# Run as a program, it finds the tests' shared modules two floors up.
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.prompt_world.engines import ENGINES, Limits
from benchmarks.prompt_world.measure import Measured, means, measure, table
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


def measure_world(
    family: str, seed: int, mode: str, engines: list[str], searched: Measured | None
) -> list[Measured]:
    """Measure engines in one world; those of GEPA may spend what the search spent, once that is known."""
    found = []
    for engine in engines:
        limits = None
        if searched is not None and engine.startswith("gepa"):
            limits = (
                Limits(tokens=searched.tokens) if engine == "gepa-tokens" else Limits(searched.conversations)
            )
        found.append(measure(family, seed, engine, mode, limits))
        searched = found[-1] if engine == "search" else searched
    return found


def measure_all(worlds: list[tuple[Any, ...]], *, at_once: int, deadline: float) -> Iterator[Measured]:
    """Measure the worlds in processes of their own, and begin none after the deadline."""
    waiting = iter(worlds)
    # A fresh process inherits no threads, and no settings of a service that runs beside it.
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
        running: set[Future[list[Measured]]] = set()
        while True:
            while len(running) < at_once and time.monotonic() < deadline:
                if (world := next(waiting, None)) is None:
                    break
                running.add(pool.submit(measure_world, *world))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for one in ended:
                yield from one.result()


def main(arguments: list[str] | None = None) -> int:
    """Run what is missing, and print the table."""
    options = _options(arguments)
    engines = _flat(options.engines)
    done = {(one.family, one.seed, one.mode, one.engine): one for one in kept(options.out)}
    wanted = [
        (family, options.seed + number, mode)
        for number in range(options.worlds)
        for mode in _flat(options.mode)
        for family in _flat(options.families)
    ]
    worlds = [
        (*world, missing, done.get((*world, "search")))
        for world in wanted
        if (missing := [engine for engine in engines if (*world, engine) not in done])
    ]
    left = sum(len(missing) for *_, missing, _ in worlds)
    deadline = math.inf if options.minutes is None else time.monotonic() + 60 * options.minutes
    results = measure_all(worlds, at_once=options.at_once, deadline=deadline)
    for number, one in enumerate(results, start=1):
        done[one.family, one.seed, one.mode, one.engine] = one
        left -= 1
        if options.out is not None:
            with options.out.open("a") as file:
                file.write(json.dumps(dataclasses.asdict(one)) + "\n")
        print(
            f"{number}, {left} left: {one.engine} {one.mode} {one.family} {one.seed}: {one.gain:+.1f}"
            f"{'' if one.named else ' (nothing named)'}, {one.conversations} conversations, {one.seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    if left:
        print(f"Time is up: {left} runs are left.", file=sys.stderr)
    order = sorted((key for key in done if key[:3] in wanted and key[3] in engines), key=_place)
    shown = [done[key] for key in order]
    print(table(shown))
    print()
    print(means(shown, peers=[engine for engine in engines if engine.startswith("gepa")]))
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
    parser.add_argument("--lightning", action="store_true", help="few worlds of all families, for tuning")
    options = parser.parse_args(arguments)
    if options.lightning:
        options.worlds, options.mode, options.engines, options.at_once = 3, [list(MODES)], [["search"]], 1
    if "gepa-tokens" in _flat(options.engines) and "search" not in _flat(options.engines):
        parser.error("gepa-tokens spends what the search spent: measure search as well")
    # The search first: the others may spend what it spent.
    options.engines = [sorted(_flat(options.engines), key=list(ENGINES).index)]
    return options


def _flat(lists: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(name for one in lists for name in one))


def _place(key: tuple[str, int, str, str]) -> tuple[int, int, int, int]:
    family, seed, mode, engine = key
    return FAMILIES.index(family), MODES.index(mode), list(ENGINES).index(engine), seed


if __name__ == "__main__":
    sys.exit(main())
