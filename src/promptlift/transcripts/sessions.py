"""The sessions of a file of traces: which model calls are one conversation.

The calls of a file are unordered. The calls of one session with one prompt are one conversation. Without a
session, the calls of one trace are, and a call that repeats the messages of another trace continues it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Boundary
from promptlift.schema.limits import MESSAGES
from promptlift.transcripts.chat import folded, kind_in
from promptlift.transcripts.collector import Collector, is_something
from promptlift.transcripts.reading import ONE_CONVERSATION, TooMuchError
from promptlift.transcripts.usage import UsageSums, milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

__all__ = ["Call", "Session", "Sessions", "Step", "count_system_messages", "said_in"]

# Of traces with the same text, only this many of the latest are examined: there may be thousands of "Hi" and
# "Hello".
_COMPARED: Final = 20
_ONE_SESSION: Final = (
    f"the first {{:,}} calls of a model are all of the session {{!r:.100}}, and a conversation may have {MESSAGES} messages; the "
    "rest is not read. Export one session for each conversation, or leave this one out"
)


@dataclass(slots=True)
class Call:
    """One model call: its input, its answer, and its metadata.

    Attributes
    ----------
    session, trace, span
        Ids of the conversation, of its run, and of the call itself.
    whole
        Whether this is not a model call but the run around it, which is used if the run has no call.
    tokens
        Tokens of the answer.
    of_trace
        Other data of its trace; one shared object for all calls of the trace, examined once.
    title
        Name of the trace.
    """

    session: Any
    history: list[Any]
    answer: list[Any]
    ended: datetime | None = None
    model: Any = None
    tokens: int | float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    of_trace: dict[str, Any] = field(default_factory=dict)
    started: datetime | None = None
    trace: Any = None
    span: Any = None
    input_tokens: int | float | None = None
    cost: float | None = None
    latency_ms: float | None = None
    prompt_name: Any = None
    prompt_version: Any = None
    title: Any = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run that is not a model call, such as the use of a tool."""

    trace: Any
    failed: bool = False


@dataclass(slots=True)
class Session:
    """The longest call of a session so far, the answers of all its calls, and their sums."""

    longest: Call
    line: int
    answers: list[tuple[int, list[Any], dict[str, Any]]] = field(default_factory=list)
    usage: UsageSums = field(default_factory=UsageSums)
    metadata: dict[str, Any] = field(default_factory=dict)
    calls: int = 0
    # The longest call of each trace, as long as none has a history of several turns.
    traces: dict[str, Call] | None = field(default_factory=dict)
    trace_ids: dict[str, None] = field(default_factory=dict)
    span_ids: dict[str, None] = field(default_factory=dict)
    # The run around the first of the calls that has one.
    root: Call | None = None
    # The data of the last call's trace.
    of_trace: dict[str, Any] | None = None

    def add(self, call: Call, line: int, trace: str) -> None:
        """Add a call."""
        self.calls += not call.whole
        self.trace_ids.setdefault(trace)
        if call.span is not None:
            self.span_ids.setdefault(call.span)
        if _length(call) > _length(self.longest):
            self.longest, self.line = call, line
        if self.traces is not None:
            known = self.traces.get(trace)
            if _several_turns(call.history):
                self.traces = None
            elif known is None or _length(call) > _length(known):
                self.traces[trace] = call
        latency = call.latency_ms if call.latency_ms is not None else milliseconds(call.started, call.ended)
        self.usage.add_call(
            input_tokens=call.input_tokens, output_tokens=call.tokens, cost=call.cost, latency_ms=latency
        )
        _set_defaults(self.metadata, call.metadata)
        if call.of_trace is not self.of_trace:
            _set_defaults(self.metadata, call.of_trace)
            self.of_trace = call.of_trace
        if call.answer:
            model = call.model if isinstance(call.model, str) else None
            details = {"timestamp": call.ended, "model": model, "tokens": call.tokens}
            self.answers.append((len(call.history), call.answer, details))

    def merge(self, other: Session) -> None:
        """Add the calls of another session."""
        if _length(other.longest) > _length(self.longest):
            self.longest, self.line = other.longest, other.line
        self.answers += other.answers
        self.usage.add(other.usage)
        _set_defaults(self.metadata, other.metadata)
        self.calls += other.calls
        if self.traces is None or other.traces is None:
            self.traces = None
        else:
            self.traces.update(other.traces)
        self.trace_ids.update(other.trace_ids)
        self.span_ids.update(other.span_ids)

    def add_root(self, root: Call) -> None:
        """Add the data of the run around a call."""
        self.root = self.root or root
        if root.span is not None:
            self.span_ids.setdefault(root.span)


