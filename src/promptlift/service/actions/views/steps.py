"""Where the conversations of an agent fail."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, Final

from promptlift.schema import endpoints
from promptlift.schema.basis import weakest
from promptlift.schema.insights import (
    Insights,
    Period,
    StepFailure,
    StepFailures,
    StepQuote,
    TurnFailure,
)
from promptlift.schema.limits import STEP_FAILURE_DAYS
from promptlift.service import clock
from promptlift.service.actions.conversations import exclusions_of
from promptlift.service.actions.views.completion import percent, percent_interval
from promptlift.service.call import Call, answers
from promptlift.service.insights.lexicon.steps import NO_SIGN
from promptlift.service.store import aggregates

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
        agent, connection = call.prompt(rows), rows.core
        by_turns = aggregates.failures_by_turns(connection, agent.account_id, agent.id, since=since)
        newest = aggregates.newest_judged(connection, agent.account_id, agent.id, since=since, limit=ANALYSED)
        exclusions = exclusions_of(connection, agent.account_id)
    documents = [Insights.model_validate_json(row.document) for row in newest]
    analysers = {str(one.analyser).partition(":")[0] for one in documents}
    return StepFailures(
        prompt_id=agent.id,
        period=Period(days=STEP_FAILURE_DAYS, from_=clock.to_datetime(since), to=clock.to_datetime(now)),
        conversations=sum(count for _, count, _ in by_turns),
        total_failures=sum(failed for _, _, failed in by_turns),
        analysed=len(documents),
        steps=_steps(documents, exclusions),
        turns=_turns(by_turns),
        analyser="mixed" if len(analysers) > 1 else next(iter(analysers), None),
        basis=weakest(one.basis for one in documents),
    )


def _steps(documents: Sequence[Insights], exclusions: Exclusions) -> list[StepFailure]:
    reached = Counter(step for one in documents for step in one.steps)
    failed: defaultdict[str, list[StepQuote]] = defaultdict(list)
    for one in documents:
        # The analyser may see a failure where the log's outcome has none.
        if one.failed_step is not None and not one.task_completed:
            said = one.failed_step.model_dump(exclude={"step"})
            failed[one.failed_step.step].append(StepQuote(conversation_id=str(one.conversation_id), **said))
    steps = []
    for step, count in reached.items():
        some = failed[step]
        low, high = percent_interval(len(some), count)
        quotes = [one.model_copy(update={"quote": exclusions.clean(one.quote)}) for one in _varied(some)]
        steps.append(
            StepFailure(
                step=step,
                reached=count,
                failures=len(some),
                failure_rate=percent(len(some), count),
                failure_rate_low=low,
                failure_rate_high=high,
                kinds=dict(Counter(one.kind for one in some).most_common()),
                median_turn=median(one.turn for one in some) if some else None,
                quotes=quotes,
            )
        )
    return sorted(steps, key=lambda one: (-one.failures, -one.reached, one.step))


def _varied(failures: Sequence[StepQuote]) -> list[StepQuote]:
    """Return a few failures to show in the text, one of each kind before a second of any."""
    shown = [one for one in failures if one.kind != NO_SIGN]
    seen = Counter[str]()
    ranked: list[tuple[int, int]] = []
    for one in shown:
        ranked.append((seen[one.kind], len(ranked)))
        seen[one.kind] += 1
    return [shown[place] for _, place in sorted(ranked)[:QUOTES]]


def _turns(rows: Sequence[tuple[int, int, int]]) -> list[TurnFailure]:
    reached = sum(count for _, count, _ in rows)
    turns = []
    for turn, count, failed in rows:
        rate = percent(failed, reached)
        turns.append(TurnFailure(turn=turn, reached=reached, failures=failed, failure_rate=rate))
        reached -= count
    return turns
