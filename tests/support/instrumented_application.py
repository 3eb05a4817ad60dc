"""An application that talks to a model, instrumented with OpenTelemetry: run as a program of its own.

``python instrumented_application.py INSTRUMENTATION MODEL_URL [FOLDER]``; the exporter has its settings from ``OTEL_*``. With a
folder the SDK prints spans and log records to files there instead.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TextIO

import openai
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import ConsoleLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


def main(instrumentation: str, model_url: str, folder: str | None = None) -> None:
    provider, logs = TracerProvider(), LoggerProvider()
    exporter = OTLPSpanExporter() if folder is None else ConsoleSpanExporter(out=opened(folder, "spans"))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    if folder is not None:
        printed = ConsoleLogRecordExporter(out=opened(folder, "logs"))
        logs.add_log_record_processor(SimpleLogRecordProcessor(printed))
        set_logger_provider(logs)
    # OpenLLMetry sends messages as log records only where it is told so in code.
    only_logs = {"use_legacy_attributes": False} if os.environ.get("ONLY_LOGS") else {}
    import_module(instrumentation).OpenAIInstrumentor(**only_logs).instrument(tracer_provider=provider)
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
    logs.shutdown()


def opened(folder: str, name: str) -> TextIO:
    return (Path(folder) / f"{name}.json").open("w", encoding="utf-8", buffering=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
