"""What people think of the variants of an optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.errors import invalid, not_found
from promptlift.service.store import accounts, optimizations, reviews

if TYPE_CHECKING:
    from promptlift.schema.reviews import ReviewUpdate
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow


def view(database: Database, caller: Caller, optimization_id: str) -> dict[str, Any]:
    """Return the reviews of the variants in their order; variants without a review are left out.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    with database.read() as connection:
        if optimizations.find(connection, caller.account_id, optimization_id) is None:
            raise not_found("Optimization")
        said = {
            row.variant_id: row
            for row in reviews.of_optimization(connection, caller.account_id, optimization_id)
        }
        order = [one.id for one in optimizations.variants(connection, optimization_id)]
    return {"data": [_wire(said[one]) for one in order if one in said]}


def update_review(
    database: Database, caller: Caller, optimization_id: str, body: ReviewUpdate
) -> dict[str, Any]:
    """Update a variant's review and return all of it.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, or ``VALIDATION_ERROR`` under ``variantId`` for a variant of another optimization.
    """
    changes = body.model_dump(exclude_unset=True, exclude={"variant_id"})
    if "note" in changes:
        changes["note"] = changes["note"] if (changes["note"] or "").strip() else None
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        if optimizations.find(connection, caller.account_id, optimization_id) is None:
            raise not_found("Optimization")
        if body.variant_id not in {one.id for one in optimizations.variants(connection, optimization_id)}:
            raise invalid({"variantId": "is not a variant of this optimization"}, "No such variant")
        row = reviews.update_review(
            connection, caller.account_id, optimization_id, body.variant_id, changes, now=clock.now()
        )
    return _wire(row)


def _wire(row: AnyRow) -> dict[str, Any]:
    return {
        "variantId": row.variant_id,
        "verdict": row.verdict,
        "note": row.note,
        "updatedAt": clock.iso(row.updated_at),
    }
