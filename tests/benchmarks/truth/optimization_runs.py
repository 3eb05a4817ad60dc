"""Whole optimizations over HTTP: ask for them, wait, read what the API says, and check it against the truth."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.truth import known_truth
from promptlift.stats import Experiment
from promptlift.stats.passes import Outcome
from support.optimizing_caller import ENDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from support.optimizing_caller import Caller

# As many as the service runs at once.
AT_ONCE = 10
POLL_SECONDS = 0.3


@dataclass(frozen=True)
class Wanted:
    """One optimization to run.

    Attributes
    ----------
    run
        Its number: the seed, and what the truth is drawn by.
    effect
        By how much one variant is better, as a fraction; 0 for none.
    """

    run: int
    effect: float
    variants: int
    mode: str
    confidence_mode: str

    @property
    def case(self) -> known_truth.CaseFile:
        """The truth of it."""
        return known_truth.draw_case(self.run, self.variants, self.effect)


class OptimizationRuns:
    """Runs optimizations in an account, up to ten at once."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._starting = threading.Lock()

    def results(self, wanted: Iterable[Wanted]) -> Iterator[dict]:
        """Run them all; gives the record of each."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            yield from threads.map(self.run, wanted)

    def run(self, wanted: Wanted) -> dict:
        """Run one with a prompt of its own; gives its record."""
        caller = self._caller
        with self._starting:  # the settings are the account's
            # One turn: the assistant answers once, so a conversation is one call and its judgement another.
            caller.settings(deploymentMode="manual", maxTurns=1, confidenceMode=wanted.confidence_mode)
            content = known_truth.prompt_text(wanted.case)
            prompt_id = caller.prompt(name=f"Truth {wanted.run}", content=content, objective=None)
            found = caller.start(prompt_id, mode=wanted.mode, variantCount=wanted.variants, seed=wanted.run)
        while found["status"] not in ENDED:
            time.sleep(POLL_SECONDS)
            found = caller.get(found["id"])
        return self.read(found["id"], wanted)

    def read(self, optimization_id: str, wanted: Wanted) -> dict:
        """What the API says of an ended optimization, beside the truth, as one record."""
        whole = self._caller.get(optimization_id)
        variants = self._caller.variants(optimization_id)
        simulations = self._caller.simulations(optimization_id)
        results = whole["results"] or {}
        numbers = {one["id"]: one["number"] for one in variants}
        record = {
            "run": wanted.run,
            "effect": wanted.effect,
            "variants": wanted.variants,
            "mode": wanted.mode,
            "confidence_mode": wanted.confidence_mode,
            "status": whole["status"],
            "winner": numbers.get(results.get("winningVariantId")),
            "finalist": numbers.get(results.get("finalistVariantId")),
            "results": {name: results.get(name) for name in KEPT},
            "conversations": whole["usage"]["conversations"],
            "conversations_max": results.get("progress", {}).get("conversationsMax"),
            "verification_passes": whole["settings"]["verificationPasses"],
            "model_calls": whole["usage"]["modelCalls"],
            "passes": passes_of(simulations),
        }
        return record | {"problems": problems_of(wanted, whole, variants, simulations)}


KEPT = (
    "reason",
    "confidence",
    "lift",
    "liftLow",
    "liftHigh",
    "liftPoints",
    "liftPointsLow",
    "liftPointsHigh",
    "liftPointsExpected",
    "liftPointsVerified",
    "liftPointsVerifiedLow",
    "liftPointsVerifiedHigh",
    "pairs",
    "look",
)


def passes_of(simulations: Iterable[dict]) -> list[dict]:
    """Outcomes pass by pass: a text a cell, ``1`` completed, ``0`` not, ``-`` lost, in the order of the arms."""
    cells: dict[tuple[int, str], dict[int, dict[int, str]]] = {}
    for one in simulations:
        outcome = "-" if one["status"] != "completed" else "1" if one["taskCompleted"] else "0"
        here = cells.setdefault((one["pass"], one["stage"]), {})
        here.setdefault(one["cell"], {})[one["variantNumber"]] = outcome
    found = []
    for (_, stage), rows in sorted(cells.items()):
        arms = sorted({arm for row in rows.values() for arm in row})
        texts = ["".join(row.get(arm, "?") for arm in arms) for _, row in sorted(rows.items())]
        found.append({"stage": stage, "arms": arms, "cells": texts})
    return found


def problems_of(wanted: Wanted, whole: dict, variants: list[dict], simulations: list[dict]) -> list[str]:
    """What of an optimization cannot be, given the truth and the outcomes that the API shows."""
    problems = []

    def must(holds: object, what: str) -> None:
        if not holds:
            problems.append(what)

    must(whole["status"] == "completed", f"it is {whole['status']}: {whole['failure']}")
    must(whole["rehearsal"] is False, "it was a rehearsal")
    must(len(variants) == wanted.variants + 1, f"{len(variants) - 1} variants of {wanted.variants}")
    for one in variants:
        case = known_truth.CaseFile.read(one["content"])
        must(case == wanted.case.of_arm(one["number"]), f"variant {one['number']} has another text")
    lost = sum(one["status"] != "completed" for one in simulations)
    must(not lost, f"{lost} conversations were lost")
    _check_cells(wanted.case, simulations, must)
    if not problems:
        _check_replay(wanted, whole, simulations, must)
    return problems


def _check_cells(
    case: known_truth.CaseFile, simulations: list[dict], must: Callable[[object, str], None]
) -> None:
    """Every cell has its own matter, every arm of it the same person, and every outcome is the true one."""
    cells: dict[int, tuple[str, str]] = {}
    for one in simulations:
        opening, persona = one["scenario"]["opening"], one["persona"]["name"]
        matter, name = known_truth.read_opening(opening)
        must(name == known_truth.slug(persona), f"cell {one['cell']} has another person than its opening")
        must(
            cells.setdefault(one["cell"], (opening, persona)) == (opening, persona), "a cell has two openings"
        )
        if one["status"] == "completed":
            true = known_truth.completes(case.of_arm(one["variantNumber"]), matter, name)
            must(one["taskCompleted"] == true, f"cell {one['cell']} has an outcome that is not true")
    must(len({opening for opening, _ in cells.values()}) == len(cells), "an opening was used twice")


def _check_replay(
    wanted: Wanted, whole: dict, simulations: list[dict], must: Callable[[object, str], None]
) -> None:
    """The decision follows from the outcomes that the API shows: the same experiment gives the same answer."""
    settings, results = whole["settings"], whole["results"]
    run = Experiment(
        wanted.variants,
        whole["mode"],
        settings["confidenceMode"],
        settings["personaCount"],
        settings["scenariosPerSimulation"],
        settings["maxIterations"],
        whole["seed"],
        verification_passes=settings["verificationPasses"],
    )
    left = {(one["cell"], one["variantNumber"]): one for one in simulations}
    while (step := run.next_pass()) is not None:
        outcomes = [(cell.number, arm) for cell in step.cells for arm in step.arms]
        if any(one not in left for one in outcomes):
            must(False, f"pass {step.number} is not there")
            return
        run.record([_outcome(left.pop(one)) for one in outcomes])
    must(not left, f"{len(left)} conversations more than the run needed")
    verdict = run.verdict()
    analysis = verdict.analysis
    numbers = {"n11": analysis.n11, "n10": analysis.n10, "n01": analysis.n01, "n00": analysis.n00}
    shown = {name: results["pairs"][name] for name in numbers}
    must(shown == numbers, f"pairs {shown}, not {numbers}")
    must(results["winnerSelected"] == verdict.winner_selected, "another decision")
    must(results["reason"] == verdict.reason, f"reason {results['reason']}, not {verdict.reason}")
    for name, value in (
        ("confidence", verdict.confidence),
        ("lift", analysis.lift),
        ("liftPoints", analysis.lift_points),
        ("liftPointsLow", analysis.lift_points_low),
        ("liftPointsHigh", analysis.lift_points_high),
        ("liftPointsVerified", None if verdict.verification is None else verdict.verification.lift_points),
    ):
        same = results[name] == value or abs(results[name] - value) < 1e-9
        must(same, f"{name} {results[name]}, not {value}")


def _outcome(one: dict) -> Outcome:
    return Outcome(
        one["cell"],
        one["variantNumber"],
        one["taskCompleted"],
        one["sentimentScore"],
        one["quality"],
        one["persona"]["id"],
    )
