"""``POST /v1/traces``: spans of instrumented applications in OTLP/HTTP; ``POST /v1/logs`` explains the settings."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from promptlift.schema import limits
from promptlift.service.errors import ApiException
from promptlift.service.otlp.decode import JSON, PROTOBUF, decompress, read_json, read_protobuf
from promptlift.service.otlp.receive import Received, receive
from promptlift.service.routes.messages import answer, bounded_body, media_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from promptlift.schema.spans.span import Span
    from promptlift.service.call import AppContext
    from promptlift.service.store.accounts import Caller

_LOG = logging.getLogger(__name__)
TRACES: Final = "/v1/traces"
LOGS: Final = "/v1/logs"
# Some instrumentations can be configured to send messages as log records. These arrive separately from their
# spans, in any order and often without a session; all of them can put the messages into the spans.
LOGS_ANSWER: Final = (
    "Logs are not read here, only spans: have the messages put into them. Set "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (opentelemetry-instrumentation-genai-*), or leave out "
    "use_legacy_attributes=False (opentelemetry-instrumentation-openai). OTEL_LOGS_EXPORTER=none stops this message"
)
# If all spans of an exporter belong to one prompt: its id or name, in a header that
# OTEL_EXPORTER_OTLP_HEADERS can set.
PROMPT_HEADER: Final = "promptlift-prompt"


def routes(context: AppContext) -> list[Route]:
    """Make the routes ``/v1/traces`` and ``/v1/logs``."""
    database, quiet_seconds = context.database, context.settings.otlp_quiet_seconds

    async def traces(request: Request) -> Response:
        kind = media_type(request)
        try:
            read = _reader(kind)
            raw = await bounded_body(request, limits.OTLP_BODY_BYTES)
            encoding = request.headers.get("content-encoding", "").strip().lower()
            caller: Caller = request.state.caller  # whose key authentication has checked
            prompt = request.headers.get(PROMPT_HEADER)

            def keep() -> Received:
                received = Received()
                spans = read(decompress(raw, encoding), received.reject)
                receive(database, caller, spans, received, prompt=prompt, quiet_seconds=quiet_seconds)
                return received

            return _answer(await run_in_threadpool(keep), kind)
        except ApiException as refusal:
            return _refusal(refusal, kind)

    async def logs(request: Request) -> Response:
        kind = media_type(request)
        try:
            await bounded_body(request, limits.OTLP_BODY_BYTES)
        except ApiException as refusal:
            return _refusal(refusal, kind)
        # A status that does not make an exporter retry. Some exporters do not show the answer, so the
        # operator's log does.
        _LOG.warning("an application sends logs. %s", LOGS_ANSWER)
        return _refusal(ApiException("NOT_FOUND", LOGS_ANSWER), kind)

    return [Route(TRACES, traces, methods=["POST"]), Route(LOGS, logs, methods=["POST"])]


def _reader(kind: str) -> Callable[[bytes, Callable[[str], object]], list[Span]]:
    readers = {JSON: read_json, PROTOBUF: read_protobuf}
    if kind not in readers:
        raise ApiException("UNSUPPORTED_MEDIA_TYPE", f"Send OTLP as {PROTOBUF} or {JSON}")
    return readers[kind]


def _answer(received: Received, kind: str) -> Response:
    """Return an ``ExportTraceServiceResponse``, in the encoding of the request."""
    if kind == JSON:
        # As in protobuf's JSON, 64-bit numbers are strings.
        told = {"rejectedSpans": str(received.rejected), "errorMessage": received.problem}
        return answer({"partialSuccess": told} if received.problem else {})
    partial = b""
    if received.problem:
        partial = _tag(1, 0) + _varint(received.rejected) + _text(2, received.problem)
        partial = _tag(1, 2) + _varint(len(partial)) + partial
    return Response(partial, media_type=PROTOBUF)


def _refusal(refusal: ApiException, kind: str) -> Response:
    """Return a ``google.rpc.Status`` with the message; in JSON it includes the API's error body."""
    if kind == PROTOBUF:
        return Response(_text(2, refusal.message), refusal.status, refusal.headers, media_type=PROTOBUF)
    return answer({"message": refusal.message, **refusal.body()}, refusal.status, refusal.headers)


# The two answers in protobuf: few enough fields to be encoded without the library, whose absence is one of
# the reasons.


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _text(number: int, text: str) -> bytes:
    raw = text.encode()
    return _tag(number, 2) + _varint(len(raw)) + raw


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
