"""``OptimizationMonitor``: the progress and interim results of a running optimization."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from promptlift.display.static_html import bars, last_values
from promptlift.errors import PromptliftError
from promptlift.schema.inert import one_line
from promptlift.schema.results import OptimizationProgress, OptimizationResults
from promptlift.widgets.interval_bars import common_axis, confidence_pieces, effect_pieces, interval_bar
from promptlift.widgets.review.cards import NO_INTERVAL, REHEARSAL, confidence_in_words, interval_in_words
from promptlift.widgets.tree import fact, h, nodes
from promptlift.widgets.tree_widget import TreeWidget, explain_failure, front_end, push
from promptlift.words.figures import relative
from promptlift.workspace.runs import ENDED, pause_before_next_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.display.static_html import Bar
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.widgets.tree_widget import Event
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
_HEIGHT: Final = 28


class OptimizationMonitor(TreeWidget):
    """Watch an optimization while it runs, and stop it.

    Shows the stage, the simulated conversations done out of the maximum, the lift so far with an interval that stays valid
    at every look, the confidence, both after each pass of the confirmation, and the most time it can still take. While the
    page is open it polls the service, less and less often and with at most a quarter of the requests that the plan allows,
    until the optimization has ended. Stop asks for confirmation.

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

    _esm = front_end("js")
    _css = front_end("css", "commands", "monitor")
    CLASS = "plw-monitor"

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
        super().__init__()

    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        return {
            "poll": lambda _: self._poll(),
            "refresh": lambda _: self._poll(force=True),
            "stop": lambda _: self._confirm_stop(self._stop),
        }

    def _poll(self, *, force: bool = False) -> None:
        """Ask the service, unless it was asked a moment ago; several views share one pace."""
        if not force and (self._ended or self._clock() - self._polled_at < self._pause() * 0.8):
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

    @property
    def _results(self) -> OptimizationResults:
        return self._optimization.results or OptimizationResults()

    @property
    def _progress(self) -> OptimizationProgress:
        return self._results.progress or OptimizationProgress()

    def _draw(self) -> dict[str, Nodes]:
        asking = not self._ended and h("span", hidden=True, action="poll", poll=self._pause())
        shown = self._head(), self._bar(), self._notice, self._about(), asking, self._dialog
        return {"_tree": nodes(shown)}

    def _still(self) -> Nodes:
        end = "State when the cell ran. In a running notebook the monitor keeps updating."
        return [h("p", h("b", "Optimization")), *super()._still(), h("p.plw-soft", end)]

    def _head(self) -> Node:
        stop = not self._ended and push("Stop …", "stop", ".plw-stop")
        buttons = h(
            "span.plw-buttons", stop, push("Refresh", "refresh", ".plw-refresh", disabled=self._ended)
        )
        found, progress, pairs = self._optimization, self._progress, self._results.pairs
        done, most = progress.conversations_done, progress.conversations_max
        facts = {
            "status": found.status,
            "stage": _STAGES.get(progress.stage or "", "") if found.status == "running" else "",
            "mode": found.mode or "",
            "simulated conversations": ""
            if done is None
            else f"{done:,}{f' of at most {most:,}' if most else ''}",
            "passes": f"{progress.passes_done or 0} of at most {progress.passes_max}"
            if progress.passes_max
            else "",
            "pairs": f"{pairs.n:,}" if pairs else "",
            "time left": "" if self._ended else self._left(),
        }
        return h("div.plw-top", [fact(*pair) for pair in facts.items() if pair[1]], buttons)

    def _bar(self) -> Node | None:
        most = self._progress.conversations_max
        part = 100 * (self._progress.conversations_done or 0) / most if most else None
        if self._optimization.status == "completed":
            part = 100.0
        if part is None:
            return None
        inside = h("div", style=f"width:{part:.1f}%")
        values = {"aria_valuemin": 0, "aria_valuemax": 100, "aria_valuenow": round(part)}
        return h("div.plw-progress-bar", inside, role="progressbar", **values)

    def _about(self) -> Node:
        found, results = self._optimization, self._results
        measures = [] if results.lift is None else [_effect(results)]
        if results.confidence is not None:
            words = confidence_in_words(results.confidence, results.confidence_needed)
            pieces = confidence_pieces(results.confidence, results.confidence_needed)
            measures.append((words, interval_bar(pieces, words)))
        if any(one is not None for one in results.trace):
            values = ["?" if one is None else f"{one:.2f}" for one in results.trace]
            measures.append(_sparkline("confidence", values, bars(results.trace, low=0.0, high=1.0)))
        if any(one is not None for one in results.lift_trace):
            values = ["?" if one is None else relative(one) for one in results.lift_trace]
            measures.append(_sparkline("lift", values, bars(results.lift_trace)))
        return h(
            "div.plw-about",
            found.rehearsal and h("p.plw-warning", REHEARSAL),
            [h("div.plw-measure", drawing, h("span", words)) for words, drawing in measures],
            self._ended and h("p.plw-foreign.plw-end", self._end()),
        )

    def _left(self) -> str:
        """Return the most time it can still take, from the pace since the monitor was opened."""
        done, most = self._progress.conversations_done, self._progress.conversations_max
        if done is None or not most:
            return ""
        now = self._clock()
        since, before = self._first_seen = self._first_seen or (now, done)
        if done <= before or now <= since:
            return ""
        seconds = (most - done) * (now - since) / (done - before)
        if seconds < 90:
            return f"at most {max(1, round(seconds))} seconds"
        minutes = seconds / 60
        return f"at most {round(minutes)} minutes" if minutes < 90 else f"at most {minutes / 60:.1f} hours"

    def _end(self) -> str:
        """Return how it ended, and what to do next."""
        if self._optimization.status != "completed":
            return one_line(self._optimization.why_it_ended(), 800)
        results = self._results
        none = f"There is no winner. {one_line(results.explanation or '', 600)}".strip()
        end = "A winner was found." if results.winner_selected else none
        return f"{end} To review the variants: widgets.VariantReview(lift, {self._id!r})"

    def _plain(self) -> str:
        return f"OptimizationMonitor(optimization {self._optimization.status})"


