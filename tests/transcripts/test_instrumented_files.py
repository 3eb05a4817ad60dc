"""Files that a real application writes with OpenTelemetry's SDK; service/otlp has the spans of each library for OpenAI."""

from __future__ import annotations

import pytest

from promptlift import transcripts
from support.instrumented import run_instrumented

pytestmark = pytest.mark.slow

SAID = [
    ("user", "Weather in Paris?"),
    ("assistant", '[tool call] weather({"city":"Paris"})'),
    ("system", "[tool result] rainy"),
    ("assistant", "Answer 4"),
    ("user", "Thanks"),
    ("assistant", "Answer 6"),
]
EVENTS = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "event_only",
    "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true",
}
SPANS = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
}
ONLY_LOGS = {"ONLY_LOGS": "1"}


@pytest.mark.parametrize(
    ("instrumentation", "settings", "where"),
    [
        ("opentelemetry.instrumentation.genai.openai", SPANS, "spans"),
        ("opentelemetry.instrumentation.genai.openai", EVENTS, "logs"),
        ("opentelemetry.instrumentation.openai", ONLY_LOGS, "logs"),
    ],
)
def test_what_an_application_writes_is_read(tmp_path, said, instrumentation, settings, where):
    run_instrumented(instrumentation, {"OTEL_SERVICE_NAME": "shop", **settings}, str(tmp_path))
    files = [tmp_path / "spans.json", tmp_path / "logs.json"]
    assert (files[1].stat().st_size > 0) == (where == "logs")
    reading = transcripts.read(files[0], beside=files)
    assert (reading.format, reading.problems, reading.model_calls) == ("otlp", [], 3)
    (found,) = reading.conversations
    assert said(found) == SAID
    assert [prompt.text for prompt in reading.system_prompts] == ["You help."]
    assert (found.llm_model, found.prompt_name, found.title) == ("stub-1", "shop", "shop")
    assert (found.input_tokens, found.output_tokens, found.tool_calls) == (120, 12, 1)
    assert found.latency_ms > 0
    if where == "logs":
        alone = transcripts.read(files[0])
        assert (alone.conversations, alone.dropped["spans without content"]) == ([], 3)
        assert [said(one) for one in transcripts.read(files[1]).conversations] == [SAID]
