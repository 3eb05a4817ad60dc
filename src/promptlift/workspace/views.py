"""Aggregates that the service itself computes of a prompt and of all prompts: ``lift.views``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, get_args

from promptlift.client.reads.read_list import RowsRead
from promptlift.errors import ConfigError
from promptlift.schema import limits
from promptlift.schema.insights import records_of
from promptlift.workspace.filters import NothingMatchesWarning
from promptlift.workspace.session import Room

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    import pandas as pd

    from promptlift.schema.insights import AgentInsightsView, Period, PromptInsightsView, StepFailures

    View = TypeVar("View", bound=PromptInsightsView)

_ALL: Final = "all"
_EVERYTHING: Final = 'days="all" reads everything.'


class Views(Room):
    """What the service computes of prompts, in one request or two.

    Every view covers the last 30 days unless ``days`` says otherwise: 7, 30, 90 or ``"all"``. Tables have the period under
    ``attrs["promptlift"]["period"]``. If nothing began in it, a warning says when the conversations did.
    """

    def prompt_insights(
        self, prompt_id: str, days: str | int = limits.INSIGHTS_DAYS_DEFAULT
    ) -> PromptInsightsView:
        """Return the service's own aggregates of a prompt.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        days
            7, 30, 90 or ``"all"``.

        Raises
        ------
        ConfigError
            When ``days`` is another number.

        Warns
        -----
        NothingMatchesWarning
            No conversation began in the period; the message says how many are older.
        """
        return self._view(self.client.prompts.insights, prompt_id, days)

    def agent_insights(
        self, prompt_id: str, days: str | int = limits.INSIGHTS_DAYS_DEFAULT
    ) -> AgentInsightsView:
        """Return the same aggregates with the prompt's place among all prompts and its business impact.

        Parameters
        ----------
        prompt_id, days
            As for :meth:`prompt_insights`, which raises and warns likewise.
        """
        return self._view(self.client.agents.insights, prompt_id, days)

    def top_issues(self, prompt_id: str, days: str | int = limits.INSIGHTS_DAYS_DEFAULT) -> pd.DataFrame:
        """Return the issues of a prompt grouped by meaning, one row per group, the most frequent first.

        :func:`promptlift.analysis.issues` counts titles as they are; this is the service's own grouping.

        Parameters
        ----------
        prompt_id, days
            As for :meth:`prompt_insights`, which raises and warns likewise.

        Returns
        -------
        DataFrame
            prompt_id, issue, n, impact, titles, share_pct, n_rated, failed, completion_with_pct,
            completion_without_pct, impact_points with the ends of its interval, quote, conversation_ids. A foreign
            service may give only issue, n and impact. ``attrs["promptlift"]["period"]`` also has the number of
            ``conversations`` in the period, and of those ``outside`` it.
        """
        view = self._view(self.client.prompts.insights, prompt_id, days)
        found = view.prompt_id or prompt_id
        inside = view.summary.total_conversations
        total = self.client.conversations.list(prompt_id=found, limit=1).pagination
        period = _period(view.period, days) | {"conversations": inside}
        period["outside"] = None if total is None else max(0, total.total - inside)
        return self._recorded("top_issues", view, "top_issues", found, period)

    def step_failures(self, prompt_id: str) -> pd.DataFrame:
        """Return where conversations of the last 30 days first went wrong, one row per step, most failures first.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.

        Returns
        -------
        DataFrame
            prompt_id, step (a phase of the conversation, or ``tool:`` and a name), n that reached it, failed,
            failure_pct with the ends of its interval, kinds, median_turn, quotes.

        Warns
        -----
        NothingMatchesWarning
            No judged conversation began in these days; the message says how many are older.
        """
        view = self._names.call(prompt_id, self.client.agents.step_failures)
        found = view.prompt_id or prompt_id
        if view.conversations == 0:
            days, hint = limits.STEP_FAILURE_DAYS, "Steps are counted of these days only."
            self._view(self.client.agents.insights, found, days, hint)
        period = _period(view.period, limits.STEP_FAILURE_DAYS)
        return self._recorded("step_failures", view, "steps", found, period)

    def fleet(self, days: str | int = limits.INSIGHTS_DAYS_DEFAULT) -> pd.DataFrame:
        """Return all prompts of the account by task completion, one row each, the best first.

        Parameters
        ----------
        days
            7, 30, 90 or ``"all"``.

        Returns
        -------
        DataFrame
            prompt_id, name, rank with rank_low and rank_high (the places that the data allow), completion_pct with the
            ends of its interval, n, failed. Only prompts with judged conversations, a hundred at most;
            ``attrs["promptlift"]["period"]`` has the number of ``prompts`` with any in the period, and ``outside`` it only.

        Raises
        ------
        ConfigError
            When ``days`` is another number.

        Warns
        -----
        NothingMatchesWarning
            Some prompts have judged conversations outside the period only; the message says how many.
        """
        days = _checked(days)
        period: dict[str, Any] = {"days": days}

        def read() -> RowsRead:
            # The ranking comes with any of the agents.
            some = self.client.prompts.list(limit=1).data
            if not some:
                return RowsRead([], 0, 1, complete=True)
            view = self.client.agents.insights(some[0].id, days=days)
            period.update(_period(view.period, days))
            fleet = view.fleet_intelligence
            if fleet is None:
                return RowsRead([], 0, 2)
            everything = (
                fleet
                if days == _ALL
                else self.client.agents.insights(some[0].id, days=_ALL).fleet_intelligence
            )
            outside = max(0, (everything.agents if everything else 0) - fleet.agents)
            period.update(prompts=fleet.agents, outside=outside)
            rows = [one.to_wire() for one in fleet.ranking]
            return RowsRead(rows, fleet.agents, 2 + (days != _ALL), complete=len(rows) >= fleet.agents)

        frame = self._table("fleet", read, {"days": days})
        frame.attrs["promptlift"]["period"] = period
        if period.get("outside"):
            warnings.warn(
                f"{period['prompts']:,} of {period['prompts'] + period['outside']:,} prompts with judged conversations have any "
                f"in {_days(period)}. {_EVERYTHING}",
                NothingMatchesWarning,
                stacklevel=2,
            )
        return frame

    def _view(
        self, ask: Callable[..., View], prompt_id: str, days: str | int, hint: str = _EVERYTHING
    ) -> View:
        """Ask for a view; if its period has no conversations, warn of those outside."""
        days = _checked(days)
        view = self._names.call(prompt_id, lambda found: ask(found, days=days))
        if days != _ALL and not view.summary.total_conversations:
            everything = ask(view.prompt_id or prompt_id, days=_ALL)
            count, begin = everything.summary.total_conversations, everything.period.from_
            if count:
                first = f", the first on {begin:%Y-%m-%d}" if begin else ""
                period = _days(_period(view.period, days))
                said = f"No conversation began in {period}. {count:,} began outside{first}. {hint}"
                warnings.warn(said, NothingMatchesWarning, stacklevel=3)
        return view

    def _recorded(
        self,
        table: str,
        view: PromptInsightsView | StepFailures,
        rows: str,
        prompt_id: str,
        period: dict[str, Any],
    ) -> pd.DataFrame:
        """Make a table of a list of a view."""
        found = records_of(view, rows)
        facts = {"analyser": view.analyser, "basis": view.basis, "period": period}
        read = RowsRead(found, len(found), 1, complete=True, facts=facts)
        filters = {"prompt_id": prompt_id, "days": period["days"]}
        return self._table(table, lambda: read, filters, prompt_id=prompt_id)


def _checked(days: str | int) -> str:
    """Return the period as the API has it.

    Raises
    ------
    ConfigError
        When the API has no such period.
    """
    offered = get_args(limits.InsightsDays)
    if str(days) not in offered:
        raise ConfigError(
            f'days must be {", ".join(offered[:-1])} or "all", not {days!r}: the service offers no other period. {_EVERYTHING} '
            "For days of your own, count lift.conversations(…, insights=True, since=…, until=…) with analysis.completion or "
            "analysis.issues."
        )
    return str(days)


def _period(period: Period | None, days: str | int) -> dict[str, Any]:
    """Return the period of a view as a table records it."""
    begin, end = (None, None) if period is None else (period.from_, period.to)
    return {"days": days, "from": begin and begin.isoformat(), "to": end and end.isoformat()}


def _days(period: dict[str, Any]) -> str:
    known = period["from"] and period["to"]
    dates = f" ({period['from'][:10]} to {period['to'][:10]})" if known else ""
    return f"the last {period['days']} days{dates}"
