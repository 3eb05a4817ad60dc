"""The log of what people did with optimizations and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from promptlift.service.identifiers import new_id
from promptlift.service.store.tables.prompts import ActionRow

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
    connection.execute(insert(ActionRow.__table__).values(**row, note=note or None, created_at=now, **values))
    return action_id
