"""An agent among all agents of its account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.service.actions.views.percent import percent, percent_interval
from promptlift.stats.multiplicity import rank_interval, ranks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.actions.views.issues import Issue

RANKED: Final = 100
SHARED: Final = 10
NAMED: Final = 10


def fleet_view(
    agent_id: str,
    counts: Mapping[str, tuple[int, int]],
    issues: Sequence[Issue],
    names: Mapping[str, str],
) -> dict[str, Any]:
    """Return rank, share of the whole and shared issues of an agent.

    Parameters
    ----------
    counts
        Judged conversations that have ended and those with a completed task, by agent; only agents that have some.
    issues
        Of all agents, the most frequent first.
    names
        Of the agents, by id.
    """
    ids = list(counts)
    judged, done = [counts[one][0] for one in ids], [counts[one][1] for one in ids]
    places = ranks(done, judged)
    order = sorted(range(len(ids)), key=lambda place: (places[place], -judged[place], ids[place]))
    shown = [place for number, place in enumerate(order) if number < RANKED or ids[place] == agent_id]
    ranking = [
        _agent(ids[place], names.get(ids[place]), int(places[place]), judged[place], done[place])
        | dict(zip(("rankLow", "rankHigh"), rank_interval(place, done, judged), strict=True))
        for place in shown
    ]
    own = next((one for one in ranking if one["id"] == agent_id), None)
    mine_judged, mine_done = counts.get(agent_id, (0, 0))
    return {
        "agents": len(ids),
        "rank": own and own["rank"],
        "rankLow": own and own["rankLow"],
        "rankHigh": own and own["rankHigh"],
        "taskCompletionRate": percent(sum(done), sum(judged)),
        "conversationShare": percent(mine_judged, sum(judged)),
        "failureShare": percent(mine_judged - mine_done, sum(judged) - sum(done)),
        "ranking": ranking,
        "sharedIssues": [_shared(issue, agent_id, names) for issue in issues if _is_shared(issue, agent_id)][
            :SHARED
        ],
    }


def _agent(agent_id: str, name: str | None, rank: int, judged: int, done: int) -> dict[str, Any]:
    low, high = percent_interval(done, judged)
    return {
        "id": agent_id,
        "name": name,
        "rank": rank,
        "taskCompletionRate": percent(done, judged),
        "taskCompletionLow": low,
        "taskCompletionHigh": high,
        "conversations": judged,
        "failed": judged - done,
    }


def _is_shared(issue: Issue, agent_id: str) -> bool:
    return agent_id in issue.by_prompt and len(issue.by_prompt) > 1


def _shared(issue: Issue, agent_id: str, names: Mapping[str, str]) -> dict[str, Any]:
    most = [names[one] for one, _ in issue.by_prompt.most_common(NAMED) if one in names]
    return {
        "issue": issue.name,
        "agents": len(issue.by_prompt),
        "agentNames": most,
        "conversations": issue.frequency,
        "ownConversations": issue.by_prompt[agent_id],
    }
