"""Encode requests to a chat-completions endpoint, and read its answers, trusting none of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import orjson
from pydantic import BaseModel, BeforeValidator
from pydantic import ValidationError as PydanticError

from promptlift.schema.limits import NAME_CHARS
from promptlift.service.llm.hostile_text import plain_answer
from promptlift.service.llm.port import LlmBadAnswer, LlmEmptyAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic.json_schema import JsonSchemaValue

    from promptlift.service.llm.port import Purpose

    Body = dict[str, object]
    Messages = list[dict[str, str]]


Parsed = TypeVar("Parsed", bound=BaseModel)

# Endpoints without strict schemas sometimes omit a field; one bad record of a list must not invalidate the
# others.
LenientText = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]
"""A text of a record; empty if the model wrote something else, which makes the record unusable."""

DROP_MISFITS: Final = BeforeValidator(
    lambda value: [item for item in value if isinstance(item, dict)] if isinstance(value, list) else value
)
"""For a list of records: leaves out everything that is not a record."""

# Of a request repeated because its answer did not match: near 0 the same answer would come again.
SECOND_TEMPERATURE: Final = 0.7
ERROR_CHARS: Final = 300
PROBLEMS_SHOWN: Final = 8
# Text that some models write around the requested JSON.
_FENCE: Final = re.compile(r"\A```(?:json)?\s*\n(.*)\n\s*```\Z", re.DOTALL | re.IGNORECASE)
# Bounds that not every endpoint's grammar supports; they are checked here instead.
_BOUNDS: Final = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    }
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parameters that an endpoint accepts.

    Attributes
    ----------
    shape
        ``schema``: it accepts ``response_format`` with a JSON schema. ``instruction``: it does not, so the
        schema goes into the system message.
    limit_name
        Field for the maximum length of the answer.
    temperature
        Whether it accepts a temperature.
    """

    shape: Literal["schema", "instruction"] = "schema"
    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def body(self, question: Question, messages: Messages) -> Body:
        """Return the body of one chat-completions request."""
        body: Body = {"model": question.model, "messages": messages}
        if question.temperature is not None and self.temperature:
            body["temperature"] = question.temperature
        if question.max_tokens is not None:
            body[self.limit_name] = question.max_tokens
        if question.schema is None:
            return body
        schema = json_schema(question.schema)
        if self.shape == "schema":
            shape = {"name": question.schema.__name__, "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        else:
            body["messages"] = _with_instruction(messages, schema)
        return body

    def after_refusal(self, text: str, body: Body) -> Dialect | None:
        """Return the dialect to try next after a 400 or 422, ``None`` if there is none left.

        Parameters
        ----------
        text
            The endpoint's error message.
        body
            The refused request.
        """
        said = text.lower()
        if "max_tokens" in body and "max_tokens" in said and "max_completion_tokens" in said:
            return replace(self, limit_name="max_completion_tokens")
        if "temperature" in body and "temperature" in said:
            return replace(self, temperature=False)
        # Servers phrase this in many ways, and some only report a bad request.
        if "response_format" in body:
            return replace(self, shape="instruction")
        return None


def names_the_shape(text: str, body: Body | None) -> bool:
    """Return whether an error is about the requested answer format: some servers answer 500 when they mean 400."""
    said = text.lower()
    return bool(body and "response_format" in body) and any(
        word in said for word in ("response_format", "json_schema", "json schema", "grammar")
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A request for an answer.

    Attributes
    ----------
    model
        Name of the model to ask.
    """

    purpose: Purpose
    model: str
    temperature: float | None = None
    max_tokens: int | None = None
    schema: type[BaseModel] | None = None
    check: Callable[[Any], None] | None = None

    def less_strict(self) -> Question:
        """Return the question for asking again."""
        if self.temperature is None or self.temperature >= SECOND_TEMPERATURE:
            return self
        return replace(self, temperature=SECOND_TEMPERATURE)


def _with_instruction(messages: Messages, schema: Mapping[str, object]) -> Messages:
    instruction = (
        "Answer with one JSON object and nothing else: no code fence, no explanation. "
        f"It must fit this JSON schema: {json.dumps(schema)}"
    )
    if messages and messages[0]["role"] == "system":
        first = {"role": "system", "content": f"{messages[0]['content']}\n\n{instruction}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": instruction}, *messages]


def encode(body: Mapping[str, object]) -> bytes:
    """Encode a request body."""
    try:
        return orjson.dumps(body)
    except TypeError:  # half a surrogate pair
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def decode(raw: bytes) -> Any:
    """Read the JSON of an answer; ``None`` when it is not JSON."""
    try:
        return orjson.loads(raw)
    except ValueError:
        pass
    try:  # accepts what orjson rejects: half a surrogate pair, NaN, a byte order mark
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def completion_problem(document: Any) -> str | None:
    """Return why a body is not a chat completion; ``None`` if it is, whatever its text.

    Such a body comes from something between the model and the service, so it does not count as an answer.
    """
    if document is None:
        return "it answered 200 with something other than JSON"
    try:
        message = document["choices"][0]["message"]
        message.get("content")
    except (TypeError, KeyError, IndexError, AttributeError):
        return "it answered 200 with something other than a chat completion"
    return None


def read_completion(document: Any) -> str:
    """Return the text of the first choice of a chat completion.

    Raises
    ------
    LlmEmptyAnswer
        The model said nothing.
    LlmBadAnswer
        The model refused, or used up its tokens before it answered.
    """
    choice = document["choices"][0]
    content, refusal = choice["message"].get("content"), choice["message"].get("refusal")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str) and content.strip():
        # Half a surrogate pair can be neither stored nor sent.
        return content if content.isascii() else content.encode("utf-8", "replace").decode("utf-8")
    if isinstance(refusal, str) and refusal.strip():
        raise LlmBadAnswer(f"The language model refused to answer: {_line(refusal)}")
    if choice.get("finish_reason") == "length":
        raise LlmBadAnswer("The language model used up its tokens before it answered")
    raise LlmEmptyAnswer("The language model gave an empty answer")


def read_usage(document: Any) -> tuple[int, int]:
    """Return prompt and completion tokens; 0 if the endpoint did not count them."""
    usage = document.get("usage") if isinstance(document, dict) else None
    known = usage if isinstance(usage, dict) else {}
    return _count(known.get("prompt_tokens")), _count(known.get("completion_tokens"))


def model_names(document: Any) -> list[str]:
    """Return the names of ``GET /models``.

    Raises
    ------
    LlmBadAnswer
        The body is not a list of models.
    """
    entries = document.get("data") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise LlmBadAnswer(
            "The language model's endpoint answered with something other than a list of models"
        )
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    # A name that no prompt may have is useless, and would be quoted in errors.
    return [
        name for name in names if isinstance(name, str) and 0 < len(name) <= NAME_CHARS and name.isprintable()
    ]


def error_text(document: Any) -> str:
    """Return the message of an error body as one short line; empty if there is none."""
    error = document.get("error", document.get("detail")) if isinstance(document, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    if not isinstance(error, str) and isinstance(document, dict):
        error = document.get("message")
    return _line(error) if isinstance(error, str) else ""


@lru_cache(maxsize=64)
def json_schema(model: type[BaseModel]) -> JsonSchemaValue:
    """Return the JSON schema of an answer in the subset that strict endpoints accept.

    Every field is required, additional ones are forbidden, bounds and titles are left out.
    """
    return dict(_strict(model.model_json_schema(by_alias=True)))


def parse_answer(text: str, model: type[Parsed], check: Callable[[Parsed], None] | None) -> Parsed:
    """Read a structured answer.

    Parameters
    ----------
    text
        The answer: one JSON object, bare or in a code fence, after thoughts or not.
    model
        The model that it must match.
    check
        Raises ``ValueError`` for an answer that matches and still cannot be right.

    Raises
    ------
    ValueError
        Describes the mismatch, without repeating the answer.
    """
    bare = plain_answer(text)
    fenced = _FENCE.match(bare)
    try:
        document = json.loads(fenced.group(1) if fenced else bare)
    except (ValueError, RecursionError) as error:
        raise ValueError("the answer is not one JSON object and nothing else") from error
    if not isinstance(document, dict):
        raise ValueError("the answer is not one JSON object and nothing else")  # noqa: TRY004 - one kind for the caller
    try:
        parsed = model.model_validate(document)
    except PydanticError as error:
        shown = error.errors(include_url=False, include_input=False, include_context=False)[:PROBLEMS_SHOWN]
        places = "; ".join(f"{'.'.join(map(str, p['loc'][:4]))[:80]}: {p['msg'][:120]}" for p in shown)
        raise ValueError(places) from None
    if check is not None:
        check(parsed)
    return parsed


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    # Below "properties" the keys are field names, not keywords.
    kept = {
        key: {name: _strict(sub) for name, sub in value.items()}
        if key in ("properties", "$defs")
        else _strict(value)
        for key, value in node.items()
        if key not in _BOUNDS and key not in ("title", "default")
    }
    if kept.get("type") == "object" and "properties" in kept:
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else 0


def _line(text: str) -> str:
    return " ".join(text[: 4 * ERROR_CHARS].split())[:ERROR_CHARS]
