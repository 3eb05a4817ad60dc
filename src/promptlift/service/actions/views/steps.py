"""Where the conversations of an agent fail."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.schema import endpoints
from promptlift.schema.limits import STEP_FAILURE_DAYS
from promptlift.schema.prompt_insights import Period, StepFailure, StepFailures, StepQuote, TurnFailure
from promptlift.service import clock
from promptlift.service.actions.views.completion import percent, percent_interval
from promptlift.service.call import Call, answers
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.store import accounts, aggregates, prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.insights.exclusions import Exclusions

ANALYSED: Final = 5_000
QUOTES: Final = 3


@answers(endpoints.PROMPTS_STEP_FAILURES)
def step_failures(call: Call) -> StepFailures:
    """Count the steps in which conversations of the last 30 days first went wrong, with quotations."""
    # unspecified: the response of step-failures.
    now = clock.now()
    since = now - STEP_FAILURE_DAYS * clock.DAY
    with call.read() as rows:
        agent, connection = prompts.found(rows, call.account_id, call.id, call.scheme.noun), rows.core
        by_turns = aggregates.failures_by_turns(connection, agent.account_id, agent.id, since=since)
        newest = aggregates.newest_judged(connection, agent.account_id, agent.id, since=since, limit=ANALYSED)
        settings = accounts.settings(connection, agent.account_id)
    exclusions = read_exclusions(settings["general"]["excludedDataAndTopics"])
    documents = [document for row in newest if "steps" in (document := orjson.loads(row.document))]
    return StepFailures(
        prompt_id=agent.id,
        period=Period(days=STEP_FAILURE_DAYS, from_=clock.to_datetime(since), to=clock.to_datetime(now)),
        conversations=sum(count for _, count, _ in by_turns),
        total_failures=sum(failed for _, _, failed in by_turns),
        analysed=len(documents),
        steps=_steps(documents, exclusions),
        turns=_turns(by_turns),
    )


def _steps(documents: Sequence[dict[str, Any]], exclusions: Exclusions) -> list[StepFailure]:
    reached = Counter(step for document in documents for step in document["steps"])
    failed: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in documents:
        failure = document.get("failedStep")
        if failure is not None:
            failed[failure["step"]].append({"conversationId": document["conversationId"], **failure})
    steps = []
    for step, count in reached.items():
        some = failed[step]
        low, high = percent_interval(len(some), count)
        steps.append(
            StepFailure(
                step=step,
                reached=count,
                failures=len(some),
                failure_rate=percent(len(some), count),
                failure_rate_low=low,
                failure_rate_high=high,
                kinds=dict(Counter(one["kind"] for one in some).most_common()),
                median_turn=median(one["turn"] for one in some) if some else None,
                quotes=[_quote(one, exclusions) for one in _varied(some)],
            )
        )
    return sorted(steps, key=lambda one: (-one.failures, -one.reached, one.step))


def _varied(failures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a few of the failures, one of each kind before a second one, and those without a sign last."""
    seen = Counter[str]()
    ranked: list[tuple[bool, int, int]] = []
    for one in failures:
        ranked.append((one["kind"] == "no_sign", seen[one["kind"]], len(ranked)))
        seen[one["kind"]] += 1
    return [failures[place] for *_, place in sorted(ranked)[:QUOTES]]


def _quote(failure: dict[str, Any], exclusions: Exclusions) -> StepQuote:
    return StepQuote(
        conversation_id=failure["conversationId"],
        turn=failure["turn"],
        role=failure["role"],
        kind=failure["kind"],
        quote=exclusions.clean(failure["quote"]),
    )


def _turns(rows: Sequence[tuple[int, int, int]]) -> list[TurnFailure]:
    reached = sum(count for _, count, _ in rows)
    turns = []
    for turn, count, failed in rows:
        rate = percent(failed, reached)
        turns.append(TurnFailure(turn=turn, reached=reached, failures=failed, failure_rate=rate))
        reached -= count
    return turns
