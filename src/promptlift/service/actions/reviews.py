"""What people think of the variants of an optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.schema.optimizations import VariantReview
from promptlift.schema.pages import Page
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import invalid, not_found
from promptlift.service.store import accounts, optimizations
from promptlift.service.store.rows import wanted
from promptlift.service.store.tables.prompts import ReviewRow

if TYPE_CHECKING:
    from promptlift.schema.optimizations import ReviewUpdate
    from promptlift.service.call import AnyCall
    from promptlift.service.store.rows import Rows


@answers(endpoints.REVIEWS_GET)
def page(call: Call) -> Page[VariantReview]:
    """Return the reviews of the variants in their order; variants without a review are left out."""
    with call.read() as rows:
        order = _variants(rows, call)
        reviews = {row.variant_id: row for row in rows.all(wanted(ReviewRow, optimization_id=call.id))}
    return Page[VariantReview](data=[reviews[one].shown(VariantReview) for one in order if one in reviews])


@answers(endpoints.REVIEWS_UPDATE)
def update(call: Call[ReviewUpdate]) -> VariantReview:
    """Update a variant's review and return all of it."""
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
    if optimizations.find(rows.core, call.account_id, call.id) is None:
        raise not_found("Optimization")
    return [one.id for one in optimizations.variants(rows.core, call.id)]
