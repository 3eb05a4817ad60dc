"""``OptimizationMonitor``: the progress and interim results of a running optimization."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from promptlift.display.static_html import (
    Bar,
    badge,
    bars,
    bars_html,
    element,
    facts,
    last_values,
    paragraph,
    root,
)
from promptlift.errors import PromptliftError
from promptlift.schema.inert import one_line
from promptlift.widgets.commands import CommandWidget, explain_failure
from promptlift.widgets.fallback import front_end
from promptlift.widgets.interval_bars import common_axis, confidence_pieces, effect_pieces, pieces_html
from promptlift.widgets.review.cards import (
    NO_INTERVAL,
    REHEARSAL,
    confidence_in_words,
    interval_in_words,
)
from promptlift.words.figures import relative
from promptlift.workspace.runs import ENDED, pause_before_next_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from markupsafe import Markup

    from promptlift.schema.optimizations import Optimization
    from promptlift.schema.results import OptimizationResults
    from promptlift.widgets.commands import Command
    from promptlift.workspace import Workspace

__all__ = ["OptimizationMonitor"]

_STAGES: Final = {
    "preparing": "writing variants",
    "screen": "screening: choosing a finalist",
    "confirm": "testing the finalist on new conversations",
    "verify": "a winner was found; measuring its lift on new conversations",
    "done": "done",
}
_LONGEST_PAUSE: Final = 60.0


class OptimizationMonitor(CommandWidget):
    """Watch an optimization while it runs, and stop it.

    Shows the stage, the simulated conversations done out of the maximum, the lift so far with an interval that stays valid
    at every look, the confidence, both after each pass of the confirmation, and the most time it can still take. While the page is open it polls the service, less
    and less often and with at most a quarter of the requests that the plan allows, until the optimization has ended. Stop
    asks for confirmation.

    Parameters
    ----------
    lift
        The workspace to read from and to stop with.
    optimization_id
        The optimization.

    Raises
    ------
    PromptliftError
        When the optimization cannot be read.
    """

    _esm = front_end("js", "commands", "monitor")
    _css = front_end("css", "commands", "monitor")

    def __init__(
        self, lift: Workspace, optimization_id: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lift = lift
        self._id = optimization_id
        self._clock = clock
        self._opened_at = clock()
        self._failures = 0
        self._first_seen: tuple[float, int] | None = None
        self._polled_at = self._opened_at
        self._optimization = lift.optimizations[optimization_id]
        super().__init__(_view=self._view_state())

    def _handlers(self) -> Mapping[str, Callable[[Command], None]]:
        return {
            "poll": lambda _: self._poll(),
            "refresh": lambda _: self._poll(force=True),
            "stop": lambda _: self._confirm_stop(self._stop),
        }

    def _poll(self, *, force: bool = False) -> None:
        """Ask the service, unless it was asked a moment ago; several views share one pace."""
        if not force and (self._ended or self._clock() - self._polled_at < self._pause() * 0.8):
            self._view = {**self._view, "polls": self._view["polls"] + 1}
            return
        self._polled_at = self._clock()
        try:
            self._optimization.refresh()
        except PromptliftError as error:
            self._failures += 1
            self._notify(explain_failure(error), "bad")
        else:
            if self._failures:
                self._notify("")
            self._failures = 0
        self._view = {**self._view_state(), "polls": self._view["polls"] + 1}

    @property
    def _ended(self) -> bool:
        return self._optimization.status in ENDED

    def _pause(self) -> float:
        per_minute = self._lift.client.transport.pace.per_minute
        pause: float = pause_before_next_request(self._clock() - self._opened_at, per_minute)
        return float(min(pause * 2**self._failures, max(pause, _LONGEST_PAUSE)))

    def _stop(self, reason: str) -> None:
        if self._optimization.stop(reason or None).status == "completed":
            self._notify("The winner was found already, and stays. Only its verification was stopped.")
        else:
            self._notify("The optimization was stopped. The measurements so far are kept.")
        self._poll(force=True)

    # What is shown.

    def _view_state(self) -> dict[str, Any]:
        found = self._optimization
        results = found.results
        progress = results.progress if results is not None else None
        done = progress.conversations_done if progress else None
        most = progress.conversations_max if progress else None
        stage = _STAGES.get(progress.stage or "", "") if progress and found.status == "running" else ""
        pairs: list[tuple[str, str]] = [
            ("status", found.status),
            ("stage", stage),
            ("mode", found.mode or ""),
        ]
        if done is not None:
            at_most = f" of at most {most:,}" if most else ""
            pairs.append(("simulated conversations", f"{done:,}{at_most}"))
        if progress and progress.passes_max:
            pairs.append(("passes", f"{progress.passes_done or 0} of at most {progress.passes_max}"))
        if results is not None and results.pairs is not None:
            pairs.append(("pairs", f"{results.pairs.n:,}"))
        left = self._left(done, most)
        if left and not self._ended:
            pairs.append(("time left", left))
        effect, effect_boxes = self._effect()
        confidence = None if results is None else results.confidence
        needed = None if results is None else results.confidence_needed
        return {
            "facts": [list(pair) for pair in pairs if pair[1]],
            "fraction": 1.0 if found.status == "completed" else (done or 0) / most if most else None,
            "effect": effect,
            "effect_pieces": effect_boxes,
            "confidence": "" if confidence is None else confidence_in_words(confidence, needed),
            "confidence_pieces": confidence_pieces(confidence, needed),
            "sparklines": [] if results is None else _sparklines(results),
            "rehearsal": REHEARSAL if found.rehearsal else "",
            "ended": self._ended,
            "words": self._words(found),
            "pause": self._pause(),
            "polls": 0,
        }

    def _effect(self) -> tuple[str, list[Any]]:
        results = self._optimization.results
        if results is None or results.lift is None:
            return "", []
        level = results.interval_level
        if level is None:
            words = f"lift so far {relative(results.lift)}, {NO_INTERVAL}"
        else:
            interval = interval_in_words(level, results.lift_low, results.lift_high)
            words = f"lift so far {relative(results.lift)} ({interval}, valid at every look)"
        mix = results.logged_mix
        first = mix is not None and mix.is_headline and mix.lift is not None
        if mix is not None and mix.lift is not None and first:
            interval = interval_in_words(level, mix.lift_low, mix.lift_high)
            words = (
                f"lift so far {relative(mix.lift)} on the mix of the logged conversations ({interval}), "
                f"{relative(results.lift)} on the tested mix, in which failed ones come up more often"
            )
        if results.lift_verified is not None:
            pairs = results.verified_pairs.n if results.verified_pairs is not None else 0
            words += f"; {relative(results.lift_verified)} on {pairs:,} new pairs after the decision"
        shown = mix if mix is not None and first else results
        ends = (shown.lift, shown.lift_low, shown.lift_high)
        return words, effect_pieces(*ends, axis=common_axis(ends), interval=level is not None)

    def _left(self, done: int | None, most: int | None) -> str:
        """Return the most time it can still take, from the pace since the monitor was opened."""
        if done is None or not most:
            return ""
        now = self._clock()
        if self._first_seen is None:
            self._first_seen = (now, done)
        since, before = self._first_seen
        if done <= before or now <= since:
            return ""
        seconds = (most - done) * (now - since) / (done - before)
        if seconds < 90:
            return f"at most {max(1, round(seconds))} seconds"
        return (
            f"at most {round(seconds / 60)} minutes"
            if seconds < 5400
            else f"at most {seconds / 3600:.1f} hours"
        )

    def _words(self, found: Optimization) -> str:
        if not self._ended:
            return ""
        if found.status == "completed":
            won = found.results is not None and found.results.winner_selected
            explanation = one_line((found.results.explanation if found.results else None) or "", 600)
            end = "A winner was found." if won else f"There is no winner. {explanation}".strip()
            return f"{end} To review the variants: widgets.VariantReview(lift, {self._id!r})"
        return one_line(found.why_it_ended(), 800)

    def _static(self) -> Markup:
        view = self._view
        parts = [paragraph(element("b", "Optimization")), facts([tuple(pair) for pair in view["facts"]])]
        if view["rehearsal"]:
            parts.append(paragraph(badge("rehearsal", "warn"), " ", view["rehearsal"]))
        for name in ("effect", "confidence"):
            if view[name]:
                drawing = pieces_html(view[f"{name}_pieces"], label=view[name])
                parts.append(paragraph(drawing, " ", view[name]))
        for drawn, words in view["sparklines"]:
            parts.append(paragraph(bars_html([Bar(*one) for one in drawn], label=words), " ", words))
        if view["words"]:
            parts.append(paragraph(view["words"]))
        parts.append(
            paragraph("State when the cell ran. In a running notebook the monitor keeps updating.", soft=True)
        )
        return root(*parts)

    def _plain(self) -> str:
        return f"OptimizationMonitor(optimization {self._optimization.status})"


def _sparklines(results: OptimizationResults) -> list[list[Any]]:
    """Return a picture of the confidence and one of the lift after each pass of the confirmation, with their words."""
    found: list[list[Any]] = []
    if any(one is not None for one in results.trace):
        words = last_values(["?" if one is None else f"{one:.2f}" for one in results.trace])
        found.append([bars(results.trace, low=0.0, high=1.0), f"confidence by pass: {words}"])
    if any(one is not None for one in results.lift_trace):
        words = last_values(["?" if one is None else relative(one) for one in results.lift_trace])
        found.append([bars(results.lift_trace), f"lift by pass: {words}"])
    return found
