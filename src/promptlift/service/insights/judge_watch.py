"""Watch whether the judging model is reachable: work stops while it is not, and resumes soon after it is again.

While the model is away, only one conversation at a time is sent to it, as a trial. A trial is made only when
the endpoint answers a cheap probe, so an endpoint that hangs or is down costs one short request every few
seconds, however many conversations wait. The first answer ends the pause for all of them.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final, Protocol

from promptlift.service.llm.port import Availability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_LOG = logging.getLogger(__name__)

TICK_SECONDS: Final = 0.5
# Between two probes of an endpoint that is away; a probe takes at most five seconds more.
PAUSE_SECONDS: Final = 3.0
# An endpoint may ask for a longer pause, but not for an unreasonable one.
LONGEST_PAUSE_SECONDS: Final = 600.0
# After this time a trial is made even if the probe gets no answer: not every endpoint supports the probed
# path.
TRIAL_ANYWAY_SECONDS: Final = 30.0
# After this time without an outcome a trial counts as lost: its job died.
TRIAL_SECONDS: Final = 150.0


class Probe(Protocol):
    """The side of the endpoint that the watch uses."""

    def reachable(self) -> bool:
        """Return whether the endpoint answers at all; takes a few seconds at most."""


class JudgeWatch:
    """Decide how many conversations may be judged, from the outcomes of the last ones.

    Parameters
    ----------
    probe
        The endpoint; ``None`` for a judge that needs no endpoint and is never away.
    make_trial
        Called to have one waiting conversation judged: that with this id, or any if ``None``.
    go_on
        Called to have all waiting conversations judged, with the ids of postponed ones.
    clock
        Clock in seconds; tests pass their own.
    """

    def __init__(
        self,
        probe: Probe | None,
        *,
        make_trial: Callable[[str | None], None],
        go_on: Callable[[Sequence[str]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._probe = probe
        self._make_trial = make_trial
        self._go_on = go_on
        self._clock = clock
        self._lock = threading.Lock()
        # One conversation without an answer after all attempts is enough, if no other was answered meanwhile.
        self._model = Availability(after=1, clock=clock)
        self._put_off: dict[str, None] = {}
        self._begun: dict[str, float] = {}
        self._next_look = 0.0
        self._last_trial = 0.0
        self._open = False
        self._trial: str | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="judge-watch", daemon=True)

    def start(self) -> None:
        """Start monitoring the endpoint."""
        if self._probe is not None:
            self._thread.start()

    def stop(self) -> None:
        """Stop monitoring."""
        self._ending.set()

    @property
    def away(self) -> bool:
        """Whether the model is known to be unreachable."""
        return not self._model.reachable

    @property
    def reason(self) -> str | None:
        """Why conversations wait; ``None`` while the model answers."""
        return self._model.why

    def places(self, limit: int) -> int:
        """Return how many conversations may be claimed: one for a trial while the model is away, and only when it is due."""
        with self._lock:
            if not self.away:
                return limit
            opened, self._open = self._open, False
            return int(opened)

    def claimed(self, conversation_ids: Sequence[str]) -> None:
        """Note the claimed conversations: while the model is away, the first is the trial."""
        with self._lock:
            if self.away:
                self._trial = conversation_ids[0] if conversation_ids else None
                if not conversation_ids:
                    self._next_look = self._clock()

    def begin(self, conversation_id: str) -> bool:
        """Note that a conversation is about to be judged; return whether it may."""
        with self._lock:
            if self.away and conversation_id != self._trial:
                return False
            self._begun[conversation_id] = self._clock()
            return True

    def is_trial(self, conversation_id: str) -> bool:
        """Return whether this conversation is the trial, for which the model is queried only once."""
        return self.away and conversation_id == self._trial

    def answered(self, conversation_id: str) -> None:
        """Note that the model answered, whatever the answer."""
        with self._lock:
            self._begun.pop(conversation_id, None)
            was_away = self.away
            self._model.record(None)
            put_off, self._put_off = list(self._put_off), {}
            self._trial = None
        if was_away:
            _LOG.warning("the language model answers again: insights continue")
            self._go_on(put_off)

    def untested(self, conversation_id: str) -> None:
        """Note that a conversation was finished without querying the model."""
        with self._lock:
            self._begun.pop(conversation_id, None)
            if conversation_id == self._trial:
                self._trial = None
                self._next_look = self._clock()

    def alone(self, conversation_id: str) -> bool:
        """Return whether others were answered while this conversation was not, so the problem lies with it."""
        if self._probe is None:
            return True
        with self._lock:
            return self._answered_since(self._begun.get(conversation_id, self._clock()))

    def unanswered(self, conversation_id: str, reason: str, *, retry_after: float | None = None) -> None:
        """Note that a conversation was postponed because the model did not answer."""
        with self._lock:
            began = self._begun.pop(conversation_id, self._clock())
            if self._probe is None or self._answered_since(began):
                return
            news = not self.away or conversation_id == self._trial
            if not self.away:
                _LOG.warning("the language model cannot be reached, insights wait: %s", reason)
                self._last_trial = self._clock()
            self._model.record(reason)
            self._put_off[conversation_id] = None
            if news:  # conversations sent earlier must not end a trial
                self._open, self._trial = False, None
                pause = min(max(PAUSE_SECONDS, retry_after or 0.0), LONGEST_PAUSE_SECONDS)
                self._next_look = self._clock() + pause

    def _answered_since(self, moment: float) -> bool:
        return not self.away and self._model.answered_at >= moment

    def look(self) -> None:
        """Probe the endpoint if it is time."""
        now = self._clock()
        if self._probe is None or not self.away or now < self._next_look:
            return
        if self._probe.reachable() or now - self._last_trial >= TRIAL_ANYWAY_SECONDS:
            self._open_trial()
        else:
            with self._lock:
                self._next_look = self._clock() + PAUSE_SECONDS

    def _open_trial(self) -> None:
        with self._lock:
            if not self.away:
                return
            self._open = True
            self._last_trial = self._clock()
            self._next_look = self._last_trial + TRIAL_SECONDS
            # The conversation postponed first; it moves to the end of the queue, so that no single one is
            # retried forever.
            chosen = next(iter(self._put_off), None)
            if chosen is not None:
                self._put_off[chosen] = self._put_off.pop(chosen)
        self._make_trial(chosen)

    def _watch(self) -> None:
        while not self._ending.wait(TICK_SECONDS):
            try:
                self.look()
            except Exception:  # noqa: BLE001 - a full disk, say: the next look may fare better
                _LOG.exception("the language model's endpoint could not be monitored")
