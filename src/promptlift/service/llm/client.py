"""Ask a language model: one answer for a list of messages, retried and checked."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, overload

from promptlift.service.llm.answers import (
    error_text,
    json_schema,
    model_names,
    parse_answer,
    read_completion,
    read_usage,
)
from promptlift.service.llm.dialect import Dialect, names_the_shape, request_body
from promptlift.service.llm.failures import LlmBadAnswer, LlmError, LlmRefused, LlmUnavailable
from promptlift.service.llm.port import ChatAnswer, Parsed, Purpose, check_purpose
from promptlift.service.llm.retry import RETRIED_STATUSES, RetryPolicy
from promptlift.service.llm.transport import NoAnswer, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.service.llm.settings import LlmSettings
    from promptlift.service.llm.transport import Reply

__all__ = ["ChatAnswer", "ChatClient", "Purpose"]

REQUEST_SECONDS: Final = 120.0
OWN_ANSWER_CHARS: Final = 4_000
DIALECT_STATUSES: Final = (400, 422)


class ChatClient:
    """Ask one OpenAI-compatible endpoint. Safe from several threads.

    What an endpoint does not take (``response_format``, ``max_tokens``, ``temperature``) is noticed at the first
    refusal and left out from then on.

    Parameters
    ----------
    settings
        Address, key and models.
    policy
        When a request is repeated: after no answer, 408, 425, 429 and 5xx.
    timeout
        Seconds for one request.
    """

    def __init__(
        self, settings: LlmSettings, *, policy: RetryPolicy | None = None, timeout: float = REQUEST_SECONDS
    ) -> None:
        self.settings = settings
        self._policy = policy or RetryPolicy()
        self._transport = Transport(settings, timeout=timeout)
        self._dialects: dict[str, Dialect] = {}
        self._closing = threading.Event()

    def __repr__(self) -> str:
        return f"ChatClient({self.settings!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every pause between two tries and close all connections."""
        self._closing.set()
        self._transport.close()

    @overload
    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: Purpose,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: None = None,
    ) -> ChatAnswer[None]: ...

    @overload
    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: Purpose,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: type[Parsed],
        check: Callable[[Parsed], None] | None = None,
    ) -> ChatAnswer[Parsed]: ...

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: Purpose,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: type[Parsed] | None = None,
        check: Callable[[Parsed], None] | None = None,
    ) -> ChatAnswer[Any]:
        """Ask for one answer.

        Parameters
        ----------
        messages
            ``role`` and ``content`` of each message.
        purpose
            What the answer is for; sent as ``X-Promptlift-Purpose``.
        model
            Name of the model; the settings' ``model`` when ``None``.
        temperature, max_tokens
            Left to the endpoint when ``None``.
        schema
            Model class that the answer must fit. An answer that does not fit is asked for once more, with the reason.
        check
            Raises ``ValueError`` for an answer that fits ``schema`` and still cannot be right; treated the same.

        Raises
        ------
        LlmUnavailable
            No usable answer within the budget of the policy.
        LlmRefused
            The endpoint does not take the request.
        LlmBadAnswer
            The answer is empty, or did not fit twice.
        """
        check_purpose(purpose)
        asked = _Asked(
            purpose=purpose,
            model=model or self.settings.model,
            temperature=temperature,
            max_tokens=max_tokens,
            schema=None if schema is None else (schema.__name__, json_schema(schema)),
        )
        said = [{"role": message["role"], "content": message["content"]} for message in messages]
        tally = _Tally()
        try:
            text, name = self._complete(said, asked, tally)
            if schema is None:
                return ChatAnswer(text, None, tally.prompt, tally.completion, name)
            try:
                parsed = parse_answer(text, schema, check)
            except ValueError as error:
                said += _asked_again(text, str(error))
                text, name = self._complete(said, asked, tally)
                try:
                    parsed = parse_answer(text, schema, check)
                except ValueError as again:
                    raise LlmBadAnswer(f"The language model's answer did not fit twice: {again}") from None
        except LlmError as error:
            error.tokens = tally.prompt + tally.completion
            raise
        return ChatAnswer(text, parsed, tally.prompt, tally.completion, name)

    def models(self) -> list[str]:
        """List the models that the endpoint serves.

        Raises
        ------
        LlmUnavailable, LlmRefused, LlmBadAnswer
            As ``chat``.
        """
        reply = self._send("GET", "/models", "models", None)
        if reply.status != 200:
            raise self._refusal(reply)
        return model_names(reply.document)

    def _complete(self, messages: list[dict[str, str]], asked: _Asked, tally: _Tally) -> tuple[str, str]:
        """Make one completion, learning the endpoint's dialect on the way."""
        dialect = self._dialects.get(asked.model, Dialect())
        while True:
            said = messages
            if asked.schema is not None and dialect.shape == "instruction":
                said = _with_instruction(messages, asked.schema[1])
            body = request_body(
                dialect,
                said,
                model=asked.model,
                temperature=asked.temperature,
                max_tokens=asked.max_tokens,
                schema=asked.schema,
            )
            reply = self._send("POST", "/chat/completions", asked.purpose, body)
            if reply.status == 200:
                break
            changed = None
            if reply.status in DIALECT_STATUSES or reply.status >= 500:
                changed = dialect.after_refusal(error_text(reply.document), body)
            if changed is None:
                raise self._refusal(reply)
            dialect = changed
        # Kept only now: a request that is refused for another reason teaches nothing.
        self._dialects[asked.model] = dialect
        tally.add(*read_usage(reply.document))
        text = read_completion(reply.document)
        name = reply.document.get("model")
        return text, name if isinstance(name, str) and name else asked.model

    def _send(self, method: str, path: str, purpose: str, body: dict[str, Any] | None) -> Reply:
        """Send until there is an answer that is not worth another try."""
        start = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            retry_after: float | None = None
            try:
                reply = self._transport.send(method, path, purpose=purpose, body=body)
            except NoAnswer as error:
                reason = str(error)
            else:
                if reply.status not in RETRIED_STATUSES or names_the_shape(error_text(reply.document), body):
                    return reply
                retry_after = reply.retry_after
                reason = " ".join(filter(None, (f"it answered {reply.status}", error_text(reply.document))))
            pause = self._policy.pause(
                attempt, elapsed=time.monotonic() - start, retry_after=retry_after, chance=random.random()
            )
            if pause is None or self._closing.wait(pause):
                tries = "once" if attempt == 1 else f"{attempt} times"
                raise LlmUnavailable(
                    f"The language model did not answer, asked {tries}: {self._safe(reason)}. "
                    "Check PROMPTLIFT_LLM_BASE_URL and that the endpoint is up.",
                    retry_after=retry_after,
                )

    def _refusal(self, reply: Reply) -> LlmRefused:
        said = self._safe(error_text(reply.document))
        if reply.status < 400:
            return LlmRefused(
                f"The language model's endpoint answered {reply.status}. "
                "Set PROMPTLIFT_LLM_BASE_URL to the address itself, up to and including /v1.",
                status=reply.status,
            )
        advice = {
            401: "Check PROMPTLIFT_LLM_API_KEY.",
            403: "Check PROMPTLIFT_LLM_API_KEY and what it may use.",
            404: "Check PROMPTLIFT_LLM_BASE_URL (it usually ends with /v1) and PROMPTLIFT_LLM_MODEL.",
            413: "The request is too long for it.",
        }.get(reply.status, "")
        message = f"The language model's endpoint refused the request with {reply.status}"
        return LlmRefused(". ".join(filter(None, (message, said, advice))), status=reply.status)

    def _safe(self, text: str) -> str:
        key = self.settings.api_key
        return text.replace(key, "[key]") if key else text


@dataclass(frozen=True, slots=True)
class _Asked:
    purpose: str
    model: str
    temperature: float | None
    max_tokens: int | None
    schema: tuple[str, dict[str, Any]] | None


@dataclass(slots=True)
class _Tally:
    prompt: int = 0
    completion: int = 0

    def add(self, prompt: int, completion: int) -> None:
        self.prompt += prompt
        self.completion += completion


def _asked_again(text: str, reason: str) -> list[dict[str, str]]:
    """The two turns that ask for a better answer; roles alternate, which some models insist on."""
    return [
        {"role": "assistant", "content": text[:OWN_ANSWER_CHARS]},
        {
            "role": "user",
            "content": f"That answer does not fit: {reason}. Answer the first request again, "
            "with one JSON object that fits the schema and nothing else.",
        },
    ]


def _with_instruction(messages: list[dict[str, str]], schema: dict[str, Any]) -> list[dict[str, str]]:
    instruction = (
        "Answer with one JSON object and nothing else: no code fence, no explanation. "
        f"It must fit this JSON schema: {json.dumps(schema)}"
    )
    if messages and messages[0]["role"] == "system":
        first = {"role": "system", "content": f"{messages[0]['content']}\n\n{instruction}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": instruction}, *messages]
