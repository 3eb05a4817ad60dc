"""The load of the crash tests: conversations of one account, written down as acknowledged."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.answering_model import share
from support.plain_client import UNANSWERED, PlainClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.tls_receiver import Received, Receiver

WRITERS = 4


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
    prompts
        Their ids.
    """

    by_key: dict[str, str] = field(default_factory=dict)
    once: dict[int, str | None] = field(default_factory=dict)
    abandoned: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)

    @property
    def conversations(self) -> list[str]:
        return [*self.by_key.values(), *(one for one in self.once.values() if one is not None)]


class Load:
    """Writers that write when they are allowed to."""

    def __init__(self, client: PlainClient) -> None:
        self.acknowledged = Acknowledged()
        self._client = client
        self._allowed = threading.Semaphore(0)
        self._prompt = self._new_prompt("Support")

    @contextmanager
    def running(self, writes: int) -> Iterator[Callable[[int], None]]:
        """Run the load; gives the function that allows some more of the writes. All are done in the end."""
        with ThreadPoolExecutor(WRITERS) as threads:
            begun = [threads.submit(self._write_when_allowed, number) for number in range(writes)]
            try:
                yield self._allowed.release
            finally:  # a failure must not leave the writers waiting
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
