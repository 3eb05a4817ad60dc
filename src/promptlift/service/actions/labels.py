"""People's judgements: labels of conversations, and reviews of the variants of an optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.schema.judges import Label, LabelsAnswer
from promptlift.schema.model import Page
from promptlift.schema.optimizations import VariantReview
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import invalid
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, conversation_updates, optimizations
from promptlift.service.store.rows import newest, wanted
from promptlift.service.store.tables.prompts import LabelRow, ReviewRow
from promptlift.service.store.tables.runs import OptimizationRow

if TYPE_CHECKING:
    from promptlift.schema.judges import LabelCreate, LabelRequest
    from promptlift.schema.optimizations import ReviewUpdate
    from promptlift.schema.queries import LabelsQuery
    from promptlift.service.call import AnyCall
    from promptlift.service.store.rows import Rows

    Key = tuple[str, str, str]


@answers(endpoints.LABELS_LIST)
def page(call: Call[None, LabelsQuery]) -> Page[Label]:
    """Return one page of labels, newest first."""
    query = call.query
    which = newest(
        LabelRow,
        account_id=call.account_id,
        prompt_id=query.linked_id,
        conversation_id=query.conversation_id,
        optimization_id=query.optimization_id,
        question=query.question,
        labeller=query.labeller,
        draw_id=query.draw_id,
    )
    with call.read() as rows:
        some, total = rows.page(which, query)
    return Page[Label](data=[row.shown(Label) for row in some], pagination=query.of(total))


@answers(endpoints.LABELS_CREATE)
def keep(call: Call[LabelCreate]) -> LabelsAnswer:
    """Store labels, all or none, and return them as stored.

    An existing label is replaced, so repeating a request changes nothing; a label without a value is removed.
    """
    asked = call.body.labels
    ids = {one.conversation_id for one in asked}
    with call.write() as rows:
        accounts.lock(rows.core, call.account_id)
        places = conversation_updates.places(rows.core, call.account_id, ids)
        missing = {
            f"labels[{index}].conversationId": "is not a conversation of this account"
            for index, one in enumerate(asked)
            if one.conversation_id not in places
        }
        if missing:
            raise invalid(
                missing, f"{len(missing)} of {len(asked)} labels belong to no conversation of this account"
            )
        known = wanted(LabelRow, account_id=call.account_id).where(LabelRow.conversation_id.in_(ids))
        there = {(row.conversation_id, row.question, row.labeller): row for row in rows.all(known)}
        removed: set[Key] = set()
        for one in asked:
            if not (one.value or "").strip():
                removed.add(_key(one))
                continue
            removed.discard(_key(one))
            if _key(one) not in there:
                there[_key(one)] = LabelRow(id=new_id("lbl"), account_id=call.account_id)
            prompt_id, optimization_id = places[one.conversation_id]
            _fill(there[_key(one)], one, prompt_id, optimization_id)
        for key, row in there.items():
            if key not in removed:
                rows.add(row)
            elif row in rows:
                rows.delete(row)
        rows.flush()
        return LabelsAnswer(
            data=[None if _key(one) in removed else there[_key(one)].shown(Label) for one in asked]
        )


def _key(one: LabelRequest) -> Key:
    return one.conversation_id, one.question, one.labeller


def _fill(row: LabelRow, given: LabelRequest, prompt_id: str, optimization_id: str | None) -> None:
    # Sent again without a time, it is the same label.
    if given.labelled_at is not None or row.value != given.value:
        row.labelled_at = given.labelled_at or clock.moment()
    row.change(given.model_dump(include={"conversation_id", "question", "labeller", "value"}))
    row.change(given.model_dump(include={"chance", "draw_id"}, exclude_unset=True))
    row.prompt_id, row.optimization_id = prompt_id, optimization_id


@answers(endpoints.REVIEWS_GET)
def reviews(call: Call) -> Page[VariantReview]:
    """Return the reviews of the variants in their order; variants without a review are left out."""
    with call.read() as rows:
        order = _variants(rows, call)
        kept = {row.variant_id: row for row in rows.all(wanted(ReviewRow, optimization_id=call.id))}
    return Page[VariantReview](data=[kept[one].shown(VariantReview) for one in order if one in kept])


@answers(endpoints.REVIEWS_UPDATE)
def review(call: Call[ReviewUpdate]) -> VariantReview:
    """Update a variant's review and return it in full."""
    body = call.body
    changes = body.model_dump(exclude_unset=True, exclude={"variant_id"})
    if "note" in changes:
        changes["note"] = changes["note"] if (changes["note"] or "").strip() else None
    with call.write() as rows:
        accounts.lock(rows.core, call.account_id)
        if body.variant_id not in _variants(rows, call):
            raise invalid({"variantId": "is not a variant of this optimization"}, "No such variant")
        key = {"optimization_id": call.id, "variant_id": body.variant_id}
        row = rows.get(ReviewRow, key)
        if row is None:
            row = ReviewRow(account_id=call.account_id, **key)
            rows.add(row)
        elif not changes:
            return row.shown(VariantReview)
        row.change({**changes, "updated_at": clock.moment()})
        return row.shown(VariantReview)


def _variants(rows: Rows, call: AnyCall) -> list[str]:
    call.found(rows, OptimizationRow, "Optimization")
    return [one.id for one in optimizations.variants(rows.core, call.id)]
