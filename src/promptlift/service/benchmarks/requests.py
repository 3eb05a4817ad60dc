"""Requests for benchmarks: create, read, stop, resume, delete."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.background.runs import resume_run, stop_run
from promptlift.service.benchmarks import arms as arm_texts
from promptlift.service.benchmarks import scenario_sets
from promptlift.service.benchmarks.arms import Arm
from promptlift.service.benchmarks.results import results_of
from promptlift.service.errors import invalid
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, benchmarks, prompts, runs, usage
from promptlift.service.store.tables.runs import RunRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.benchmarks import BenchmarkCreate, BulkRequest
    from promptlift.schema.queries import BenchmarkConversationsQuery, BenchmarkQuery
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow
    from promptlift.service.store.tables.runs import ScenarioSetRow

# Exact as a number of JavaScript too.
_SEED_BITS = 53


def create(
    database: Database,
    caller: Caller,
    body: BenchmarkCreate,
    *,
    rehearsal: bool,
    agent_model: str | None,
) -> dict[str, Any]:
    """Ask for a benchmark; it runs in the background.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` for arms and scenario sets that are not there, ``LIMIT_EXCEEDED`` when the tokens of the
        month are used up.
    """
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        # A rehearsal uses none.
        if not rehearsal:
            usage.check_tokens(connection, caller, now=clock.now())
        arms = arm_texts.resolve(connection, caller, body.arms, agent_model=agent_model)
        chosen = scenario_sets.resolve(connection, caller, body.scenario_set, arms[0].prompt_id)
        settings = accounts.settings(connection, caller.account_id)
        row = RunRow(
            id=new_id("bmk"),
            account_id=caller.account_id,
            kind="benchmark",
            subject_id=chosen.id,
            settings={
                "name": body.name or _name(arms),
                "objective": _objective(connection, caller, body, chosen),
                "arms": [asdict(arm) for arm in arms],
                "maxTurns": body.max_turns or settings["optimization"]["simulation"]["maxTurns"],
                "prices": {name: price.to_wire() for name, price in (body.prices or {}).items()},
                "general": settings["general"],
            },
            seed=secrets.randbits(_SEED_BITS) if body.seed is None else body.seed,
            rehearsal=rehearsal,
            created_at=clock.now(),
        )
        return _view(connection, runs.add(connection, row))


def _name(arms: list[Arm]) -> str:
    return " / ".join(arm.name for arm in arms)[:200]


def _objective(
    connection: Connection, caller: Caller, body: BenchmarkCreate, chosen: ScenarioSetRow
) -> str | None:
    if body.objective is not None:
        return body.objective or None
    prompt = prompts.find(connection, caller.account_id, chosen.prompt_id)
    return None if prompt is None else prompt.objective


# Reading


def page(
    database: Database, caller: Caller, *, status: str | None, limit: int, offset: int
) -> dict[str, Any]:
    """Return one page of benchmarks, newest first."""
    with database.read() as connection:
        where = () if status is None else (RunRow.status == status,)
        rows, total = runs.page(
            connection, caller.account_id, ("benchmark",), *where, limit=limit, offset=offset
        )
        held = benchmarks.counts(connection, [row.id for row in rows])
        sets = benchmarks.sets(connection, list({row.subject_id for row in rows}))
        data = [_brief(row, sets[row.subject_id], held[row.id]) for row in rows]
    return {"data": data, "pagination": {"total": total, "limit": limit, "offset": offset}}


def get(database: Database, caller: Caller, benchmark_id: str, query: BenchmarkQuery) -> dict[str, Any]:
    """Return one benchmark with its results, compared as the query says.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, or ``VALIDATION_ERROR`` for an arm that it does not have.
    """
    with database.read() as connection:
        row = find(connection, caller, benchmark_id)
        count = len(row.settings["arms"])
        if query.reference != "best" and int(query.reference) >= count:
            raise invalid({"reference": f"must be from 0 to {count - 1}, the number of an arm, or best"})
        return _view(connection, row, query)


def find(connection: Connection, caller: Caller, benchmark_id: str, *, lock: bool = False) -> RunRow:
    """Return a benchmark of the account.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    return runs.found(connection, caller.account_id, benchmark_id, "Benchmark", ("benchmark",), lock=lock)


def _brief(row: RunRow, scenario_set: ScenarioSetRow, done: int, *, content: bool = False) -> dict[str, Any]:
    arms = Arm.of(row)
    total = scenario_set.size * len(arms)
    return {
        "id": row.id,
        "name": row.settings["name"],
        "status": row.status,
        "rehearsal": row.rehearsal,
        "scenarioSet": scenario_sets.wire(scenario_set),
        "arms": [arm.to_wire(number, content=content) for number, arm in enumerate(arms)],
        "progress": {
            "conversationsDone": done,
            "conversationsTotal": total,
            "fraction": done / total,
        },
        "results": row.results,
        "failure": row.failure,
        "createdAt": clock.iso(row.created_at),
        "startedAt": clock.iso(row.started_at),
        "completedAt": clock.iso(row.completed_at),
    }


def _view(connection: Connection, row: RunRow, query: BenchmarkQuery | None = None) -> dict[str, Any]:
    found = _brief(
        row,
        benchmarks.get_set(connection, row.subject_id),
        benchmarks.counts(connection, [row.id])[row.id],
        content=True,
    )
    compared = {} if query is None else query.model_dump()
    return {
        **found,
        "objective": row.settings["objective"],
        "maxTurns": row.settings["maxTurns"],
        "prices": row.settings["prices"],
        "seed": row.seed,
        "results": results_of(connection, row, final=row.status == "completed", **compared),
        "stopReason": row.stop_reason,
        "usage": {"modelCalls": row.model_calls, "tokens": row.tokens},
    }


def conversations(
    database: Database, caller: Caller, benchmark_id: str, query: BenchmarkConversationsQuery
) -> dict[str, Any]:
    """Return one page of the simulated conversations of a benchmark, by cell and arm.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    with database.read() as connection:
        row = find(connection, caller, benchmark_id)
        cells = scenario_sets.cells_of(benchmarks.get_set(connection, row.subject_id))
        rows, total = benchmarks.conversations(
            connection,
            row.id,
            arm=query.arm,
            task_completed=query.task_completed,
            content=query.include_content,
            limit=query.limit,
            offset=query.offset,
        )
    names = [state["name"] for state in row.settings["arms"]]
    return {
        "data": [
            _conversation(one, cells[one.cell - 1], names[one.arm], content=query.include_content)
            for one in rows
        ],
        "pagination": {"total": total, "limit": query.limit, "offset": query.offset},
    }


def _conversation(
    row: AnyRow, cell: scenario_sets.FixedCell, arm_name: str, *, content: bool
) -> dict[str, Any]:
    scenario = cell.scenario
    found = {
        "id": row.id,
        "benchmarkId": row.benchmark_id,
        "cell": row.cell,
        "arm": row.arm,
        "armName": arm_name,
        "persona": {"id": cell.persona.id, "name": cell.persona.name},
        "scenario": {
            "title": scenario.title,
            "opening": scenario.opening,
            "goal": scenario.goal,
            "source": scenario.source,
        },
        "status": row.status,
        "taskCompleted": row.task_completed,
        "sentiment": row.sentiment,
        "sentimentScore": row.sentiment_score,
        "quality": row.quality,
        "turns": row.turns,
        "endedBy": row.ended_by,
        "inputTokens": row.input_tokens,
        "outputTokens": row.output_tokens,
        "tokensEstimated": row.tokens_estimated,
        "error": row.error,
        "createdAt": clock.iso(row.created_at),
    }
    if content:
        found["content"] = None if row.content is None else row.content.decode("utf-8", "replace")
    return found


# Stopping, resuming, deleting


def stop(database: Database, caller: Caller, benchmark_id: str, reason: str | None) -> dict[str, Any]:
    """Stop a benchmark that is queued or running, and return it.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, or ``INVALID_STATE`` when it has ended.
    """
    with database.write() as connection:
        row = find(connection, caller, benchmark_id, lock=True)
        stop_run(connection, row, reason, results=results_of(connection, row, final=False))
        return _view(connection, row)


def resume(database: Database, caller: Caller, benchmark_id: str) -> dict[str, Any]:
    """Resume a benchmark that was stopped or failed, and return it; conversations that were lost are held again.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, ``INVALID_STATE`` when it runs or has completed, or ``LIMIT_EXCEEDED`` when the tokens of the
        month are used up.
    """
    with database.write() as connection:
        row = find(connection, caller, benchmark_id, lock=True)
        resume_run(connection, caller, row)
        benchmarks.forget_dropped(connection, row.id)
        return _view(connection, row)


def bulk(database: Database, caller: Caller, body: BulkRequest) -> dict[str, Any]:
    """Delete benchmarks with their conversations; their scenario sets stay."""
    deleted: list[str] = []
    missing: list[str] = []
    for one in dict.fromkeys(body.job_ids):
        with database.write() as connection:
            there = benchmarks.remove(connection, caller.account_id, one)
        (deleted if there else missing).append(one)
    # unspecified: what an id of nobody does. It is named, and the others are deleted.
    count = len(deleted)
    return {
        "success": True,
        "message": f"{count} benchmark{'' if count == 1 else 's'} deleted",
        "deleted": deleted,
        "notFound": missing,
    }
