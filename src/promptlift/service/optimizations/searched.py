"""A search in its API form: its budget, its candidates and their edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.search import CandidateSearch, Edit, EditEvidence, SearchPlan, Spending
from promptlift.service.search.evidence import record_of, with_and_without, worth
from promptlift.service.search.pool import Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.optimizations.terms import Terms
    from promptlift.service.search.evidence import Worth
    from promptlift.service.search.pool import Member

# Quantile of the normal distribution for an interval of 90 %.
Z90: Final = 1.645
PRUNED: Final = "Without it the prompt did at least as well."


def plan_of(terms: Terms, state: Mapping[str, Any], held: Mapping[str, int]) -> SearchPlan:
    """Return the budgets and spending of the parts of an optimization with a search, in conversations."""
    budget = terms.budget
    planned = {
        "search": budget.search,
        "confirmation": 2 * budget.pass_pairs * state["confirmPasses"],
        "verification": 2 * budget.pass_pairs * terms.verification_passes,
    }
    stages = zip(planned.items(), ("screen", "confirm", "verify"), strict=True)
    return SearchPlan(
        **{part: Spending(planned=most, spent=held.get(stage, 0)) for (part, most), stage in stages},
        generations_max=state["search"]["generations_max"],
        generations=state["search"]["generation"],
    )


def candidates_of(state: Mapping[str, Any], ids: Sequence[str]) -> dict[int, dict[str, Any]]:
    """Return the fields that a search adds to each variant, by number.

    Parameters
    ----------
    ids
        Ids of the variants by number.
    """
    search = Search.from_json(state["search"])
    # In points of completion, even if a goal guides the search.
    known = worth(search.outcomes, search.edits_of)
    refused: dict[int, list[Edit]] = {}
    for one in state["refused"]:
        unmeasured = dict.fromkeys(("won", "lost", "tied", "effect"))
        shown = _edit(one, **unmeasured, state="refused", reason=one["reason"])
        refused.setdefault(one["candidate"], []).append(shown)
    kept = {name: _tested_edit(search, known, name) for name in search.edits}
    found = {}
    for member in search.members[: len(ids)]:
        without = _pruned(search, member)
        pruned = [kept[name].model_copy(update={"state": "pruned", "reason": PRUNED}) for name in without]
        found[member.number] = {
            "generation": member.generation,
            "parent_variant_id": None if member.parent is None else ids[member.parent],
            "other_parent_variant_id": None if member.other_parent is None else ids[member.other_parent],
            "edits": [*(kept[name] for name in member.edits), *pruned, *refused.get(member.number, ())],
            "search": _candidate(search, known, member) if member.number else None,
        }
    return found


def _pruned(search: Search, member: Member) -> list[str]:
    """Return the edits of the parent that a candidate lacks without a replacement."""
    before = set(search.members[member.parent].edits) if member.parent is not None else set()
    gone = before - set(member.edits) if set(member.edits) < before else ()
    return [name for name in search.edits if name in gone]


def _tested_edit(search: Search, known: Worth, name: str) -> Edit:
    record = with_and_without(search.outcomes, search.edits_of, name)
    effect = 100.0 * known.of([name])[0] if record.n else None
    return _edit(search.edits[name].to_json(), **record._asdict(), effect=effect, state="kept", reason=None)


def _edit(found: Mapping[str, Any], **more: Any) -> Edit:
    names = ("id", "operation", "anchor", "text", "symptom", "cause")
    evidence = [EditEvidence(conversation_id=one, quote=quote) for one, quote in found["evidence"]]
    return Edit(**{name: found[name] for name in names}, evidence=evidence, **more)


def _candidate(search: Search, known: Worth, member: Member) -> CandidateSearch:
    record = record_of(search.outcomes, member.number, member.base)
    mean, sd = known.of(member.edits)
    tested = bool(record.n)
    return CandidateSearch(
        pairs=record.n,
        **record._asdict(),
        points=100.0 * mean if tested else None,
        points_low=100.0 * (mean - Z90 * sd) if tested else None,
        points_high=100.0 * (mean + Z90 * sd) if tested else None,
        conversations_spent=member.spent,
        state=member.state,
        reason=member.reason,
    )
