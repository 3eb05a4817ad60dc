"""Requests to judges: plan, backfill, align, stop and resume."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.judges import LABELS_MIN, OUTCOME_LABELS_MIN
from promptlift.service import clock
from promptlift.service.background.runs import resume_run, stop_run
from promptlift.service.errors import ApiException, invalid, not_found
from promptlift.service.identifiers import new_id
from promptlift.service.insights.llm_prompt import BUDGET_CHARS
from promptlift.service.judges import versions
from promptlift.service.judges.question import ANSWER_CHARS, JudgeText
from promptlift.service.judges.run import cost_of
from promptlift.service.store import accounts, judges, prompts, runs, usage, verdicts
from promptlift.service.store.tables.runs import RunRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.judges import JudgeAlignCreate, JudgeBackfillCreate
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.runs import JudgeRow

NO_MODEL: Final = (
    "A judge of your own asks a language model, and none is configured: set PROMPTLIFT_LLM_BASE_URL and "
    "PROMPTLIFT_LLM_MODEL (and PROMPTLIFT_LLM_API_KEY where the endpoint wants one), and start the service again"
)
GENERATIONS: Final = 4
_KINDS: Final = ("backfill", "alignment")
_CHARS_A_TOKEN: Final = 4


def plan(
    database: Database, caller: Caller, judge_id: str, body: JudgeBackfillCreate, *, model: str | None
) -> dict[str, Any]:
    """Estimate what a backfill of a judge takes.

    Raises
    ------
    ApiException
        ``NOT_FOUND`` for a judge or a prompt that is not there, ``VALIDATION_ERROR`` for a limit of cost without a price.
    """
    _check_price(body)
    with database.read() as connection:
        row = versions.find(connection, caller, judge_id, version=body.version)
        _check_prompt(connection, caller, body)
        found = verdicts.measure(
            connection,
            caller.account_id,
            row.id,
            _selection(body),
            most_chars=BUDGET_CHARS,
            limit=body.max_conversations,
        )
    count = found["conversations"]
    chars = found["chars"] + count * JudgeText.of(row).chars
    read, written = math.ceil(chars / _CHARS_A_TOKEN), count * ANSWER_CHARS // _CHARS_A_TOKEN
    return {
        "judgeId": row.judge_id,
        "judge": row.name,
        "judgeVersion": row.version,
        "conversations": count,
        "alreadyJudged": found["already_judged"],
        "withoutContent": found["without_content"],
        "calls": count,
        "callsMax": 2 * count,
        "inputTokens": read,
        "outputTokens": written,
        "tokens": read + written,
        "cost": cost_of(_price(body), read, written),
        "model": None if model is None else row.llm_model or model,
    }


def backfill(
    database: Database, caller: Caller, judge_id: str, body: JudgeBackfillCreate, *, model: str | None
) -> dict[str, Any]:
    """Ask for a judge to be put to conversations; that is done in the background.

    Raises
    ------
    ApiException
        As `plan`; ``INVALID_STATE`` without a language model, ``LIMIT_EXCEEDED`` when the tokens of the month are used up.
    """
    planned = plan(database, caller, judge_id, body, model=model)
    _check_model(model)
    settings = {
        "selection": _selection(body),
        "maxConversations": body.max_conversations,
        "maxTokens": body.max_tokens,
        "maxCost": body.max_cost,
        "price": _price(body),
        "total": planned["conversations"],
    }
    with database.write() as connection:
        row = versions.find(connection, caller, judge_id, version=body.version, lock=True)
        verdicts.forget_failed(connection, row.id)
        return _add_run(connection, caller, row, "backfill", settings)


def align(
    database: Database, caller: Caller, judge_id: str, body: JudgeAlignCreate, *, model: str | None
) -> dict[str, Any]:
    """Ask for a judge to be improved by labels; that is done in the background.

    Raises
    ------
    ApiException
        ``NOT_FOUND``; ``VALIDATION_ERROR`` for too few labels; as `backfill`.
    """
    labels = {one.conversation_id: one.value for one in body.labels}
    with database.read() as connection:
        versions.find(connection, caller, judge_id)
        there = verdicts.contents(connection, caller.account_id, list(labels))
    usable = {one: value for one, value in labels.items() if one in there}
    _check_labels(usable)
    _check_model(model)
    generations = body.generations or GENERATIONS
    train = len(usable) - len(usable) // 2
    settings = {
        "labels": usable,
        "leftOut": len(body.labels) - len(usable),
        "generations": generations,
        "maxTokens": body.max_tokens,
        "total": (generations + 1) * train + generations + 2 * (len(usable) // 2),
    }
    with database.write() as connection:
        row = versions.find(connection, caller, judge_id, lock=True)
        return _add_run(connection, caller, row, "alignment", settings, seed=body.seed or 0)


def _add_run(
    connection: Connection,
    caller: Caller,
    judge: JudgeRow,
    kind: str,
    settings: dict[str, Any],
    seed: int = 0,
) -> dict[str, Any]:
    now = clock.now()
    usage.check_tokens(connection, caller, now=now)
    row = RunRow(
        id=new_id("jdr"),
        account_id=caller.account_id,
        kind=kind,
        subject_id=judge.id,
        settings={**settings, "general": accounts.settings(connection, caller.account_id)["general"]},
        seed=seed,
        rehearsal=False,
        created_at=now,
    )
    return _run_view(connection, runs.add(connection, row))


def _check_labels(labels: dict[str, bool]) -> None:
    counts = Counter(labels.values())
    if len(labels) < LABELS_MIN or min(counts[True], counts[False]) < OUTCOME_LABELS_MIN:
        raise invalid(
            {
                "labels": f"must be at least {LABELS_MIN} of conversations that are there, at least {OUTCOME_LABELS_MIN} of "
                f"them yes and {OUTCOME_LABELS_MIN} no; these are {counts[True]} yes and {counts[False]} no"
            },
            "Too few labels: half of them improve the judge, the other half measure it",
        )


def _check_model(model: str | None) -> None:
    if model is None:
        raise ApiException("INVALID_STATE", NO_MODEL, details={"model": "none is configured"})


def _check_price(body: JudgeBackfillCreate) -> None:
    if body.max_cost is not None and body.price is None:
        raise invalid({"price": "Required with maxCost: the price of a million tokens, input and output"})


def _check_prompt(connection: Connection, caller: Caller, body: JudgeBackfillCreate) -> None:
    wanted = body.linked_id
    if wanted is not None and prompts.find(connection, caller.account_id, wanted) is None:
        raise not_found("Prompt")


def _selection(body: JudgeBackfillCreate) -> dict[str, Any]:
    times = {"since": body.since, "until": body.until}
    return {
        "promptId": body.linked_id,
        **{name: None if time is None else clock.from_datetime(time) for name, time in times.items()},
    }


def _price(body: JudgeBackfillCreate) -> dict[str, float] | None:
    return None if body.price is None else {"input": body.price.input, "output": body.price.output}


def runs_page(
    database: Database, caller: Caller, *, judge_id: str | None, limit: int, offset: int
) -> dict[str, Any]:
    """Return one page of runs, newest first."""
    with database.read() as connection:
        where = () if judge_id is None else (judges.runs_of(caller.account_id, judge_id),)
        rows, total = runs.page(connection, caller.account_id, _KINDS, *where, limit=limit, offset=offset)
        data = [_run_view(connection, row) for row in rows]
    return {"data": data, "pagination": {"total": total, "limit": limit, "offset": offset}}


def get_run(database: Database, caller: Caller, run_id: str) -> dict[str, Any]:
    """Return one run.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    with database.read() as connection:
        return _run_view(connection, _find_run(connection, caller, run_id))


