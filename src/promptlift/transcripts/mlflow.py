"""MLflow: traces as ``Trace.to_json`` writes them, of version 2 and 3, and rows of ``search_traces``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.collector import is_something
from promptlift.transcripts.traces import Call, Step, read_calls
from promptlift.transcripts.usage import amount
from promptlift.transcripts.wrapped import chat_messages, decoded, whole_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["is_trace", "read_mlflow"]

_IDS: Final = ("trace_id", "request_id")
_METADATA: Final = ("trace_metadata", "request_metadata")
_CALLS: Final = ("LLM", "CHAT_MODEL")
_TOOLS: Final = ("TOOL", "RETRIEVER")
_PROMPTS: Final = "mlflow.linkedPrompts"
_MODELS: Final = (
    "mlflow.llm.model",
    "mlflow.chat.model",
    "gen_ai.response.model",
    "gen_ai.request.model",
    "model",
)


def is_trace(value: dict[str, Any]) -> bool:
    """Whether a record is a trace."""
    info, data = decoded(value.get("info")), decoded(value.get("data"))
    if isinstance(info, dict) and isinstance(data, dict) and "spans" in data:
        return True
    return "spans" in value and not {*_METADATA, "execution_duration", "execution_time_ms"}.isdisjoint(value)


def read_mlflow(records: Iterable[Record], collector: Collector) -> None:
    """Read traces: the calls of a model of one session, or of one trace, are one conversation."""
    read_calls(_calls(records, collector), collector)


def _calls(records: Iterable[Record], collector: Collector) -> Iterator[tuple[int, Call | Step]]:
    for line, value in collector.objects(records, "trace"):
        nested = decoded(value.get("info"))
        info = nested if isinstance(nested, dict) else value
        data = decoded(value.get("data"))
        data = data if isinstance(data, dict) else value
        trace = _Trace(info)
        spans = decoded(data.get("spans"))
        for span in spans if isinstance(spans, list) else ():
            found = trace.call(decoded(span), collector)
            if found is not None:
                yield line, found
        request, response = data.get("request"), data.get("response")
        if not spans and is_something(response):
            history, answer = whole_run(chat_messages(request, "user"), chat_messages(response, "assistant"))
            yield line, trace.of(history, answer, {}, whole=True)


class _Trace:
    """What a trace says of all its spans."""

    def __init__(self, info: dict[str, Any]) -> None:
        known: Any = next((decoded(info[name]) for name in _METADATA if is_something(info.get(name))), {})
        tags = decoded(info.get("tags"))
        self._known = known if isinstance(known, dict) else {}
        tags = tags if isinstance(tags, dict) else {}
        self.id = next((info[name] for name in _IDS if is_something(info.get(name))), None)
        self.session = self._known.get("mlflow.trace.session")
        self.name = tags.get("mlflow.traceName")
        prompts = decoded(tags.get(_PROMPTS))
        first = prompts[0] if isinstance(prompts, list) and prompts and isinstance(prompts[0], dict) else {}
        self.prompt, self.version = first.get("name"), first.get("version")
        self.metadata = {
            **{
                name: value
                for name, value in {**self._known, **tags}.items()
                if not str(name).startswith("mlflow.")
            },
            "userId": self._known.get("mlflow.trace.user"),
            "sessionId": self.session,
            "promptName": self.prompt,
            "promptVersion": self.version,
        }

    def call(self, span: Any, collector: Collector) -> Call | Step | None:
        """Read a span."""
        if not isinstance(span, dict):
            return None
        attributes = span.get("attributes") or {}
        attributes = {name: decoded(_text(value)) for name, value in attributes.items()}
        kind = str(attributes.get("mlflow.spanType") or span.get("span_type"))
        if kind in _TOOLS:
            collector.drop(f"spans of type {kind}")
            return Step(self.id, failed="ERROR" in str(span.get("status") or span.get("status_code")))
        is_root = not is_something(span.get("parent_id")) and not is_something(span.get("parent_span_id"))
        if kind not in _CALLS:
            collector.drop(f"spans of type {kind}")
            if not is_root:
                return None
        asked = attributes.get("mlflow.spanInputs", span.get("inputs"))
        answered = attributes.get("mlflow.spanOutputs", span.get("outputs"))
        history, answer = chat_messages(asked, "user"), chat_messages(answered, "assistant")
        if kind not in _CALLS:
            if not answer:
                return None
            history, answer = whole_run(history, answer)
        times = {
            "started": _time(span, collector, "start_time"),
            "ended": _time(span, collector, "end_time"),
        }
        model = next((attributes[name] for name in _MODELS if is_something(attributes.get(name))), None)
        if model is None and isinstance(asked, dict):
            model = asked.get("model")
        return self.of(history, answer, {**attributes, **times, "model": model}, whole=kind not in _CALLS)

    def of(self, history: list[Any], answer: list[Any], known: dict[str, Any], *, whole: bool) -> Call:
        """Return a call of the trace."""
        usage = known.get("mlflow.chat.tokenUsage")
        usage = usage if isinstance(usage, dict) else {}
        cost = known.get("mlflow.llm.cost")
        return Call(
            self.session if is_something(self.session) else self.id,
            history,
            answer,
            known.get("ended"),
            known.get("model"),
            amount(usage.get("output_tokens")),
            {name: value for name, value in self.metadata.items() if is_something(value)},
            started=known.get("started"),
            trace=self.id,
            input_tokens=amount(usage.get("input_tokens")),
            cost=amount(cost.get("total_cost") if isinstance(cost, dict) else cost),
            prompt_name=self.prompt,
            prompt_version=self.version,
            title=self.name,
            whole=whole,
        )


def _text(value: Any) -> Any:
    """Return an attribute, which is JSON also where it is a text."""
    return (
        value[1:-1] if isinstance(value, str) and value[:1] == value[-1:] == '"' and len(value) > 1 else value
    )


def _time(span: dict[str, Any], collector: Collector, name: str) -> datetime | None:
    return collector.time(span.get(f"{name}_unix_nano") or span.get(f"{name}_ns") or span.get(name), name)
