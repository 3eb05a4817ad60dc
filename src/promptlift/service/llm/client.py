"""Query a language model over HTTP, on an event loop of its own, for callers in threads: one answer for a list of messages, retried and checked."""

from __future__ import annotations

import asyncio
import math
import random
import time
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from promptlift.retry import read_retry_after
from promptlift.service.async_http import EventLoopThread, OpenedConnections, problem_of
from promptlift.service.llm.answers import (
    Dialect,
    Question,
    completion_problem,
    decode,
    encode,
    error_text,
    model_names,
    names_the_shape,
    parse_answer,
    read_completion,
    read_usage,
)
from promptlift.service.llm.calls import ONE_ATTEMPT, Calls, RetryPolicy
from promptlift.service.llm.port import (
    Availability,
    ChatAnswer,
    LlmBadAnswer,
    LlmEmptyAnswer,
    LlmError,
    LlmRefused,
    LlmUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.llm.answers import Body
    from promptlift.service.llm.port import Purpose
    from promptlift.service.llm.settings import LlmSettings


OWN_ANSWER_CHARS: Final = 4_000
DIALECT_STATUSES: Final = (400, 422)
# With 15% of the requests failing at random, this many in a row happen once in 10^16.
UNANSWERED_REQUESTS: Final = 20
# A list that takes longer is useless to its caller, and is soon requested again.
MODELS_SECONDS: Final = 5.0
ANSWER_BYTES: Final = 4 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
# Servers close an idle connection after five seconds or more; it is closed here before that.
IDLE_SECONDS: Final = 4.0
PROBE_SECONDS: Final = 3.0
RETRIED_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes
    ----------
    body
        JSON to POST; ``None`` makes it a GET.
    seconds
        For each attempt; ``None`` for those of the client.
    """

    path: str
    purpose: str
    policy: RetryPolicy = ONE_ATTEMPT
    body: Body | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer.

    Attributes
    ----------
    document
        The decoded JSON body, ``None`` if it is not JSON.
    """

    status: int
    document: Any
    retry_after: float | None


class _NoAnswer(Exception):
    """There was no complete answer. The message explains why, without the address or the key."""


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
        Seconds for one request; by default those of the settings.

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
        self._timeout = settings.timeout if timeout is None else timeout
        self._loop = EventLoopThread("promptlift-llm", at_end=self._close_connections)
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
        self._loop.close()

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
        reply = self._send(request, self._own_calls)
        if reply.status != 200:
            raise self._refusal(reply)
        return model_names(reply.document)

    def reachable(self) -> bool:
        """Return whether the endpoint answers at all, whatever the answer; takes at most ``PROBE_SECONDS``."""
        try:
            return self._loop.submit(self._probe).result()
        except CancelledError:
            return False

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
                        times = {1: "", 2: " twice"}.get(policy.answers, f" {policy.answers} times")
                        raise LlmBadAnswer(
                            f"The language model's answer did not fit{times}: {error}"
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
            reply = self._send(Request("/chat/completions", question.purpose, policy, body), job)
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
        said = self._redact(error_text(reply.document))
        advice = {
            401: "Check PROMPTLIFT_LLM_API_KEY.",
            403: "Check PROMPTLIFT_LLM_API_KEY and what it may use.",
            404: "Check PROMPTLIFT_LLM_BASE_URL (it usually ends with /v1) and PROMPTLIFT_LLM_MODEL.",
            413: "The request is too long for it.",
        }.get(reply.status, "")
        message = f"The language model's endpoint refused the request with {reply.status}"
        return LlmRefused(". ".join(filter(None, (message, said, advice))), status=reply.status)

    # HTTP

    def _send(self, request: Request, job: Calls) -> Reply:
        """Send a request until an answer needs no other attempt.

        Raises
        ------
        LlmUnavailable
            There was no answer within the policy, or the client was closed.
        Cancelled, EndpointDown
            Raised by the job.
        """
        try:
            return job.wait(self._loop.submit(self._attempts, request, job))
        except CancelledError:
            raise LlmUnavailable("The language model did not answer: the client was closed.") from None

    def _redact(self, text: str) -> str:
        """Return a text from the endpoint without the key."""
        key = self.settings.api_key
        return text.replace(key, "[key]") if key else text

    async def _attempts(self, request: Request, job: Calls) -> Reply:
        content = None if request.body is None else encode(request.body)
        start = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            retry_after = None
            try:
                async with job.places or nullcontext():
                    job.begin()
                    reply = await self._exchange(request, content, request.seconds or self._timeout)
            except _NoAnswer as error:
                problem: str | None = str(error)
            else:
                problem, retry_after = _problem(reply, request.body), reply.retry_after
            if problem is None:
                job.record(None)
                job.tokens += sum(read_usage(reply.document))
                return reply
            problem = self._redact(problem)
            job.record(problem)
            pause = request.policy.pause(
                attempt, elapsed=time.monotonic() - start, retry_after=retry_after, chance=random.random()
            )
            if pause is None:
                times = "once" if attempt == 1 else f"{attempt} times"
                raise LlmUnavailable(
                    f"The language model did not answer, asked {times}: {problem}. "
                    "Check PROMPTLIFT_LLM_BASE_URL and that the endpoint is up.",
                    retry_after=retry_after,
                )
            await asyncio.sleep(pause)

    async def _exchange(self, request: Request, content: bytes | None, seconds: float) -> Reply:
        """Make one attempt, with a deadline for the whole exchange, which an endpoint cannot extend by sending single bytes."""
        connect = min(CONNECT_SECONDS, seconds)
        headers = {"X-Promptlift-Purpose": request.purpose}
        if content is not None:
            headers["Content-Type"] = "application/json"
        body = bytearray()
        try:
            async with (
                asyncio.timeout(seconds),
                OpenedConnections() as opened,
                self._client.stream(
                    "GET" if content is None else "POST",
                    self.settings.base_url + request.path,
                    headers=headers,
                    content=content,
                    timeout=httpx.Timeout(None, connect=connect),
                    extensions={"trace": opened.note},
                ) as response,
            ):
                async for piece in response.aiter_raw():
                    body += piece
                    if len(body) > ANSWER_BYTES:
                        raise _NoAnswer(f"its answer is larger than {ANSWER_BYTES // 1024 // 1024} MB")
        except TimeoutError:
            raise _NoAnswer(f"it did not answer within {seconds:.3g} seconds") from None
        except httpx.ConnectTimeout:
            raise _NoAnswer(f"no connection within {connect:g} seconds{self._through}") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise _NoAnswer(problem_of(error) + self._through) from None
        return Reply(
            response.status_code, decode(bytes(body)), read_retry_after(response.headers.get("retry-after"))
        )

    async def _probe(self) -> bool:
        try:
            await self._exchange(Request("/models", "models"), None, PROBE_SECONDS)
        except _NoAnswer:
            return False
        return True

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "promptlift",
        }
        if self.settings.api_key is not None:
            headers["Authorization"] = f"Bearer {self.settings.api_key}"
        try:
            if self._proxy is not None and not 0 < (httpx.URL(self._proxy).port or 80) < 65_536:
                raise ValueError  # noqa: TRY301 - as httpx says of other addresses
            return httpx.AsyncClient(
                headers=headers,
                # Loaded only if certificates are needed; includes those of SSL_CERT_FILE.
                verify=self.settings.base_url.startswith("https:") and httpx.create_ssl_context(),
                proxy=self._proxy,
                trust_env=False,
                limits=httpx.Limits(keepalive_expiry=IDLE_SECONDS),
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            raise _NoAnswer(
                "the proxy set in the environment cannot be used; set it like http://host:port"
            ) from None

    @cached_property
    def _proxy(self) -> str | None:
        parts = urlsplit(self.settings.base_url)
        if self.settings.on_this_machine or proxy_bypass(parts.hostname or ""):
            return None
        proxies = getproxies()
        named = proxies.get(parts.scheme) or proxies.get("all")
        return f"http://{named}" if named and "://" not in named else named

    @property
    def _through(self) -> str:
        return "" if self._proxy is None else ", through the proxy set in the environment"

    async def _close_connections(self) -> None:
        if "_client" in self.__dict__:
            await self._client.aclose()


def _problem(reply: Reply, body: Body | None) -> str | None:
    """Return why a reply does not count as an answer, since the same request may succeed a moment later."""
    if reply.status == 200:
        return None if body is None else completion_problem(reply.document)
    if reply.status not in RETRIED_STATUSES:
        return None
    said = error_text(reply.document)
    if names_the_shape(said, body):
        return None
    return f"it answered {reply.status} {said}".rstrip()


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
