"""One model endpoint: requests on their own event loop, for callers in threads, retried while that may help."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import deque
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from promptlift.retry import read_retry_after
from promptlift.service.async_http import EventLoopThread, OpenedConnections, problem_of
from promptlift.service.llm.answers import (
    completion_problem,
    decode,
    encode,
    error_text,
    json_schema,
    read_usage,
)
from promptlift.service.llm.calls import ONE_ATTEMPT, RetryPolicy
from promptlift.service.llm.failures import LlmUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

    from promptlift.service.llm.calls import Calls
    from promptlift.service.llm.port import Purpose
    from promptlift.service.llm.settings import LlmSettings

    Body = dict[str, object]
    Messages = list[dict[str, str]]


ANSWER_BYTES: Final = 4 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
# Servers close an idle connection after five seconds or more; it is closed here before that.
IDLE_SECONDS: Final = 4.0
PROBE_SECONDS: Final = 3.0
RETRIED_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})
# How many of the last answers determine the expected time.
_REMEMBERED: Final = 32
_ENOUGH: Final = 8
# Of a request repeated because its answer did not match: near 0 the same answer would come again.
SECOND_TEMPERATURE: Final = 0.7


@dataclass
class AdaptiveTimeout:
    """A timeout for one answer: the full ``limit`` for an unknown endpoint, far less for a fast one that hangs.

    The limit applies until a few answers for the purpose are known. From then on the timeout is ``times`` the
    slowest of the last ones, at least ``shortest``, and doubles with every timeout of the same call up to the
    limit: an answer that truly takes long gets its time in the end.

    Attributes
    ----------
    limit
        Maximum seconds.
    shortest
        Minimum seconds, unless the limit is lower.
    times
        How much longer than the slowest known answer an answer may take.
    """

    limit: float
    shortest: float = 20.0
    times: float = 6.0
    _took: dict[str, deque[float]] = field(default_factory=dict, init=False)

    def record(self, purpose: str, seconds: float) -> None:
        """Record how long a complete answer took."""
        self._took.setdefault(purpose, deque(maxlen=_REMEMBERED)).append(seconds)

    def seconds(self, purpose: str, *, timeouts: int = 0) -> float:
        """Return how long to wait for the next answer.

        Parameters
        ----------
        purpose
            Purpose of the answer: a judgement takes longer than a greeting.
        timeouts
            Timeouts of the same call so far.
        """
        if self.limit <= self.shortest:
            return self.limit
        known = self._took.get(purpose, ())
        usual = self.times * max(known) if len(known) >= _ENOUGH else self.limit
        return min(self.limit, max(self.shortest, usual) * 2.0 ** min(timeouts, 20))


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes
    ----------
    body
        JSON to POST; ``None`` makes it a GET.
    seconds
        For each attempt; if ``None``, derived from the duration of earlier answers.
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


class _TooSlow(_NoAnswer):
    """The deadline passed."""


class ModelEndpoint:
    """Requests with retries. Thread-safe.

    Parameters
    ----------
    settings
        Address and key.
    timeout
        Maximum seconds for one request.
    """

    def __init__(self, settings: LlmSettings, timeout: float) -> None:
        self._settings = settings
        self._timeout = AdaptiveTimeout(timeout)
        self._loop = EventLoopThread("promptlift-llm", at_end=self._close_connections)

    def close(self) -> None:
        """End all requests and pauses, and close all connections; returns when nothing is left running."""
        self._loop.close()

    def send(self, request: Request, job: Calls) -> Reply:
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

    def reachable(self) -> bool:
        """Return whether the endpoint answers at all, whatever the answer; takes at most ``PROBE_SECONDS``."""
        try:
            return self._loop.submit(self._probe).result()
        except CancelledError:
            return False

    def redact(self, text: str) -> str:
        """Return a text from the endpoint without the key."""
        key = self._settings.api_key
        return text.replace(key, "[key]") if key else text

    async def _attempts(self, request: Request, job: Calls) -> Reply:
        content = None if request.body is None else encode(request.body)
        start = time.monotonic()
        attempt, timeouts = 0, 0
        while True:
            attempt += 1
            retry_after = None
            try:
                async with job.places or nullcontext():
                    job.begin()
                    allowed = request.seconds or self._timeout.seconds(request.purpose, timeouts=timeouts)
                    begun = time.monotonic()
                    reply = await self._exchange(request, content, allowed)
            except _NoAnswer as error:
                timeouts += isinstance(error, _TooSlow)
                problem: str | None = str(error)
            else:
                problem, retry_after = _problem(reply, request.body), reply.retry_after
            if problem is None:
                job.record(None)
                job.tokens += sum(read_usage(reply.document))
                if reply.status == 200 and request.seconds is None:
                    self._timeout.record(request.purpose, time.monotonic() - begun)
                return reply
            problem = self.redact(problem)
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
                    self._settings.base_url + request.path,
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
            raise _TooSlow(f"it did not answer within {seconds:.3g} seconds") from None
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
        if self._settings.api_key is not None:
            headers["Authorization"] = f"Bearer {self._settings.api_key}"
        try:
            if self._proxy is not None and not 0 < (httpx.URL(self._proxy).port or 80) < 65_536:
                raise ValueError  # noqa: TRY301 - as httpx says of other addresses
            return httpx.AsyncClient(
                headers=headers,
                # Loaded only if certificates are needed; includes those of SSL_CERT_FILE.
                verify=self._settings.base_url.startswith("https:") and httpx.create_ssl_context(),
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
        parts = urlsplit(self._settings.base_url)
        if self._settings.on_this_machine or proxy_bypass(parts.hostname or ""):
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
