"""A search in the form of the API: what it planned and spent, and what it says of each candidate and its edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.judge import LEXICON
from promptlift.service.optimizations.budget import budget_of, verification_of, wants_search
from promptlift.service.search.evidence import record_of, with_and_without, worth
from promptlift.service.search.headroom import Judged, headroom
from promptlift.service.search.pool import Search
from promptlift.service.store import optimizations
from promptlift.stats.budget import planned_spending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.search.edits import Edit
    from promptlift.service.search.evidence import Worth
    from promptlift.service.search.pool import Member
    from promptlift.service.store.tables import AnyRow

__all__ = ["candidates_of", "headroom_of", "judged_of", "plan_of"]

# Quantile of the normal distribution for an interval of 90 %.
Z90: Final = 1.645
PRUNED: Final = "Without it the prompt did at least as well."


def judged_of(connection: Connection, account_id: str, prompt_id: str, *, before: int) -> list[Judged]:
    """Return how the logged conversations of a prompt were judged."""
    found = []
    for one in optimizations.judged(connection, account_id, prompt_id, before=before):
        document = orjson.loads(one.document)
        issues = tuple(issue["title"] for issue in document.get("issues") or [])
        found.append(Judged(bool(one.task_completed), issues, document.get("analyser") == LEXICON))
    return found


def headroom_of(
    judged: Sequence[Judged], row: Mapping[str, Any], *, exclusions: str | None
) -> dict[str, Any] | None:
    """Return what could be gained by the logged conversations; ``None`` where none was judged.

    Parameters
    ----------
    row
        Columns of the optimization that is asked for.
    exclusions
        Data and topics that must not appear, as the account's owner wrote them.
    """
    if not judged:
        return None
    settings = orjson.loads(row["settings"])
    personas = row["persona_ids"]
    spending = planned_spending(
        row["variant_count"],
        row["mode"],
        personas=settings["personaCount"] if personas is None else len(orjson.loads(personas)),
        scenarios=settings["scenariosPerSimulation"],
        iterations=settings["maxIterations"],
        search=wants_search(
            settings, variants=row["variant_count"], failed=not all(one.completed for one in judged)
        ),
    )
    found = headroom(
        judged, pairs=spending.pairs, mode=row["mode"], confidence_mode=settings["confidenceMode"]
    )
    hidden = read_exclusions(exclusions)
    found["issues"] = [one for one in found["issues"] if not hidden.found_in(one["title"])]
    return found


def plan_of(row: AnyRow, held: Mapping[str, int]) -> dict[str, Any] | None:
    """Return what the parts of an optimization may spend and have spent; ``None`` without a search.

    Parameters
    ----------
    held
        Conversations by stage.
    """
    if row.search is None:
        return None
    state = orjson.loads(row.search)
    budget = budget_of(row)
    planned = 2 * budget.pass_pairs * state["confirmPasses"]
    return {
        "search": {"planned": budget.search, "spent": held.get("screen", 0)},
        "confirmation": {"planned": planned, "spent": held.get("confirm", 0)},
        "verification": {
            "planned": 2 * budget.pass_pairs * verification_of(row),
            "spent": held.get("verify", 0),
        },
        "generationsMax": state["search"]["generations_max"],
        "generations": state["search"]["generation"],
    }


def candidates_of(row: AnyRow, ids: Sequence[str]) -> dict[int, dict[str, Any]]:
    """Return by number what a search says of its candidates; nothing without one.

    Parameters
    ----------
    ids
        Of the variants by number.
    """
    if row.search is None:
        return {}
    state = orjson.loads(row.search)
    search = Search.from_json(state["search"])
    # In points of completion, also where a goal chooses.
    known = worth(search.outcomes, search.edits_of)
    refused: dict[int, list[dict[str, Any]]] = {}
    for one in state["refused"]:
        refused.setdefault(one["candidate"], []).append(one)
    measured = {name: _measured(search, known, name) for name in search.edits}
    found = {}
    for member in search.members[: len(ids)]:
        kept = [{**_edit(search.edits[name]), **measured[name], "state": "kept"} for name in member.edits]
        pruned = [
            {**_edit(search.edits[name]), **measured[name], "state": "pruned", "reason": PRUNED}
            for name in _pruned(search, member)
        ]
        found[member.number] = {
            "generation": member.generation,
            "parentVariantId": None if member.parent is None else ids[member.parent],
            "otherParentVariantId": None if member.other_parent is None else ids[member.other_parent],
            "edits": [*kept, *pruned, *map(_refused, refused.get(member.number, ()))],
            "search": None if not member.number else _candidate(search, known, member),
        }
    return found


def _pruned(search: Search, member: Member) -> list[str]:
    """Return the edits of the parent that a candidate was made without, and got none in their place."""
    before = set(search.members[member.parent].edits) if member.parent is not None else set()
    return (
        [name for name in search.edits if name in before - set(member.edits)]
        if set(member.edits) < before
        else []
    )


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        **{name: getattr(edit, name) for name in ("id", "operation", "anchor", "text", "symptom", "cause")},
        "evidence": [{"conversationId": one, "quote": quote} for one, quote in edit.evidence],
        "reason": None,
    }


def _refused(found: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "operation", "anchor", "text", "symptom", "cause", "reason")
    return {
        **{name: found[name] for name in names},
        "evidence": [{"conversationId": one, "quote": quote} for one, quote in found["evidence"]],
        **dict.fromkeys(("won", "lost", "tied", "effect")),
        "state": "refused",
    }


def _measured(search: Search, known: Worth, name: str) -> dict[str, Any]:
    record = with_and_without(search.outcomes, search.edits_of, name)
    effect = 100.0 * known.of([name])[0] if record.n else None
    return {**record._asdict(), "effect": effect}


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
