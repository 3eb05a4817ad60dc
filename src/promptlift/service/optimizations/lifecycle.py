"""The states of an optimization: every change of one, with its event, in the caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import limits
from promptlift.service import clock
from promptlift.service.deployments import transitions
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.optimizations.goal import intent_results
from promptlift.service.optimizations.results import logged_mix_of, results_of, variants_of
from promptlift.service.optimizations.terms import Terms
from promptlift.service.store import accounts, events, optimizations, simulations
from promptlift.stats import Experiment
from promptlift.stats.evidence import confidence_calibrated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind
    from promptlift.schema.optimizations import OptimizationStatus
    from promptlift.service.store.tables.runs import OptimizationRow, SimulationRow

# Winners whose outcome in production must be known before the account's own record is used.
RECORD_NEEDED = 30


def start(connection: Connection, row: OptimizationRow, *, now: int) -> None:
    """Change an optimization from queued to running."""
    optimizations.change(connection, row.id, {"status": "running", "started_at": now})
    # unspecified: the shape of settings here. What counts for this run, flat.
    settings = {"mode": row.mode, "variantCount": row.variant_count, **Terms(row).shown}
    told = {"status": "running", "settings": settings, "startedAt": clock.iso(now)}
    _tell(connection, row, "optimization.started", told, now=now)


def _tell(
    connection: Connection, row: OptimizationRow, kind: EventKind, told: dict[str, Any], *, now: int
) -> None:
    payload = {"optimizationId": row.id, "promptId": row.prompt_id, **told}
    events.write(connection, [events.row(kind, row.account_id, row.id, payload, now=now)])


def start_next(connection: Connection, account_id: str, *, now: int) -> None:
    """Start queued optimizations, as many as the account may run at once."""
    accounts.lock(connection, account_id)
    free = limits.CONCURRENT_OPTIMIZATIONS - optimizations.running_count(connection, account_id)
    while free > 0 and (row := optimizations.oldest_queued(connection, account_id)) is not None:
        start(connection, row, now=now)
        free -= 1


def measured(
    connection: Connection,
    row: OptimizationRow,
    run: Experiment,
    notes: Sequence[str],
    *,
    ended: bool = False,
) -> dict[str, Any]:
    """Return the columns that keep the state of an experiment and its present results."""
    verdict = run.verdict()
    calibrated = None
    if verdict.analysis is not None and not row.rehearsal:
        good, judged = optimizations.held_in_production(connection, row.account_id)
        if judged >= RECORD_NEEDED and 0 < good < judged:
            calibrated = confidence_calibrated(verdict.analysis.e_value, good / judged)
    intent = Terms(row).intent
    confirmed: Sequence[SimulationRow] = ()
    if intent and verdict.finalist is not None:
        confirmed = simulations.outcomes(
            connection, row.id, stage="confirm", passes=verdict.progress.passes_done
        )
    ids = [one.id for one in optimizations.variants(connection, row.id)]
    mixes = logged_mix_of(connection, row.id, verdict, prior_sd_points=run.prior_sd_points)
    document = {
        "results": results_of(
            verdict, ids, mixes, rehearsal=row.rehearsal, ended=ended, notes=notes, calibrated=calibrated
        )
        | intent_results(intent, confirmed, finalist=verdict.finalist, analysis=verdict.analysis),
        "variants": variants_of(verdict, mixes),
        "notes": list(notes),
    }
    return {
        "experiment": run.to_state(),
        "results": document,
    }


def complete(
    connection: Connection, row: OptimizationRow, run: Experiment, notes: Sequence[str], *, now: int
) -> None:
    """Change an optimization from running to completed, with its results."""
    columns = measured(connection, row, run, notes, ended=True)
    ended = {"status": "completed", "completed_at": now, "worker": None}
    optimizations.change(connection, row.id, {**columns, **ended})
    results = columns["results"]["results"]
    told = {
        "winner": results["winningVariantId"],
        "improvementPercentage": results["lift"] if results["winnerSelected"] else None,
        "winnerSelected": results["winnerSelected"],
        "confidence": results["confidence"],
        "reason": results["reason"],
        "rehearsal": row.rehearsal,
    }
    seconds = (clock.to_datetime(now) - (row.started_at or row.created_at)).total_seconds()
    whole = {"results": told, "duration": seconds, "completedAt": clock.iso(now)}
    _tell(connection, row, "optimization.completed", whole, now=now)
    number = run.verdict().winner
    winner = None if number is None else optimizations.variants(connection, row.id)[number]
    transitions.on_completed(connection, row, winner=winner, settings=Terms(row).settings, now=now)
    start_next(connection, row.account_id, now=now)


def fail(connection: Connection, row: OptimizationRow, reason: str, *, now: int) -> None:
    """Change an optimization from queued or running to failed. Its measurements stay; no event is written."""
    columns = {"status": "failed", "failure": storable_text(reason), "completed_at": now, "worker": None}
    optimizations.change(connection, row.id, columns | _ended(connection, row, failure=reason))
    start_next(connection, row.account_id, now=now)


def stop(connection: Connection, row: OptimizationRow, reason: str | None, *, now: int) -> OptimizationStatus:
    """Change an optimization from queued or running to stopped, and return its state. Finished passes stay measured.

    Where the winner is found already, only its verification is stopped: the optimization is completed.
    """
    run = None if row.experiment is None else Experiment.from_state(row.experiment)
    if run is not None and run.verdict().winner_selected:
        # unspecified: a stop after the winner was found. Nothing that could still happen would change it.
        run.stop()
        why = f": {reason}" if reason else ""
        notes = [*_notes(row), f"The verification was stopped{why}"]
        complete(connection, row, run, notes, now=now)
        return "completed"
    columns = {"status": "stopped", "stop_reason": reason, "completed_at": now, "worker": None}
    optimizations.change(connection, row.id, columns | _ended(connection, row))
    told = {"reason": reason, "stoppedAt": clock.iso(now)}
    _tell(connection, row, "optimization.stopped", told, now=now)
    start_next(connection, row.account_id, now=now)
    return "stopped"


def _notes(row: OptimizationRow) -> list[str]:
    return [] if row.results is None else list(row.results["notes"])


def _ended(connection: Connection, row: OptimizationRow, *, failure: str | None = None) -> dict[str, Any]:
    """Return the columns of a run that ended early, with the measurement so far."""
    if row.experiment is None:
        return {}
    run = Experiment.from_state(row.experiment)
    run.stop()
    columns = measured(connection, row, run, _notes(row), ended=True)
    if failure is not None:
        columns["results"]["results"] |= {"reason": "failed", "explanation": failure}
    return columns
