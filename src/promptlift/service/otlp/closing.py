"""Log conversations of instrumented applications after a period without additions.

Most applications send the whole history with every call, some only what is new, some the end of the history.
Calls are processed in the order of their start, and each adds what earlier calls lacked.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

import orjson

from promptlift.schema import limits
from promptlift.schema.conversations import ConversationCreate, ConversationUpdate
from promptlift.schema.spans.messages import SpanTurn
from promptlift.schema.spans.model_call import ModelCall
from promptlift.schema.transcript import Message, parse_content
from promptlift.service import clock
from promptlift.service.actions.logging.conversation_log import apply_updates, log_entries
from promptlift.service.actions.logging.entries import Entry, Logged, Update, accept
from promptlift.service.background.kind import Kind
from promptlift.service.errors import ApiException
from promptlift.service.store import SQLAlchemyError, accounts, conversation_updates, conversations, traced
from promptlift.service.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.schema.conversations import ConversationStatus
    from promptlift.service.actions.logging.conversation_log import Added
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.conversations import TracedConversationRow


_LOG = logging.getLogger(__name__)
# How long a closed conversation is recognized by its words if it continues.
_REMEMBERED: Final = clock.DAY
_CUT: Final = "\n[… cut here: the message was too long]"
# Allowance for JSON around the texts of messages, and metadata.
_SPARE_BYTES: Final = 4 * limits.KB


class TracedConversations(Kind):
    """Close conversations received as spans.

    Parameters
    ----------
    database
        The database with the conversations.
    worker
        Name of the worker in the rows that it holds.
    """

    name = "traced conversation"
    leases = traced.LEASES
    chunk = 32

    def __init__(self, database: Database, *, worker: str) -> None:
        super().__init__()
        self._database = database
        self._worker = worker

    def work(self, ids: Sequence[str]) -> None:
        """Log these conversations, or extend those logged before; each with all its calls, or not at all."""
        try:
            self._close(ids)
        except SQLAlchemyError:
            raise
        except Exception:
            if len(ids) == 1:
                raise
            self._close_each(ids)

    def _close_each(self, ids: Sequence[str]) -> None:
        """Close conversations one by one: a defect in one of them must not block the others."""
        problems = []
        for one in ids:
            try:
                self._close([one])
            except Exception as problem:  # noqa: BLE001 - raised below
                problems.append(problem)
        if problems:
            raise problems[0]

    def _close(self, ids: Sequence[str]) -> None:
        with self._database.write(durable=True) as connection:
            claimed = traced.claimed(Rows(connection), ids, self._worker)
            for account_id in sorted({row.account_id for row in claimed}):
                accounts.lock(connection, account_id)
            with Rows(connection) as rows:
                _close(rows, traced.claimed(rows, ids, self._worker))
                rows.flush()


def drop_closed(connection: Connection) -> None:
    """Delete the records of conversations that were closed long ago."""
    traced.drop_closed(connection, before=clock.now() - _REMEMBERED)


def _close(rows: Rows, claimed: Sequence[TracedConversationRow]) -> None:
    connection, now = rows.core, clock.now()
    calls: dict[str, list[ModelCall]] = {}
    for call in traced.calls(rows, [row.id for row in claimed]):
        calls.setdefault(call.traced_id, []).append(ModelCall.load(call.data))
    wanted: list[tuple[TracedConversationRow, Entry | Update]] = []
    for row in claimed:
        try:
            wanted.append((row, _wanted(connection, row, calls.get(row.id, []))))
        except ApiException as problem:
            _settle(rows, row, problem, now)
    # Separately, so that each transaction updates the counts of conversations once.
    new = [(row, one) for row, one in wanted if isinstance(one, Entry)]
    for (row, _), logged in zip(new, log_entries(connection, [one for _, one in new], now=now), strict=True):
        _settle(rows, row, logged, now)
    grown = [(row, one) for row, one in wanted if isinstance(one, Update)]
    outcomes = apply_updates(connection, [one for _, one in grown], now=now)
    for (row, one), outcome in zip(grown, outcomes, strict=True):
        _settle(rows, row, outcome if isinstance(outcome, ApiException) else one, now)


def _settle(rows: Rows, row: TracedConversationRow, outcome: Added, now: int) -> None:
    if isinstance(outcome, Logged):
        traced.closed(rows, row, outcome.id)
    elif isinstance(outcome, Update):
        traced.closed(rows, row, outcome.conversation_id)
    elif isinstance(outcome, ApiException) and outcome.code == "LIMIT_EXCEEDED":
        # Already acknowledged, so it is logged once the plan allows it again.
        row.close_at, row.changed_at, row.worker = clock.billing_period(now)[1], now, None
    else:
        _LOG.warning("a conversation of an instrumented application is dropped: %s", outcome)
        traced.closed(rows, row, None)


def _wanted(connection: Connection, row: TracedConversationRow, calls: Sequence[ModelCall]) -> Entry | Update:
    """Return the conversation to log, or the change if it was logged before.

    Raises
    ------
    ApiException
        The calls contain no conversation.
    """
    caller = accounts.caller_of(connection, row.account_id)
    logged_id = row.conversation_id
    if logged_id is None and row.source_id is not None:
        there = conversation_updates.lookup(
            connection, row.account_id, row.prompt_id, ids=(), source_ids=[row.source_id]
        )
        logged_id = there[0].id if there else None
    before = None if logged_id is None else conversations.find(connection, row.account_id, logged_id)
    content_before = None if before is None else before.content  # deleted because it was old
    transcript = None if content_before is None else parse_content(content_before.decode())
    messages = [] if transcript is None else list(transcript.messages)
    metadata = {} if transcript is None else transcript.metadata or {}
    _extend(messages, calls)
    content = write_content(messages, {**metadata, **_metadata(row, calls)})
    shape = accept(content)
    # unspecified: the status of a conversation whose last call got no answer. Abandoned: nobody helped the
    # user.
    status: ConversationStatus = "abandoned" if messages[-1].role == "user" else "completed"
    costs = [call.cost for call in calls if call.cost is not None]
    if before is not None:
        cost = sum(costs) + (before.cost or 0.0) if costs else None
        changed = {"content": content, "status": status} | ({} if cost is None else {"cost": cost})
        return Update(caller, before.id, ConversationUpdate.model_validate(changed), shape)
    models = Counter(call.model for call in calls if call.model)
    body = ConversationCreate(
        prompt_id=row.prompt_id,
        content=content,
        status=status,
        llm_model=models.most_common(1)[0][0] if models else None,
        source_id=row.source_id,
        # Tokens, tools and times are in the transcript.
        cost=sum(costs) if costs else None,
    )
    return Entry(caller, body, shape)


def _metadata(row: TracedConversationRow, calls: Sequence[ModelCall]) -> dict[str, object]:
    users = [call.user for call in calls if call.user is not None]
    return {
        "channel": "otlp",
        **({"sessionId": row.source_id} if row.source_id is not None else {}),
        **({"userId": users[0]} if users else {}),
        **{key: value for call in calls for key, value in call.scores.items()},
        **({"failedCalls": failed} if (failed := sum(call.failed for call in calls)) else {}),
    }


def _extend(messages: list[Message], calls: Iterable[ModelCall]) -> None:
    """Add calls to the messages of a conversation, except messages that it already has."""
    seen = {(message.model_extra or {}).get("spanId") for message in messages}
    turns = [SpanTurn(message.role, message.content) for message in messages]
    for call in sorted(calls, key=lambda one: (one.started_at, one.ended_at)):
        if call.span_id in seen:
            continue
        seen.add(call.span_id)
        # Longer ones are cut anyway, and comparing every turn with every other would be slow.
        cut = max(0, len(call.input) - limits.MESSAGES)
        known = _known(turns[-limits.MESSAGES :], call.input[cut:])
        asked = call.input[cut + known if known else 0 :]
        messages.extend(_asked(asked, call.started_at))
        messages.extend(_answer(call))
        turns += (*asked, *call.output)


def _asked(turns: Sequence[SpanTurn], asked_at: int) -> Iterator[Message]:
    """Write new turns; the time of the call applies only to turns after the last answer."""
    answered = max((at for at, turn in enumerate(turns) if turn.role == "assistant"), default=-1)
    for at, turn in enumerate(turns):
        time = clock.to_datetime(asked_at) if at > answered else None
        yield Message(role=turn.role, content=turn.text, timestamp=time)


def _known(turns: Sequence[SpanTurn], history: Sequence[SpanTurn]) -> int:
    """Return how many turns at the beginning of a call's history are known from earlier calls."""
    if not turns:
        return 0
    # The history continues after the last known turn, wherever it begins: it may be cut at either end.
    for at in range(len(history), 0, -1):
        overlap = min(at, len(turns))
        if list(history[at - overlap : at]) == list(turns[-overlap:]):
            return at
    for at in range(len(history), 0, -1):
        if history[at - 1] == turns[-1] and turns[-1].role == "assistant":
            return at
    # None of it is recognized: turns after the last answer are new in any case.
    answers = [at for at, turn in enumerate(history, start=1) if turn.role == "assistant"]
    return answers[-1] if answers else 0


