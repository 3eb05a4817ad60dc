"""Optimizations: asking for one, stopping it, and reading what it found."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.service import clock
from promptlift.service.deployments import transitions
from promptlift.service.errors import ApiException, invalid, not_found, quota
from promptlift.service.identifiers import new_id
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.experiment import experiment_of
from promptlift.service.optimizations.generations.views import candidates_of, headroom_of, judged_of, plan_of
from promptlift.service.optimizations.goal import goal_of
from promptlift.service.optimizations.results import unmeasured, variants_of
from promptlift.service.optimizations.targets import criteria_of
from promptlift.service.optimizations.variants.checks import missing_variables
from promptlift.service.simulations.personas import named
from promptlift.service.store import accounts, action_log, optimizations, prompts, simulations, usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.optimizations import OptimizationCreate
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow
    from promptlift.service.store.tables.prompts import PromptRow

# Exact as a number of JavaScript too.
_SEED_BITS = 53


def trigger(
    database: Database,
    caller: Caller,
    body: OptimizationCreate,
    *,
    rehearsal: bool,
    rehearsal_seconds: float = 0.0,
) -> dict[str, Any]:
    """Ask for an optimization; it runs at once, or waits while the account runs ten.

    Parameters
    ----------
    rehearsal
        Whether the built-in stand-in takes the place of a language model.
    rehearsal_seconds
        Seconds of a rehearsal where the request names none.

    Raises
    ------
    ApiException
        ``NOT_FOUND`` for the prompt, ``INVALID_STATE`` while its text is not known, ``VALIDATION_ERROR`` for
        personas, candidates, or the pace of what is no rehearsal, ``LIMIT_EXCEEDED`` for the month.
    """
    link, prompt_id = _link(body)
    pace = _pace(body, rehearsal=rehearsal, default=rehearsal_seconds)
    now = clock.now()
    with database.read() as connection:
        judged = judged_of(connection, caller.account_id, prompt_id, before=now)
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        prompt = prompts.find(connection, caller.account_id, prompt_id)
        if prompt is None:
            raise not_found("Prompt" if link == "promptId" else "Agent")
        _check_text(prompt, link)
        settings = accounts.settings(connection, caller.account_id)
        chosen = _settings_of_run(settings["optimization"])
        _check_personas(connection, caller, body.persona_ids, chosen["personaCount"])
        _count(connection, caller, now)
        optimization_id = new_id("opt")
        columns = {
            "id": optimization_id,
            "account_id": caller.account_id,
            "prompt_id": prompt_id,
            "status": "queued",
            "mode": body.mode or settings["optimization"]["optimizationStrategy"],
            "variant_count": body.variant_count
            or (chosen["variantsPerGeneration"] if body.candidates is None else len(body.candidates)),
            "intent": None if body.intent is None else orjson.dumps(body.intent.to_wire()).decode(),
            "persona_ids": None
            if body.persona_ids is None
            else orjson.dumps(list(dict.fromkeys(body.persona_ids))).decode(),
            "settings": orjson.dumps(
                {
                    **chosen,
                    **pace,
                    **_variants_of(body, prompt.content),
                    **_tools(body),
                    **goal_of(body),
                    "general": settings["general"],
                }
            ).decode(),
            "prompt": orjson.dumps(_prompt_of_run(prompt)).decode(),
            "seed": secrets.randbits(_SEED_BITS) if body.seed is None else body.seed,
            "rehearsal": rehearsal,
            "created_at": now,
        }
        found = headroom_of(judged, columns, exclusions=settings["general"].get("excludedDataAndTopics"))
        columns["headroom"] = None if found is None else orjson.dumps(found).decode()
        optimizations.add(connection, columns)
        lifecycle.start_next(connection, caller.account_id, now=now)
        row = optimizations.get(connection, optimization_id)
    return {
        "id": row.id,
        link: row.prompt_id,
        "status": row.status,
        "mode": row.mode,
        "variantCount": row.variant_count,
        "rehearsal": row.rehearsal,
        "headroom": found,
        "createdAt": clock.iso(row.created_at),
    }


def _link(body: OptimizationCreate) -> tuple[str, str]:
    given = {"promptId": body.prompt_id, "agentId": body.agent_id}
    links = {name: value for name, value in given.items() if value is not None}
    if not links:
        raise invalid({"promptId": "Required field"}, "Required field: promptId (or agentId)")
    if len(set(links.values())) > 1:
        raise invalid({"agentId": "must be the same as promptId, or absent"})
    return next(iter(links.items()))


def _pace(body: OptimizationCreate, *, rehearsal: bool, default: float) -> dict[str, float]:
    """Return the setting that makes a rehearsal slow enough to watch; nothing where it is not asked for."""
    if body.rehearsal_seconds and not rehearsal:
        raise invalid(
            {
                "rehearsalSeconds": "is for rehearsals only, and this service has a language model; leave it out"
            }
        )
    seconds = default if body.rehearsal_seconds is None else body.rehearsal_seconds
    return {"rehearsalSeconds": seconds} if rehearsal and seconds else {}


def _variants_of(body: OptimizationCreate, original: str) -> dict[str, Any]:
    """Return what the request says of a search or of candidates; nothing leaves it to the account's setting.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` for candidates that are equal to each other or to the prompt, lack a template variable, or go
        against the rest of the request.
    """
    if body.candidates is None:
        return {} if body.search is None else {"search": body.search}
    problems = {}
    if body.search == "on":
        problems["search"] = "must be off, or left out: candidates are tested as they are"
    if body.variant_count not in (None, len(body.candidates)):
        problems["variantCount"] = "must be the number of candidates, or left out"
    known = {original.strip(): "is the present text of the prompt"}
    for at, one in enumerate(body.candidates):
        text = one.content.strip()
        if text in known:
            problems[f"candidates[{at}].content"] = known[text]
        elif missing := missing_variables(text, original):
            problems[f"candidates[{at}].content"] = f"must keep the template variables: {', '.join(missing)}"
        known.setdefault(text, f"is the same text as candidates[{at}]")
    if problems:
        raise invalid(problems)
    return {"search": "off", "candidates": [one.to_wire() for one in body.candidates]}


def _tools(body: OptimizationCreate) -> dict[str, Any]:
    """Return what the request says of tools; nothing leaves it to the account's setting."""
    return {} if body.simulate_tools is None else {"simulateTools": body.simulate_tools}