def _effect(results: OptimizationResults) -> tuple[str, Node | None]:
    """Return the lift so far, in words and as a picture."""
    shown, level = results.headline, results.interval_level
    words = f"lift so far {relative(shown.lift or 0.0)}"
    if level is None:
        words += f", {NO_INTERVAL}"
    elif shown is results:
        words += f" ({interval_in_words(level, shown.lift_low, shown.lift_high)}, valid at every look)"
    else:
        interval = interval_in_words(level, shown.lift_low, shown.lift_high)
        tested = f"{relative(results.lift or 0.0)} on the tested mix"
        words += f" on the mix of the logged conversations ({interval}), {tested}"
    if results.lift_verified is not None:
        pairs = results.verified_pairs.n if results.verified_pairs is not None else 0
        words += f"; {relative(results.lift_verified)} on {pairs:,} new pairs after the decision"
    ends = (shown.lift, shown.lift_low, shown.lift_high)
    return words, interval_bar(
        effect_pieces(*ends, axis=common_axis(ends), interval=level is not None), words
    )


def _sparkline(name: str, values: Sequence[str], drawn: Sequence[Bar]) -> tuple[str, Node]:
    """Return a number after each pass of the confirmation, in words and as a picture."""
    words = f"{name} by pass: {last_values(values)}"
    boxes = [
        h(
            "span.plw-spark-bar",
            style=f"height:{_HEIGHT * one.height / 100:.1f}px;margin-bottom:{_HEIGHT * one.bottom / 100:.1f}px",
        )
        for one in drawn
    ]
    return words, h("span.plw-spark", boxes, role="img", aria_label=words)
