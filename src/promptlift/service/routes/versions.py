"""Versions of a prompt's text and going back to one, under both naming schemes. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import endpoints
from promptlift.service.actions import versions

if TYPE_CHECKING:
    from promptlift.schema.queries import VersionsQuery
    from promptlift.schema.versions import RestoreRequest
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions, ApiRequest


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Versions(context)
    return {endpoints.PROMPTS_VERSIONS: room.list, endpoints.PROMPTS_RESTORE: room.restore}


class _Versions:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database

    def list(self, request: ApiRequest[None, VersionsQuery]) -> dict[str, Any]:
        return versions.page(
            self._database,
            request.caller,
            request.scheme,
            request.id,
            limit=request.query.limit,
            offset=request.query.offset,
        )

    def restore(self, request: ApiRequest[RestoreRequest, None]) -> dict[str, Any]:
        return versions.restore(
            self._database,
            request.caller,
            request.scheme,
            request.id,
            request.body.version_id,
            if_version_id=request.body.if_version_id,
            note=request.body.note,
        )
