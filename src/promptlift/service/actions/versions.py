"""Every text that a prompt ever had, and going back to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.actions.prompts import find
from promptlift.service.deployments import current_version, transitions
from promptlift.service.errors import ApiException
from promptlift.service.store import action_log, deployments, prompts

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.naming import Scheme
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow


def page(
    database: Database, caller: Caller, scheme: Scheme, prompt_id: str, *, limit: int, offset: int
) -> dict[str, Any]:
    """Return one page of the versions of a prompt, newest first.

    Raises
    ------
    ApiException
        ``NOT_FOUND`` when the account has no such prompt.
    """
    with database.read() as connection:
        find(connection, caller, scheme, prompt_id)
        rows, total = prompts.versions(connection, caller.account_id, prompt_id, limit=limit, offset=offset)
    return {
        "data": [_wire(row, number=total - offset - at, total=total) for at, row in enumerate(rows)],
        "pagination": {"total": total, "limit": limit, "offset": offset},
    }


def _wire(row: AnyRow, *, number: int, total: int) -> dict[str, Any]:
    return {
        "id": current_version.version_id(row.seq),
        "number": number,
        "content": row.content if row.content_known else None,
        "origin": row.origin,
        "optimizationId": row.optimization_id,
        "variantId": row.variant_id,
        # Every change of the text adds a version.
        "isLive": number == total,
        "createdAt": clock.iso(row.created_at),
    }


def restore(
    database: Database,
    caller: Caller,
    scheme: Scheme,
    prompt_id: str,
    version_id: str,
    *,
    if_version_id: str | None = None,
    note: str | None = None,
) -> dict[str, Any]:
    """Restore the text of a former version, byte for byte, as a new version.

    A text that is current already stays as it is, without a new version.

    Parameters
    ----------
    if_version_id
        Only while this is the current version.
    note
        Kept with the action.

    Raises
    ------
    ApiException
        ``NOT_FOUND`` for the prompt or its version, ``INVALID_STATE`` when the current version is another than
        ``if_version_id``.
    """
    seq = current_version.version_seq(version_id)
    with database.write() as connection:
        prompt = find(connection, caller, scheme, prompt_id, lock=True)
        wanted = None if seq is None else prompts.version(connection, caller.account_id, prompt_id, seq)
        if wanted is None:
            raise ApiException(
                "NOT_FOUND",
                "Version not found",
                details={"versionId": f"is not a version of this {scheme.name}; see its versions"},
            )
        live = prompts.current_version(connection, caller.account_id, prompt_id)
        changed = wanted.content != prompt.content
        if changed:
            transitions.check_version(live, if_version_id)
        now = clock.now()
        made = go_back(connection, prompt, wanted.content, live.seq, now=now)
        action_id = action_log.add(
            connection,
            caller.account_id,
            prompt_id,
            "restore",
            now=now,
            note=note,
            from_version_seq=live.seq,
            to_version_seq=made,
        )
    return {
        "success": True,
        scheme.link: prompt_id,
        "versionId": current_version.version_id(made),
        "previousVersionId": current_version.version_id(live.seq),
        "changed": changed,
        "actionId": action_id,
        "message": "The version is current again" if changed else "The text was already current",
    }


def go_back(connection: Connection, prompt: AnyRow, content: str, live_seq: int, *, now: int) -> int:
    """Make a former text the current version and return its number. The caller holds the lock of the prompt."""
    if content == prompt.content:
        return live_seq
    transitions.supersede(
        connection,
        prompt.account_id,
        prompt.id,
        now,
        reason="Another version was restored",
        undone_to=content,
    )
    seq = current_version.replace(connection, prompt, content, origin="restored", now=now)
    former = deployments.former_of_text(connection, prompt.account_id, prompt.id, content)
    if former is not None:
        # unspecified: whether a text that a person restores is watched. It is, as any text of an optimization that goes
        # live, and as one that a person applied: harm is told, and the person decides.
        reason = "Live again, because its version was restored"
        transitions.live_again(connection, former, seq, now=now, reason=reason, origin="manual")
    return seq
