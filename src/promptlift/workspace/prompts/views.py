"""What the service itself says about a prompt: its aggregates, grouped issues, failing steps, and its place in the fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.client.reads.read_list import RowsRead
from promptlift.schema.insights import records_of
from promptlift.workspace.session import Session

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.schema.insights import AgentInsightsView, PromptInsightsView, StepFailures


class PromptViews(Session):
    """Views that the service computes, and tables of them."""

    def prompt_insights(self, prompt_id: str, days: str | int = "30") -> PromptInsightsView:
        """Return the service's own aggregates of a prompt, in one request.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        days
            7, 30, 90 or ``"all"``.
        """
        return self._names.call(prompt_id, lambda found: self.client.prompts.insights(found, days=days))

    def agent_insights(self, prompt_id: str, days: str | int = "30") -> AgentInsightsView:
        """Return the same aggregates with the prompt's place among all prompts and its business impact.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        days
            7, 30, 90 or ``"all"``.
        """
        return self._names.call(prompt_id, lambda found: self.client.agents.insights(found, days=days))

    def top_issues(self, prompt_id: str, days: str | int = "30") -> pd.DataFrame:
        """Return the issues of a prompt grouped by meaning, one row a group, the most frequent first.

        :func:`promptlift.analysis.issues` counts titles as they are; this is the service's own grouping.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        days
            7, 30, 90 or ``"all"``.

        Returns
        -------
        DataFrame
            prompt_id, issue, n, impact, titles, share_pct, n_rated, failed, completion_with_pct,
            completion_without_pct, impact_points with the ends of its interval, quote, conversation_ids. A foreign
            service may give only issue, n and impact.
        """
        view = self.prompt_insights(prompt_id, days)
        found = view.prompt_id or prompt_id
        rows = _rows(view, "top_issues")
        return self._table("top_issues", lambda: rows, {"prompt_id": found, "days": days}, prompt_id=found)

    def step_failures(self, prompt_id: str) -> pd.DataFrame:
        """Return where conversations of the last 30 days first went wrong, one row a step, most failures first.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.

        Returns
        -------
        DataFrame
            prompt_id, step (a phase of the conversation, or ``tool:`` and a name), n that reached it, failed,
            failure_pct with the ends of its interval, kinds, median_turn, quotes.
        """
        view = self._names.call(prompt_id, self.client.agents.step_failures)
        found = view.prompt_id or prompt_id
        rows = _rows(view, "steps")
        return self._table("step_failures", lambda: rows, {"prompt_id": found}, prompt_id=found)

    def fleet(self, days: str | int = "30") -> pd.DataFrame:
        """Return all prompts of the account by task completion, one row each, the best first.

        Parameters
        ----------
        days
            7, 30, 90 or ``"all"``.

        Returns
        -------
        DataFrame
            prompt_id, name, rank with rank_low and rank_high (the places that the data allow), completion_pct with the
            ends of its interval, n, failed. Only prompts with judged conversations, a hundred at most.
        """

        def read() -> RowsRead:
            # The ranking comes with any of the agents.
            some = self.client.prompts.list(limit=1).data
            if not some:
                return RowsRead([], 0, 1, complete=True)
            fleet = self.client.agents.insights(some[0].id, days=days).fleet_intelligence
            rows = [] if fleet is None else [one.to_wire() for one in fleet.ranking]
            whole = fleet is not None and len(rows) >= fleet.agents
            return RowsRead(rows, fleet.agents if fleet else 0, 2, complete=whole)

        return self._table("fleet", read, {"days": days})


def _rows(view: PromptInsightsView | StepFailures, name: str) -> RowsRead:
    rows, facts = records_of(view, name), {"analyser": view.analyser, "basis": view.basis}
    return RowsRead(rows, len(rows), 1, complete=True, facts=facts)
