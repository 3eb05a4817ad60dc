"""Guess from the signals whether the task was completed.

A sum of points, written from common sense, squeezed to 0..1 by the logistic function. It sees what people say about
the outcome, never the outcome itself: an assistant that politely did the wrong thing looks completed.

That errors of tools count was decided on the retail agents of tau2-bench; the other rules were fitted to no data. A
refusal or a hand-over counts against completion, although the policy of an agent may ask for it: where most of them
are right, as with the airline agents of that benchmark, the order is no better than chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from promptlift.service.insights.lexicon.signals import Signals

__all__ = ["COMPLETED_FROM", "POINTS", "completion_score"]

COMPLETED_FROM: Final = 0.5
# Where nothing speaks for either, a conversation is taken for slightly more likely completed.
START: Final = 0.4

POINTS: Final[dict[str, float]] = {
    "thanks": 1.0,
    "solved": 1.5,
    "farewell": 0.5,
    "done": 1.0,
    "friendly_end": 0.5,
    "not_solved": -2.0,
    "not_solved_early": -0.5,
    "gives_up": -2.0,
    "wants_person": -1.5,
    "repeats": -0.5,
    "cannot": -1.0,
    "failed": -1.0,
    "handed_over": -1.5,
    "open_question": -0.7,
    "unanswered": -1.5,
    "tool_error": -0.7,
    "last_tool_error": -2.0,
}
NO_ANSWER: Final = -3.0
LAST_SENTIMENT: Final = 0.5  # times the VADER compound of the user's last turn


def completion_score(signals: Signals) -> float:
    """Return a score from 0 to 1 that orders conversations; it is not a probability."""
    points = START + LAST_SENTIMENT * signals.last_sentiment
    points += sum(value for name, value in POINTS.items() if getattr(signals, name) is not None)
    if signals.assistant_turns == 0:
        points += NO_ANSWER
    return 1 / (1 + math.exp(-points))
