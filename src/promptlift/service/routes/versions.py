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
    """Return the function of every endpoint."""
    room = _Versions(context)
    return {endpoints.PROMPTS_VERSIONS: room.list, endpoints.PROMPTS_RESTORE: room.restore}


class _Versions:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database

    def list(self, asked: ApiRequest[None, VersionsQuery]) -> dict[str, Any]:
        return versions.page(
            self._database,
            asked.caller,
            asked.scheme,
            asked.id,
            limit=asked.query.limit,
            offset=asked.query.offset,
        )

    def restore(self, asked: ApiRequest[RestoreRequest, None]) -> dict[str, Any]:
        return versions.restore(
            self._database,
            asked.caller,
            asked.scheme,
            asked.id,
            asked.body.version_id,
            if_version_id=asked.body.if_version_id,
            note=asked.body.note,
        )
