"""An application that talks to a model, instrumented with OpenTelemetry: run as a program of its own.

``python instrumented_application.py INSTRUMENTATION MODEL_URL``; the exporter has its settings from ``OTEL_*``.
"""

from __future__ import annotations

import sys
from importlib import import_module

import openai
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


def main(instrumentation: str, model_url: str) -> None:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    import_module(instrumentation).OpenAIInstrumentor().instrument(tracer_provider=provider)
    client = openai.OpenAI(base_url=model_url, api_key="sk-test", max_retries=0)
    history = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Weather in Paris?"},
    ]
    said = client.chat.completions.create(model="gpt-4o", messages=history, tools=TOOLS).choices[0].message
    history += [
        said.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": "call_1", "content": "rainy"},
    ]
    said = client.chat.completions.create(model="gpt-4o", messages=history, tools=TOOLS).choices[0].message
    history += [{"role": "assistant", "content": said.content}, {"role": "user", "content": "Thanks"}]
    client.chat.completions.create(model="gpt-4o", messages=history)
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
