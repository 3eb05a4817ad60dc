"""Recognize the spans of language model calls, and read their messages.

The semantic conventions for generative AI are in development, and all their versions are in use:

- since 1.37 the attributes ``gen_ai.system_instructions``, ``gen_ai.input.messages`` and ``gen_ai.output.messages``, on
  the span or on the event ``gen_ai.client.inference.operation.details``;
- 1.28 to 1.36 one event per message, ``gen_ai.user.message`` and the like, and ``gen_ai.choice`` for the
  answer;
- before that the events ``gen_ai.content.prompt`` and ``gen_ai.content.completion`` with JSON;
- OpenLLMetry's attributes ``gen_ai.prompt.0.content``, and OpenInference's ``llm.input_messages.0.message.content``.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from promptlift.schema.experiments import ASSIGNMENT
from promptlift.schema.limits import NAME_CHARS, SOURCE_ID_CHARS
from promptlift.schema.metadata import SCORE_PREFIX
from promptlift.schema.spans.messages import SpanTurn, decoded, fold, split_system, text_of, unflatten
from promptlift.schema.spans.span import EVENT_BODY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptlift.schema.spans.span import Span, SpanEvent

_OPERATIONS: Final = ("chat", "text_completion", "generate_content")
_DETAILS_EVENT: Final = "gen_ai.client.inference.operation.details"
_MESSAGE_EVENTS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_EVALUATION: Final = "gen_ai.evaluation.result"
_CHOICE_EVENT: Final = "gen_ai.choice"
_MODELS: Final = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.response.model_name",
    "llm.model_name",
)
_INPUT_TOKENS: Final = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_OUTPUT_TOKENS: Final = (
    *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "llm.token_count.completion",
)
_COSTS: Final = ("gen_ai.usage.cost", "llm.cost.total")
_PROPERTIES: Final = "traceloop.association.properties"
_CONVERSATIONS: Final = (
    *("gen_ai.conversation.id", "session.id"),
    *(f"{_PROPERTIES}.{name}" for name in ("conversation_id", "thread_id", "chat_id", "session_id")),
)
_USERS: Final = ("user.id", "enduser.id", f"{_PROPERTIES}.user_id")
# An attribute of ours, on spans or on the resource.
PROMPT: Final = "promptlift.prompt"
_AGENTS: Final = ("gen_ai.prompt.name", "gen_ai.agent.name", "gen_ai.agent.id")
_NUMBERED: Final = (
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.input_messages", "llm.output_messages"),
)
_TURNS: Final = ("input", "output")
_MOST_TOKENS: Final = 10**12
# Year 10000.
_END_OF_TIME: Final = 253_402_300_800_000


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a language model.

    Attributes
    ----------
    conversation
        The application's own id of the conversation, if any.
    prompt
        Id or name of the prompt, if the application sets our attribute.
    agents
        Other possible ids or names of the prompt, best first.
    application
        Name of the application.
    system
        The instructions of the model, apart from the conversation.
    input, output
        The preceding messages, and the answer.
    scores
        Outcomes in the span: attributes ``score.NAME``, and the results of evaluations; and the assignment of an experiment.
    """

    trace_id: str
    span_id: str
    started_at: int
    ended_at: int
    conversation: str | None
    prompt: str | None
    agents: tuple[str, ...]
    application: str
    user: str | None
    system: str | None
    input: tuple[SpanTurn, ...]
    output: tuple[SpanTurn, ...]
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    failed: bool
    # Calls stored before it was read lack it.
    cost: float | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)

    def dump(self) -> bytes:
        """Return the call as JSON."""
        turns = {name: [list(turn) for turn in getattr(self, name)] for name in _TURNS}
        return orjson.dumps({**asdict(self), **turns})

    @classmethod
    def load(cls, raw: bytes) -> Self:
        """Read a call from the JSON of `dump`."""
        values = orjson.loads(raw)
        for name in _TURNS:
            values[name] = tuple(SpanTurn(*turn) for turn in values[name])
        return cls(**{**values, "agents": tuple(values["agents"])})


def is_model_call(span: Span) -> bool:
    """Return whether a span is a call to a language model that answers in text."""
    attributes = span.attributes
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return operation in _OPERATIONS
    kind = attributes.get("openinference.span.kind")
    if kind is not None:
        return bool(kind == "LLM")
    request_type = attributes.get("llm.request.type")  # OpenLLMetry's
    return "gen_ai.request.model" in attributes and request_type in (None, "chat", "completion")


def read_call(span: Span, now: int) -> ModelCall | None:
    """Read a call; ``None`` if the span does not contain the messages.

    Parameters
    ----------
    span
        A call of a model.
    now
        The time for a span with an invalid time, in milliseconds since 1970.
    """
    instructions, asked, answered = _content(span)
    system, asked = split_system(asked)
    if not asked and not answered:
        return None
    known = span.known
    start = _instant(span.started_at, now)
    return ModelCall(
        trace_id=span.trace_id,
        span_id=span.span_id,
        started_at=start,
        ended_at=max(start, _instant(span.ended_at, now)),
        conversation=_text(known, _CONVERSATIONS),
        prompt=_text(known, (PROMPT,)),
        agents=tuple(name for key in _AGENTS if (name := _text(known, (key,)))),
        application=_text(known, ("service.name",)) or "unknown_service",
        user=_text(known, _USERS),
        system=_instructions(instructions, system),
        input=tuple(asked),
        output=tuple(answered),
        model=(_text(span.attributes, _MODELS) or "")[:NAME_CHARS] or None,
        input_tokens=_count(span.attributes, _INPUT_TOKENS),
        output_tokens=_count(span.attributes, _OUTPUT_TOKENS),
        failed=span.failed,
        cost=_amount(span.attributes, _COSTS),
        scores=_scores(span),
    )


