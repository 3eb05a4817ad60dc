"""What people did with optimizations and prompts, and undoing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.schema.model import to_wire_time
from promptlift.schema.naming import SCHEMES
from promptlift.schema.pages import Page
from promptlift.schema.prompts import Action, UndoAnswer
from promptlift.service import clock
from promptlift.service.actions import versions
from promptlift.service.call import Call, answers
from promptlift.service.deployments import current_version, transitions
from promptlift.service.errors import ApiException, not_found
from promptlift.service.store import prompts
from promptlift.service.store.rows import newest, wanted
from promptlift.service.store.tables.prompts import ActionRow

if TYPE_CHECKING:
    from promptlift.schema.prompts import UndoRequest
    from promptlift.schema.queries import ActionsQuery


@answers(endpoints.ACTIONS_LIST)
def page(call: Call[None, ActionsQuery]) -> Page[Action]:
    """Return one page of actions, newest first."""
    query = call.query
    which = {"prompt_id": query.linked_id, "optimization_id": query.optimization_id}
    with call.read() as rows:
        some, total = rows.page(newest(ActionRow, account_id=call.account_id, **which), query)
    return Page[Action](data=[_shown(row) for row in some], pagination=query.of(total))


def _shown(row: ActionRow) -> Action:
    return row.shown(
        Action,
        from_version_id=current_version.version_id(row.from_version_seq),
        to_version_id=current_version.version_id(row.to_version_seq),
    )


@answers(endpoints.ACTIONS_UNDO)
def undo(call: Call[UndoRequest]) -> UndoAnswer:
    """Restore the text from before an action, byte for byte, as a new version."""
    with call.write() as rows:
        row = rows.found(wanted(ActionRow, account_id=call.account_id, id=call.id), "Action")
        prompt = prompts.found(rows, call.account_id, row.prompt_id, SCHEMES["prompt"].noun, lock=True)
        # Read again: it may have been undone while this waited for the prompt.
        rows.refresh(row)
        before_seq = _undoable(row)
        live = prompts.current_version(rows.core, call.account_id, prompt.id)
        transitions.check_version(live, current_version.version_id(row.to_version_seq))
        before = prompts.version(rows.core, call.account_id, prompt.id, before_seq)
        if before is None:
            raise not_found("Version")
        now = clock.now()
        made = versions.go_back(rows.core, prompt, before.content, live.seq, now=now)
        undoing = prompts.log_action(
            rows.core,
            call.account_id,
            prompt.id,
            "undo",
            now=now,
            note=call.body.note,
            optimization_id=row.optimization_id,
            variant_id=row.variant_id,
            from_version_seq=live.seq,
            to_version_seq=made,
            undoes=row.id,
        )
        row.undone_by, row.undone_at = undoing, clock.to_datetime(now)
    return UndoAnswer(
        success=True,
        prompt_id=prompt.id,
        action_id=undoing,
        version_id=current_version.version_id(made),
        previous_version_id=current_version.version_id(live.seq),
        message="The previous text is current again",
    )


def _undoable(row: ActionRow) -> int:
    """Return the version to restore, or refuse what cannot be undone."""
    if row.kind == "stop":
        raise ApiException(
            "INVALID_STATE", "A stop cannot be undone; start a new optimization", details={"kind": row.kind}
        )
    if row.undone_by is not None and row.undone_at is not None:
        raise ApiException(
            "INVALID_STATE",
            "The action was undone already",
            details={"undoneBy": row.undone_by, "undoneAt": to_wire_time(row.undone_at)},
        )
    if row.from_version_seq is None or row.from_version_seq == row.to_version_seq:
        raise ApiException(
            "INVALID_STATE",
            "The action changed no text, so there is nothing to undo",
            details={"toVersionId": current_version.version_id(row.to_version_seq)},
        )
    return row.from_version_seq