def _check_text(prompt: PromptRow, link: str) -> None:
    """Refuse to optimize what only stands in for the text of a prompt.

    The request is right as it is and will be accepted once the prompt has its text: a matter of state.
    """
    if prompt.content_known:
        return
    raise ApiException(
        "INVALID_STATE",
        f"The text of {prompt.name!r} is not known, so there is nothing to optimize. Set it first: "
        f"lift.client.prompts.update({prompt.id!r}, content=…) in Python, or on the command "
        f"line: promptlift prompts set {prompt.id} FILE",
        details={link: "has no known text yet"},
    )


def _settings_of_run(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a run, flat: later changes do not affect it."""
    return {
        **settings["simulation"],
        "maxIterations": settings["maxIterations"],
        "variantsPerGeneration": settings["variantsPerGeneration"],
        "search": settings["search"],
        "verificationPasses": settings["verificationPasses"],
        "deploymentMode": settings["deploymentMode"],
        "autoDeploy": settings["autoDeploy"],
    }


def _prompt_of_run(prompt: PromptRow) -> dict[str, Any]:
    return {
        "content": prompt.content,
        "llm_model": prompt.llm_model,
        "temperature": prompt.temperature,
        "max_tokens": prompt.max_tokens,
        "objective": prompt.objective,
    }


def _check_personas(
    connection: Connection, caller: Caller, ids: Sequence[str] | None, persona_count: int
) -> None:
    if ids is None:
        return
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        raise invalid({"personaIds": "must not be empty; leave it out to draw from all personas"})
    if len(wanted) > persona_count:
        raise invalid(
            {"personaIds": f"must have at most {persona_count} entries, the personaCount of the settings"}
        )
    known = named(connection, caller.account_id, wanted, before=clock.now())
    problems = {f"personaIds[{at}]": "no such persona" for at, one in enumerate(ids) if one not in known}
    if problems:
        raise invalid(problems)


def _count(connection: Connection, caller: Caller, now: int) -> None:
    usage.check_tokens(connection, caller, now=now)
    limit = caller.limits.optimizations_per_month
    used = usage.used(connection, caller.account_id, "optimizations", now=now)
    if limit is not None and used >= limit:
        raise quota("optimizations a month", limit=limit, used=used, now=now)
    usage.add(connection, caller.account_id, "optimizations", 1, now=now)


def stop(
    database: Database, caller: Caller, optimization_id: str, reason: str | None, *, note: str | None = None
) -> dict[str, Any]:
    """Stop an optimization that is queued or running.

    Parameters
    ----------
    note
        Kept with the action; the reason is when there is none.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, or ``INVALID_STATE`` when it has ended.
    """
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        row = _find(connection, caller, optimization_id)
        # unspecified: which states accept stop.
        if row.status not in optimizations.OPEN:
            raise ApiException(
                "INVALID_STATE",
                f"The optimization is {row.status}; only a queued or running one can be stopped",
                details={"status": row.status},
            )
        now = clock.now()
        status = lifecycle.stop(connection, row, reason, now=now)
        action_id = action_log.add(
            connection,
            caller.account_id,
            row.prompt_id,
            "stop",
            now=now,
            note=reason if note is None else note,
            optimization_id=row.id,
        )
    return {"success": True, "status": status, "actionId": action_id}


def stop_all_of(connection: Connection, account_id: str, prompt_id: str, *, now: int) -> None:
    """Stop the open optimizations of a deleted prompt."""
    for row in optimizations.open_of_prompt(connection, account_id, prompt_id):
        # unspecified: what becomes of the optimizations of a deleted prompt.
        lifecycle.stop(connection, optimizations.get(connection, row.id), "The prompt was deleted", now=now)


def _find(connection: Connection, caller: Caller, optimization_id: str) -> AnyRow:
    row = optimizations.find(connection, caller.account_id, optimization_id)
    if row is None:
        raise not_found("Optimization")
    return row


# Reading


def page(
    database: Database,
    caller: Caller,
    *,
    prompt_id: str | None,
    status: str | None,
    limit: int,
    offset: int,
) -> dict[str, Any]:
    """Return one page of optimizations, newest first."""
    with database.read() as connection:
        rows, total = optimizations.page(
            connection, caller.account_id, prompt_id=prompt_id, status=status, limit=limit, offset=offset
        )
        states = optimizations.deployment_states(connection, [row.id for row in rows])
        data = [{**_brief(row), "deployment": states.get(row.id)} for row in rows]
    return {"data": data, "pagination": {"total": total, "limit": limit, "offset": offset}}


def _brief(row: AnyRow) -> dict[str, Any]:
    results = None if row.results is None else orjson.loads(row.results)["results"]
    if results is None and row.status == "running":
        results = _unmeasured(row)
    return {
        "id": row.id,
        # unspecified: which link an answer carries when the request names no scheme. Both.
        "promptId": row.prompt_id,
        "agentId": row.prompt_id,
        "status": row.status,
        "mode": row.mode,
        "variantCount": row.variant_count,
        "rehearsal": row.rehearsal,
        "results": results,
        "createdAt": clock.iso(row.created_at),
        "startedAt": clock.iso(row.started_at),
        "completedAt": clock.iso(row.completed_at),
    }


def view(database: Database, caller: Caller, optimization_id: str) -> dict[str, Any]:
    """Return one optimization with all its details."""
    with database.read() as connection:
        row = _find(connection, caller, optimization_id)
        held = simulations.count(connection, optimization_id)
        stages = simulations.count_by_stage(connection, optimization_id)
        deployment = transitions.wire(connection, optimization_id)
    settings = orjson.loads(row.settings)
    for private in ("general", "candidates"):
        settings.pop(private, None)
    whole = _brief(row)
    if row.status == "running":
        progress = whole["results"]["progress"]
        # The pass that is under way counts too.
        progress["conversationsDone"] = held
        if progress["conversationsMax"]:
            progress["fraction"] = held / progress["conversationsMax"]
    return {
        **whole,
        "intent": None if row.intent is None else orjson.loads(row.intent),
        "personaIds": None if row.persona_ids is None else orjson.loads(row.persona_ids),
        "seed": row.seed,
        "settings": settings,
        "failure": row.failure,
        "stopReason": row.stop_reason,
        "deployment": deployment,
        "usage": {"modelCalls": row.model_calls, "tokens": row.tokens, "conversations": held},
        "headroom": None if row.headroom is None else orjson.loads(row.headroom),
        "searchPlan": plan_of(row, stages),
    }


def _unmeasured(row: AnyRow) -> dict[str, Any]:
    progress = experiment_of(row).verdict().progress
    return unmeasured(
        conversations_max=progress.conversations_max,
        passes_max=progress.passes_max,
        rehearsal=row.rehearsal,
    )


def variants(database: Database, caller: Caller, optimization_id: str) -> dict[str, Any]:
    """Return the variants of an optimization, the original first; the list is empty until they are written."""
    with database.read() as connection:
        row = _find(connection, caller, optimization_id)
        rows = optimizations.variants(connection, optimization_id)
        deployment = transitions.wire(connection, optimization_id)
    document = {} if row.results is None else orjson.loads(row.results)
    winner = document.get("results", {}).get("winningVariantId")
    measured = document.get("variants") or variants_of(experiment_of(row).verdict())
    searched = candidates_of(row, [one.id for one in rows])
    written = "handed_in" if "candidates" in orjson.loads(row.settings) else "model"
    staged = deployment["variantId"] if deployment and deployment["state"] == "staged" else None
    return {
        "data": [
            _variant(row, one, measured.get(str(one.number), {}), winner=winner, staged=staged)
            | {"source": written if one.number else "prompt"}
            | searched.get(one.number, {})
            for one in rows
        ]
    }


_NO_METRICS = {"taskCompletion": None, "sentiment": None, "quality": None}


def _variant(
    row: AnyRow, variant: AnyRow, measured: dict[str, Any], *, winner: str | None, staged: str | None
) -> dict[str, Any]:
    original = variant.number == 0
    found = {
        "id": variant.id,
        "name": variant.name,
        "isOriginal": original,
        "content": variant.content,
        "number": variant.number,
        "rationale": variant.rationale,
        "metrics": _NO_METRICS,
        "stage": None,
        "n": 0,
        **measured,
        "isStaged": variant.id == staged,
        "rehearsal": row.rehearsal,
    }
    # The specification: isWinner is present on the winner, lift on the others than the original.
    if variant.id == winner:
        found["isWinner"] = True
    if not original:
        found.setdefault("lift", None)
    return found


def simulated(
    database: Database,
    caller: Caller,
    optimization_id: str,
    *,
    variant_id: str | None,
    stage: str | None,
    task_completed: bool | None,
    content: bool,
    limit: int,
    offset: int,
) -> dict[str, Any]:
    """One page of simulated conversations, by cell and variant."""
    with database.read() as connection:
        optimization = _find(connection, caller, optimization_id)
        arm = None
        if variant_id is not None:
            numbers = {one.id: one.number for one in optimizations.variants(connection, optimization_id)}
            if variant_id not in numbers:
                raise invalid({"variantId": "no such variant in this optimization"})
            arm = numbers[variant_id]
        rows, total = simulations.page(
            connection,
            caller.account_id,
            optimization_id,
            arm=arm,
            stage=stage,
            task_completed=task_completed,
            content=content,
            limit=limit,
            offset=offset,
        )
    intent = None if optimization.intent is None else orjson.loads(optimization.intent)
    return {
        "data": [_simulation(row, intent, content=content) for row in rows],
        "pagination": {"total": total, "limit": limit, "offset": offset},
    }


def _simulation(row: AnyRow, intent: dict[str, Any] | None, *, content: bool) -> dict[str, Any]:
    persona, scenario = orjson.loads(row.persona), orjson.loads(row.scenario)
    found = {
        "id": row.id,
        "optimizationId": row.optimization_id,
        "variantId": row.variant_id,
        "variantNumber": row.arm,
        "isOriginal": row.arm == 0,
        "stage": row.stage,
        "pass": row.pass_number,
        "cell": row.cell,
        "persona": {"id": persona["id"], "name": persona["name"]},
        "scenario": {
            **{name: scenario[name] for name in ("title", "opening", "goal", "source")},
            "weight": scenario.get("weight"),
        },
        "status": row.status,
        "taskCompleted": row.task_completed,
        "sentiment": row.sentiment,
        "sentimentScore": row.sentiment_score,
        "quality": row.quality,
        "criteria": criteria_of(intent, row.criteria),
        "turns": row.turns,
        "endedBy": row.ended_by,
        "error": row.error,
        "createdAt": clock.iso(row.created_at),
    }
    if content:
        found["content"] = None if row.content is None else row.content.decode("utf-8", "replace")
    return found
