"""The state transitions of an optimization, with their events, in the caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import limits
from promptlift.schema.events import OptimizationCompleted, OptimizationStarted, OptimizationStopped
from promptlift.service import clock
from promptlift.service.background.runs import ending
from promptlift.service.deployments import transitions
from promptlift.service.deployments.verified_lift import expectation
from promptlift.service.optimizations.goal import intent_results
from promptlift.service.optimizations.results import logged_mix_of, results_of, variants_of
from promptlift.service.optimizations.terms import Terms
from promptlift.service.store import accounts, events, optimizations, runs
from promptlift.service.store.tables.runs import KeptResults
from promptlift.stats import Experiment
from promptlift.stats.evidence import confidence_calibrated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.model import RunStatus
    from promptlift.schema.results import OptimizationResults
    from promptlift.service.store.tables.runs import OptimizationRow, SimulationRow

# Winners with a known outcome in production that are needed before the account's own record is used.
RECORD_NEEDED = 30


def start(connection: Connection, row: OptimizationRow, *, now: int) -> None:
    """Change an optimization from queued to running."""
    runs.change(connection, row, status="running", started_at=clock.to_datetime(now))
    started = OptimizationStarted(
        optimization_id=row.id,
        prompt_id=row.prompt_id,
        status="running",
        # unspecified: the shape of settings here. The settings of this run, flat.
        settings={"mode": row.mode, "variantCount": row.variant_count, **Terms(row).shown},
        started_at=clock.to_datetime(now),
    )
    events.add(connection, "optimization.started", row.account_id, row.id, started, now=now)


def start_next(connection: Connection, account_id: str, *, now: int) -> None:
    """Start queued optimizations, as many as the account may run at once."""
    accounts.lock(connection, account_id)
    free = limits.CONCURRENT_OPTIMIZATIONS - optimizations.running_count(connection, account_id)
    while free > 0 and (row := optimizations.oldest_queued(connection, account_id)) is not None:
        start(connection, row, now=now)
        free -= 1


def keep(
    connection: Connection,
    row: OptimizationRow,
    run: Experiment,
    notes: Sequence[str],
    *,
    ended: bool = False,
    because: str | None = None,
    **values: Any,
) -> OptimizationResults:
    """Store the state of an experiment with its current results, and return the results.

    Parameters
    ----------
    because
        Why the run failed.
    values
        Other columns.
    """
    verdict = run.verdict()
    calibrated = None
    if verdict.analysis is not None and not row.rehearsal:
        good, judged = optimizations.held_in_production(connection, row.account_id)
        if judged >= RECORD_NEEDED and 0 < good < judged:
            calibrated = confidence_calibrated(verdict.analysis.e_value, good / judged)
    intent = Terms(row).intent
    confirmed: Sequence[SimulationRow] = ()
    if intent and verdict.finalist is not None:
        passes = verdict.progress.passes_done
        confirmed = runs.outcomes(connection, row.id, stage="confirm", passes=passes)
    ids = [one.id for one in optimizations.variants(connection, row.id)]
    mixes = logged_mix_of(connection, row.id, verdict, prior_sd_points=run.prior_sd_points)
    results = results_of(
        verdict,
        ids,
        mixes,
        rehearsal=row.rehearsal,
        ended=ended,
        notes=notes,
        calibrated=calibrated,
        **intent_results(intent, confirmed, finalist=verdict.finalist, analysis=verdict.analysis),
    )
    if ended and not row.rehearsal:
        # Most starts of a service complete nothing.
        from promptlift.service.deployments.calibration import calibration  # noqa: PLC0415

        worth = calibration(connection, row.account_id)
        if worth.share is not None:
            results.warnings.append(f"{worth.sentence}.")
    if because is not None:
        results.reason, results.explanation = "failed", because
    kept = KeptResults(results=results, variants=variants_of(verdict, ids, mixes), notes=list(notes))
    runs.change(connection, row, experiment=run.to_state(), results=kept, **values)
    return results


def complete(
    connection: Connection, row: OptimizationRow, run: Experiment, notes: Sequence[str], *, now: int
) -> None:
    """Change an optimization from running to completed, with its results."""
    completed_at = clock.to_datetime(now)
    results = keep(
        connection, row, run, notes, ended=True, status="completed", completed_at=completed_at, worker=None
    )
    expected, low, high = expectation(results if results.winner_selected and not row.rehearsal else None)
    completed = OptimizationCompleted(
        optimization_id=row.id,
        prompt_id=row.prompt_id,
        results={
            "winner": results.winning_variant_id,
            "improvementPercentage": results.lift if results.winner_selected else None,
            "expectedPercentage": expected,
            "expectedPercentageLow": low,
            "expectedPercentageHigh": high,
            "winnerSelected": results.winner_selected,
            "confidence": results.confidence,
            "reason": results.reason,
            "rehearsal": row.rehearsal,
        },
        duration=(completed_at - (row.started_at or row.created_at)).total_seconds(),
        completed_at=completed_at,
    )
    events.add(connection, "optimization.completed", row.account_id, row.id, completed, now=now)
    number = run.verdict().winner
    winner = None if number is None else optimizations.variants(connection, row.id)[number]
    transitions.on_completed(connection, row, winner=winner, now=now)
    start_next(connection, row.account_id, now=now)


def fail(connection: Connection, row: OptimizationRow, reason: str, *, now: int) -> None:
    """Change an optimization from queued or running to failed. Its measurements stay; no event is emitted."""
    _end_early(connection, row, now=now, status="failed", failure=reason)
    start_next(connection, row.account_id, now=now)


def stop(connection: Connection, row: OptimizationRow, reason: str | None, *, now: int) -> RunStatus:
    """Change an optimization from queued or running to stopped, and return its state. The measurements of finished passes stay.

    If the winner is already known, only its verification is stopped, and the optimization is completed.
    """
    run = None if row.experiment is None else Experiment.from_state(row.experiment)
    if run is not None and run.verdict().winner_selected:
        # unspecified: a stop after the winner was found. Nothing that could still happen would change the
        # winner.
        run.stop()
        why = f": {reason}" if reason else ""
        complete(connection, row, run, [*_notes(row), f"The verification was stopped{why}"], now=now)
        return "completed"
    _end_early(connection, row, now=now, status="stopped", stop_reason=reason)
    stopped = OptimizationStopped(
        optimization_id=row.id, prompt_id=row.prompt_id, reason=reason, stopped_at=clock.to_datetime(now)
    )
    events.add(connection, "optimization.stopped", row.account_id, row.id, stopped, now=now)
    start_next(connection, row.account_id, now=now)
    return "stopped"


def stop_all_of(connection: Connection, account_id: str, prompt_id: str, *, now: int) -> None:
    """Stop the open optimizations of a deleted prompt."""
    for row in optimizations.open_of_prompt(connection, account_id, prompt_id):
        # unspecified: what happens to the optimizations of a deleted prompt.
        stop(connection, row, "The prompt was deleted", now=now)


def _notes(row: OptimizationRow) -> list[str]:
    return [] if row.results is None else row.results.notes


def _end_early(
    connection: Connection,
    row: OptimizationRow,
    *,
    now: int,
    status: RunStatus,
    failure: str | None = None,
    stop_reason: str | None = None,
) -> None:
    """Record that a run ended, with the measurements so far."""
    values = ending(status, failure=failure, reason=stop_reason, at=clock.to_datetime(now))
    if row.experiment is None:
        runs.change(connection, row, **values)
        return
    run = Experiment.from_state(row.experiment)
    run.stop()
    keep(connection, row, run, _notes(row), ended=True, because=failure, **values)
