"""``OptimizationMonitor``: the progress and interim results of a running optimization."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from promptlift.display.static_html import bars, last_values
from promptlift.errors import PromptliftError
from promptlift.schema.inert import one_line
from promptlift.widgets.fallback import front_end
from promptlift.widgets.interval_bars import common_axis, confidence_pieces, effect_pieces, interval_bar
from promptlift.widgets.review.cards import NO_INTERVAL, REHEARSAL, confidence_in_words, interval_in_words
from promptlift.widgets.tree import fact, h, nodes
from promptlift.widgets.tree_widget import TreeWidget, explain_failure, push
from promptlift.words.figures import relative
from promptlift.workspace.runs import ENDED, pause_before_next_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.display.static_html import Bar
    from promptlift.schema.results import OptimizationResults
    from promptlift.widgets.interval_bars import Piece
    from promptlift.widgets.tree import Node, Nodes
    from promptlift.widgets.tree_widget import Event
    from promptlift.workspace import OptimizationRun, Workspace

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

    def _draw(self) -> dict[str, Nodes]:
        ended = self._ended
        buttons = h(
            "span.plw-buttons",
            not ended and push("Stop …", "stop", ".plw-stop"),
            push("Refresh", "refresh", ".plw-refresh", disabled=ended),
        )
        asking = not ended and h("span", hidden=True, action="poll", poll=self._pause())
        tree = nodes(self._head(buttons), self._bar(), self._notice, self._about(), asking, self._dialog)
        return {"_tree": tree}

    def _still(self) -> Nodes:
        end = "State when the cell ran. In a running notebook the monitor keeps updating."
        return [h("p", h("b", "Optimization")), self._head(), self._about(), h("p.plw-soft", end)]

    def _head(self, *buttons: Node) -> Node:
        found, left = self._optimization, self._left()
        progress = found.results.progress if found.results is not None else None
        pairs = found.results.pairs if found.results is not None else None
        facts = {"status": found.status, "stage": "", "mode": found.mode or ""}
        if progress is not None:
            facts["stage"] = _STAGES.get(progress.stage or "", "") if found.status == "running" else ""
            if progress.conversations_done is not None:
                most = f" of at most {progress.conversations_max:,}" if progress.conversations_max else ""
                facts["simulated conversations"] = f"{progress.conversations_done:,}{most}"
            if progress.passes_max:
                facts["passes"] = f"{progress.passes_done or 0} of at most {progress.passes_max}"
        if pairs is not None:
            facts["pairs"] = f"{pairs.n:,}"
        facts["time left"] = "" if self._ended else left
        return h("div.plw-top", [fact(*pair) for pair in facts.items() if pair[1]], buttons)

    def _bar(self) -> Node | None:
        done, most = self._done()
        if self._optimization.status == "completed":
            done = most = 1
        if not most:
            return None
        part = 100 * (done or 0) / most
        return h(
            "div.plw-progress-bar",
            h("div", style=f"width:{part:.1f}%"),
            role="progressbar",
            aria_valuemin=0,
            aria_valuemax=100,
            aria_valuenow=round(part),
        )

    def _about(self) -> Node:
        found, results = self._optimization, self._optimization.results
        measures = []
        if results is not None:
            words, pieces = self._effect()
            measures = [(words, interval_bar(pieces, words))]
            if results.confidence is not None:
                words = confidence_in_words(results.confidence, results.confidence_needed)
                drawn = confidence_pieces(results.confidence, results.confidence_needed)
                measures.append((words, interval_bar(drawn, words)))
            measures += _sparklines(results)
        return h(
            "div.plw-about",
            found.rehearsal and h("p.plw-warning", REHEARSAL),
            [h("div.plw-measure", drawing, h("span", words)) for words, drawing in measures if words],
            self._ended and h("p.plw-foreign.plw-end", self._words(found)),
        )

    def _done(self) -> tuple[int | None, int | None]:
        results = self._optimization.results
        progress = results.progress if results is not None else None
        return (progress.conversations_done, progress.conversations_max) if progress else (None, None)

    def _effect(self) -> tuple[str, list[Piece]]:
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

    def _left(self) -> str:
        """Return the most time it can still take, from the pace since the monitor was opened."""
        done, most = self._done()
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

    def _words(self, found: OptimizationRun) -> str:
        if found.status == "completed":
            won = found.results is not None and found.results.winner_selected
            explanation = one_line((found.results.explanation if found.results else None) or "", 600)
            end = "A winner was found." if won else f"There is no winner. {explanation}".strip()
            return f"{end} To review the variants: widgets.VariantReview(lift, {self._id!r})"
        return one_line(found.why_it_ended(), 800)

    def _plain(self) -> str:
        return f"OptimizationMonitor(optimization {self._optimization.status})"


def _sparklines(results: OptimizationResults) -> list[tuple[str, Node]]:
    """Return the confidence and the lift after each pass of the confirmation, in words and as a picture."""
    found = []
    if any(one is not None for one in results.trace):
        values = last_values(["?" if one is None else f"{one:.2f}" for one in results.trace])
        words = f"confidence by pass: {values}"
        found.append((words, _sparkline(bars(results.trace, low=0.0, high=1.0), words)))
    if any(one is not None for one in results.lift_trace):
        words = f"lift by pass: {last_values(['?' if one is None else relative(one) for one in results.lift_trace])}"
        found.append((words, _sparkline(bars(results.lift_trace), words)))
    return found


def _sparkline(drawn: Sequence[Bar], words: str) -> Node:
    """Return one bar a pass; the words beside it say the same."""
    styles = [
        f"height:{_HEIGHT * one.height / 100:.1f}px;margin-bottom:{_HEIGHT * one.bottom / 100:.1f}px"
        for one in drawn
    ]
    return h(
        "span.plw-spark", [h("span.plw-spark-bar", style=one) for one in styles], role="img", aria_label=words
    )
