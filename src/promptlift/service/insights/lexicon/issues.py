"""Name what went wrong, from the signals, in titles that can be counted over conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.insights.judge import SEVERITIES, Issue
from promptlift.service.insights.lexicon.signals import quotation

if TYPE_CHECKING:
    from promptlift.service.insights.judge import Severity
    from promptlift.service.insights.lexicon.signals import Signals

__all__ = ["TITLES", "WEIGHTS", "find_issues"]

WEIGHTS: Final[dict[Severity, float]] = {"high": 1.0, "medium": 0.5, "low": 0.2}

TITLES: Final[dict[str, tuple[str, Severity]]] = {
    "gives_up": ("User gave up", "high"),
    "not_solved": ("Answer did not help the user", "high"),
    "unanswered": ("Last user message was not answered", "high"),
    "wants_person": ("User asked for a person", "medium"),
    "handed_over": ("Conversation was handed over", "medium"),
    "cannot": ("Assistant could not do what was asked", "medium"),
    "failed": ("Assistant reported a failure", "medium"),
    "repeats": ("User had to repeat the request", "medium"),
    "upset": ("User was upset", "medium"),
    "not_solved_early": ("An answer on the way did not help", "low"),
    "tool_error": ("A tool call failed", "low"),
}


def find_issues(signals: Signals) -> tuple[Issue, ...]:
    """Return the issues, worst first, each with a quotation."""
    found = [
        Issue(title, severity, quotation(evidence))
        for name, (title, severity) in TITLES.items()
        if (evidence := getattr(signals, name)) is not None
    ]
    return tuple(sorted(found, key=lambda issue: SEVERITIES.index(issue.severity)))
