"""``POST /v1/traces`` over a real socket: what exporters send, and what they are told."""

from __future__ import annotations

import gzip
import json

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

import promptlift
from promptlift.errors import ConfigError
from promptlift.service.settings import ServiceSettings
from support.instrumented import run_instrumented
from support.service_process import wait_until
from support.spans import as_json, as_protobuf, chat

pytestmark = pytest.mark.slow

JSON, PROTOBUF = "application/json", "application/x-protobuf"
HI = ("user", "Hi")


@pytest.fixture
def quiet(start_service):
    """A service that closes conversations at once."""
    return start_service(env={"PROMPTLIFT_OTLP_QUIET_SECONDS": "0.2"})


def post(service, raw, kind=JSON, **headers):
    url = service.base_url.removesuffix("/api/v1") + "/v1/traces"
    fields = {"Content-Type": kind, "Authorization": f"Bearer {service.key}", **headers}
    return httpx.post(url, content=raw, headers=fields)


def conversations(service, count):
    """The conversations of a service with insights, when there are so many."""
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:

        def judged():
            rows = lift.conversations()
            return len(rows) == count and rows.has_insights.all()

        wait_until(judged, what=f"{count} conversations with insights")
        return lift.conversations(content=True), lift.messages(), lift.prompts()


@pytest.mark.parametrize(
    "instrumentation",
    [
        "opentelemetry.instrumentation.genai.openai",
        "opentelemetry.instrumentation.openai",
        "openinference.instrumentation.openai",
    ],
)
def test_an_instrumented_application_needs_no_code_of_ours(quiet, instrumentation):
    environment = {
        "OTEL_SERVICE_NAME": "shop",
        "OTEL_EXPORTER_OTLP_ENDPOINT": quiet.base_url.removesuffix("/api/v1"),
        "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer%20{quiet.key}",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
    }
    run_instrumented(instrumentation, environment)
    rows, messages, prompts = conversations(quiet, 1)
    assert list(prompts.name) == ["shop"]
    assert list(prompts.content) == ["You help."]
    assert list(rows.llm_model) == ["stub-1"]
    assert list(rows.status) == ["completed"]
    assert [tuple(row) for row in messages[["role", "content"]].itertuples(index=False)] == [
        ("user", "Weather in Paris?"),
        ("assistant", '[tool call] weather({"city":"Paris"})'),
        ("system", "[tool result] rainy"),
        ("assistant", "Answer 4"),
        ("user", "Thanks"),
        ("assistant", "Answer 6"),
    ]
    answers = messages[messages.role == "assistant"]
    assert list(answers.tokens) == [2, 4, 6]
    assert list(answers.model) == ["stub-1"] * 3
    asked_at = messages[messages.role != "assistant"].sent_at
    latencies = (answers.sent_at.array - asked_at.array).total_seconds()
    assert (latencies >= 0).all()
    assert (latencies < 60).all()


def test_json_and_protobuf_are_answered_in_kind(quiet):
    plain = post(quiet, as_json(chat(1, [HI], "Hello", trace=1)))
    assert (plain.status_code, plain.headers["content-type"], plain.json()) == (200, JSON, {})
    packed = gzip.compress(as_protobuf(chat(2, [HI], "Hello", trace=2)))
    binary = post(quiet, packed, PROTOBUF, **{"Content-Encoding": "gzip"})
    assert (binary.status_code, binary.headers["content-type"], binary.content) == (200, PROTOBUF, b"")
    rows, _, _ = conversations(quiet, 2)
    assert list(rows.status) == ["completed"] * 2


def test_what_is_not_kept_is_told_as_partial_success(quiet):
    silent = chat(1, [], None)
    told = post(quiet, as_json(silent)).json()["partialSuccess"]
    assert told["rejectedSpans"] == "1"
    assert "capture the content" in told["errorMessage"]
    binary = ExportTraceServiceResponse.FromString(post(quiet, as_protobuf(silent), PROTOBUF).content)
    assert binary.partial_success.rejected_spans == 1
    assert binary.partial_success.error_message == told["errorMessage"]


@pytest.mark.parametrize(
    ("raw", "kind", "headers", "status", "words"),
    [
        (b"{", JSON, {}, 400, "not valid JSON"),
        (b"\x00\x01", PROTOBUF, {}, 400, "not OTLP"),
        (b"{}", "text/plain", {}, 415, "application/x-protobuf"),
        (b"{}", JSON, {"Content-Encoding": "br"}, 415, "gzip"),
        (bytes(16 * 1024 * 1024 + 1), JSON, {}, 413, "bytes"),
        (b"{}", JSON, {"Authorization": "Bearer nobody"}, 401, "API key"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(service, raw, kind, headers, status, words):
    answer = post(service, raw, kind, **headers)
    assert answer.status_code == status
    assert words in answer.text
    if kind == JSON:
        assert answer.json()["error"]["message"]


def test_an_acknowledged_span_survives_a_kill(start_service):
    service = start_service(env={"PROMPTLIFT_OTLP_QUIET_SECONDS": "2"})
    assert post(service, as_json(chat(1, [HI], "Hello"))).status_code == 200
    service.kill()
    service.start()
    rows, messages, _ = conversations(service, 1)
    assert list(messages.content) == ["Hi", "Hello"]
    assert json.loads(rows.content[0])["metadata"] == {"channel": "otlp"}


def test_a_quiet_time_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="PROMPTLIFT_OTLP_QUIET_SECONDS must be a number of seconds"):
        ServiceSettings.from_env({"PROMPTLIFT_OTLP_QUIET_SECONDS": "soon"})


def test_an_exporter_of_logs_is_told_what_to_set(service, caplog):
    from opentelemetry._logs import LogRecord
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

    url = service.base_url.removesuffix("/api/v1") + "/v1/logs"
    provider = LoggerProvider()
    exporter = OTLPLogExporter(url, headers={"Authorization": f"Bearer {service.key}"})
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    record = LogRecord(event_name="gen_ai.user.message", body={"content": "Hi"})
    provider.get_logger("test").emit(record)
    provider.shutdown()
    # Told once: it does not send them again.
    assert len([one for one in caplog.records if "404" in one.getMessage()]) == 1
    fields = {"Content-Type": JSON, "Authorization": f"Bearer {service.key}"}
    answer = httpx.post(url, json={"resourceLogs": []}, headers=fields)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
    for setting in (
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
        "use_legacy_attributes=False",
    ):
        assert setting in answer.json()["message"]
    assert httpx.post(url, json={}).status_code == 401
