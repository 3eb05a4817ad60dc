"""Ask a language model: one answer for a list of messages, retried and checked."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self, overload

from promptlift.service.llm.answers import (
    error_text,
    json_schema,
    model_names,
    parse_answer,
    read_completion,
    read_usage,
)
from promptlift.service.llm.dialect import Dialect, request_body
from promptlift.service.llm.failures import LlmBadAnswer, LlmEmptyAnswer, LlmError, LlmRefused
from promptlift.service.llm.patience import Patience
from promptlift.service.llm.port import ChatAnswer, Parsed, Purpose, check_purpose
from promptlift.service.llm.retry import RetryPolicy
from promptlift.service.llm.transport import Transport
from promptlift.service.llm.tries import ASKED_ONCE, NO_JOB, ONE_TRY, Tries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import BaseModel

    from promptlift.service.llm.port import ChatModel, JobView
    from promptlift.service.llm.settings import LlmSettings
    from promptlift.service.llm.transport import Reply

__all__ = ["ChatAnswer", "ChatClient", "Purpose"]

OWN_ANSWER_CHARS: Final = 4_000
DIALECT_STATUSES: Final = (400, 422)
# A list that takes longer is of no use to whoever waits for it: it is asked for again soon enough.
MODELS_SECONDS: Final = 5.0
# Of a request that is made again because its answer did not fit: near 0 the same answer would come again.
AGAIN_TEMPERATURE: Final = 0.7


class ChatClient:
    """Ask one OpenAI-compatible endpoint. Safe from several threads.

    What an endpoint does not take (``response_format``, ``max_tokens``, ``temperature``) is noticed at the first
    refusal and left out from then on.

    Parameters
    ----------
    settings
        Address, key and models.
    policy
        When a request is repeated: after no answer, 408, 425, 429, 5xx, and a 200 that holds no completion.
    timeout
        Seconds for one request; less for an endpoint that is known to be faster, see ``Patience``.
    """

    def __init__(
        self, settings: LlmSettings, *, policy: RetryPolicy | None = None, timeout: float | None = None
    ) -> None:
        self.settings = settings
        self._policy = policy or RetryPolicy()
        self._tries = Tries(
            Transport(settings), Patience(settings.timeout if timeout is None else timeout), self._safe
        )
        self._dialects: dict[str, Dialect] = {}

    def __repr__(self) -> str:
        return f"ChatClient({self.settings!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every pause between two tries and close all connections."""
        self._tries.close()

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
        check: None = None,
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
            Model class that the answer must fit. An answer that does not fit is asked for again, with the reason and
            at a temperature of 0.7 or more, as often as the policy says: once more unless a job brings another.
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
        wanted = _Wanted(model, temperature, max_tokens, schema, check)
        return self._answer(messages, purpose, wanted, NO_JOB)

    def within(self, job: JobView) -> ChatModel:
        """Give a view that works for ``job``: counted, limited and cancelled with it, over the same connections."""
        return _View(self._answer, job)

    def once(self) -> ChatModel:
        """Give a view that asks once: no answer, and one that does not fit, are told without another try."""
        return _View(self._answer, ASKED_ONCE)

    def reachable(self) -> bool:
        """Whether the endpoint answers at all, whatever it says; takes at most ``MODELS_SECONDS``."""
        return self._tries.reaches("/models", purpose="models", seconds=MODELS_SECONDS)

    def cut_older_than(self, moment: float) -> int:
        """End requests that were begun before a time of ``time.monotonic``, so that they are made again."""
        return self._tries.cut_older_than(moment)

    def _answer(
        self, messages: Sequence[Mapping[str, str]], purpose: Purpose, wanted: _Wanted, job: JobView
    ) -> ChatAnswer[Any]:
        check_purpose(purpose)
        schema = wanted.schema
        asked = _Asked(
            purpose=purpose,
            model=wanted.model or self.settings.model,
            temperature=wanted.temperature,
            max_tokens=wanted.max_tokens,
            schema=None if schema is None else (schema.__name__, json_schema(schema)),
            job=job,
            policy=job.policy or self._policy,
        )
        first = [{"role": message["role"], "content": message["content"]} for message in messages]
        said = first
        tally = _Tally()
        left = asked.policy.answers
        try:
            while True:
                left -= 1
                try:
                    text, name = self._complete(said, asked, tally)
                except LlmEmptyAnswer:
                    if left <= 0:
                        raise
                    continue
                if schema is None:
                    return ChatAnswer(text, None, tally.prompt, tally.completion, name)
                try:
                    parsed = parse_answer(text, schema, wanted.check)
                except ValueError as error:
                    if left <= 0:
                        times = _TIMES.get(asked.policy.answers, f"{asked.policy.answers} times")
                        raise LlmBadAnswer(
                            f"The language model's answer did not fit {times}: {error}"
                        ) from None
                    # Only the last misfit is shown: the request stays as long as it is.
                    said = [*first, *_asked_again(text, str(error))]
                    if asked.temperature is not None and asked.temperature < AGAIN_TEMPERATURE:
                        asked = replace(asked, temperature=AGAIN_TEMPERATURE)
                    continue
                return ChatAnswer(text, parsed, tally.prompt, tally.completion, name)
        except LlmError as error:
            error.tokens = tally.prompt + tally.completion
            raise

    def models(self) -> list[str]:
        """List the models that the endpoint serves: asked once, for at most ``MODELS_SECONDS``.

        Raises
        ------
        LlmUnavailable, LlmRefused, LlmBadAnswer
            As ``chat``.
        """
        reply = self._tries.send(
            "GET", "/models", purpose="models", job=NO_JOB, policy=ONE_TRY, seconds=MODELS_SECONDS
        )
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
            reply = self._tries.send(
                "POST",
                "/chat/completions",
                purpose=asked.purpose,
                job=asked.job,
                policy=asked.policy,
                body=body,
            )
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
        prompt, completion = read_usage(reply.document)
        tally.prompt += prompt
        tally.completion += completion
        asked.job.spend(prompt + completion)
        text = read_completion(reply.document)
        name = reply.document.get("model")
        return text, name if isinstance(name, str) and name else asked.model

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
class _Wanted:
    """The options of one ``chat``."""

    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    schema: type[BaseModel] | None = None
    check: Callable[[Any], None] | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    purpose: str
    model: str
    temperature: float | None
    max_tokens: int | None
    schema: tuple[str, dict[str, Any]] | None
    job: JobView
    policy: RetryPolicy


@dataclass(slots=True)
class _Tally:
    prompt: int = 0
    completion: int = 0


class _View:
    """A client that works for one job."""

    def __init__(self, answer: Callable[..., ChatAnswer[Any]], job: JobView) -> None:
        self._answer = answer
        self._job = job

    def chat(
        self, messages: Sequence[Mapping[str, str]], *, purpose: Purpose, **wanted: Any
    ) -> ChatAnswer[Any]:
        return self._answer(messages, purpose, _Wanted(**wanted), self._job)


_TIMES: Final = {1: "", 2: "twice"}


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
