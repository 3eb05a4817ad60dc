"""The verdict of an optimization in a sentence, from the service's data only, without guesses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.words.figures import signed_figures
from promptlift.words.sentences import confidence, measured_lift, than_original

if TYPE_CHECKING:
    from promptlift.schema.optimizations import Optimization
    from promptlift.schema.results import OptimizationResults

STAGES: Final = {
    "preparing": "writing variants",
    "screen": "screening",
    "confirm": "confirming",
    "verify": "measuring the lift of the winner",
}
"""Descriptions of the stages of an optimization."""


def verdict_sentence(optimization: Optimization) -> str:
    """Describe the outcome or the progress of an optimization.

    A lift is called an improvement only if its interval excludes 0.
    """
    said = _said(optimization)
    rehearsal = "Rehearsal, which says nothing about a real prompt: "
    return f"{rehearsal}{said[0].lower()}{said[1:]}" if optimization.rehearsal else said


def next_call(optimization: Optimization) -> str:
    """Return the next call to make, as a person types it."""
    if optimization.status in ("queued", "running"):
        return f"promptlift.widgets.OptimizationMonitor(lift, {optimization.id!r})"
    if optimization.status == "completed":
        return f"promptlift.widgets.VariantReview(lift, {optimization.id!r})"
    return f"lift.variants({optimization.id!r})"


def _said(optimization: Optimization) -> str:
    status, results = optimization.status, optimization.results
    if status in ("completed", "stopped") and results is not None and results.winner_selected:
        found = _winner(results)
        expected = None if optimization.rehearsal else results.headline.lift_expected
        return found if expected is None else f"{found} Expect {signed_figures(expected)[0]}% in production."
    explanation, lift = (results.explanation, _lift(results)) if results is not None else (None, "")
    why = optimization.failure or explanation or "the service does not say why"
    stopped = f": {optimization.stop_reason.rstrip('.')}" if optimization.stop_reason else ""
    said = {
        "queued": "It is queued.",
        "running": _running(results),
        "failed": f"It failed: {why.rstrip('.')}.",
        "stopped": f"It was stopped{stopped}. No winner was found until then.",
        "completed": f"No winner was found. {explanation or lift}".rstrip(),
    }
    return said.get(status, f"Its status is {status}.")


def _running(results: OptimizationResults | None) -> str:
    progress = results.progress if results is not None else None
    stage = STAGES.get(str(progress.stage)) if progress is not None else None
    parts = [f"It is running{f' ({stage})' if stage else ''}"]
    if progress is not None and progress.conversations_done is not None and progress.conversations_max:
        parts.append(
            f"{progress.conversations_done:,} of at most {progress.conversations_max:,} conversations"
        )
    if results is not None and results.confidence is not None:
        parts.append(f"confidence so far {confidence(results.confidence)}")
    return f"{', '.join(parts)}."


def _winner(results: OptimizationResults) -> str:
    shown = results.headline
    where = "" if shown is results else f" on the mix of the logged conversations{_tested_too(results)}"
    more = than_original((shown.lift, shown.lift_low, shown.lift_high))
    if more:
        found = f"A winner was found: it {more}{where}"
    else:
        lift = _lift(results)
        found = f"A winner was found{'; ' + lift[0].lower() + lift[1:].rstrip('.') if lift else ''}"
    sure = "" if results.confidence is None else f"; confidence {confidence(results.confidence)}"
    return f"{found}{sure}."


def _tested_too(results: OptimizationResults) -> str:
    if results.lift is None:
        return ""
    (tested,) = signed_figures(results.lift)
    return f" ({tested}% on the tested mix)"


def _lift(results: OptimizationResults) -> str:
    shown = results.headline
    if shown.lift is None:
        return ""
    where = "" if shown is results else f" on the mix of the logged conversations{_tested_too(results)}"
    return f"The measured lift is {measured_lift((shown.lift, shown.lift_low, shown.lift_high))}{where}."
