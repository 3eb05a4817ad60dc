"""Versions of a prompt's text and going back to one, under both naming schemes. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from promptlift.schema import limits
from promptlift.schema.naming import SCHEMES, Scheme
from promptlift.schema.pages import Page
from promptlift.schema.versions import PromptVersion, RestoreAnswer, RestoreRequest
from promptlift.service.actions import versions
from promptlift.service.routes import endpoint
from promptlift.service.routes.http import Query, answer, caller_of, path_id, read_body

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.context import AppContext

_LIMIT = endpoint.parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": limits.LIST_LIMIT_MAX}, "Items of a page"
)
_OFFSET = endpoint.parameter("offset", {"type": "integer", "minimum": 0}, "Items before the page")


def add_to(endpoints: endpoint.Endpoints, context: AppContext) -> None:
    """Add the endpoints of both schemes."""
    for scheme in SCHEMES.values():
        _Versions(context, scheme).add_to(endpoints)


class _Versions:
    """Endpoints of one scheme."""

    def __init__(self, context: AppContext, scheme: Scheme) -> None:
        self._database = context.database
        self._scheme = scheme

    def add_to(self, endpoints: endpoint.Endpoints) -> None:
        noun, one = self._scheme.name, f"/{self._scheme.segment}/{{id}}"
        endpoint.add(
            endpoints,
            "GET",
            f"{one}/versions",
            self.list,
            answer=Page[PromptVersion],
            query=(_LIMIT, _OFFSET),
            summary=f"Texts that a {noun} had, newest first",
            operation=f"list_{noun}_versions",
        )
        endpoint.add(
            endpoints,
            "POST",
            f"{one}/restore",
            self.restore,
            answer=RestoreAnswer,
            body=RestoreRequest,
            errors=("INVALID_STATE",),
            summary=f"Make a former text of a {noun} live again",
            operation=f"restore_{noun}",
        )

    async def list(self, request: Request) -> Response:
        query = Query(request)
        limit, offset = query.page(limits.PROMPTS_LIMIT_DEFAULT)
        query.check()
        caller, prompt_id = caller_of(request), path_id(request)
        return answer(
            await run_in_threadpool(
                lambda: versions.page(
                    self._database, caller, self._scheme, prompt_id, limit=limit, offset=offset
                )
            )
        )

    async def restore(self, request: Request) -> Response:
        body = await read_body(request, RestoreRequest)
        caller, prompt_id = caller_of(request), path_id(request)
        return answer(
            await run_in_threadpool(
                lambda: versions.restore(
                    self._database,
                    caller,
                    self._scheme,
                    prompt_id,
                    body.version_id,
                    if_version_id=body.if_version_id,
                    note=body.note,
                )
            )
        )
