"""Conversations put together from the model calls of a tracing tool.

The calls of a file are in no order. The calls of one session with one prompt are one conversation. Mostly every call
repeats the whole history: the conversation is the longest history and the answer to it. Where each trace holds one question
and its answer and no history, the traces of a session follow each other in the order of time. A call's end time, model and
token count belong to its answer, wherever that stands in the history.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import MessageDetails, fold, kind_of
from promptlift.transcripts.collector import Collector, ParsedConversation, is_something
from promptlift.transcripts.reading import Unreadable
from promptlift.transcripts.usage import UsageSums, count_tool_errors, milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from promptlift.transcripts.sources import Record

__all__ = ["Call", "Step", "read_calls", "read_traces"]

_NO_LAST_USER_MESSAGE: Final = "Traces do not hold what the user said after the last model call; these conversations end with the last answer."
_SYSTEM_PROMPT: Final = "The system prompt of the model calls is not a message; conversations without it: {}."
_OTHER_ANSWERS: Final = (
    "Answers that are not in the longest history of their session (retries, other agents, a history that was cut) "
    "and are not imported: {}."
)
# A trace's name tells prompts apart when it names what runs. With fewer conversations a name it is a title.
_FEW_NAMES: Final = 5
_CONVERSATIONS_A_NAME: Final = 3
_USUAL_KINDS: Final = {"human": "user", "ai": "assistant"}


@dataclass(slots=True)
class Call:
    """One model call: what it was asked, what it answered, and what is known about it.

    Attributes
    ----------
    session, trace, span
        Ids of the conversation, of the run that it is part of, and of the call itself.
    whole
        Whether this is no call of a model but the run around it, which stands in where the run has no call.
    tokens
        Tokens of the answer.
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
    """A step of a run that is no call of a model, such as the use of a tool."""

    trace: Any
    session: Any = None
    failed: bool = False


@dataclass(slots=True)
class _Session:
    """The longest call of a session so far, the answers of all its calls, and their sums."""

    longest: Call
    line: int
    answers: list[tuple[int, list[Any], MessageDetails]] = field(default_factory=list)
    usage: UsageSums = field(default_factory=UsageSums)
    metadata: dict[str, Any] = field(default_factory=dict)
    calls: int = 0
    # The longest call of each trace, as long as none has a history of several turns.
    traces: dict[str, Call] | None = field(default_factory=dict)
    trace_ids: dict[str, None] = field(default_factory=dict)
    span_ids: dict[str, None] = field(default_factory=dict)
    # The run around the first of the calls that has one.
    root: Call | None = None

    def add(self, call: Call, line: int) -> None:
        """Add a call."""
        self.calls += not call.whole
        trace = _name(call.trace, line)
        self.trace_ids.setdefault(trace)
        if is_something(call.span):
            self.span_ids.setdefault(str(call.span))
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
        for name, value in call.metadata.items():
            self.metadata.setdefault(name, value)
        if call.answer:
            model = call.model if isinstance(call.model, str) else None
            self.answers.append(
                (len(call.history), call.answer, MessageDetails(call.ended, model, call.tokens))
            )

    def merge(self, other: _Session) -> None:
        """Add the calls of another one."""
        if _length(other.longest) > _length(self.longest):
            self.longest, self.line = other.longest, other.line
        self.answers += other.answers
        self.usage.add(other.usage)
        self.metadata = {**other.metadata, **self.metadata}
        self.calls += other.calls
        self.traces = None if self.traces is None or other.traces is None else {**self.traces, **other.traces}
        self.trace_ids.update(other.trace_ids)
        self.span_ids.update(other.span_ids)

    def add_root(self, root: Call) -> None:
        """Add what the run around a call says."""
        self.root = self.root or root
        if is_something(root.span):
            self.span_ids.setdefault(str(root.span))


