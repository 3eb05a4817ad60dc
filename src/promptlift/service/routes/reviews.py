"""Reviews of variants, the action log, and undoing an action. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import endpoints
from promptlift.service.actions import action_log, reviews

if TYPE_CHECKING:
    from promptlift.schema.action_log import UndoRequest
    from promptlift.schema.queries import ActionsQuery
    from promptlift.schema.reviews import ReviewUpdate
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions, ApiRequest


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Reviews(context)
    return {
        endpoints.REVIEWS_GET: room.get,
        endpoints.REVIEWS_UPDATE: room.update,
        endpoints.ACTIONS_LIST: room.list_actions,
        endpoints.ACTIONS_UNDO: room.undo,
    }


class _Reviews:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database

    def get(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        return reviews.view(self._database, request.caller, request.id)

    def update(self, request: ApiRequest[ReviewUpdate, None]) -> dict[str, Any]:
        return reviews.say(self._database, request.caller, request.id, request.body)

    def list_actions(self, request: ApiRequest[None, ActionsQuery]) -> dict[str, Any]:
        query = request.query
        return action_log.page(
            self._database,
            request.caller,
            prompt_id=query.linked_id,
            optimization_id=query.optimization_id,
            limit=query.limit,
            offset=query.offset,
        )

    def undo(self, request: ApiRequest[UndoRequest, None]) -> dict[str, Any]:
        return action_log.undo(self._database, request.caller, request.id, note=request.body.note)
