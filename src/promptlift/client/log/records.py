"""Validate the records to log, and give each an idempotency key."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson
from pydantic.alias_generators import to_camel

from promptlift.errors import TranscriptError
from promptlift.schema import limits
from promptlift.schema.conversations import CONVERSATION_STATUSES, FACTS
from promptlift.schema.metadata import SOURCE_FIELD, flat_metadata
from promptlift.schema.transcript import compact_json, looks_structured, parse_content

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Facts that need not be integers.
_AMOUNTS: Final = frozenset({"cost", "latency_ms"})


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record that was not logged, and why.

    Attributes
    ----------
    index
        Its index in the input, from 0.
    source
        File and line, if it was read from a file, otherwise ``record`` and the index.
    """

    index: int
    source: str
    message: str

    def __str__(self) -> str:
        return f"{self.source}: {self.message}"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record ready to be sent.

    Attributes
    ----------
    body
        The body of ``POST /conversations``.
    """

    index: int
    source: str
    key: str
    body: bytes


class RecordRefused(Exception):
    """A record that cannot be logged. The message explains why and what to do."""


def prepare(records: Iterable[Any], prompt_id: str, link: str) -> Iterator[Outgoing | FailedRecord]:
    """Validate every record and build its body.

    A record is a mapping with ``content`` or ``messages``, or an object with ``content`` and a ``fingerprint``
    (a conversation of :func:`promptlift.transcripts.read`), or is prepared already. A record without an idempotency key gets one that is the
    same whenever the same conversation is logged for the same prompt; identical conversations of one call are numbered to
    tell them apart.

    Parameters
    ----------
    link
        Field with the prompt's id in the API.
    """
    seen: Counter[tuple[str, str]] = Counter()
    for index, record in enumerate(records):
        if isinstance(record, Outgoing):
            yield record
            continue
        source = _source(record, index)
        try:
            yield _outgoing(record, index, source, seen, prompt_id=prompt_id, link=link)
        except RecordRefused as refusal:
            yield FailedRecord(index, source, str(refusal))


def _source(record: Any, index: int) -> str:
    file, line = getattr(record, "file", None), getattr(record, "line", None)
    if isinstance(file, str) and file:
        return file if line is None else f"{file}:{line}"
    return f"record {index}"


def _outgoing(
    record: Any, index: int, source: str, seen: Counter[tuple[str, str]], *, prompt_id: str, link: str
) -> Outgoing:
    if not isinstance(record, Mapping) and not hasattr(record, "content"):
        raise RecordRefused(
            f"a {type(record).__name__} is not a conversation; pass a dict with content or messages"
        )
    content = _content(record)
    _check_size(content)
    status = _text(record, "status")
    if status is not None and status not in CONVERSATION_STATUSES:
        raise RecordRefused(f"status is {status!r}; it must be one of {', '.join(CONVERSATION_STATUSES)}")
    source_id = _source_id(record)
    # The key is derived from the original content, so that it is the same in every version of this package.
    key = _key(record, content, prompt_id, seen)
    if source_id is not None:
        content = _with_source_id(content, source_id)
    facts = _facts(record)
    fields: dict[str, str | None] = {
        link: prompt_id,
        "content": content,
        "status": status,
        "sourceId": source_id,
        "idempotencyKey": key,
        "llmModel": _text(record, "llm_model"),
        "companyName": _text(record, "company_name"),
    }
    for name in ("llmModel", "companyName"):
        value = fields[name]
        if value is not None and len(value) > limits.NAME_CHARS:
            raise RecordRefused(
                f"{name} has {len(value)} characters; at most {limits.NAME_CHARS} are allowed"
            )
    try:
        given = {name: value for name, value in fields.items() if value is not None}
        # A copy of its exact length: orjson allocates space for every character as an escape, ten times as
        # much as needed.
        body = bytes(memoryview(orjson.dumps({**given, **facts})))
    except TypeError as error:
        raise RecordRefused(f"cannot be encoded as JSON: {error}") from None
    return Outgoing(index, source, key, body)


def _facts(record: Any) -> dict[str, Any]:
    """Return the facts of a record other than its content, under the API's names.

    Metadata are flattened, as for columns, so that anything in a record can be stored.
    """
    facts: dict[str, Any] = {}
    for name in FACTS:
        value = _value(record, name)
        if value is None or (name == "metadata" and not isinstance(value, Mapping)):
            continue
        value = value.item() if hasattr(value, "item") else value  # a number of NumPy
        if name == "metadata":
            value = flat_metadata(value)
        elif name == "title":
            value = str(value)[: limits.NAME_CHARS]
        elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise RecordRefused(f"{name} is {value!r}; it must be a number of 0 or more")
        elif name not in _AMOUNTS:
            value = round(value)
        if value != {}:
            facts[_camel(name)] = value
    return facts


_camel = functools.cache(to_camel)


def _value(record: Any, name: str) -> Any:
    # Records may come from JSON, from Python or from a parsed file.
    for known in (name, _camel(name)):
        value = record.get(known) if isinstance(record, Mapping) else getattr(record, known, None)
        # A missing cell of a table is NaN or NA, which are not equal to themselves.
        if value is not None and not _is_na(value):
            return value
    return None


def _is_na(value: Any) -> bool:
    if isinstance(value, str | list | dict):
        return False
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)  # noqa: PLR0124


def _text(record: Any, name: str) -> str | None:
    value = _value(record, name)
    if value is not None and not isinstance(value, str):
        raise RecordRefused(f"{name} is {type(value).__name__}; it must be text")
    return value


def _source_id(record: Any) -> str | None:
    value = _value(record, "source_id")
    if value is None or value == "":
        return None
    source_id = str(value)
    if len(source_id) > limits.SOURCE_ID_CHARS:
        raise RecordRefused(
            f"source_id has {len(source_id)} characters; at most {limits.SOURCE_ID_CHARS} are allowed"
        )
    if "\x00" in source_id:
        raise RecordRefused("source_id contains a NUL character; remove it")
    return source_id


def _with_source_id(content: str, source_id: str) -> str:
    """Put the source's id into the metadata of structured content, so that any service stores it.

    Metadata that already have one, and content that would exceed the limit, stay unchanged.
    """
    if not looks_structured(content):
        return content
    try:
        document = json.loads(content.lstrip("\ufeff \t\r\n"), parse_constant=int)  # NaN is no JSON
    except (ValueError, RecursionError):
        return content  # the service reports the problem
    metadata = document.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict) or SOURCE_FIELD in metadata:
        return content
    document["metadata"] = {**metadata, SOURCE_FIELD: source_id}
    text = compact_json(document)
    try:
        return text if len(text.encode()) <= limits.CONTENT_BYTES else content
    except UnicodeEncodeError:
        return content


def _content(record: Any) -> str:
    content = _value(record, "content")
    messages = _value(record, "messages")
    if content is None and messages is not None:
        return _from_messages({"messages": messages, "metadata": _value(record, "metadata")})
    if isinstance(content, Mapping):
        return _from_messages(dict(content))
    if content is None:
        raise RecordRefused("no content and no messages; one of them is needed")
    if not isinstance(content, str):
        raise RecordRefused(f"content is {type(content).__name__}; it must be text")
    if not content.strip():
        raise RecordRefused("content is empty")
    return content


def _from_messages(document: dict[str, Any]) -> str:
    """Build structured content; problems are reported by the checks of the content format."""
    if document.get("metadata") is None:
        document.pop("metadata", None)
    try:
        text = orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS).decode()
        parse_content(text)
    except TypeError as error:
        raise RecordRefused(f"messages cannot be encoded as JSON: {error}") from None
    except TranscriptError as error:
        raise RecordRefused(str(error)) from None
    return text


def _check_size(content: str) -> None:
    """Refuse content over a limit of the service. It is neither truncated nor sent."""
    try:
        size = len(content) if content.isascii() else len(content.encode())
    except UnicodeEncodeError:
        raise RecordRefused(
            "content contains half of a surrogate pair, which is not text; clean it first"
        ) from None
    if size > limits.CONTENT_BYTES:
        raise RecordRefused(f"content has {size} bytes; at most {limits.CONTENT_BYTES} are allowed")
    # Most content cannot exceed the other two limits, and is not parsed for them.
    if (size <= limits.MESSAGE_BYTES and content.count('"role"') <= limits.MESSAGES) or not looks_structured(
        content
    ):
        return
    try:
        transcript = parse_content(content)
    except TranscriptError as error:
        raise RecordRefused(str(error)) from None
    if len(transcript.messages) > limits.MESSAGES:
        raise RecordRefused(
            f"it has {len(transcript.messages)} messages; at most {limits.MESSAGES} are allowed"
        )
    for turn, message in enumerate(transcript.messages):
        length = len(message.content.encode("utf-8", "surrogatepass"))
        if length > limits.MESSAGE_BYTES:
            raise RecordRefused(
                f"messages[{turn}] has {length} bytes; at most {limits.MESSAGE_BYTES} are allowed"
            )


def _key(record: Any, content: str, prompt_id: str, seen: Counter[tuple[str, str]]) -> str:
    given = _text(record, "idempotency_key")
    if given:
        if len(given) > limits.KEY_CHARS:
            raise RecordRefused(
                f"idempotency_key has {len(given)} characters; at most {limits.KEY_CHARS} are allowed"
            )
        return given
    fingerprint = getattr(record, "fingerprint", None)
    if isinstance(fingerprint, str) and fingerprint:
        return _digest(prompt_id, fingerprint)
    origin = _value(record, "source_id")
    origin = "" if origin is None else str(origin)
    seen[origin, content] += 1
    return _digest(prompt_id, origin, content, str(seen[origin, content]))


def _digest(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=16)  # a service keeps the key three times
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()
