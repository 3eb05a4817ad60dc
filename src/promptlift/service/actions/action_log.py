"""What people did with optimizations and prompts, and undoing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema.naming import SCHEMES
from promptlift.service import clock
from promptlift.service.actions import versions
from promptlift.service.actions.prompts import find
from promptlift.service.deployments import current_version, transitions
from promptlift.service.errors import ApiException, not_found
from promptlift.service.store import action_log, prompts

if TYPE_CHECKING:
    from promptlift.schema.queries import ActionsQuery
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow


def page(database: Database, caller: Caller, query: ActionsQuery) -> dict[str, Any]:
    """Return one page of actions, newest first."""
    with database.read() as connection:
        rows, total = action_log.page(
            connection,
            caller.account_id,
            prompt_id=query.linked_id,
            optimization_id=query.optimization_id,
            limit=query.limit,
            offset=query.offset,
        )
    return {
        "data": [_wire(row) for row in rows],
        "pagination": {"total": total, "limit": query.limit, "offset": query.offset},
    }


def _wire(row: AnyRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        # unspecified: which link an answer carries when the request names no scheme. Both.
        "promptId": row.prompt_id,
        "agentId": row.prompt_id,
        "optimizationId": row.optimization_id,
        "variantId": row.variant_id,
        "fromVersionId": current_version.version_id(row.from_version_seq),
        "toVersionId": current_version.version_id(row.to_version_seq),
        "note": row.note,
        "undoes": row.undoes,
        "undoneBy": row.undone_by,
        "undoneAt": clock.iso(row.undone_at),
        "createdAt": clock.iso(row.created_at),
    }


def undo(database: Database, caller: Caller, action_id: str, *, note: str | None) -> dict[str, Any]:
    """Restore the text from before an action, byte for byte, as a new version.

    Raises
    ------
    ApiException
        ``NOT_FOUND`` for the action or its prompt; ``INVALID_STATE`` when it changed no text, was undone, or another
        text became live since.
    """
    with database.write() as connection:
        row = action_log.find(connection, caller.account_id, action_id)
        if row is None:
            raise not_found("Action")
        prompt = find(connection, caller, SCHEMES["prompt"], row.prompt_id, lock=True)
        # Read again: it may have been undone while this waited for the prompt.
        row = action_log.find(connection, caller.account_id, action_id)
        if row is None:
            raise not_found("Action")
        _check(row)
        live = prompts.current_version(connection, caller.account_id, prompt.id)
        transitions.check_version(live, current_version.version_id(row.to_version_seq))
        before = prompts.version(connection, caller.account_id, prompt.id, row.from_version_seq)
        if before is None:
            raise not_found("Version")
        now = clock.now()
        made = versions.go_back(connection, prompt, before.content, live.seq, now=now)
        undoing = action_log.add(
            connection,
            caller.account_id,
            prompt.id,
            "undo",
            now=now,
            note=note,
            optimization_id=row.optimization_id,
            variant_id=row.variant_id,
            from_version_seq=live.seq,
            to_version_seq=made,
            undoes=row.id,
        )
        action_log.undone(connection, row.id, by=undoing, now=now)
    return {
        "success": True,
        "promptId": prompt.id,
        "agentId": prompt.id,
        "actionId": undoing,
        "versionId": current_version.version_id(made),
        "previousVersionId": current_version.version_id(live.seq),
        "message": "The previous text is current again",
    }


def _check(row: AnyRow) -> None:
    """Refuse what cannot be undone."""
    if row.kind == "stop":
        raise ApiException(
            "INVALID_STATE", "A stop cannot be undone; start a new optimization", details={"kind": row.kind}
        )
    if row.undone_by is not None:
        raise ApiException(
            "INVALID_STATE",
            "The action was undone already",
            details={"undoneBy": row.undone_by, "undoneAt": clock.iso(row.undone_at)},
        )
    if row.from_version_seq == row.to_version_seq:
        raise ApiException(
            "INVALID_STATE",
            "The action changed no text, so there is nothing to undo",
            details={"toVersionId": current_version.version_id(row.to_version_seq)},
        )
