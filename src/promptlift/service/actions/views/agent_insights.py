"""The insights of an agent: its rank among the account's agents, the cost of its failures, and its issues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema import endpoints
from promptlift.schema.basis import may_tell
from promptlift.schema.insights import (
    AgentInsightsView,
    AgentIssue,
    BusinessImpact,
    FirstIssue,
    FleetAgent,
    FleetIntelligence,
    SharedIssue,
)
from promptlift.schema.settings import BusinessSettings
from promptlift.service import clock
from promptlift.service.actions.views.completion import percent, percent_interval
from promptlift.service.actions.views.issues import costliest, find_issues
from promptlift.service.actions.views.prompt_insights import days_between, insights_view, read_period
from promptlift.service.call import Call, answers
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.store import accounts, aggregates, prompts
from promptlift.stats.multiplicity import rank_interval, ranks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.schema.queries import InsightsQuery
    from promptlift.service.actions.views.issues import IssueGroup
    from promptlift.service.store.aggregates import Totals

RANKED: Final = 100
SHARED: Final = 10
NAMED: Final = 10
UNDATED: Final = (
    "There are no weekly figures: all conversations start within one day, as they do when imported without "
    "dates. "
    "Import them with the times of their messages."
)
_ENDS: Final = ("task_completion_low", "task_completion_high")


@answers(endpoints.AGENTS_INSIGHTS)
def agent_insights(call: Call[None, InsightsQuery]) -> AgentInsightsView:
    """Return the insights in the agent scheme, with fleet intelligence, business impact and issues."""
    # unspecified: the response of aggregated agent insights beyond these three names.
    with call.read() as rows:
        agent, connection = call.prompt(rows), rows.core
        period = read_period(connection, agent, call.query.days)
        counts = aggregates.completion_by_prompt(connection, agent.account_id, since=period.since)
        sets = aggregates.issue_sets(connection, agent.account_id, prompt_id=None, since=period.since)
        agents = prompts.names(connection, agent.account_id)
        grouped = aggregates.names_of_issues(connection, agent.account_id)
        ever, dated = (
            aggregates.dated(connection, agent.account_id, agent.id, since=since)
            for since in (None, period.since)
        )
        settings = accounts.settings(connection, agent.account_id)
        exclusions = read_exclusions(settings["general"]["excludedDataAndTopics"])
    view = insights_view(agent, period)
    return AgentInsightsView(
        **dict(view),
        fleet_intelligence=fleet_view(
            agent.id,
            counts,
            find_issues(sets, grouped, exclusions),
            agents,
            ranked=may_tell(period.figures.basis),
        ),
        business_impact=impact_view(
            period.figures,
            costliest(period.issues, period.figures),
            days=days_between(max(period.start, period.start if ever is None else ever[0]), period.now),
            dated=dated,
            business=BusinessSettings.from_wire(settings.get("business", {})),
        ),
        issues=[AgentIssue(**dict(one), failed_conversations=one.failed or 0) for one in view.top_issues],
    )


def fleet_view(
    agent_id: str,
    counts: Mapping[str, tuple[int, int]],
    issues: Sequence[IssueGroup],
    names: Mapping[str, str],
    *,
    ranked: bool = True,
) -> FleetIntelligence:
    """Return an agent's rank, its share of conversations, and the issues it shares with others.

    Parameters
    ----------
    counts
        Judged conversations that have ended, and those with a completed task, by agent; agents without any
        are left out.
    issues
        Issues of all agents, the most frequent first.
    names
        Names of the agents, by id.
    ranked
        Whether the verdicts are good enough to rank agents.
    """
    ids = list(counts)
    judged, done = [counts[one][0] for one in ids], [counts[one][1] for one in ids]
    places = ranks(done, judged)
    order = sorted(
        range(len(ids)), key=lambda place: (places[place] if ranked else 0, -judged[place], ids[place])
    )
    shown = [place for number, place in enumerate(order) if number < RANKED or ids[place] == agent_id]
    ranking = [
        FleetAgent(
            id=ids[place],
            name=names.get(ids[place]),
            rank=int(places[place]) if ranked else None,
            rank_low=ends[0],
            rank_high=ends[1],
            task_completion_rate=percent(done[place], judged[place]),
            **dict(zip(_ENDS, percent_interval(done[place], judged[place]), strict=True)),
            conversations=judged[place],
            failed=judged[place] - done[place],
        )
        for place in shown
        for ends in [rank_interval(place, done, judged) if ranked else (None, None)]
    ]
    own = next((one for one in ranking if one.id == agent_id), None)
    mine_judged, mine_done = counts.get(agent_id, (0, 0))
    shared = [issue for issue in issues if agent_id in issue.by_prompt and len(issue.by_prompt) > 1]
    return FleetIntelligence(
        agents=len(ids),
        rank=own and own.rank,
        rank_low=own and own.rank_low,
        rank_high=own and own.rank_high,
        task_completion_rate=percent(sum(done), sum(judged)),
        conversation_share=percent(mine_judged, sum(judged)),
        failure_share=percent(mine_judged - mine_done, sum(judged) - sum(done)),
        ranking=ranking,
        shared_issues=[_shared(issue, agent_id, names) for issue in shared[:SHARED]],
    )


def _shared(issue: IssueGroup, agent_id: str, names: Mapping[str, str]) -> SharedIssue:
    return SharedIssue(
        issue=issue.name,
        agents=len(issue.by_prompt),
        agent_names=[names[one] for one, _ in issue.by_prompt.most_common(NAMED) if one in names],
        conversations=issue.frequency,
        own_conversations=issue.by_prompt[agent_id],
    )


def impact_view(
    figures: Totals,
    costliest: Sequence[tuple[IssueGroup, tuple[float, float, float]]],
    *,
    days: int,
    dated: tuple[int, int] | None,
    business: BusinessSettings,
) -> BusinessImpact:
    """Return the business impact of the failures of a period.

    Parameters
    ----------
    costliest
        Issues associated with failures, in descending order of lost completion points.
    days
        Days of the period since the first conversation, the last one counted whole.
    dated
        When the first and the last conversation of the period started; within one day there are no weekly
        figures.
    business
        The account's business settings.
    """
    failed, weeks = figures.judged - figures.task_completed, days / 7
    undated = dated is None or dated[1] - dated[0] < clock.DAY

    def per_week(count: float | None) -> float | None:
        return None if count is None or undated else count / weeks

    # Failures counted by a word list get no price.
    value = business.value_per_conversation if may_tell(figures.basis) else None
    cost = None if value is None else value * failed
    first_issue = None
    if costliest:
        issue, (points, low, high) = costliest[0]
        rate = 100.0 * figures.task_completed / figures.judged
        excess = points / 100.0 * figures.judged
        first_issue = FirstIssue(
            issue=issue.name,
            conversations=issue.frequency,
            completion_without=rate + points,
            points=points,
            points_low=low,
            points_high=high,
            excess_failures_per_week=per_week(excess),
            excess_cost_per_week=per_week(None if value is None else value * excess),
        )
    return BusinessImpact(
        failed_conversations=failed,
        failed_rate=percent(failed, figures.judged),
        abandoned_conversations=figures.abandoned,
        failures_per_week=per_week(failed),
        undated=UNDATED if undated and dated is not None else None,
        value_per_conversation=business.value_per_conversation,
        currency=business.currency,
        cost_per_week=per_week(cost),
        cost=cost,
        first_issue=first_issue,
    )