class _Sessions:
    """The sessions of a file, each with one part for every prompt that it names."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str | None, _Session]] = {}
        # Runs around calls, by trace, until it is known whether they have calls.
        self._whole: dict[str, tuple[Call, int]] = {}
        self._called: set[str] = set()
        self._steps: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])

    def add(self, call: Call, line: int) -> None:
        """Add a call."""
        trace = _name(call.trace, line)
        if call.whole:
            known = self._whole.get(trace)
            if known is None or _length(call) > _length(known[0]):
                self._whole[trace] = call, line
            return
        self._called.add(trace)
        self._add(call, line)

    def add_step(self, step: Step) -> None:
        """Count a step of a run."""
        count = self._steps[str(step.trace)]
        count[0] += 1
        count[1] += step.failed

    def finish(self) -> Iterator[tuple[str, _Session]]:
        """Yield the parts with their names, in the order in which the sessions began in the file."""
        called = set(self._parts)
        for trace, (call, line) in self._whole.items():
            if trace not in self._called and _name(call.session, line) not in called:
                self._add(call, line)
        for name, parts in self._by_session().items():
            for part in _joined(parts):
                for trace in part.trace_ids:
                    if trace in self._whole:
                        part.add_root(self._whole[trace][0])
                steps = [self._steps[trace] for trace in part.trace_ids if trace in self._steps]
                if steps:
                    part.usage.tool_errors = (part.usage.tool_errors or 0) + sum(
                        failed for _, failed in steps
                    )
                yield name, part

    def _by_session(self) -> dict[str, dict[str | None, _Session]]:
        """Return the parts by session; some tools name the session only on the run around the calls."""
        found: dict[str, dict[str | None, _Session]] = {}
        for name, parts in self._parts.items():
            root = self._whole.get(name)
            known = found.setdefault(name if root is None else _name(root[0].session, root[1]), {})
            for prompt, part in parts.items():
                if prompt in known:
                    known[prompt].merge(part)
                else:
                    known[prompt] = part
        return found

    def _add(self, call: Call, line: int) -> None:
        parts = self._parts.setdefault(_name(call.session, line), {})
        prompt = str(call.prompt_name) if is_something(call.prompt_name) else None
        part = parts.get(prompt)
        if part is None:
            part = parts[prompt] = _Session(call, line)
        part.add(call, line)


def _joined(parts: dict[str | None, _Session]) -> list[_Session]:
    """Return the parts of a session; calls that name no prompt belong to the only one that is named."""
    unnamed = parts.get(None)
    if unnamed is None or len(parts) != 2:
        return list(parts.values())
    (named,) = (part for name, part in parts.items() if name is not None)
    prompt = named.longest.prompt_name, named.longest.prompt_version
    named.merge(unnamed)
    named.longest.prompt_name, named.longest.prompt_version = prompt
    return [named]


def read_traces(
    records: Iterable[Record],
    collector: Collector,
    call_of: Callable[[dict[str, Any], Collector], Call | Step | None],
) -> None:
    """Read model calls and add one conversation for each session and prompt.

    Parameters
    ----------
    records
        Records of the file, in any order.
    collector
        Collects the conversations.
    call_of
        Reads one record; returns ``None`` for one that is neither a model call nor a step of a run, and raises
        `Unreadable`.
    """
    sessions = _Sessions()
    for line, value in collector.objects(records, "record"):
        try:
            found = call_of(value, collector)
            if isinstance(found, Call):
                sessions.add(found, line)
            elif found is not None:
                sessions.add_step(found)
        except (Unreadable, RecursionError) as error:
            collector.problem(line, str(error))
    _add_conversations(sessions, collector)


def read_calls(calls: Iterable[tuple[int, Call | Step]], collector: Collector) -> None:
    """Add one conversation for each session and prompt of calls that are read already, each with its line."""
    sessions = _Sessions()
    for line, found in calls:
        if isinstance(found, Call):
            sessions.add(found, line)
        else:
            sessions.add_step(found)
    _add_conversations(sessions, collector)


def _add_conversations(sessions: _Sessions, collector: Collector) -> None:
    parsed = []
    for name, session in sessions.finish():
        try:
            parsed.append(_conversation(name, session, collector))
            collector.count_model_calls(session.calls)
        except (Unreadable, RecursionError) as error:
            collector.problem(session.line, str(error))
    titles = Counter(one.title for one in parsed if one.prompt_name is None and is_something(one.title))
    named = len(titles) <= _FEW_NAMES or titles.total() >= _CONVERSATIONS_A_NAME * len(titles)
    for conversation in parsed:
        if conversation.prompt_name is None and named:
            conversation.prompt_name = conversation.title
        collector.add(conversation)
    if parsed:
        collector.note(_NO_LAST_USER_MESSAGE)


def _name(value: Any, line: int) -> str:
    return str(value) if is_something(value) else f"record {line}"


def _length(call: Call) -> tuple[int, bool]:
    """Order calls by history; of two equal ones the answered one is longer."""
    return len(call.history), bool(call.answer)


def _role(message: Any) -> Any:
    role = message.get("role") if isinstance(message, dict) else None
    return _USUAL_KINDS.get(role, role) if isinstance(role, str) else None


def _several_turns(history: list[Any]) -> bool:
    """Whether a user spoke again after an answer."""
    roles = [_role(message) for message in history]
    return "assistant" in roles and "user" in roles[roles.index("assistant") :]


def _conversation(name: str, session: _Session, collector: Collector) -> ParsedConversation:
    messages, system = _messages(session)
    details = _details_of(messages, session, collector)
    start = len(system)
    if start:
        collector.drop("the system prompt (first message)")
        collector.tally(_SYSTEM_PROMPT)
    models = Counter(detail.model for detail in details.values() if detail.model)
    errors = count_tool_errors(messages)
    if errors:
        session.usage.tool_errors = max(errors, session.usage.tool_errors or 0)
    root = session.root or Call(None, [], [])
    metadata = {**root.metadata, **session.metadata, **session.longest.metadata}
    if len(session.trace_ids) > 1 or name not in session.trace_ids:
        metadata["traceIds"] = [trace for trace in session.trace_ids if not trace.startswith("record ")]
    return ParsedConversation(
        fold(
            messages[start:],
            collector,
            path="history[]",
            details={index - start: detail for index, detail in details.items()},
        ),
        session.line,
        source_id=name,
        llm_model=models.most_common(1)[0][0] if models else None,
        metadata={key: value for key, value in metadata.items() if is_something(value)},
        system_prompt=next((text for _, text in _said(system)), None),
        prompt_name=next(
            (one.prompt_name for one in (session.longest, root) if is_something(one.prompt_name)), None
        ),
        prompt_version=session.longest.prompt_version or root.prompt_version,
        title=session.longest.title or root.title,
        span_ids=list(session.span_ids),
        usage=session.usage,
    )


def _messages(session: _Session) -> tuple[list[Any], list[Any]]:
    """Return the messages of a session, and those of the system at their beginning."""
    messages: list[Any] = []
    system: list[Any] = []
    for call in _turns(session) or [session.longest]:
        start = _system_prompt([*call.history, *call.answer])
        if not messages:
            system = call.history[:start]
            messages += system
        messages += [*call.history[start:], *call.answer]
    return messages, system


def _turns(session: _Session) -> list[Call]:
    """Return the calls of traces that follow each other, each one question with its answer; none where they do not."""
    turns = [call for call in (session.traces or {}).values() if call.answer]
    begun = [call.started or call.ended for call in turns]
    if len(turns) < 2 or None in begun:
        return []
    turns = [turn for _, turn in sorted(zip(begun, turns, strict=True), key=lambda pair: pair[0])]  # type: ignore[arg-type, return-value]
    asked = [_said([message for message in turn.history if _role(message) == "user"]) for turn in turns]
    # The same question again is a retry, another agent's, or the next step of an answer.
    return [] if any(one == following for one, following in pairwise(asked)) else turns


def _system_prompt(messages: list[Any]) -> int:
    """Count the system messages at the beginning."""
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or kind_of(message.get("role"), f"message {index + 1}") != "system":
            return index
    return 0


def _details_of(messages: list[Any], session: _Session, collector: Collector) -> dict[int, MessageDetails]:
    """Find every answer in the history: where it belongs, else wherever the same was said."""
    texts = [_said([message]) for message in messages]
    details: dict[int, MessageDetails] = {}
    for index, answer, detail in session.answers:
        said = _said(answer[:1])
        if index < len(texts) and texts[index] == said:
            details[index] = detail
            continue
        found = next((i for i, text in enumerate(texts) if text == said and i not in details), None)
        if found is not None:
            details[found] = detail
        else:
            collector.drop("an answer that is not in the history")
            collector.tally(_OTHER_ANSWERS)
    return details


def _said(messages: list[Any]) -> list[tuple[str, str]]:
    """Return role and text of messages, without what tools write differently in input and output."""
    try:
        return [(turn.role, turn.content) for turn in fold(messages, Collector(""))]
    except Unreadable:
        return []
