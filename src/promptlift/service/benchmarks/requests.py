"""Requests for benchmarks: create, read, stop, resume, delete."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema import endpoints
from promptlift.schema.benchmarks import (
    Benchmark,
    BenchmarkConversation,
    BenchmarkProgress,
    BenchmarkUsage,
    BulkAnswer,
    Price,
)
from promptlift.schema.model import Page
from promptlift.schema.settings import GeneralSettings
from promptlift.schema.simulations import SimulationPersona, SimulationScenario
from promptlift.service import clock
from promptlift.service.background.runs import resume_run, stop_run
from promptlift.service.benchmarks import arms, scenario_sets
from promptlift.service.benchmarks.arms import BenchmarkSettings
from promptlift.service.benchmarks.results import results_of
from promptlift.service.call import Call, answers
from promptlift.service.errors import invalid
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, prompts, runs
from promptlift.service.store.rows import counts, wanted
from promptlift.service.store.tables.runs import BenchmarkConversationRow, RunRow

if TYPE_CHECKING:
    from promptlift.schema.benchmarks import BenchmarkCreate, BulkRequest
    from promptlift.schema.optimizations import StopRequest
    from promptlift.schema.queries import BenchmarkConversationsQuery, BenchmarkQuery, BenchmarksQuery
    from promptlift.service.call import AnyCall
    from promptlift.service.store.rows import Rows
    from promptlift.service.store.tables.runs import ScenarioSetRow

# Also exact as a JavaScript number.
_SEED_BITS: Final = 53
_BRIEF: Final = (
    "id", "status", "rehearsal", "results", "failure", "created_at", "started_at", "completed_at",
)  # fmt: skip
_WITHOUT_CONTENT: Final = BenchmarkConversation.model_fields.keys() - {"content"}


async def _known_models(call: Call[BenchmarkCreate]) -> None:
    for at, arm in enumerate(call.body.arms):
        if arm.llm_model is not None:
            await call.context.check_model(arm.llm_model, field=f"arms[{at}].llmModel")


@answers(endpoints.BENCHMARKS_CREATE, check=_known_models)
def create(call: Call[BenchmarkCreate]) -> Benchmark:
    """Queue a benchmark."""
    body, caller, models = call.body, call.caller, call.context.models
    with call.write() as rows:
        accounts.lock(rows.core, caller.account_id)
        # A rehearsal uses no tokens.
        if not models.rehearse:
            accounts.check_tokens(rows.core, caller, now=clock.now())
        compared = arms.resolve(rows.core, caller, body.arms, agent_model=models.agent_model)
        chosen = scenario_sets.resolve(rows.core, caller, body.scenario_set, compared[0].prompt_id or "")
        account = accounts.settings(rows.core, caller.account_id)
        objective = body.objective or None
        if body.objective is None:
            prompt = prompts.find(rows.core, caller.account_id, chosen.prompt_id)
            objective = None if prompt is None else prompt.objective
        settings = BenchmarkSettings(
            name=body.name or " / ".join(arm.name for arm in compared)[:200],
            objective=objective,
            arms=compared,
            max_turns=body.max_turns or account["optimization"]["simulation"]["maxTurns"],
            prices={name: Price(**price.model_dump()) for name, price in (body.prices or {}).items()},
            general=GeneralSettings.from_wire(account["general"]),
        )
        row = RunRow(
            id=new_id("bmk"),
            account_id=caller.account_id,
            kind="benchmark",
            subject_id=chosen.id,
            settings=settings.to_wire(),
            seed=secrets.randbits(_SEED_BITS) if body.seed is None else body.seed,
            rehearsal=models.rehearse,
            created_at=clock.moment(),
        )
        return _shown(rows, runs.add(rows.core, row))


# Reading


@answers(endpoints.BENCHMARKS_LIST)
def page(call: Call[None, BenchmarksQuery]) -> Page[Benchmark]:
    """Return one page of benchmarks."""
    query = runs.of(call.account_id, "benchmark")
    if call.query.status is not None:
        query = query.filter_by(status=call.query.status)
    with call.read() as rows:
        found, total = runs.page(rows, query, call.query)
        kept = counts(rows.core, BenchmarkConversationRow.benchmark_id, [row.id for row in found])
        sets = runs.sets(rows.core, list({row.subject_id for row in found}))
    data = [_with_arms(row, sets[row.subject_id], kept[row.id], only=_BRIEF) for row in found]
    return Page[Benchmark](data=data, pagination=call.query.of(total))


@answers(endpoints.BENCHMARKS_GET)
def get(call: Call[None, BenchmarkQuery]) -> Benchmark:
    """Return one benchmark with its results, compared as requested."""
    with call.read() as rows:
        row = _found(rows, call)
        count = len(row.settings["arms"])
        if call.query.reference != "best" and int(call.query.reference) >= count:
            raise invalid({"reference": f"must be from 0 to {count - 1}, the number of an arm, or best"})
        return _shown(rows, row, **call.query.model_dump())


def _found(rows: Rows, call: AnyCall, *, lock: bool = False) -> RunRow:
    query = runs.of(call.account_id, "benchmark").filter_by(id=call.id)
    return rows.found(query.with_for_update() if lock else query, "Benchmark")


def _with_arms(
    row: RunRow, scenario_set: ScenarioSetRow, done: int, *, only: tuple[str, ...] | None = None, **more: Any
) -> Benchmark:
    """Return a benchmark; in lists its arms have no texts."""
    settings = BenchmarkSettings.from_wire(row.settings)
    left_out = None if only is None else {"content"}
    total = scenario_set.size * len(settings.arms)
    return row.shown(
        Benchmark,
        only=only,
        name=settings.name,
        scenario_set=scenario_sets.shown(scenario_set),
        arms=[arm.model_dump(exclude=left_out) for arm in settings.arms],
        progress=BenchmarkProgress(conversations_done=done, conversations_total=total, fraction=done / total),
        **more,
    )


def _shown(rows: Rows, row: RunRow, **compared: Any) -> Benchmark:
    settings = BenchmarkSettings.from_wire(row.settings)
    return _with_arms(
        row,
        runs.get_set(rows.core, row.subject_id),
        rows.count(wanted(BenchmarkConversationRow, benchmark_id=row.id)),
        objective=settings.objective,
        max_turns=settings.max_turns,
        prices=settings.prices,
        results=results_of(rows.core, row, final=row.status == "completed", **compared),
        usage=BenchmarkUsage(model_calls=row.model_calls, tokens=row.tokens),
    )


@answers(endpoints.BENCHMARKS_CONVERSATIONS)
def conversations(call: Call[None, BenchmarkConversationsQuery]) -> Page[BenchmarkConversation]:
    """Return one page of the simulated conversations of a benchmark, by cell and arm."""
    query = call.query
    conversations = runs.conversations(
        BenchmarkConversationRow,
        benchmark_id=call.id,
        content=query.include_content,
        arm=query.arm,
        task_completed=query.task_completed,
    )
    with call.read() as rows:
        row = _found(rows, call)
        cells = scenario_sets.cells_of(runs.get_set(rows.core, row.subject_id))
        found, total = rows.page(conversations, query)
    names = [arm["name"] for arm in row.settings["arms"]]
    data = [
        _conversation(one, cells[one.cell - 1], names[one.arm], content=query.include_content)
        for one in found
    ]
    return Page[BenchmarkConversation](data=data, pagination=query.of(total))


def _conversation(
    row: BenchmarkConversationRow, cell: scenario_sets.FixedCell, arm_name: str, *, content: bool
) -> BenchmarkConversation:
    text = {"content": row.content and row.content.decode("utf-8", "replace")} if content else {}
    return row.shown(
        BenchmarkConversation,
        only=_WITHOUT_CONTENT,
        arm_name=arm_name,
        persona=SimulationPersona(id=cell.persona.id, name=cell.persona.name),
        scenario=SimulationScenario(**asdict(cell.scenario)),
        **text,
    )


# Stopping, resuming, deleting


@answers(endpoints.BENCHMARKS_STOP)
def stop(call: Call[StopRequest]) -> Benchmark:
    """Stop a benchmark that is queued or running; its conversations stay."""
    with call.write() as rows:
        row = _found(rows, call, lock=True)
        stop_run(rows.core, row, call.body.reason, results=results_of(rows.core, row, final=False))
        return _shown(rows, row)


@answers(endpoints.BENCHMARKS_RESUME)
def resume(call: Call) -> Benchmark:
    """Resume a benchmark that was stopped or failed; conversations that were lost are simulated again."""
    with call.write() as rows:
        row = _found(rows, call, lock=True)
        resume_run(rows.core, call.caller, row)
        runs.forget_dropped(rows.core, row.id)
        return _shown(rows, row)


@answers(endpoints.BENCHMARKS_BULK)
def bulk(call: Call[BulkRequest]) -> BulkAnswer:
    """Delete benchmarks with their conversations; their scenario sets stay."""
    deleted: list[str] = []
    missing: list[str] = []
    for one in dict.fromkeys(call.body.job_ids):
        with call.write() as rows:
            there = runs.remove_benchmark(rows.core, call.account_id, one)
        (deleted if there else missing).append(one)
    # unspecified: the effect of an unknown id. It is reported, and the others are deleted.
    count = len(deleted)
    message = f"{count} benchmark{'' if count == 1 else 's'} deleted"
    return BulkAnswer(success=True, message=message, deleted=deleted, not_found=missing)
