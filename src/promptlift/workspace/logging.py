"""Log conversations from whatever a user has: dicts, a DataFrame, a reading of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.log.records import FailedRecord, Outgoing, prepare
from promptlift.client.log.result import LogResult
from promptlift.client.log.run import LoggingRun
from promptlift.client.retry import leaves_open
from promptlift.errors import ApiError, ConfigError
from promptlift.workspace.session import Session, frames

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from promptlift.client.log.outbox import Outbox


_RECORDS_HINT: Final = (
    "Give a list of dicts with content or messages, a DataFrame, or the result of transcripts.read."
)


class Logging(Session):
    """Logging of conversations."""

    def log(self, records: Any, *, prompt_id: str, outbox: str | os.PathLike[str] | None = None) -> LogResult:
        """Log conversations, some hundreds with one request.

        A conversation that was logged before is not added again, however often this is called: its idempotency key is made
        from the prompt and the conversation. The embedded service keeps the keys as long as the conversations, another one
        for 24 hours.

        A conversation with a ``source_id`` that has changed since it was logged, such as one that has grown, replaces its
        former state in the embedded service and is judged again. An older state never replaces a newer one. Without a
        ``source_id``, and in another service, a conversation that has grown is a new one.

        Parameters
        ----------
        records
            Dicts with ``content`` or ``messages`` (and status, llm_model, company_name, source_id, idempotency_key, metadata,
            title, input_tokens, output_tokens, cost, latency_ms, tool_calls, tool_errors, in snake_case or camelCase); or a DataFrame with one row per conversation (``content``) or one row a
            message (``conversation_id``, ``role``, ``content``); or the result of ``transcripts.read``. ``source_id`` is
            the conversation's own id in the tool that it comes from. An iterator, such as that of
            ``transcripts.read_in_parts``, is read while its first records are logged, and never held as a whole.
        prompt_id
            Name or id of the prompt that the conversations were held with.
        outbox
            A file for this prompt's conversations, for an application that must lose none of them while the service is
            away: they are on disk before they are sent, and what could not be sent waits there for the next call. It is
            not waited for longer than some seconds, and no failure of the service is raised: see ``waiting``, ``stopped``
            and ``failed``. With the prompt's id, which :meth:`resolve` answers, no request is needed before.

        Returns
        -------
        LogResult
            Counts, and every record that was not logged with the reason. One that fails does not stop the others. A
            quota that is used up, or a lost connection, ends the run early; the result says so.

        Raises
        ------
        InvalidApiKey
            The key is wrong.
        NotFound
            There is no such prompt; the message has near names.
        """
        if outbox is not None:
            from promptlift.client.log.outbox import Outbox  # noqa: PLC0415 - most never need its locks

            is_id = self._names.is_our_id(prompt_id)
            found = prompt_id if is_id else self._names.known_id(prompt_id)
            return self._log_kept(_as_records(records), found, Outbox(outbox))
        if isinstance(records, Iterator):
            # It cannot be read twice, so the prompt must be certain before.
            return self._log(_one_by_one(records), self._names.known_id(prompt_id))
        items = _as_records(records)
        return self._names.call(prompt_id, lambda found: self._log(items, found))

    def _log(self, items: Iterable[Any], prompt_id: str) -> LogResult:
        if items == []:
            return LogResult()
        total = len(items) if isinstance(items, list) else None
        with self._bar("conversations logged", total) as move:
            run = LoggingRun(self.client.transport, prompt_id, progress=lambda done: move(done, total))
            return run.run(items)

    def _log_kept(self, records: list[Any], prompt_id: str, outbox: Outbox) -> LogResult:
        """Log by way of a file; what the service could not answer for stays there."""
        prepared = list(prepare(records, prompt_id, self.client.config.scheme.link))
        outbox.add(one for one in prepared if isinstance(one, Outgoing))
        run = LoggingRun(self.client.transport, prompt_id, first=self._quick.client.transport)
        result = LogResult()
        with outbox.sending() as mine:
            waiting = outbox.waiting() if mine and not self._is_away else {}
            try:
                if waiting:
                    result = run.run(waiting.values())
            except ApiError as error:
                # It is kept, and the application has better things to do than to end.
                result.stopped = str(error)
                if leaves_open(error):
                    self._note_away()
            finally:
                left = outbox.drop(run.settled)
        settled = {one.source for key, one in waiting.items() if key in run.settled}
        refused = [one for one in result.failed if one.source in settled]
        result.failed = [*(one for one in prepared if isinstance(one, FailedRecord)), *refused]
        result.waiting, result.not_sent = left, 0
        return result


def _one_by_one(records: Iterator[Any]) -> Iterator[Any]:
    """Yield the records of an iterator, those of readings one by one."""
    for one in records:
        conversations = getattr(one, "conversations", None)
        yield from conversations if isinstance(conversations, list | tuple) else [one]


def _as_records(records: Any) -> list[Any]:
    """Return a list of records from whatever the user has."""
    conversations = getattr(records, "conversations", None)
    if isinstance(conversations, list | tuple):
        return list(conversations)
    if hasattr(records, "columns") and hasattr(records, "attrs"):
        return list(frames().records_from(records))
    if isinstance(records, str | bytes | dict):
        raise ConfigError(f"A {type(records).__name__} is not a list of conversations. {_RECORDS_HINT}")
    try:
        return list(records)
    except TypeError:
        raise ConfigError(f"A {type(records).__name__} holds no conversations. {_RECORDS_HINT}") from None
