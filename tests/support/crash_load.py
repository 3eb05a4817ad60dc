"""The load of the crash tests: conversations, benchmarks and optimizations of one account, written down as acknowledged."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.answering_model import share
from support.plain_client import UNANSWERED, PlainClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from support.tls_receiver import Received, Receiver

WRITERS = 4
SCENARIOS = 12


@dataclass
class Acknowledged:
    """What the service has said yes to.

    Attributes
    ----------
    by_key
        Conversations by idempotency key.
    once
        Conversations that were sent once, without a key, by their number; ``None`` where no answer came.
    abandoned
        Conversations whose status was changed.
    prompts, benchmarks, optimizations
        Their ids.
    """

    by_key: dict[str, str] = field(default_factory=dict)
    once: dict[int, str | None] = field(default_factory=dict)
    abandoned: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)
    benchmarks: set[str] = field(default_factory=set)
    optimizations: set[str] = field(default_factory=set)

    @property
    def conversations(self) -> list[str]:
        return [*self.by_key.values(), *(one for one in self.once.values() if one is not None)]


class Load:
    """Writers that write when they are allowed to, and a benchmark and an optimization that always run."""

    def __init__(self, client: PlainClient) -> None:
        self.acknowledged = Acknowledged()
        self._client = client
        self._allowed = threading.Semaphore(0)
        self._prompt = self._new_prompt("Support")
        self._ending = threading.Event()

    @contextmanager
    def running(self, writes: int) -> Iterator[Callable[[int], None]]:
        """Run the load; gives the function that allows some more of the writes. All are done in the end."""
        arms = [self._new_prompt(name) for name in ("Manner 0:", "Manner 1:")]
        self._client.send_until_answered("PATCH", "/settings", {"optimization": _QUICK})
        benchmark = {
            "arms": [{"promptId": one, "llmModel": "gpt-4o"} for one in arms],
            "scenarioSet": {"count": SCENARIOS, "source": "model"},
            "maxTurns": 2,
            "seed": 5,
        }
        optimization = {"promptId": arms[0], "mode": "exploratory", "variantCount": 1, "seed": 11}
        with ThreadPoolExecutor(WRITERS + 2) as threads:
            begun: list[Future[None]] = [
                threads.submit(self._again, "/benchmarks", benchmark, self.acknowledged.benchmarks),
                threads.submit(self._again, "/optimizations", optimization, self.acknowledged.optimizations),
                *(threads.submit(self._write_when_allowed, number) for number in range(writes)),
            ]
            try:
                yield self._allowed.release
            finally:  # a failure must not leave the writers waiting
                self._ending.set()
                self._allowed.release(writes)
            for future in begun:
                future.result()

    # Writes

    def _write_when_allowed(self, number: int) -> None:
        self._allowed.acquire()
        writes = (
            self._write_repeatable,
            self._write_without_reading_the_answer,
            self._write_once,
            self._write_repeatable,
            self._write_and_change,
            self._write_again,
            self._write_once,
            self._write_to_a_new_prompt,
        )
        writes[number % len(writes)](number)

    def _write_repeatable(self, number: int, prompt_id: str | None = None) -> str:
        body = self._conversation(number, prompt_id, idempotencyKey=f"order-{number}")
        answer = self._client.send_until_answered("POST", "/conversations", body)
        return self.acknowledged.by_key.setdefault(f"order-{number}", str(answer["id"]))

    def _write_without_reading_the_answer(self, number: int) -> None:
        body = self._conversation(number, idempotencyKey=f"order-{number}")
        with suppress(UNANSWERED):
            self._client.send_and_leave("POST", "/conversations", body)
        self._write_repeatable(number)

    def _write_again(self, number: int) -> None:
        first = self._write_repeatable(number)
        body = self._conversation(number, idempotencyKey=f"order-{number}")
        assert self._client.send_until_answered("POST", "/conversations", body)["id"] == first

    def _write_once(self, number: int) -> None:
        try:
            status, answer = self._client.send("POST", "/conversations", self._conversation(number))
        except UNANSWERED:
            self.acknowledged.once[number] = None
            return
        assert status == 201, answer
        self.acknowledged.once[number] = str(answer["id"])

    def _write_and_change(self, number: int) -> None:
        conversation_id = self._write_repeatable(number)
        path = f"/conversations/{conversation_id}"
        self._client.send_until_answered("PATCH", path, {"status": "abandoned"})
        self.acknowledged.abandoned.add(conversation_id)

    def _write_to_a_new_prompt(self, number: int) -> None:
        self._write_repeatable(number, self._new_prompt(f"Prompt {number}"))

    def _conversation(self, number: int, prompt_id: str | None = None, **fields: str) -> dict[str, str]:
        answer = "It is solved: tomorrow." if number % 3 else "I cannot say."
        content = f"User: Where is order {number}?\nAssistant: {answer}\nUser: Thanks."
        return {"promptId": prompt_id or self._prompt, "content": content, **fields}

    def _new_prompt(self, name: str) -> str:
        body = {"name": name, "content": f"{name} You help.", "llmModel": "gpt-4o"}
        prompt_id = str(self._client.send_until_answered("POST", "/prompts", body)["id"])
        self.acknowledged.prompts.add(prompt_id)
        return prompt_id

    # Runs

    def _again(self, path: str, body: dict[str, Any], acknowledged: set[str]) -> None:
        """Begin a run whenever the one before has ended."""
        while not self._ending.is_set():
            try:
                status, made = self._client.send("POST", path, body)
            except UNANSWERED:
                self._ending.wait(0.02)
                continue
            assert status in (200, 201), made
            acknowledged.add(str(made["id"]))
            while not self._ending.wait(0.1) and self._is_running(f"{path}/{made['id']}"):
                pass

    def _is_running(self, path: str) -> bool:
        """Whether a benchmark or an optimization has not ended yet."""
        return self._client.send_until_answered("GET", path)["status"] in ("queued", "running")


_QUICK = {
    "maxIterations": 2,
    "simulation": {"personaCount": 2, "scenariosPerSimulation": 2, "maxTurns": 1, "confidenceMode": "low"},
}


class Refusals:
    """A receiver that refuses the first attempt of some events, while ``active``.

    Attributes
    ----------
    accepted
        The requests that were not refused.
    refused
        Ids of the events that were.
    """

    SHARE = 0.1

    def __init__(self, receiver: Receiver) -> None:
        self.active = True
        self.accepted: list[Received] = []
        self.refused: set[str] = set()
        receiver.answer = self._answer

    def _answer(self, request: Received, _connection: object) -> int | None:
        event_id = request.event["id"]
        if self.active and event_id not in self.refused and share(event_id) < self.SHARE:
            self.refused.add(event_id)
            # An error, or no answer at all.
            return 500 if len(self.refused) % 2 else None
        self.accepted.append(request)
        return 204