def _scores(span: Span) -> dict[str, Any]:
    found = {key: value for key, value in span.attributes.items() if key.startswith(SCORE_PREFIX)}
    if ASSIGNMENT in span.known:
        found[ASSIGNMENT] = span.known[ASSIGNMENT]
    for event in span.events:
        if event.name == _EVALUATION and (name := event.attributes.get("gen_ai.evaluation.name")):
            said = (event.attributes.get(f"gen_ai.evaluation.score.{kind}") for kind in ("value", "label"))
            found[f"{SCORE_PREFIX}{name}"] = next((one for one in said if one is not None), None)
    return {key: value for key, value in found.items() if isinstance(value, str | bool | int | float)}


def _content(span: Span) -> tuple[str, list[SpanTurn], list[SpanTurn]]:
    """Return instructions, history and answer, from the first form with content."""
    attributes = span.attributes
    details = [event.attributes for event in span.events if event.name == _DETAILS_EVENT]
    for found in (attributes, *details):
        asked, answered = (
            fold(found.get("gen_ai.input.messages")),
            _answer(found.get("gen_ai.output.messages")),
        )
        if asked or answered:
            return text_of(found.get("gen_ai.system_instructions")), asked, answered
    older = (_of_message_events, _of_content_events, _of_numbered_attributes)
    for read in older:
        asked, answered = read(span)
        if asked or answered:
            return "", asked, answered
    return "", [], []


def _answer(messages: Any) -> list[SpanTurn]:
    """Return the first of several alternative answers, each of which is a message."""
    messages = decoded(messages)
    return fold(messages[:1] if isinstance(messages, list) else messages)


def _of_message_events(span: Span) -> tuple[list[SpanTurn], list[SpanTurn]]:
    asked: list[SpanTurn] = []
    answers: list[list[SpanTurn]] = []
    for event in span.events:
        body = _body(event)
        if event.name == _CHOICE_EVENT:
            message = decoded(body.get("message", body))
            message = message if isinstance(message, dict) else {"content": message}
            # OpenLLMetry puts tool calls outside the message.
            calls = {"tool_calls": body["tool_calls"]} if body.get("tool_calls") else {}
            answers.append(fold({**calls, **message, "role": "assistant"}))
        elif event.name in _MESSAGE_EVENTS:
            asked += fold({**body, "role": _MESSAGE_EVENTS[event.name]})
    return asked, next(iter(answers), [])


def _body(event: SpanEvent) -> Mapping[str, Any]:
    """Return the content of an event: its attributes, or the JSON in one of them."""
    body = decoded(event.attributes.get(EVENT_BODY))
    return body if isinstance(body, dict) else event.attributes


def _of_content_events(span: Span) -> tuple[list[SpanTurn], list[SpanTurn]]:
    sides = []
    for name, key in (("prompt", "gen_ai.prompt"), ("completion", "gen_ai.completion")):
        values = [
            event.attributes.get(key) for event in span.events if event.name == f"gen_ai.content.{name}"
        ]
        sides.append(next((value for value in (*values, span.attributes.get(key)) if value), None))
    answer = decoded(sides[1])
    if isinstance(answer, str):
        answer = {"role": "assistant", "content": answer}
    return fold(sides[0]), _answer(answer)


def _of_numbered_attributes(span: Span) -> tuple[list[SpanTurn], list[SpanTurn]]:
    for asked, answered in _NUMBERED:
        said = fold(unflatten(span.attributes, asked)), _answer(unflatten(span.attributes, answered))
        if any(said):
            return said
    return [], []


def _text(known: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first existing attribute of some."""
    for name in names:
        text = _clean(str(known.get(name) or "")).strip()
        if text:
            # An identifier that is too long to be stored still remains distinct from others.
            return text if len(text) <= SOURCE_ID_CHARS else hashlib.sha256(text.encode()).hexdigest()
    return None


def _instructions(*texts: str | None) -> str | None:
    text = _clean("\n\n".join(filter(None, texts)))
    return text if text.strip() else None


def _clean(text: str) -> str:
    """Remove characters that databases cannot store."""
    return text.replace("\x00", "")


def _count(known: Mapping[str, Any], names: Iterable[str]) -> int | None:
    for name in names:
        value = known.get(name)
        if isinstance(value, int | float) and 0 <= value < _MOST_TOKENS:
            return int(value)
    return None


def _amount(known: Mapping[str, Any], names: Iterable[str]) -> float | None:
    for name in names:
        value = known.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
            return float(value)
    return None


def _instant(moment: int, now: int) -> int:
    """Return a time, or the current one if it is invalid."""
    return moment if 0 < moment < _END_OF_TIME else now
