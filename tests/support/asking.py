"""Ask the action of an endpoint without HTTP."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from promptlift.schema.naming import SCHEMES
from promptlift.schema.prompts import RestoreRequest
from promptlift.schema.queries import ConversationsQuery, PageQuery
from promptlift.service.call import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.call import AnyCall
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database


def ask(
    action: Callable[[AnyCall], Any],
    database: Database,
    caller: Caller,
    identifier: str = "",
    body: Any = None,
    query: Any = None,
) -> dict[str, Any]:
    """Answer a call of an action that needs nothing of the service but its database and the rehearsal, as JSON."""
    context = cast(
        "Any",
        SimpleNamespace(
            database=database,
            models=SimpleNamespace(rehearse=True),
            jobs=SimpleNamespace(waits_because=None),
            settings=SimpleNamespace(rehearsal_seconds=0.0),
        ),
    )
    call: AnyCall = Call(context, caller, SCHEMES["prompt"], identifier, body, query)
    answer: dict[str, Any] = action(call).to_wire()
    return answer


def place(limit: int, offset: int) -> PageQuery:
    """The page of a list."""
    return PageQuery.model_validate({"limit": str(limit), "offset": str(offset)})


def query_of(**values: Any) -> ConversationsQuery:
    """A list of conversations."""
    return ConversationsQuery.model_construct(**values)


def to_version(version_id: str, if_version_id: str | None = None, note: str | None = None) -> RestoreRequest:
    """Go back to a version, whatever its id looks like."""
    return RestoreRequest.model_construct(version_id=version_id, if_version_id=if_version_id, note=note)
