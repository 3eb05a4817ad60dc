"""Collect the conversations of a file: each is checked against the limits and encoded as content, or becomes a problem."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from promptlift.schema.boundary import Boundary, Unreadable
from promptlift.schema.limits import CONTENT_BYTES, JSON_DEPTH, KB, MESSAGE_BYTES, MESSAGES
from promptlift.schema.model import not_blank
from promptlift.schema.transcript import CALL, RESULT, Role, Transcript, dump_content, json_depth
from promptlift.transcripts.reading import ImportedConversation, Problem, Reading, TooMuchError
from promptlift.transcripts.system_prompts import SystemPrompts
from promptlift.transcripts.times import time_and_zone
from promptlift.transcripts.usage import UsageSums, amount, count_tool_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from promptlift.transcripts.beside import OtherFiles
    from promptlift.transcripts.sources import Record

__all__ = [
    "CALL",
    "METADATA",
    "RESULT",
    "TOO_LONG",
    "TOO_MANY",
    "Collector",
    "ParsedConversation",
    "ParsedMessage",
    "is_something",
    "limited",
    "scalar_text",
]


_SEVERAL: Final = (
    "Conversations that begin with several system messages, of which the first is taken as the prompt: {}."
)
TOO_MANY: Final = f"the conversation has more than {MESSAGES} messages, which is the limit"
TOO_LONG: Final = f"the conversation has more than {CONTENT_BYTES} bytes of content, which is the limit"
# A hostile file must not fill the memory with its problems.
_PROBLEMS: Final = 10_000
# A part of a file has about this many conversations, and no more characters than this.
PART: Final = 1_000
_PART_CHARS: Final = 16 * 1024 * KB
# Bytes of a digest, enough to distinguish the conversations of one file: it may have millions.
_SEEN_BYTES: Final = 8
STATUSES: Final = ("completed", "abandoned", "in_progress")
_SPANS: Final = 1_000
_TITLE_CHARS: Final = 200
METADATA: Final = frozenset({"userId", "sessionId", "channel", "language"})
"""Names of metadata in the content format, which are texts."""


class ParsedMessage(NamedTuple):
    """One message from the reader of a format."""

    role: Role
    content: str
    timestamp: datetime | None = None
    model: str | None = None
    tokens: int | float | None = None


@dataclass(slots=True)
class ParsedConversation:
    """One conversation from the reader of a format, not yet checked.

    ``started_at`` is the time of the whole conversation; it is assigned to the first message if no message
    has one. ``system_prompt`` is that of the model calls if it is not a message of the conversation.
    ``prompt_name`` and ``prompt_version`` are the source's own. ``span_ids`` are the ids that other tools
    rate; they are stored in the content, not in a column.
    """

    messages: list[ParsedMessage]
    line: int | None
    source_id: Any = None
    status: Any = None
    llm_model: Any = None
    company_name: Any = None
    key: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    started_at: datetime | None = None
    system_prompt: str | None = None
    prompt_name: Any = None
    prompt_version: Any = None
    title: Any = None
    span_ids: Sequence[str] = ()
    usage: UsageSums = field(default_factory=UsageSums)


class Collector:
    """Collects conversations, problems, dropped fields and notes of one file into a reading.

    Parameters
    ----------
    file
        Name of the file.
    max_chars
        Maximum characters of content.
    columns, roles
        The user's meanings of unknown columns and roles.
    others
        The files that are imported together with this one.
    """

    def __init__(
        self,
        file: str,
        max_chars: float = math.inf,
        *,
        columns: Mapping[str, str] | None = None,
        roles: Mapping[str, str] | None = None,
        others: OtherFiles | None = None,
    ) -> None:
        self.file = file
        self.others = others
        # The files that are read together, each with the number of records before it.
        self._files: list[tuple[int, str]] = []
        self._records = 0
        self.columns = columns or {}
        self.roles = roles or {}
        self._chars_left = max_chars
        self._unlisted = 0
        self._reading = Reading()
        self._part_chars = 0
        # Fingerprints, and the counts of repeated ones.
        self._seen: set[int] = set()
        self._again: Counter[int] = Counter()
        self._tallies: Counter[str] = Counter()
        self._noted: set[str] = set()
        self._times_without_zone = False

    @property
    def is_full(self) -> bool:
        """Whether there is enough for a part of the reading."""
        return len(self._reading.conversations) >= PART or self._part_chars >= _PART_CHARS

    def part(self, format_name: str) -> Reading:
        """Return the conversations and system prompts so far, and keep the rest for the end."""
        whole = self._reading
        self._reading = replace(whole, conversations=[], system_prompts=SystemPrompts(), texts_of={})
        self._part_chars = 0
        return Reading(
            format_name,
            whole.conversations,
            system_prompts=whole.system_prompts,
            texts_of=whole.texts_of,
            prompts_of_file=whole.prompts_of_file,
        )

    def expect_prompts(self, names: Iterable[Any]) -> None:
        """Record the prompts named in the conversations of the whole file, before these are read."""
        self._reading.prompts_of_file = frozenset(map(scalar_text, names))

    def problem(self, line: int | None, message: str) -> None:
        """Record something that cannot be read."""
        if len(self._reading.problems) < _PROBLEMS:
            self._reading.problems.append(Problem(*self._place(line), message))
        else:
            self._unlisted += 1

    def drop(self, path: str, count: int = 1) -> None:
        """Count a field of the source that is not imported."""
        self._reading.dropped[path] = self._reading.dropped.get(path, 0) + count

    def drop_unknown(self, record: dict[str, Any], known: frozenset[str], *, prefix: str = "") -> None:
        """Count every non-empty field of a record that is not in ``known``."""
        for name, value in record.items():
            if name not in known and is_something(value) and value not in ("[]", "{}"):
                self.drop(f"{prefix}{name}")

    def boundary(self, line: int | None) -> Boundary:
        """Turn any error in reading a record into a problem of that record."""
        return Boundary(lambda reason: self.problem(line, reason))

    def add_each(
        self, records: Iterable[Record], parse: Callable[[Record, Collector], ParsedConversation]
    ) -> None:
        """Add one conversation per record; an unreadable record becomes a problem."""
        for record in self.sound(records):
            self.add_parsed(record.line, partial(parse, record, self))

    def add_parsed(self, line: int | None, parse: Callable[[], ParsedConversation | None]) -> None:
        """Add what is parsed, if anything; what cannot be read becomes a problem."""
        conversation = None
        with self.boundary(line):
            conversation = parse()
        if conversation is not None:
            self.add(conversation)

    def expanded(self, records: Iterable[Record], expand: Callable[[Any], Iterable[Any]]) -> Iterator[Record]:
        """Yield the items in records, such as the spans of a trace, one by one."""
        for record in self.sound(records):
            with self.boundary(record.line):
                for value in expand(record.value):
                    yield record._replace(value=value)

    def sound(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the readable records; the others become problems."""
        for record in records:
            if record.fault is None:
                yield record
            else:
                self.problem(record.line, record.fault)

    def objects(self, records: Iterable[Record], what: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield line and value of the records that are objects; the others become problems."""
        for record in self.sound(records):
            if isinstance(record.value, dict):
                yield record.line, record.value
            else:
                self.problem(record.line, f"the {what} is not an object")

    def note(self, text: str) -> None:
        """Record a note for the user, once."""
        if text not in self._noted:
            self._noted.add(text)
            self._reading.notes.append(text)

    def tally(self, sentence: str, count: int = 1) -> None:
        """Count something for a note; the count replaces ``{}`` in the sentence."""
        if count:
            self._tallies[sentence] += count

    def time(self, value: Any, path: str) -> datetime | None:
        """Read a time; a value that is not a time is counted as dropped."""
        if not is_something(value):
            return None
        time, zoned = time_and_zone(value)
        if time is None:
            self.drop(f"{path} (not a time)")
        elif not zoned:
            self._times_without_zone = True
        return time

    def tokens(self, value: Any, path: str) -> int | float | None:
        """Read a token count; a value that is not one is counted as dropped."""
        if not is_something(value):
            return None
        number = amount(value)
        if number is None:
            self.drop(f"{path} (not a count)")
            return None
        return int(number) if number.is_integer() else number

    def within(self, file: str, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records of one of several files, with numbers of their own."""
        before = self._records
        self._files.append((before, file))
        for record in records:
            self._records = before + record.line
            yield record._replace(line=self._records)

    def _place(self, line: int | None) -> tuple[str, int | None]:
        """Return the file and the line of a record."""
        for before, file in reversed(self._files):
            if line is not None and line > before:
                return file, line - before
        return self.file, line

    def count_model_calls(self, count: int) -> None:
        """Count the model calls from which conversations are assembled."""
        self._reading.model_calls += count

    def add(self, conversation: ParsedConversation) -> None:
        """Add one conversation, or record why it cannot be logged."""
        found = None
        with self.boundary(conversation.line):
            imported = self._imported(conversation)
            self._count_system_prompt(conversation)
            found = imported
        if found is None:
            return
        self._reading.conversations.append(found)
        self._chars_left -= len(found.content)
        self._part_chars += len(found.content)
        if self._chars_left < 0:
            raise TooMuchError

    def _imported(self, conversation: ParsedConversation) -> ImportedConversation:
        metadata = self._metadata(conversation.metadata)
        rated = {"spanIds": list(conversation.span_ids)[:_SPANS]} if conversation.span_ids else {}
        content = self._content(conversation, {**metadata, **rated})
        usage = conversation.usage
        # If no message contains a tool call, a trace may still have recorded tool runs.
        tool_calls = count_tool_calls(conversation.messages) or usage.tool_calls
        source_id = scalar_text(conversation.source_id)
        file, line = self._place(conversation.line)
        digest = hashlib.sha256(orjson.dumps([source_id, content])).digest()
        again = self._times_seen(digest)
        return ImportedConversation(
            content=content,
            source_id=source_id,
            status=self._status(conversation.status),
            llm_model=scalar_text(conversation.llm_model),
            company_name=scalar_text(conversation.company_name),
            file=file,
            line=line,
            key=scalar_text(conversation.key),
            fingerprint=hashlib.sha256(digest + str(again).encode()).hexdigest(),
            prompt_name=scalar_text(conversation.prompt_name),
            prompt_version=scalar_text(conversation.prompt_version),
            title=" ".join((scalar_text(conversation.title) or "").split())[:_TITLE_CHARS] or None,
            metadata=metadata,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=usage.cost,
            latency_ms=usage.latency_ms,
            tool_calls=tool_calls,
            tool_errors=usage.tool_errors,
        )

    def _times_seen(self, digest: bytes) -> int:
        """Return how often the same conversation occurred before."""
        short = int.from_bytes(digest[:_SEEN_BYTES])
        if short not in self._seen:
            self._seen.add(short)
            return 0
        self._again[short] += 1
        return self._again[short]

    def finish(self, format_name: str) -> Reading:
        """Return the reading of the file."""
        if self._times_without_zone:
            self.note("Times without a zone were taken as UTC.")
        if self._unlisted:
            more = f"{self._unlisted:,} more problems in this file are not listed"
            self._reading.problems.append(Problem(self.file, None, more))
        for sentence, count in self._tallies.items():
            self.note(sentence.format(count))
        self._reading.format = format_name
        return self._reading

    def _count_system_prompt(self, conversation: ParsedConversation) -> None:
        """Count a leading system message, unless it cannot be the text of a prompt."""
        text = conversation.system_prompt
        if text is None:
            first, *others = conversation.messages
            if first.role != "system" or first.content.startswith(RESULT):
                return
            text = first.content
            if others and others[0].role == "system" and not others[0].content.startswith(RESULT):
                self.tally(_SEVERAL)
        try:
            not_blank(text)
        except ValueError:
            return
        times = [message.timestamp for message in conversation.messages if message.timestamp is not None]
        began = min(times, default=conversation.started_at)
        self._reading.system_prompts.add(text, began)
        key = scalar_text(conversation.prompt_name), scalar_text(conversation.prompt_version)
        self._reading.texts_of.setdefault(key, SystemPrompts()).add(text, began)

    def _content(self, conversation: ParsedConversation, metadata: dict[str, Any]) -> str:
        parsed = conversation.messages
        _check_messages(parsed)
        timed = any(message.timestamp is not None for message in parsed)
        if not timed and conversation.started_at is None:
            self._reading.undated += 1
        elif not timed:
            parsed = [parsed[0]._replace(timestamp=conversation.started_at), *parsed[1:]]
            self.tally(
                "Conversations that have a time but none in their messages, so the first message was given it: {}."
            )
        for name in (
            conversation.source_id,
            conversation.llm_model,
            conversation.company_name,
            conversation.key,
            conversation.title,
            conversation.prompt_name,
            *(message.model for message in parsed),
        ):
            if isinstance(name, str):
                _bytes(name, "the conversation's id, title, model, company, prompt or key")
        messages = [message._asdict() for message in parsed]
        content = dump_content(
            Transcript.model_validate({"messages": messages, "metadata": metadata or None})
        )
        size = _bytes(content, "metadata")
        if size > CONTENT_BYTES:
            raise Unreadable(f"the conversation has {size} bytes of content; the limit is {CONTENT_BYTES}")
        if metadata and json_depth(content) > JSON_DEPTH:
            raise Unreadable(f"metadata is nested deeper than {JSON_DEPTH} levels")
        return content

    def _metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, value in metadata.items():
            if value is None:
                continue
            if name in METADATA and not isinstance(value, str):
                if isinstance(value, bool) or not isinstance(value, int | float):
                    self.drop(f"metadata.{name} (not text)")
                    continue
                kept[name] = str(value)
            else:
                kept[name] = value
        return kept

    def _status(self, value: Any) -> str | None:
        if not is_something(value):
            return None
        status = value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
        if status in STATUSES:
            return status
        self.drop(f"status ({str(value)[:40]!r} is not one of {', '.join(STATUSES)})")
        return None


def _check_messages(messages: list[ParsedMessage]) -> None:
    if not messages:
        raise Unreadable("the conversation has no messages; nothing to import")
    for number, message in enumerate(limited(messages), start=1):
        size = _bytes(message.content, f"message {number}")
        if size > MESSAGE_BYTES:
            raise Unreadable(f"message {number} has {size} bytes; the limit is {MESSAGE_BYTES}")


def limited(messages: Iterable[ParsedMessage]) -> list[ParsedMessage]:
    """Return the messages of a conversation, reading no more than the limit.

    Raises
    ------
    Unreadable
        If there are more.
    """
    found = list(itertools.islice(messages, MESSAGES + 1))
    if len(found) > MESSAGES:
        raise Unreadable(TOO_MANY)
    return found


def is_something(value: Any) -> bool:
    """Return whether a field is non-empty, so that dropping it would lose something."""
    return not (value is None or (isinstance(value, str | list | dict | tuple) and not value))


def scalar_text(value: Any) -> str | None:
    """Return a scalar as text, ``None`` if it is empty."""
    if not is_something(value) or isinstance(value, dict | list | bool):
        return None
    return str(value)


def _bytes(text: str, what: str) -> int:
    """Count the UTF-8 bytes; text that cannot be encoded as UTF-8 is unreadable."""
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
    if 0xDC80 <= code <= 0xDCFF:
        raise Unreadable(
            f"{what} contains the byte 0x{code - 0xDC00:02X}, which is not UTF-8; save the file as UTF-8"
        )
    raise Unreadable(f"{what} contains half of a surrogate pair (\\u{code:04x}), which is not a character")