class Sessions:
    """The sessions of a file, each with one part per prompt."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str | None, Session]] = {}
        # Runs around calls, by trace, until it is known whether they have calls.
        self._whole: dict[str, tuple[Call, int]] = {}
        self._called: set[str] = set()
        self._calls = 0
        self._steps: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])

    def take(self, found: Call | Step | None, line: int) -> None:
        """Add a call, or count a step of a run."""
        if isinstance(found, Call):
            self._take(found, line)
        elif found is not None:
            count = self._steps[str(found.trace)]
            count[0] += 1
            count[1] += found.failed

    def check(self) -> None:
        """Stop reading if all calls so far belong to one session, far exceeding the limit of a conversation.

        Raises
        ------
        TooMuchError
            Says what to do.
        """
        if len(self._parts) == 1 and self._calls > ONE_CONVERSATION:
            name = next(iter(self._parts))
            raise TooMuchError(_ONE_SESSION.format(self._calls, name))

    def _take(self, call: Call, line: int) -> None:
        trace, session = _name(call.trace, line), _name(call.session, line)
        call.session, call.span = session, str(call.span) if is_something(call.span) else None
        if call.whole:
            known = self._whole.get(trace)
            if known is None or _length(call) > _length(known[0]):
                self._whole[trace] = call, line
            return
        self._called.add(trace)
        self._calls += 1
        self._add(call, line, trace, session)

    def finish(self) -> Iterator[tuple[str, Session]]:
        """Yield the parts with their names, in the order in which the sessions began in the file."""
        called = set(self._parts)
        for trace, (call, line) in self._whole.items():
            session = _name(call.session, line)
            if trace not in self._called and session not in called:
                self._add(call, line, trace, session)
        for name, parts in _continued(self._by_session()).items():
            for part in _joined(parts):
                for trace in part.trace_ids:
                    if trace in self._whole:
                        part.add_root(self._whole[trace][0])
                steps = [self._steps[trace] for trace in part.trace_ids if trace in self._steps]
                if steps:
                    part.usage.tool_calls = sum(count for count, _ in steps)
                    part.usage.tool_errors = (part.usage.tool_errors or 0) + sum(
                        failed for _, failed in steps
                    )
                yield name, part

    def _by_session(self) -> dict[str, dict[str | None, Session]]:
        """Return the parts by session; some tools give the session only on the run around the calls."""
        found: dict[str, dict[str | None, Session]] = {}
        for name, parts in self._parts.items():
            root = self._whole.get(name)
            known = found.setdefault(name if root is None else _name(root[0].session, root[1]), {})
            for prompt, part in parts.items():
                if prompt in known:
                    known[prompt].merge(part)
                else:
                    known[prompt] = part
        return found

    def _add(self, call: Call, line: int, trace: str, session: str) -> None:
        prompt = str(call.prompt_name) if is_something(call.prompt_name) else None
        parts = self._parts.setdefault(session, {})
        part = parts.get(prompt)
        if part is None:
            part = parts[prompt] = Session(call, line)
        part.add(call, line, trace)


def _set_defaults(known: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        known.setdefault(name, value)


def _continued(sessions: dict[str, dict[str | None, Session]]) -> dict[str, dict[str | None, Session]]:
    """Join traces without a session if one repeats the messages of another and continues it."""
    alone = [
        (name, *next(iter(parts.items())))
        for name, parts in sessions.items()
        if len(parts) == 1 and all(name in part.trace_ids and part.calls for part in parts.values())
    ]
    if len(alone) < 2:
        return sessions
    digests = {name: _digests(part) for name, _, part in alone}
    # The full text, by user and prompt; the shortest first, so that each finds its immediate predecessor.
    ended: defaultdict[tuple[Any, ...], dict[str, None]] = defaultdict(dict)
    end_of: dict[str, tuple[Any, ...]] = {}
    for name, prompt, part in sorted(alone, key=lambda one: len(digests[one[0]][0])):
        asked, whole = digests[name]
        alike = (ended.get((prompt, digest), {}) for digest in reversed(asked))
        latest = (one for known in alike for one in itertools.islice(reversed(known), _COMPARED))
        before = next((one for one in latest if _follows(part, sessions[one][prompt])), None)
        if before is not None:
            del ended[end_of.pop(before)][before]
            sessions[before][prompt].merge(part)
            del sessions[name]
        if whole is not None:
            end_of[before or name] = prompt, whole
            ended[prompt, whole][before or name] = None
    return sessions


def _digests(part: Session) -> tuple[list[bytes], bytes | None]:
    """Return a digest of each prefix of the history that ends with a user's turn, and of all with the answer, if any."""
    call = part.longest
    with Boundary(_reported_later):
        start = count_system_messages(call.history)
        asked, answered = said_in(call.history[start:]), said_in(call.answer)
        digests: list[bytes] = []
        digest = str(part.metadata.get("userId")).encode(errors="surrogatepass")
        for role, text in [*asked, *answered]:
            digest = hashlib.sha256(digest + f"{role}\0{text}".encode(errors="surrogatepass")).digest()
            digests.append(digest)
        return digests[: len(asked)], digest if asked and answered else None
    return [], None