def _find_run(connection: Connection, caller: Caller, run_id: str, *, lock: bool = False) -> RunRow:
    return runs.found(connection, caller.account_id, run_id, "Judge run", _KINDS, lock=lock)


def _run_view(connection: Connection, row: RunRow) -> dict[str, Any]:
    judge = judges.get(connection, row.subject_id)
    settings = row.settings
    selection = settings.get("selection", {})
    done, failed = verdicts.progress(connection, [row.id])[row.id]
    total = settings["total"]
    if row.kind == "alignment":
        done = total if row.status == "completed" else min(row.model_calls, total)
    return {
        "id": row.id,
        "kind": row.kind,
        "judgeId": judge.judge_id,
        "judge": judge.name,
        "judgeVersion": judge.version,
        "status": row.status,
        "promptId": selection.get("promptId"),
        "since": clock.iso(selection.get("since")),
        "until": clock.iso(selection.get("until")),
        "maxConversations": settings.get("maxConversations"),
        "maxTokens": settings.get("maxTokens"),
        "maxCost": settings.get("maxCost"),
        "progress": {"done": done, "failed": failed, "total": total},
        "usage": {
            "modelCalls": row.model_calls,
            "tokens": row.tokens,
            "cost": cost_of(settings.get("price"), row.input_tokens, row.output_tokens),
        },
        "alignment": row.results,
        "failure": row.failure,
        "stopReason": row.stop_reason,
        "createdAt": clock.iso(row.created_at),
        "startedAt": clock.iso(row.started_at),
        "completedAt": clock.iso(row.completed_at),
    }


# Stopping and resuming


def stop(database: Database, caller: Caller, run_id: str, reason: str | None) -> dict[str, Any]:
    """Stop a run that is queued or running, and return it.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, or ``INVALID_STATE`` when it has ended.
    """
    with database.write() as connection:
        row = _find_run(connection, caller, run_id, lock=True)
        stop_run(connection, row, reason)
        return _run_view(connection, row)


def resume(database: Database, caller: Caller, run_id: str, *, model: str | None) -> dict[str, Any]:
    """Resume a run that was stopped or failed, and return it; what could not be judged is tried again.

    Raises
    ------
    ApiException
        ``NOT_FOUND``; ``INVALID_STATE`` when it runs or has completed, or without a language model; ``LIMIT_EXCEEDED``
        when the tokens of the month are used up.
    """
    with database.write() as connection:
        row = _find_run(connection, caller, run_id, lock=True)
        _check_model(model)
        resume_run(connection, caller, row)
        verdicts.forget_failed(connection, row.subject_id)
        return _run_view(connection, row)
