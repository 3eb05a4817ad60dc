"""Many conversations in, side by side: every record once, and an account of what became of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.crew import Crew
from promptlift.client.endpoints import ENDPOINTS
from promptlift.client.ledger import Ledger, ledger_path
from promptlift.client.records import FailedRecord, Outgoing, prepare
from promptlift.client.transport import Answer, Call, Task, Transport
from promptlift.errors import (
    ApiError,
    ConnectionFailed,
    InvalidApiKey,
    LimitExceeded,
    NotFound,
    RateLimited,
    ServerError,
    UnexpectedResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from promptlift.client.lane import Lane

LOG_THREADS: Final = 8
# So many are prepared and under way at a time; the bodies of the others are not made yet.
_WINDOW: Final = 256
# A record may be one that the service cannot digest; so many in a row are a service that is out of order.
_FAILING_MOST: Final = 2 * LOG_THREADS


@dataclass(slots=True)
class LogResult:
    """What became of the records of one call.

    Attributes
    ----------
    logged
        Conversations that the service took now.
    already_there
        Conversations that were logged before; nothing was added for them.
    failed
        Records that did not go in, each with its place and the reason.
    not_sent
        Records that were not tried because the run ended early.
    stopped
        Why the run ended early, ``None`` when it did not.
    """

    logged: int = 0
    already_there: int = 0
    failed: list[FailedRecord] = field(default_factory=list)
    not_sent: int = 0
    stopped: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every record is in the service now."""
        return not self.failed and not self.not_sent and self.stopped is None

    def __str__(self) -> str:
        parts = [f"{self.logged} logged", f"{self.already_there} already there", f"{len(self.failed)} failed"]
        if self.not_sent:
            parts.append(f"{self.not_sent} not sent")
        text = ", ".join(parts)
        return f"{text}; stopped early: {self.stopped}" if self.stopped else text

    def __repr__(self) -> str:
        shown = [f"  {failure}" for failure in self.failed[:10]]
        more = len(self.failed) - len(shown)
        return "\n".join([f"LogResult: {self}", *shown, *([f"  … and {more} more"] if more > 0 else [])])


class LoggingRun:
    """Log records for one prompt.

    Parameters
    ----------
    account_id
        Whose ledger entries count; ``None`` leaves the ledger aside.
    progress
        Called with the number of records that are done.
    """

    def __init__(
        self,
        transport: Transport,
        prompt_id: str,
        *,
        account_id: str | None,
        ledger_file: Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._transport = transport
        self._prompt_id = prompt_id
        self._task = Task()
        self._result = LogResult()
        self._progress = progress or (lambda _done: None)
        self._done = 0
        self._ledger = (
            None
            if account_id is None
            else Ledger(ledger_file or ledger_path(), account_id=account_id, prompt_id=prompt_id)
        )
        self._trusted = False
        self._failing = 0

    def run(self, records: Iterable[Any]) -> LogResult:
        """Log all records.

        Raises
        ------
        InvalidApiKey, NotFound
            The key or the prompt is wrong: nothing else would go in either.
        """
        link = self._transport.config.scheme.link
        outgoing = prepare(records, self._prompt_id, link)
        crew: Crew[Outgoing, Answer]
        try:
            with Crew(self._transport, self._send, task=self._task, threads=LOG_THREADS) as crew:
                self._feed(outgoing, crew)
        finally:
            if self._ledger is not None:
                self._ledger.close()
        self._result.failed.sort(key=lambda failure: failure.index)
        return self._result

    def _feed(self, outgoing: Iterable[Outgoing | FailedRecord], crew: Crew[Outgoing, Answer]) -> None:
        window: list[Outgoing] = []
        for one in outgoing:
            if self._result.stopped is not None:
                self._result.not_sent += 1
                self._tell()
            elif isinstance(one, FailedRecord):
                self._result.failed.append(one)
                self._tell()
            else:
                window.append(one)
                if len(window) >= _WINDOW:
                    self._give(window, crew)
                    window = []
        self._give(window, crew)
        self._collect(crew, leave=0)

    def _give(self, window: list[Outgoing], crew: Crew[Outgoing, Answer]) -> None:
        known = self._known(window)
        for one in window:
            if self._result.stopped is not None:
                self._result.not_sent += 1
                self._tell()
            elif one.key in known:
                self._result.already_there += 1
                self._tell()
            else:
                crew.give(one)
        self._collect(crew, leave=_WINDOW)

    def _known(self, window: list[Outgoing]) -> dict[str, str]:
        """Look into the ledger; its first find is checked against the service, which may be another one by now."""
        if self._ledger is None or not window:
            return {}
        known = self._ledger.known([one.key for one in window])
        if known and not self._trusted:
            endpoint = ENDPOINTS["conversations.get"]
            path = endpoint.path_for(self._transport.config.scheme, next(iter(known.values())))
            try:
                self._transport.send(
                    Call("GET", path, {"includeInsights": "false"}, repeatable=True), self._task
                )
            except NotFound:
                self._ledger.forget()
                known = {}
            self._trusted = True
        return known

    def _send(self, one: Outgoing, lane: Lane) -> Answer:
        call = Call("POST", ENDPOINTS["conversations.create"].path, None, one.body, repeatable=True)
        answer = self._transport.send(call, self._task, lane=lane)
        if not isinstance(answer.data, dict) or not isinstance(answer.data.get("id"), str):
            raise UnexpectedResponse("The answer is not a conversation with an id", request=call.label)
        return answer

    def _collect(self, crew: Crew[Outgoing, Answer], *, leave: int) -> None:
        """Take results until at most ``leave`` records are under way."""
        for one, answer, error in crew.results(leave=leave):
            if answer is not None:
                self._failing = 0
                # unspecified: the status for a conversation that was there. Ours answers 200, a new one is 201.
                if answer.status == 200:
                    self._result.already_there += 1
                else:
                    self._result.logged += 1
                if self._ledger is not None:
                    self._ledger.add(one.key, answer.data["id"])
            elif error is not None:
                self._note(one, error, crew)
            self._tell()

    def _note(self, one: Outgoing, error: Exception, crew: Crew[Outgoing, Answer]) -> None:
        if isinstance(error, InvalidApiKey | NotFound) or not isinstance(error, ApiError):
            raise error
        hopeless = isinstance(error, LimitExceeded | ConnectionFailed | RateLimited)
        if not hopeless:
            self._result.failed.append(FailedRecord(one.index, one.source, str(error)))
        self._failing += isinstance(error, ServerError | UnexpectedResponse)
        if hopeless or self._failing >= _FAILING_MOST:
            # Nothing else would go in now. What is under way comes back; the rest is counted.
            if self._result.stopped is None:
                self._result.stopped = str(error)
            self._result.not_sent += hopeless + crew.withdraw()

    def _tell(self) -> None:
        self._done += 1
        self._progress(self._done)
