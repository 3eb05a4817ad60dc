"""Query a language model: one answer for a list of messages, retried and checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Self

from promptlift.service.llm.answers import (
    error_text,
    model_names,
    parse_answer,
    read_completion,
    read_usage,
)
from promptlift.service.llm.calls import ONE_ATTEMPT, Calls, RetryPolicy
from promptlift.service.llm.endpoint import Dialect, ModelEndpoint, Question, Request
from promptlift.service.llm.failures import (
    Availability,
    LlmBadAnswer,
    LlmEmptyAnswer,
    LlmError,
    LlmRefused,
)
from promptlift.service.llm.port import ChatAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.llm.endpoint import Reply
    from promptlift.service.llm.port import Purpose
    from promptlift.service.llm.settings import LlmSettings


OWN_ANSWER_CHARS: Final = 4_000
DIALECT_STATUSES: Final = (400, 422)
# With 15 % of the requests failing at random, this many in a row happen once in 10^16.
UNANSWERED_REQUESTS: Final = 20
# A list that takes longer is useless to its caller, and is soon requested again.
MODELS_SECONDS: Final = 5.0


class ChatClient:
    """Query one OpenAI-compatible endpoint. Thread-safe.

    Parameters that an endpoint refuses (``response_format``, ``max_tokens``, ``temperature``) are left out
    after the first refusal.

    Parameters
    ----------
    settings
        Address, key and models.
    policy
        When to repeat a request: after no answer, 408, 425, 429, 5xx, and a 200 without a completion.
    timeout
        Seconds for one request; less for an endpoint known to be faster, see ``AdaptiveTimeout``.

    Attributes
    ----------
    availability
        Whether the endpoint answers any request.
    """

    def __init__(
        self, settings: LlmSettings, *, policy: RetryPolicy | None = None, timeout: float | None = None
    ) -> None:
        self.settings = settings
        self._policy = policy or RetryPolicy()
        self._endpoint = ModelEndpoint(settings, settings.timeout if timeout is None else timeout)
        self.availability = Availability(after=UNANSWERED_REQUESTS)
        self._dialects: dict[str, Dialect] = {}
        self._own_calls = self._calls(None)

    def __repr__(self) -> str:
        return f"ChatClient({self.settings!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all requests and pauses, and close all connections; return when nothing is running any longer."""
        self._endpoint.close()

    def chat(
        self, messages: Sequence[Mapping[str, str]], *, purpose: Purpose, **wanted: Any
    ) -> ChatAnswer[Any]:
        """Request one answer.

        Parameters
        ----------
        messages
            ``role`` and ``content`` of each message.
        purpose
            Purpose of the answer; sent as ``X-Promptlift-Purpose``.
        **wanted
            ``model``, ``temperature``, ``max_tokens``, ``schema`` and ``check``, as for ``ChatModel``. After
            an answer that does not match ``schema`` or ``check``, the model is asked again, with the reason
            and at a temperature of 0.7 or more, as often as the policy allows: by default once.

        Raises
        ------
        LlmUnavailable
            No usable answer within the budget of the policy.
        LlmRefused
            The endpoint refuses the request.
        LlmBadAnswer
            The answer is empty, or did not match twice.
        """
        return self._own_calls.chat(messages, purpose=purpose, **wanted)

    def once(self) -> Calls:
        """Return a view without retries: a missing or mismatching answer is reported without another attempt."""
        return self._calls(ONE_ATTEMPT)

    def _calls(self, policy: RetryPolicy | None) -> Calls:
        return Calls(self, policy=policy, patience=math.inf)

    def models(self) -> list[str]:
        """List the models that the endpoint serves, in one request of at most ``MODELS_SECONDS``.

        Raises
        ------
        LlmUnavailable, LlmRefused, LlmBadAnswer
            As ``chat``.
        """
        request = Request("/models", "models", seconds=MODELS_SECONDS)
        reply = self._endpoint.send(request, self._own_calls)
        if reply.status != 200:
            raise self._refusal(reply)
        return model_names(reply.document)

    def reachable(self) -> bool:
        """Return whether the endpoint answers at all, whatever the answer; takes a few seconds at most."""
        return self._endpoint.reachable()

    def answer(
        self,
        messages: Sequence[Mapping[str, str]],
        purpose: Purpose,
        job: Calls,
        *,
        model: str | None = None,
        **wanted: Any,
    ) -> ChatAnswer[Any]:
        """Request one answer like ``chat``, for a job: counted, limited and cancelled with it."""
        question = Question(purpose, model or self.settings.model, **wanted)
        policy = job.policy or self._policy
        first = [{"role": message["role"], "content": message["content"]} for message in messages]
        said = first
        prompt = completion = 0
        try:
            for left in reversed(range(policy.answers)):
                document = self._complete(said, question, job, policy)
                used = read_usage(document)
                prompt, completion = prompt + used[0], completion + used[1]
                name = document.get("model")
                name = name if isinstance(name, str) and name else question.model
                try:
                    text = read_completion(document)
                except LlmEmptyAnswer:
                    if not left:
                        raise
                    continue
                if question.schema is None:
                    return ChatAnswer(text, None, prompt, completion, name)
                try:
                    parsed = parse_answer(text, question.schema, question.check)
                except ValueError as error:
                    if not left:
                        raise LlmBadAnswer(
                            f"The language model's answer did not fit{_times(policy.answers)}: {error}"
                        ) from None
                    # Only the last misfit is shown: the request keeps its length.
                    said = [*first, *_asked_again(text, str(error))]
                    question = question.less_strict()
                else:
                    return ChatAnswer(text, parsed, prompt, completion, name)
        except LlmError as error:
            error.tokens = prompt + completion
            raise
        raise ValueError(f"a policy must allow at least one answer, not {policy.answers}")

    def _complete(
        self, messages: list[dict[str, str]], question: Question, job: Calls, policy: RetryPolicy
    ) -> Any:
        """Return the document of one completion, learning the endpoint's dialect in the process."""
        dialect = self._dialects.get(question.model, Dialect())
        while True:
            body = dialect.body(question, messages)
            reply = self._endpoint.send(Request("/chat/completions", question.purpose, policy, body), job)
            if reply.status == 200:
                break
            changed = None
            if reply.status in DIALECT_STATUSES or reply.status >= 500:
                changed = dialect.after_refusal(error_text(reply.document), body)
            if changed is None:
                raise self._refusal(reply)
            dialect = changed
        # Stored only now: a request refused for another reason reveals nothing about the dialect.
        self._dialects[question.model] = dialect
        return reply.document

    def _refusal(self, reply: Reply) -> LlmRefused:
        if reply.status < 400:
            return LlmRefused(
                f"The language model's endpoint answered {reply.status}. "
                "Set PROMPTLIFT_LLM_BASE_URL to the address itself, up to and including /v1.",
                status=reply.status,
            )
        said = self._endpoint.redact(error_text(reply.document))
        advice = {
            401: "Check PROMPTLIFT_LLM_API_KEY.",
            403: "Check PROMPTLIFT_LLM_API_KEY and what it may use.",
            404: "Check PROMPTLIFT_LLM_BASE_URL (it usually ends with /v1) and PROMPTLIFT_LLM_MODEL.",
            413: "The request is too long for it.",
        }.get(reply.status, "")
        message = f"The language model's endpoint refused the request with {reply.status}"
        return LlmRefused(". ".join(filter(None, (message, said, advice))), status=reply.status)


def _times(answers: int) -> str:
    return {1: "", 2: " twice"}.get(answers, f" {answers} times")


def _asked_again(text: str, reason: str) -> list[dict[str, str]]:
    """Return the two turns that ask for a better answer; roles alternate, which some models insist on."""
    return [
        {"role": "assistant", "content": text[:OWN_ANSWER_CHARS]},
        {
            "role": "user",
            "content": f"That answer does not fit: {reason}. Answer the first request again, "
            "with one JSON object that fits the schema and nothing else.",
        },
    ]
