"""Requests to judges: plan, backfill, align, stop and resume."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from promptlift.schema import endpoints
from promptlift.schema.judges import (
    LABELS_MIN,
    OUTCOME_LABELS_MIN,
    JudgePlan,
    JudgeProgress,
    JudgeRun,
    JudgeUsage,
)
from promptlift.schema.model import Page
from promptlift.schema.settings import GeneralSettings
from promptlift.service import clock
from promptlift.service.background.runs import resume_run, stop_run
from promptlift.service.call import Call, answers
from promptlift.service.errors import ApiException, invalid, not_found
from promptlift.service.identifiers import new_id
from promptlift.service.insights.llm_judge import BUDGET_CHARS
from promptlift.service.judges import versions
from promptlift.service.judges.question import ANSWER_CHARS, JudgeText
from promptlift.service.judges.run import JudgeSettings, cost_of
from promptlift.service.store import accounts, judges, prompts, runs
from promptlift.service.store.tables.runs import RunRow

if TYPE_CHECKING:
    from promptlift.schema.judges import JudgeAlignCreate, JudgeBackfillCreate
    from promptlift.schema.optimizations import StopRequest
    from promptlift.schema.queries import JudgeRunsQuery
    from promptlift.service.call import AnyCall
    from promptlift.service.store.rows import Rows
    from promptlift.service.store.tables.runs import JudgeRow

NO_MODEL: Final = (
    "A judge of your own needs a language model, and none is configured: set PROMPTLIFT_LLM_BASE_URL and "
    "PROMPTLIFT_LLM_MODEL (and PROMPTLIFT_LLM_API_KEY if the endpoint requires it), and restart the service"
)
GENERATIONS: Final = 4
_KINDS: Final = ("backfill", "alignment")
_CHARS_A_TOKEN: Final = 4
_ONE_LINK: Final = ("promptId",)


@answers(endpoints.JUDGES_PLAN)
def plan(call: Call[JudgeBackfillCreate]) -> JudgePlan:
    """Estimate the cost of a backfill of a judge."""
    body, model = call.body, call.context.models.model
    if body.max_cost is not None and body.price is None:
        raise invalid({"price": "Required with maxCost: the price of a million tokens, input and output"})
    with call.read() as rows:
        row = versions.find(rows.core, call.caller, call.id, version=body.version)
        prompt_id = body.linked_id
        if prompt_id is not None and prompts.find(rows.core, call.account_id, prompt_id) is None:
            raise not_found("Prompt")
        selected = judges.selected(call.account_id, prompt_id, since=body.since, until=body.until)
        found = judges.measure(
            rows.core, row.id, selected, most_chars=BUDGET_CHARS, limit=body.max_conversations
        )
    chars = found.chars + found.conversations * JudgeText.of(row).chars
    read = math.ceil(chars / _CHARS_A_TOKEN)
    written = found.conversations * ANSWER_CHARS // _CHARS_A_TOKEN
    return JudgePlan(
        judge_id=row.judge_id,
        judge=row.name,
        judge_version=row.version,
        conversations=found.conversations,
        already_judged=found.already_judged,
        without_content=found.without_content,
        calls=found.conversations,
        calls_max=2 * found.conversations,
        input_tokens=read,
        output_tokens=written,
        tokens=read + written,
        cost=cost_of(body.price, read, written),
        model=None if model is None else row.llm_model or model,
    )


@answers(endpoints.JUDGES_BACKFILL, links=_ONE_LINK)
def backfill(call: Call[JudgeBackfillCreate]) -> JudgeRun:
    """Queue a run that judges conversations."""
    planned = plan(call)
    _check_model(call)
    body = call.body
    settings = JudgeSettings(
        prompt_id=body.linked_id,
        since=body.since,
        until=body.until,
        max_conversations=body.max_conversations,
        max_tokens=body.max_tokens,
        max_cost=body.max_cost,
        price=body.price,
        total=planned.conversations,
    )
    with call.write() as rows:
        row = versions.find(rows.core, call.caller, call.id, version=body.version, lock=True)
        judges.forget_failed(rows.core, row.id)
        return _add_run(rows, call, row, "backfill", settings)


@answers(endpoints.JUDGES_ALIGN, links=_ONE_LINK)
def align(call: Call[JudgeAlignCreate]) -> JudgeRun:
    """Queue a run that improves a judge by labels."""
    body = call.body
    labels = {one.conversation_id: one.value for one in body.labels}
    with call.read() as rows:
        versions.find(rows.core, call.caller, call.id)
        there = judges.contents(rows.core, call.account_id, list(labels))
    usable = {one: value for one, value in labels.items() if one in there}
    _check_labels(usable)
    _check_model(call)
    generations = body.generations or GENERATIONS
    train = len(usable) - len(usable) // 2
    settings = JudgeSettings(
        labels=usable,
        left_out=len(body.labels) - len(usable),
        generations=generations,
        max_tokens=body.max_tokens,
        total=(generations + 1) * train + generations + 2 * (len(usable) // 2),
    )
    with call.write() as rows:
        row = versions.find(rows.core, call.caller, call.id, lock=True)
        return _add_run(rows, call, row, "alignment", settings, seed=body.seed or 0)


def _add_run(
    rows: Rows, call: AnyCall, judge: JudgeRow, kind: str, settings: JudgeSettings, seed: int = 0
) -> JudgeRun:
    accounts.check_tokens(rows.core, call.caller, now=clock.now())
    settings.general = GeneralSettings.from_wire(accounts.settings(rows.core, call.account_id)["general"])
    row = RunRow(
        id=new_id("jdr"),
        account_id=call.account_id,
        kind=kind,
        subject_id=judge.id,
        settings=settings.to_wire(),
        seed=seed,
        rehearsal=False,
        created_at=clock.moment(),
    )
    return _shown(rows, runs.add(rows.core, row))


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


def _check_model(call: AnyCall) -> None:
    if call.context.models.model is None:
        raise ApiException("INVALID_STATE", NO_MODEL, details={"model": "none is configured"})


# Reading


@answers(endpoints.JUDGE_RUNS_LIST, links=_ONE_LINK)
def page(call: Call[None, JudgeRunsQuery]) -> Page[JudgeRun]:
    """Return one page of runs."""
    query = runs.of(call.account_id, *_KINDS)
    if call.query.judge_id is not None:
        query = query.where(judges.runs_of(call.account_id, call.query.judge_id))
    with call.read() as rows:
        found, total = runs.page(rows, query, call.query)
        return Page[JudgeRun](data=[_shown(rows, row) for row in found], pagination=call.query.of(total))


@answers(endpoints.JUDGE_RUNS_GET, links=_ONE_LINK)
def get(call: Call) -> JudgeRun:
    """Return one run."""
    with call.read() as rows:
        return _shown(rows, _found(rows, call))


def _found(rows: Rows, call: AnyCall, *, lock: bool = False) -> RunRow:
    query = runs.of(call.account_id, *_KINDS).filter_by(id=call.id)
    return rows.found(query.with_for_update() if lock else query, "Judge run")


def _shown(rows: Rows, row: RunRow) -> JudgeRun:
    judge = judges.get(rows.core, row.subject_id)
    settings = JudgeSettings.from_wire(row.settings)
    done, failed = judges.progress(rows.core, row.id)
    if row.kind == "alignment":
        done = settings.total if row.status == "completed" else min(row.model_calls, settings.total)
    return row.shown(
        JudgeRun,
        judge_id=judge.judge_id,
        judge=judge.name,
        judge_version=judge.version,
        prompt_id=settings.prompt_id,
        since=settings.since,
        until=settings.until,
        max_conversations=settings.max_conversations,
        max_tokens=settings.max_tokens,
        max_cost=settings.max_cost,
        progress=JudgeProgress(done=done, failed=failed, total=settings.total),
        usage=JudgeUsage(
            model_calls=row.model_calls,
            tokens=row.tokens,
            cost=cost_of(settings.price, row.input_tokens, row.output_tokens),
        ),
        alignment=row.results,
    )


# Stopping and resuming


@answers(endpoints.JUDGE_RUNS_STOP, links=_ONE_LINK)
def stop(call: Call[StopRequest]) -> JudgeRun:
    """Stop a run that is queued or running."""
    with call.write() as rows:
        row = _found(rows, call, lock=True)
        stop_run(rows.core, row, call.body.reason)
        return _shown(rows, row)


@answers(endpoints.JUDGE_RUNS_RESUME, links=_ONE_LINK)
def resume(call: Call) -> JudgeRun:
    """Resume a run that was stopped or failed; conversations that could not be judged are tried again."""
    with call.write() as rows:
        row = _found(rows, call, lock=True)
        _check_model(call)
        resume_run(rows.core, call.caller, row)
        judges.forget_failed(rows.core, row.subject_id)
        return _shown(rows, row)
