"""Rows of what people did with optimizations and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from promptlift.service.identifiers import new_id
from promptlift.service.store import paging
from promptlift.service.store.tables import actions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow


def add(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    kind: str,
    *,
    now: int,
    note: str | None,
    **values: Any,
) -> str:
    """Record an action in the transaction that performs it; return its id.

    Parameters
    ----------
    kind
        ``apply``, ``stop``, ``restore`` or ``undo``.
    values
        Other columns: optimization_id, variant_id, from_version_seq, to_version_seq, undoes.
    """
    action_id = new_id("act")
    row = {"id": action_id, "account_id": account_id, "prompt_id": prompt_id, "kind": kind}
    connection.execute(insert(actions).values(**row, note=note or None, created_at=now, **values))
    return action_id


def find(connection: Connection, account_id: str, action_id: str) -> AnyRow | None:
    """Return an action of the account, ``None`` when there is none of this id."""
    return connection.execute(select(actions).filter_by(account_id=account_id, id=action_id)).one_or_none()


def page(
    connection: Connection,
    account_id: str,
    *,
    prompt_id: str | None,
    optimization_id: str | None,
    limit: int,
    offset: int,
) -> tuple[Sequence[AnyRow], int]:
    """Return actions newest first, and how many there are."""
    wanted = paging.equal(
        actions, account_id=account_id, prompt_id=prompt_id, optimization_id=optimization_id
    )
    return paging.page(connection, actions, wanted, limit=limit, offset=offset)


def undone(connection: Connection, action_id: str, *, by: str, now: int) -> None:
    """Note that an action was undone."""
    connection.execute(update(actions).filter_by(id=action_id).values(undone_by=by, undone_at=now))
