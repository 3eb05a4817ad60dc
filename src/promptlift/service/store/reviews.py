"""Rows of what people think of variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from promptlift.service.store.tables import variant_reviews

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow


def of_optimization(connection: Connection, account_id: str, optimization_id: str) -> Sequence[AnyRow]:
    """Return the reviews of the variants of an optimization."""
    return connection.execute(
        select(variant_reviews).where(
            variant_reviews.c.account_id == account_id,
            variant_reviews.c.optimization_id == optimization_id,
        )
    ).all()


def update_review(
    connection: Connection,
    account_id: str,
    optimization_id: str,
    variant_id: str,
    values: dict[str, Any],
    *,
    now: int,
) -> AnyRow:
    """Update a variant's review and return it. The caller holds the lock of the account."""
    one = (
        variant_reviews.c.account_id == account_id,
        variant_reviews.c.optimization_id == optimization_id,
        variant_reviews.c.variant_id == variant_id,
    )
    there = connection.execute(select(variant_reviews).where(*one)).one_or_none()
    if there is None:
        row = {"account_id": account_id, "optimization_id": optimization_id, "variant_id": variant_id}
        connection.execute(insert(variant_reviews).values(**row, **values, updated_at=now))
    elif values:
        connection.execute(update(variant_reviews).where(*one).values(**values, updated_at=now))
    return connection.execute(select(variant_reviews).where(*one)).one()
