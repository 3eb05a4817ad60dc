"""A text that somebody put together from the edits of a search becomes the current version, without having been tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.deployments import current_version, transitions

if TYPE_CHECKING:
    from promptlift.schema.naming import Scheme
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

__all__ = ["apply_text"]


def apply_text(
    database: Database,
    caller: Caller,
    scheme: Scheme,
    optimization_id: str,
    content: str,
    *,
    if_version_id: str | None = None,
    note: str | None = None,
) -> dict[str, Any]:
    """Make a text the current version, as an edit that came from an optimization, and return the answer of the API.

    Nothing was measured of it, so no deployment is watched and nothing is said of its lift.

    Parameters
    ----------
    if_version_id
        Only while this version is current, so that a change made in the meantime is not overwritten.
    note
        Kept with the action.

    Raises
    ------
    ApiException
        ``NOT_FOUND``; ``INVALID_STATE`` when another version is live.
    """
    with database.write() as connection:
        optimization = transitions.find_optimization(connection, caller, optimization_id)
        prompt, before = transitions.lock_prompt(connection, scheme, optimization)
        changed = prompt.content != content
        now, seq = clock.now(), int(before.seq)
        if changed:
            transitions.check_version(before, if_version_id)
            reason = "A text put together by hand was applied"
            transitions.supersede(connection, caller.account_id, prompt.id, now, reason=reason)
            seq = current_version.replace(
                connection, prompt, content, origin="updated", now=now, optimization_id=optimization.id
            )
        return transitions.record_apply(
            connection,
            scheme,
            optimization,
            before=before.seq,
            after=seq,
            changed=changed,
            message="The text is live now" if changed else "The text was live already",
            note=note,
            now=now,
        )
