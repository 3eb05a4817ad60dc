"""Labels: what people say of conversations. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.service.actions import labels

if TYPE_CHECKING:
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database
    return {
        endpoints.LABELS_LIST: lambda request: labels.page(database, request.caller, request.query),
        endpoints.LABELS_CREATE: lambda request: labels.keep(database, request.caller, request.body),
    }
