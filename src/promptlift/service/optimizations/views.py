"""Optimizations, their variants and their simulated conversations in the form of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.model import to_wire_time
from promptlift.schema.pages import Page
from promptlift.schema.simulations import Simulation, SimulationScenario
from promptlift.service.deployments import transitions
from promptlift.service.errors import invalid, not_found
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.judge import LEXICON
from promptlift.service.optimizations.goal import criteria_of
from promptlift.service.optimizations.results import unmeasured, variants_of
from promptlift.service.optimizations.terms import Terms
from promptlift.service.search.evidence import record_of, with_and_without, worth
from promptlift.service.search.headroom import JudgedLog, headroom
from promptlift.service.search.pool import Search
from promptlift.service.store import optimizations, simulations
from promptlift.service.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from promptlift.schema.queries import OptimizationsQuery, SimulationsQuery
    from promptlift.service.search.evidence import Worth
    from promptlift.service.search.pool import Member
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.runs import OptimizationRow, VariantRow

# Quantile of the normal distribution for an interval of 90 %.
Z90: Final = 1.645
PRUNED: Final = "Without it the prompt did at least as well."
_NO_METRICS: Final = {"taskCompletion": None, "sentiment": None, "quality": None}
_SIMULATION: Final = Simulation.model_fields.keys() - {"content", "criteria"}
_SCENARIO: Final = SimulationScenario.model_fields.keys()


def find(connection: Connection, caller: Caller, optimization_id: str) -> OptimizationRow:
    """Return an optimization of the account.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    row = optimizations.find(connection, caller.account_id, optimization_id)
    if row is None:
        raise not_found("Optimization")
    return row


def page(database: Database, caller: Caller, query: OptimizationsQuery) -> dict[str, Any]:
    """Return one page of optimizations, newest first."""
    with database.read() as connection:
        rows, total = optimizations.page(Rows(connection), caller.account_id, query)
        states = optimizations.deployment_states(connection, [row.id for row in rows])
        data = [{**_brief(row), "deployment": states.get(row.id)} for row in rows]
    return {"data": data, "pagination": {"total": total, "limit": query.limit, "offset": query.offset}}


def _brief(row: OptimizationRow) -> dict[str, Any]:
    results = None if row.results is None else row.results["results"]
    if results is None and row.status == "running":
        results = unmeasured(Terms(row).experiment().verdict().progress, rehearsal=row.rehearsal)
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
        "createdAt": to_wire_time(row.created_at),
        "startedAt": row.started_at and to_wire_time(row.started_at),
        "completedAt": row.completed_at and to_wire_time(row.completed_at),
    }


def view(database: Database, caller: Caller, optimization_id: str) -> dict[str, Any]:
    """Return one optimization with all its details."""
    with database.read() as connection:
        row = find(connection, caller, optimization_id)
        stages = simulations.count_by_stage(connection, optimization_id)
        deployment = transitions.shown(connection, optimization_id)
    terms = Terms(row)
    whole = _brief(row)
    held = sum(count for stage, count in stages.items() if stage != "regression")
    if row.status == "running":
        progress = whole["results"]["progress"]
        # The pass that is under way counts too.
        progress["conversationsDone"] = held
        if progress["conversationsMax"]:
            progress["fraction"] = held / progress["conversationsMax"]
    return {
        **whole,
        "intent": row.intent,
        "personaIds": terms.panel or None,
        "seed": row.seed,
        "settings": terms.shown,
        "failure": row.failure,
        "stopReason": row.stop_reason,
        "deployment": None if deployment is None else deployment.to_wire(),
        "usage": {"modelCalls": row.model_calls, "tokens": row.tokens, "conversations": held},
        "headroom": row.headroom,
        "searchPlan": None if row.search is None else _plan(terms, row.search, stages),
    }


def variants(database: Database, caller: Caller, optimization_id: str) -> dict[str, Any]:
    """Return the variants of an optimization, the original first; the list is empty until they are written."""
    with database.read() as connection:
        row = find(connection, caller, optimization_id)
        rows = optimizations.variants(connection, optimization_id)
        deployment = transitions.shown(connection, optimization_id)
    terms = Terms(row)
    document = row.results or {}
    winner = document.get("results", {}).get("winningVariantId")
    measured = document.get("variants") or variants_of(terms.experiment().verdict())
    searched = {} if row.search is None else _searched(row.search, [one.id for one in rows])
    written = "handed_in" if terms.candidates else "model"
    staged = deployment.variant_id if deployment and deployment.state == "staged" else None
    return {
        "data": [
            _variant(row, one, measured.get(str(one.number), {}), winner=winner, staged=staged)
            | {"source": written if one.number else "prompt"}
            | searched.get(one.number, {})
            for one in rows
        ]
    }


