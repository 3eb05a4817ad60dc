"""Versions of a prompt's text and going back to one, under both naming schemes. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.service.actions import versions

if TYPE_CHECKING:
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database
    return {
        endpoints.PROMPTS_VERSIONS: lambda request: versions.page(
            database,
            request.caller,
            request.scheme,
            request.id,
            limit=request.query.limit,
            offset=request.query.offset,
        ),
        endpoints.PROMPTS_RESTORE: lambda request: versions.restore(
            database,
            request.caller,
            request.scheme,
            request.id,
            request.body.version_id,
            if_version_id=request.body.if_version_id,
            note=request.body.note,
        ),
    }
