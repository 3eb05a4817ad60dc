"""Conversations put together from the model calls of a tracing tool.

The calls of a file are in no order. The calls of one session with one prompt are one conversation. Mostly every call
repeats the whole history: the conversation is the longest history and the answer to it. Where each trace holds one question
and its answer and no history, the traces of a session follow each other in the order of time. A call's end time, model and
token count belong to its answer, wherever that stands in the history.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import fold, kind_in
from promptlift.transcripts.collector import Collector, ParsedConversation, is_something, scalar_text
from promptlift.transcripts.sessions import Call, Sessions, count_system_messages, said_in
from promptlift.transcripts.usage import count_tool_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptlift.transcripts.sessions import Session, Step
    from promptlift.transcripts.sources import Record

__all__ = ["add_sessions", "read_traces"]

_NO_LAST_USER_MESSAGE: Final = "Traces do not contain what the user said after the last model call, so these conversations end with the last answer."
_OTHER_ANSWERS: Final = "answers that are not in the longest history of their session, such as retries"
# A trace's name tells prompts apart when it names what runs. With fewer conversations a name it is a title.
_FEW_NAMES: Final = 5
_CONVERSATIONS_A_NAME: Final = 3


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
        Reads one record; returns ``None`` for one that is neither a model call nor a step of a run.
    """
    sessions = Sessions()
    for line, value in collector.objects(records, "record"):
        with collector.boundary(line):
            sessions.take(call_of(value, collector), line)
        sessions.check()
    add_sessions(sessions, collector)


def add_sessions(sessions: Sessions, collector: Collector) -> None:
    """Add one conversation for each session and prompt."""
    parsed = []
    for name, session in sessions.finish():
        with collector.boundary(session.line):
            parsed.append(_conversation(name, session, collector))
            collector.count_model_calls(session.calls)
    titles = Counter(one.title for one in parsed if one.prompt_name is None and is_something(one.title))
    named = len(titles) <= _FEW_NAMES or titles.total() >= _CONVERSATIONS_A_NAME * len(titles)
    for conversation in parsed:
        if conversation.prompt_name is None and named:
            conversation.prompt_name = conversation.title
        collector.add(conversation)
    if parsed:
        collector.note(_NO_LAST_USER_MESSAGE)


def _conversation(name: str, session: Session, collector: Collector) -> ParsedConversation:
    messages, system = _messages(session)
    details = _details_of(messages, session, collector)
    start = len(system)
    models = Counter(detail["model"] for detail in details.values() if detail["model"])
    errors = count_tool_errors(messages)
    if errors:
        session.usage.tool_errors = max(errors, session.usage.tool_errors or 0)
    root, longest = session.root or Call(None, [], []), session.longest
    metadata = {
        **root.of_trace,
        **root.metadata,
        **session.metadata,
        **longest.of_trace,
        **longest.metadata,
    }
    if len(session.trace_ids) > 1 or name not in session.trace_ids:
        metadata["traceIds"] = [trace for trace in session.trace_ids if not trace.startswith("record ")]
    for index, detail in details.items():
        messages[index] = {**messages[index], **detail}
    return ParsedConversation(
        fold(messages[start:], collector, path="history[]"),
        session.line,
        source_id=name,
        llm_model=models.most_common(1)[0][0] if models else None,
        metadata={key: value for key, value in metadata.items() if is_something(value)},
        system_prompt=next((text for _, text in said_in(system)), None),
        prompt_name=next(
            (one.prompt_name for one in (session.longest, root) if is_something(one.prompt_name)), None
        ),
        prompt_version=session.longest.prompt_version or root.prompt_version,
        title=scalar_text(longest.title) or scalar_text(root.title),
        span_ids=list(session.span_ids),
        usage=session.usage,
    )


def _messages(session: Session) -> tuple[list[Any], list[Any]]:
    """Return the messages of a session, and those of the system at their beginning."""
    messages: list[Any] = []
    system: list[Any] = []
    for call in _turns(session) or [session.longest]:
        start = count_system_messages([*call.history, *call.answer])
        if not messages:
            system = call.history[:start]
            messages += system
        messages += [*call.history[start:], *call.answer]
    return messages, system


def _turns(session: Session) -> list[Call]:
    """Return the calls of traces that follow each other, each one question with its answer; none where they do not."""
    turns = [call for call in (session.traces or {}).values() if call.answer]
    begun = [call.started or call.ended for call in turns]
    if len(turns) < 2 or None in begun:
        return []
    turns = [turn for _, turn in sorted(zip(begun, turns, strict=True), key=lambda pair: pair[0])]  # type: ignore[arg-type, return-value]
    asked = [said_in([message for message in turn.history if kind_in(message) == "user"]) for turn in turns]
    # The same question again is a retry, another agent's, or the next step of an answer.
    return [] if any(one == following for one, following in pairwise(asked)) else turns


def _details_of(messages: list[Any], session: Session, collector: Collector) -> dict[int, dict[str, Any]]:
    """Find every answer in the history: where it belongs, else wherever the same was said."""
    texts = [said_in([message]) for message in messages]
    places: defaultdict[tuple[tuple[str, str], ...], deque[int]] = defaultdict(deque)
    for place, text in enumerate(texts):
        places[tuple(text)].append(place)
    details: dict[int, dict[str, Any]] = {}
    for index, answer, detail in session.answers:
        said = said_in(answer[:1])
        if index < len(texts) and texts[index] == said:
            details[index] = detail
            continue
        alike = places[tuple(said)]
        while alike and alike[0] in details:
            alike.popleft()
        if alike:
            details[alike.popleft()] = detail
        else:
            collector.drop(_OTHER_ANSWERS)
    return details