def _variant(
    row: OptimizationRow,
    variant: VariantRow,
    measured: dict[str, Any],
    *,
    winner: str | None,
    staged: str | None,
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


def simulated(rows: Rows, caller: Caller, optimization_id: str, query: SimulationsQuery) -> Page[Simulation]:
    """Return one page of simulated conversations, by cell and variant."""
    optimization = find(rows.core, caller, optimization_id)
    ids = [one.id for one in optimizations.variants(rows.core, optimization_id)]
    if query.variant_id not in (None, *ids):
        raise invalid({"variantId": "no such variant in this optimization"})
    arm = None if query.variant_id is None else ids.index(query.variant_id)
    wanted = simulations.query(
        optimization_id,
        content=query.include_content,
        arm=arm,
        stage=query.stage,
        task_completed=query.task_completed,
    )
    found, total = rows.page(wanted, query)
    cells = simulations.cells_of(rows.core, found)
    targets = Terms(optimization).targets
    data = [
        row.shown(
            Simulation,
            only=_SIMULATION,
            variant_id=ids[row.arm],
            variant_number=row.arm,
            is_original=row.arm == 0,
            persona={name: cells[row.cell].persona[name] for name in ("id", "name")},
            scenario={name: cells[row.cell].scenario.get(name) for name in _SCENARIO},
            criteria=criteria_of(targets, row.criteria),
            **(
                {"content": row.content and row.content.decode("utf-8", "replace")}
                if query.include_content
                else {}
            ),
        )
        for row in found
    ]
    return Page[Simulation](data=data, pagination=query.of(total))


# Of a search


def judged_of(
    connection: Connection, account_id: str, prompt_id: str, *, before: datetime
) -> list[JudgedLog]:
    """Return how the logged conversations of a prompt were judged."""
    found = []
    for one in optimizations.judged(connection, account_id, prompt_id, before=before):
        document = one.insights
        issues = tuple(issue["title"] for issue in document.get("issues") or [])
        found.append(JudgedLog(bool(one.task_completed), issues, document.get("analyser") == LEXICON))
    return found


def headroom_of(judged: Sequence[JudgedLog], row: OptimizationRow) -> dict[str, Any] | None:
    """Return what could be gained by the logged conversations; ``None`` where none was judged."""
    if not judged:
        return None
    terms = Terms(row)
    failed = not all(one.completed for one in judged)
    found = headroom(
        judged,
        pairs=terms.spending(failed=failed).pairs,
        mode=row.mode,
        confidence_mode=terms.settings["confidenceMode"],
    )
    hidden = read_exclusions(terms.settings["general"].get("excludedDataAndTopics"))
    found["issues"] = [one for one in found["issues"] if not hidden.found_in(one["title"])]
    return found


def _plan(terms: Terms, state: Mapping[str, Any], held: Mapping[str, int]) -> dict[str, Any]:
    """Return what the parts of an optimization with a search may spend and have spent, in conversations."""
    budget = terms.budget
    planned = {
        "search": budget.search,
        "confirmation": 2 * budget.pass_pairs * state["confirmPasses"],
        "verification": 2 * budget.pass_pairs * terms.verification_passes,
    }
    stages = zip(planned.items(), ("screen", "confirm", "verify"), strict=True)
    return {
        **{part: {"planned": most, "spent": held.get(stage, 0)} for (part, most), stage in stages},
        "generationsMax": state["search"]["generations_max"],
        "generations": state["search"]["generation"],
    }


def _searched(state: Mapping[str, Any], ids: Sequence[str]) -> dict[int, dict[str, Any]]:
    """Return by number what a search says of its candidates; ``ids`` are those of the variants by number."""
    search = Search.from_json(state["search"])
    # In points of completion, also where a goal chooses.
    known = worth(search.outcomes, search.edits_of)
    refused: dict[int, list[dict[str, Any]]] = {}
    for one in state["refused"]:
        refused.setdefault(one["candidate"], []).append(_refused(one))
    kept = {name: _tested_edit(search, known, name) for name in search.edits}
    found = {}
    for member in search.members[: len(ids)]:
        pruned = [{**kept[name], "state": "pruned", "reason": PRUNED} for name in _pruned(search, member)]
        found[member.number] = {
            "generation": member.generation,
            "parentVariantId": None if member.parent is None else ids[member.parent],
            "otherParentVariantId": None if member.other_parent is None else ids[member.other_parent],
            "edits": [
                *(kept[name] for name in member.edits),
                *pruned,
                *refused.get(member.number, ()),
            ],
            "search": None if not member.number else _candidate(search, known, member),
        }
    return found


def _pruned(search: Search, member: Member) -> list[str]:
    """Return the edits of the parent that a candidate was made without, and got none in their place."""
    before = set(search.members[member.parent].edits) if member.parent is not None else set()
    gone = before - set(member.edits) if set(member.edits) < before else ()
    return [name for name in search.edits if name in gone]


def _tested_edit(search: Search, known: Worth, name: str) -> dict[str, Any]:
    record = with_and_without(search.outcomes, search.edits_of, name)
    return {
        **_edit(search.edits[name].to_json()),
        **record._asdict(),
        "effect": 100.0 * known.of([name])[0] if record.n else None,
        "state": "kept",
        "reason": None,
    }


def _refused(found: Mapping[str, Any]) -> dict[str, Any]:
    unmeasured = dict.fromkeys(("won", "lost", "tied", "effect"))
    return {**_edit(found), **unmeasured, "state": "refused", "reason": found["reason"]}


def _edit(found: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "operation", "anchor", "text", "symptom", "cause")
    evidence = [{"conversationId": one, "quote": quote} for one, quote in found["evidence"]]
    return {**{name: found[name] for name in names}, "evidence": evidence}


def _candidate(search: Search, known: Worth, member: Member) -> dict[str, Any]:
    record = record_of(search.outcomes, member.number, member.base)
    mean, sd = known.of(member.edits)
    tested = bool(record.n)
    return {
        "pairs": record.n,
        **record._asdict(),
        "points": 100.0 * mean if tested else None,
        "pointsLow": 100.0 * (mean - Z90 * sd) if tested else None,
        "pointsHigh": 100.0 * (mean + Z90 * sd) if tested else None,
        "conversationsSpent": member.spent,
        "state": member.state,
        "reason": member.reason,
    }
