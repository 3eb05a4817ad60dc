"""What a run of a judge will take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.schema.judges import JudgePlan
    from promptlift.workspace.judging.judges import JudgingRun

__all__ = ["BackfillPlan"]


@dataclass(frozen=True)
class BackfillPlan:
    """What putting a judge to conversations will take. Printed, it says so in a sentence.

    Attributes
    ----------
    plan
        Conversations, calls, tokens and cost.
    """

    plan: JudgePlan
    _start: Callable[[], JudgingRun]

    def run(self, *, wait: bool = True) -> JudgingRun:
        """Judge the conversations, those that this version has not judged yet, and wait for the end.

        The run continues in the background and after a restart of the service, and keeps every verdict as it comes.

        Parameters
        ----------
        wait
            Whether to wait for the end; if not, :meth:`JudgingRun.wait` does.

        Raises
        ------
        InvalidState
            No language model is configured; the message says what to set.
        RunFailed
            It failed; the message says why, and how to continue.
        """
        run = self._start()
        return run.wait() if wait else run

    def __str__(self) -> str:
        plan = self.plan
        cost = "" if plan.cost is None else f", at a cost of about {plan.cost:,.2f}"
        asked = f" of {plan.model}" if plan.model else ""
        work = f"{plan.conversations:,} conversations to judge, {plan.calls:,} calls{asked}, about {plan.tokens:,} tokens{cost}"
        said = [
            f"{plan.judge} (version {plan.judge_version}): {work}; {plan.already_judged:,} are judged already."
        ]
        if plan.without_content:
            said.append(f"{plan.without_content:,} have no transcript any more and are left out.")
        if plan.model is None:
            said.append(
                "No language model is configured: set PROMPTLIFT_LLM_BASE_URL and PROMPTLIFT_LLM_MODEL first."
            )
        return " ".join(said)

    __repr__ = __str__
