"""The plan for a winner, as the settings have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Plan:
    """The first state of the deployment of a winner.

    Attributes
    ----------
    state
        ``staged``, ``testing``, ``live`` or ``rejected``.
    origin
        Who would make it live: ``approval`` of a person, or ``auto``.
    reason
        Why it is rejected, or what to know before approving it, in words.
    """

    state: Literal["staged", "testing", "live", "rejected"]
    origin: Literal["approval", "auto"]
    reason: str | None = None


STAGED = Plan("staged", "approval")
STAGED_REHEARSAL = Plan(
    "staged",
    "approval",
    "A rehearsal says nothing about a real prompt; it goes live only if a person accepts that",
)
REHEARSED = Plan(
    "rejected",
    "auto",
    "A rehearsal says nothing about a real prompt, so its winner is never deployed automatically",
)
CHANGED = Plan(
    "rejected",
    "auto",
    "The prompt was changed while the optimization ran: the winner was compared with a version that is no longer current",
)


def tests_before_deploying(settings: dict[str, Any], *, rehearsal: bool) -> bool:
    """Whether the settings ask for a regression test of a winner before it is deployed automatically."""
    automatic = settings.get("autoDeploy") or {}
    return not rehearsal and bool(automatic.get("enabled") and automatic.get("requireRegressionPass", True))


def after_completion(settings: dict[str, Any], *, rehearsal: bool, unchanged: bool) -> Plan | None:
    """Decide what happens with a winner right after its optimization; ``None`` for nothing.

    A rehearsed winner is never deployed automatically. It may be staged: only a person who accepts that it was a rehearsal
    can approve it.

    Parameters
    ----------
    settings
        Has ``deploymentMode`` and ``autoDeploy``.
    rehearsal
        Whether the built-in model was asked in place of a real one.
    unchanged
        Whether the text that the winner was compared with is still live.
    """
    automatic = settings.get("autoDeploy") or {}
    waiting = STAGED_REHEARSAL if rehearsal else STAGED
    staged = waiting if settings.get("deploymentMode") == "semi-automatic" else None
    # unspecified: deploymentMode when autoDeploy is on. It must count for less than autoDeploy, or autoDeploy would do
    # nothing in the default mode "manual"; so it does in "semi-automatic" too. Only where nothing may go live by
    # itself does "semi-automatic" ask a person.
    if not automatic.get("enabled"):
        return staged
    if rehearsal:
        return staged or REHEARSED
    if not unchanged:
        return staged or CHANGED
    return Plan("testing" if tests_before_deploying(settings, rehearsal=rehearsal) else "live", "auto")
