"""What a run of a judge will take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.schema.judges import JudgePlan, JudgeRun
    from promptlift.workspace.judging.judges import Judges

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
    _judges: Judges
    _asked: dict[str, Any]

    def run(self, *, wait: bool = True, timeout: float | None = None) -> JudgeRun:
        """Do what is planned; see :meth:`Judges.backfill`.

        Parameters
        ----------
        wait, timeout
            As for :meth:`Judges.backfill`.
        """
        name, fields = self._asked["judge"], {k: v for k, v in self._asked.items() if k != "judge"}
        return self._judges.backfill(
            name, **{**fields, "version": self.plan.judge_version}, wait=wait, timeout=timeout
        )

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