def _answer(call: ModelCall) -> Iterator[Message]:
    for number, turn in enumerate(call.output):
        # An answer's tokens are counted once, however many messages it becomes.
        counted = {"inputTokens": call.input_tokens, "spanId": call.span_id} if number == 0 else {}
        yield Message(
            role=turn.role,
            content=turn.text,
            timestamp=clock.to_datetime(call.ended_at),
            model=call.model or None,
            tokens=call.output_tokens if number == 0 else None,
            **counted,
        )


def write_content(messages: Sequence[Message], metadata: Mapping[str, object]) -> str:
    """Write structured content within the limits of the API.

    Long messages are cut. When there are too many, the oldest after the first are left out, and ``metadata.messagesCut``
    says how many.
    """
    kept = [
        {**message.model_dump(mode="json", exclude_none=True), "content": _shortened(message.content)}
        for message in messages
    ]
    sizes = [len(orjson.dumps(message)) + 1 for message in kept]
    room = limits.CONTENT_BYTES - _SPARE_BYTES - len(orjson.dumps(metadata)) - sizes[0]
    start = len(kept)
    while start > 1 and len(kept) - start + 2 <= limits.MESSAGES and sizes[start - 1] <= room:
        start -= 1
        room -= sizes[start]
    cut = start - 1
    document = {
        "messages": [kept[0], *kept[start:]],
        "metadata": {**metadata, "messagesCut": cut} if cut else metadata,
    }
    return orjson.dumps(document).decode()


def _shortened(text: str) -> str:
    raw = text.encode()
    if len(raw) <= limits.MESSAGE_BYTES:
        return text
    return raw[: limits.MESSAGE_BYTES - len(_CUT.encode())].decode(errors="ignore") + _CUT
