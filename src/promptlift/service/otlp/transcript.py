"""Put the calls of one conversation together as a transcript.

Most applications send the whole history with every call, some only what is new, some the end of the history. The calls
are taken in the order in which they began, and each adds what the ones before it did not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.schema import limits
from promptlift.schema.spans.messages import SpanTurn
from promptlift.schema.transcript import Message
from promptlift.service import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from promptlift.schema.spans.model_call import ModelCall


_CUT: Final = "\n[… cut here: the message was too long]"
# JSON around the texts of messages, and metadata.
_SPARE_BYTES: Final = 4 * limits.KB


def extend(messages: list[Message], calls: Iterable[ModelCall]) -> None:
    """Add calls to the messages of a conversation, those that are there already excepted."""
    seen = {(message.model_extra or {}).get("spanId") for message in messages}
    turns = [SpanTurn(message.role, message.content) for message in messages]
    for call in sorted(calls, key=lambda one: (one.started_at, one.ended_at)):
        if call.span_id in seen:
            continue
        seen.add(call.span_id)
        # What is longer is cut in any case, and every turn would be compared with every other.
        cut = max(0, len(call.input) - limits.MESSAGES)
        known = _known(turns[-limits.MESSAGES :], call.input[cut:])
        asked = call.input[cut + known if known else 0 :]
        messages.extend(_asked(asked, call.started_at))
        messages.extend(_answer(call))
        turns += (*asked, *call.output)


def _asked(turns: Sequence[SpanTurn], asked_at: int) -> Iterator[Message]:
    """Write new turns; the time of the call is that of what came after the last answer, and of nothing before it."""
    answered = max((at for at, turn in enumerate(turns) if turn.role == "assistant"), default=-1)
    for at, turn in enumerate(turns):
        time = clock.to_datetime(asked_at) if at > answered else None
        yield Message(role=turn.role, content=turn.text, timestamp=time)


def _known(turns: Sequence[SpanTurn], history: Sequence[SpanTurn]) -> int:
    """Return how many turns at the beginning of a call's history are known from the calls before it."""
    if not turns:
        return 0
    # The history goes on after the last turn that is known, wherever it begins: it may be cut at either end.
    for at in range(len(history), 0, -1):
        overlap = min(at, len(turns))
        if list(history[at - overlap : at]) == list(turns[-overlap:]):
            return at
    for at in range(len(history), 0, -1):
        if history[at - 1] == turns[-1] and turns[-1].role == "assistant":
            return at
    # Nothing of it is recognised: what comes after the last answer is new in any case.
    answers = [at for at, turn in enumerate(history, start=1) if turn.role == "assistant"]
    return answers[-1] if answers else 0


def _answer(call: ModelCall) -> Iterator[Message]:
    for number, turn in enumerate(call.output):
        # One answer has one count, however many messages it becomes.
        counted = {"inputTokens": call.input_tokens, "spanId": call.span_id} if number == 0 else {}
        yield Message(
            role=turn.role,
            content=turn.text,
            timestamp=clock.to_datetime(call.ended_at),
            model=call.model or None,
            tokens=call.output_tokens if number == 0 else None,
            **counted,
        )


def write_content(messages: Sequence[Message], metadata: Mapping[str, Any]) -> str:
    """Write structured content that keeps within the limits of the API.

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
