"""Reviews of variants, the action log, and undoing an action. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.service.actions import action_log, reviews

if TYPE_CHECKING:
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database
    return {
        endpoints.REVIEWS_GET: lambda request: reviews.view(database, request.caller, request.id),
        endpoints.REVIEWS_UPDATE: lambda request: reviews.update_review(
            database, request.caller, request.id, request.body
        ),
        endpoints.ACTIONS_LIST: lambda request: action_log.page(database, request.caller, request.query),
        endpoints.ACTIONS_UNDO: lambda request: action_log.undo(
            database, request.caller, request.id, note=request.body.note
        ),
    }
