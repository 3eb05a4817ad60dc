"""Ask for an optimization, and stop it."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.errors import ApiException, invalid, not_found, quota
from promptlift.service.identifiers import new_id
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.checks import missing_variables
from promptlift.service.optimizations.goal import goal_of
from promptlift.service.optimizations.views import find, headroom_of, judged_of
from promptlift.service.simulations.personas import named
from promptlift.service.simulations.tasks import PromptText
from promptlift.service.store import accounts, optimizations, prompts, usage
from promptlift.service.store.tables.runs import OptimizationRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.optimizations import OptimizationCreate
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
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
    moment = clock.to_datetime(now)
    with database.read() as connection:
        judged = judged_of(connection, caller.account_id, prompt_id, before=moment)
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
        count = chosen["variantsPerGeneration"] if body.candidates is None else len(body.candidates)
        row = OptimizationRow(
            id=new_id("opt"),
            account_id=caller.account_id,
            prompt_id=prompt_id,
            status="queued",
            mode=body.mode or settings["optimization"]["optimizationStrategy"],
            variant_count=body.variant_count or count,
            intent=None if body.intent is None else body.intent.to_wire(),
            persona_ids=None if body.persona_ids is None else list(dict.fromkeys(body.persona_ids)),
            settings={
                **chosen,
                **pace,
                **_variants_of(body, prompt.content),
                # What the request leaves out is left to the account's setting.
                **({} if body.simulate_tools is None else {"simulateTools": body.simulate_tools}),
                **goal_of(body),
                "general": settings["general"],
            },
            prompt={name: getattr(prompt, name) for name in PromptText.__slots__},
            seed=secrets.randbits(_SEED_BITS) if body.seed is None else body.seed,
            rehearsal=rehearsal,
            created_at=moment,
        )
        row.headroom = headroom_of(judged, row)
        optimizations.add(connection, row)
        lifecycle.start_next(connection, caller.account_id, now=now)
        row = optimizations.get(connection, row.id)
    return {
        "id": row.id,
        link: row.prompt_id,
        "status": row.status,
        "mode": row.mode,
        "variantCount": row.variant_count,
        "rehearsal": row.rehearsal,
        "headroom": row.headroom,
        "createdAt": clock.iso(now),
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
    names = (
        "maxIterations",
        "variantsPerGeneration",
        "search",
        "verificationPasses",
        "deploymentMode",
        "autoDeploy",
    )
    return {**settings["simulation"], **{name: settings[name] for name in names}}


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
    known = named(connection, caller.account_id, wanted, before=clock.moment())
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
        row = find(connection, caller, optimization_id)
        # unspecified: which states accept stop.
        if row.status not in optimizations.OPEN:
            raise ApiException(
                "INVALID_STATE",
                f"The optimization is {row.status}; only a queued or running one can be stopped",
                details={"status": row.status},
            )
        now = clock.now()
        status = lifecycle.stop(connection, row, reason, now=now)
        action_id = prompts.log_action(
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
        lifecycle.stop(connection, row, "The prompt was deleted", now=now)
