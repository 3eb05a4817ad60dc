"""Optimizations: starting, reading and stopping."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema import endpoints
from promptlift.schema.model import Page
from promptlift.schema.optimizations import Optimization, OptimizationUsage, StopAnswer, TextLength, Variant
from promptlift.schema.simulations import Simulation, SimulationPersona, SimulationScenario
from promptlift.service import clock
from promptlift.service.background.runs import check_open
from promptlift.service.call import Call, answers
from promptlift.service.deployments import transitions
from promptlift.service.errors import invalid, invalid_state, prompt_link, quota
from promptlift.service.identifiers import new_id
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.checks import missing_variables
from promptlift.service.optimizations.goal import criteria_of, goal_of
from promptlift.service.optimizations.results import shown_variant, unmeasured
from promptlift.service.optimizations.searching import candidates_of, plan_of
from promptlift.service.optimizations.terms import Terms
from promptlift.service.simulations.personas import named
from promptlift.service.simulations.tasks import PromptText
from promptlift.service.store import accounts, optimizations, prompts, runs
from promptlift.service.store.tables.runs import OptimizationRow, SimulationRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from promptlift.schema.optimizations import OptimizationCreate, StopRequest
    from promptlift.schema.queries import OptimizationsQuery, SimulationsQuery
    from promptlift.schema.search import Headroom
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.optimizations import JudgedConversation
    from promptlift.service.store.rows import Rows
    from promptlift.service.store.tables.prompts import PromptRow
    from promptlift.service.store.tables.runs import CellRow

# Also exact as a JavaScript number.
_SEED_BITS: Final = 53
_CREATED: Final = (
    "id",
    "prompt_id",
    "status",
    "mode",
    "variant_count",
    "rehearsal",
    "headroom",
    "created_at",
)
_LISTED: Final = (*(name for name in _CREATED if name != "headroom"), "started_at", "completed_at")
_WHOLE: Final = (*_LISTED, "intent", "seed", "failure", "stop_reason", "headroom")
_SIMULATION: Final = Simulation.model_fields.keys() - {"content", "criteria"}


# Starting

MONTH_MS: Final = 30 * 86_400_000
# In how many of the newest benchmarks the price of a model is looked up.
BENCHMARKS_READ: Final = 20


@answers(endpoints.OPTIMIZATIONS_CREATE)
def create(call: Call[OptimizationCreate]) -> Optimization:
    """Start an optimization, or queue it while the account runs ten.

    Raises
    ------
    ApiException
        ``NOT_FOUND`` for the prompt, ``INVALID_STATE`` while its text is not known, ``VALIDATION_ERROR`` for
        personas, candidates, or a pace without a rehearsal, ``LIMIT_EXCEEDED`` for the month.
    """
    body, caller = call.body, call.caller
    rehearsal = call.context.models.rehearse
    link, prompt_id = prompt_link(body.prompt_id, body.agent_id)
    pace = _pace(body, rehearsal=rehearsal, default=call.context.settings.rehearsal_seconds)
    now = clock.now()
    created_at = clock.to_datetime(now)
    with call.read() as rows:
        judged = optimizations.judged(rows.core, caller.account_id, prompt_id, before=created_at)
    with call.write() as rows:
        connection = rows.core
        accounts.lock(connection, caller.account_id)
        noun = "Prompt" if link == "promptId" else "Agent"
        prompt = prompts.found(rows, caller.account_id, prompt_id, noun)
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
                # The account's settings supply what the request omits.
                **({} if body.simulate_tools is None else {"simulateTools": body.simulate_tools}),
                **goal_of(body),
                "general": settings["general"],
            },
            prompt={name: getattr(prompt, name) for name in PromptText.__slots__},
            seed=secrets.randbits(_SEED_BITS) if body.seed is None else body.seed,
            rehearsal=rehearsal,
            created_at=created_at,
        )
        row.headroom = _headroom(judged, row)
        runs.add(connection, row)
        lifecycle.start_next(connection, caller.account_id, now=now)
        row = optimizations.get(connection, row.id)
    call.links = (link,)
    return row.shown(Optimization, only=_CREATED)


def _pace(body: OptimizationCreate, *, rehearsal: bool, default: float) -> dict[str, float]:
    """Return the setting that makes a rehearsal slow enough to watch; empty unless requested."""
    if body.rehearsal_seconds and not rehearsal:
        raise invalid(
            {
                "rehearsalSeconds": "is for rehearsals only, and this service has a language model; leave it out"
            }
        )
    seconds = default if body.rehearsal_seconds is None else body.rehearsal_seconds
    return {"rehearsalSeconds": seconds} if rehearsal and seconds else {}


def _variants_of(body: OptimizationCreate, original: str) -> dict[str, Any]:
    """Return the request's settings of a search or of candidates; empty if the account's settings decide.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` for candidates that are equal to each other or to the prompt, lack a template
        variable, or contradict the rest of the request.
    """
    if body.candidates is None:
        return {} if body.search is None else {"search": body.search}
    problems = {}
    if body.search == "on":
        problems["search"] = "must be off, or left out: candidates are tested as they are"
    if body.variant_count not in (None, len(body.candidates)):
        problems["variantCount"] = "must be the number of candidates, or left out"
    known = {original.strip(): "is the current text of the prompt"}
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
    """Refuse to optimize a placeholder for a prompt's text.

    The request itself is valid and will be accepted once the prompt has its text, hence an error of state.
    """
    if prompt.content_known:
        return
    raise invalid_state(
        f"The text of {prompt.name!r} is not known, so there is nothing to optimize. Set it first: "
        f"lift.update_prompt({prompt.id!r}, content=…) in Python, or on the command "
        f"line: promptlift import --prompt {prompt.id} --text FILE",
        details={link: "has no known text yet"},
    )


def _settings_of_run(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a run as a flat mapping: later changes do not affect it."""
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
    accounts.check_tokens(connection, caller, now=now)
    limit = caller.limits.optimizations_per_month
    used = accounts.used_in_period(connection, caller.account_id, "optimizations", now=now)
    if limit is not None and used >= limit:
        raise quota("optimizations a month", limit=limit, used=used, now=now)
    accounts.add_usage(connection, caller.account_id, "optimizations", 1, now=now)


def _headroom(judged: Sequence[JudgedConversation], row: OptimizationRow) -> Headroom | None:
    """Return the possible gain according to the logged conversations; ``None`` if none was judged."""
    if not judged:
        return None
    terms = Terms(row)
    failed = not all(one.task_completed for one in judged)
    from promptlift.service.search.headroom import headroom  # noqa: PLC0415 - only at the start of a search

    found = headroom(
        judged,
        pairs=terms.spending(failed=failed).pairs,
        mode=row.mode,
        confidence_mode=terms.settings["confidenceMode"],
    )
    hidden = read_exclusions(terms.settings["general"].get("excludedDataAndTopics"))
    found.issues = [one for one in found.issues if not hidden.found_in(one.title)]
    return found


# Reading


@answers(endpoints.OPTIMIZATIONS_LIST)
def page(call: Call[None, OptimizationsQuery]) -> Page[Optimization]:
    """Return one page of optimizations, newest first."""
    with call.read() as rows:
        found, total = optimizations.page(rows, call.account_id, call.query)
        states = optimizations.deployment_states(rows.core, [row.id for row in found])
    data = [_shown(row, _LISTED, deployment=states.get(row.id)) for row in found]
    return Page[Optimization](data=data, pagination=call.query.of(total))


def _shown(row: OptimizationRow, names: Sequence[str], **more: Any) -> Optimization:
    results = None if row.results is None else row.results.results
    if results is None and row.status == "running":
        results = unmeasured(Terms(row).experiment().verdict().progress, rehearsal=row.rehearsal)
    return row.shown(Optimization, only=names, results=results, **more)


@answers(endpoints.OPTIMIZATIONS_GET)
def get(call: Call) -> Optimization:
    """Return one optimization with all its details."""
    with call.read() as rows:
        row = call.found(rows, OptimizationRow, "Optimization")
        stages = runs.count_by_stage(rows.core, row.id)
        deployment = transitions.shown(rows.core, row.id)
    terms = Terms(row)
    held = sum(count for stage, count in stages.items() if stage != "regression")
    found = _shown(
        row,
        _WHOLE,
        persona_ids=terms.panel or None,
        settings=terms.shown,
        deployment=deployment,
        usage=OptimizationUsage(model_calls=row.model_calls, tokens=row.tokens, conversations=held),
        search_plan=None if row.search is None else plan_of(terms, row.search, stages),
    )
    if row.status == "running" and found.results and (progress := found.results.progress):
        # The pass in progress counts too.
        progress.conversations_done = held
        if progress.conversations_max:
            progress.fraction = held / progress.conversations_max
    return found


@answers(endpoints.OPTIMIZATIONS_VARIANTS)
def variants(call: Call) -> Page[Variant]:
    """Return the variants of an optimization, the original first; the list is empty until they exist."""
    with call.read() as rows:
        row = call.found(rows, OptimizationRow, "Optimization")
        found = optimizations.variants(rows.core, row.id)
        deployment = transitions.shown(rows.core, row.id)
        length_of = _length_of_texts(rows, row)
    kept = row.results
    searched = {} if row.search is None else candidates_of(row.search, [one.id for one in found])
    written = "handed_in" if Terms(row).candidates else "model"
    staged = deployment.variant_id if deployment and deployment.state == "staged" else None
    data = []
    for one in found:
        more = {
            "is_staged": one.id == staged,
            "rehearsal": row.rehearsal,
            "source": written if one.number else "prompt",
            "length": length_of(one.content),
            **searched.get(one.number, {}),
        }
        # The specification: isWinner is present on the winner.
        if kept is not None and one.id == kept.results.winning_variant_id:
            more["is_winner"] = True
        shown = shown_variant(one, None if kept is None else kept.variant(one.number))
        data.append(shown.model_copy(update=more))
    return Page[Variant](data=data)


def _length_of_texts(rows: Rows, row: OptimizationRow) -> Callable[[str], TextLength]:
    """Measure texts of an optimization's prompt by its answers, traffic, and the price in the newest benchmark."""
    month_ago = clock.now() - MONTH_MS
    monthly, turns = optimizations.traffic(rows.core, row.account_id, row.prompt_id, since=month_ago)
    model = row.prompt.get("llm_model")
    benchmarks = rows.scalars(runs.of(row.account_id, "benchmark").limit(BENCHMARKS_READ))
    prices = ((one.settings.get("prices") or {}).get(model) for one in benchmarks)
    price = next((one["input"] for one in prices if one), None)
    return partial(TextLength.of, answers=turns, monthly=monthly, price=price)


@answers(endpoints.OPTIMIZATIONS_SIMULATIONS)
def conversations(call: Call[None, SimulationsQuery]) -> Page[Simulation]:
    """Return one page of simulated conversations, by cell and variant."""
    query = call.query
    with call.read() as rows:
        optimization = call.found(rows, OptimizationRow, "Optimization")
        ids = [one.id for one in optimizations.variants(rows.core, call.id)]
        if query.variant_id not in (None, *ids):
            raise invalid({"variantId": "no such variant in this optimization"})
        found, total = rows.page(
            runs.conversations(
                SimulationRow,
                optimization_id=call.id,
                content=query.include_content,
                arm=None if query.variant_id is None else ids.index(query.variant_id),
                stage=query.stage,
                task_completed=query.task_completed,
            ),
            query,
        )
        cells = runs.cells_of(rows.core, found)
    targets = Terms(optimization).targets
    data = [
        _conversation(row, cells[row.cell], ids[row.arm], targets=targets, content=query.include_content)
        for row in found
    ]
    return Page[Simulation](data=data, pagination=query.of(total))


def _conversation(
    row: SimulationRow, cell: CellRow, variant_id: str, *, targets: Sequence[str], content: bool
) -> Simulation:
    text = {"content": row.content and row.content.decode("utf-8", "replace")} if content else {}
    return row.shown(
        Simulation,
        only=_SIMULATION,
        variant_id=variant_id,
        variant_number=row.arm,
        is_original=row.arm == 0,
        persona=SimulationPersona(id=cell.persona["id"], name=cell.persona["name"]),
        scenario=SimulationScenario(
            **{name: cell.scenario.get(name) for name in SimulationScenario.model_fields}
        ),
        criteria=criteria_of(targets, row.criteria),
        **text,
    )


# Stopping


@answers(endpoints.OPTIMIZATIONS_STOP)
def stop(call: Call[StopRequest]) -> StopAnswer:
    """Stop an optimization that is queued or running."""
    body = call.body
    with call.write() as rows:
        accounts.lock(rows.core, call.account_id)
        row = call.found(rows, OptimizationRow, "Optimization")
        # unspecified: which states accept stop.
        check_open(row)
        now = clock.now()
        status = lifecycle.stop(rows.core, row, body.reason, now=now)
        action_id = prompts.log_action(
            rows.core,
            call.account_id,
            row.prompt_id,
            "stop",
            now=now,
            note=body.reason if body.note is None else body.note,
            optimization_id=row.id,
        )
    return StopAnswer(success=True, status=status, action_id=action_id)