def _reported_later(reason: str) -> None:
    """Ignore a problem, which is reported when the conversation is built."""


def _follows(after: Session, before: Session) -> bool:
    """Return whether one began after the other had ended, as far as the times are known."""
    ended, begun = before.longest.ended, after.longest.started
    return ended is None or begun is None or ended <= begun


def _joined(parts: dict[str | None, Session]) -> list[Session]:
    """Return the parts of a session; calls without a prompt belong to the only named one."""
    unnamed = parts.get(None)
    if unnamed is None or len(parts) != 2:
        return list(parts.values())
    (named,) = (part for name, part in parts.items() if name is not None)
    prompt = named.longest.prompt_name, named.longest.prompt_version
    named.merge(unnamed)
    named.longest.prompt_name, named.longest.prompt_version = prompt
    return [named]


def _name(value: Any, line: int) -> str:
    return str(value) if is_something(value) else f"record {line}"


def _length(call: Call) -> tuple[int, bool]:
    """Return the length of a call's history; on a tie an answered call is longer."""
    return len(call.history), bool(call.answer)


def _several_turns(history: list[Any]) -> bool:
    """Return whether a user spoke again after an answer."""
    kinds = list(map(kind_in, history))
    return "assistant" in kinds and "user" in kinds[kinds.index("assistant") :]


def count_system_messages(messages: list[Any]) -> int:
    """Count the system messages at the beginning."""
    return next((index for index, message in enumerate(messages) if kind_in(message) != "system"), 0)


def said_in(messages: list[Any]) -> list[tuple[str, str]]:
    """Return the relevant part of role and text of messages, without differences between input and output."""
    with Boundary(_reported_later):
        turns = itertools.islice(folded(messages, Collector("")), MESSAGES + 1)
        return [(turn.role, turn.content) for turn in turns]
    return []
