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
        select(variant_reviews).filter_by(account_id=account_id, optimization_id=optimization_id)
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
    key = {"account_id": account_id, "optimization_id": optimization_id, "variant_id": variant_id}
    one = select(variant_reviews).filter_by(**key)
    if connection.execute(one).one_or_none() is None:
        connection.execute(insert(variant_reviews).values(**key, **values, updated_at=now))
    elif values:
        connection.execute(update(variant_reviews).filter_by(**key).values(**values, updated_at=now))
    return connection.execute(one).one()
