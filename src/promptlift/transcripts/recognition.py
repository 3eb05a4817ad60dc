"""Recognize the layout and the format of a file by its content."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from functools import partial
from gzip import BadGzipFile
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Boundary, Unreadable, reason
from promptlift.transcripts import json_layouts
from promptlift.transcripts.collector import METADATA, is_something
from promptlift.transcripts.gemini import is_contents
from promptlift.transcripts.helicone import is_request
from promptlift.transcripts.helpdesk import is_intercom, is_zendesk
from promptlift.transcripts.inspect_ai import archive_records, begins_log, is_archive, is_log, log_records
from promptlift.transcripts.langfuse import is_langfuse
from promptlift.transcripts.langsmith import is_example
from promptlift.transcripts.mlflow import is_trace
from promptlift.transcripts.otlp import is_spans
from promptlift.transcripts.plain import PAIRS, looks_plain
from promptlift.transcripts.preferences import is_dpo
from promptlift.transcripts.reading import TooMuchError
from promptlift.transcripts.refusals import refuse_text
from promptlift.transcripts.responses import is_batch, is_responses
from promptlift.transcripts.rows import Columns
from promptlift.transcripts.sharegpt import is_sharegpt
from promptlift.transcripts.sources import encoding_of, open_text, read_head
from promptlift.transcripts.structured import API_FIELDS
from promptlift.transcripts.tables import PARQUET_MAGIC, SEPARATORS, csv_header, csv_records, parquet_records
from promptlift.transcripts.weave import is_call
from promptlift.transcripts.wrapped import inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import TextIO

    from promptlift.transcripts.sources import Record

__all__ = ["FORMATS", "explained", "format_of", "records_of"]

FORMATS: Final[dict[str, str]] = {
    "structured": "JSON or JSON Lines of the service: messages and metadata, or records with content",
    "plain": f"plain text with role labels ({PAIRS}), one conversation per file",
    "openai": "chat messages of OpenAI, with or without tools, JSON or JSON Lines",
    "sharegpt": "ShareGPT: conversations or items of from and value, or pairs of texts, JSON or JSON Lines",
    "chatgpt": "account export of ChatGPT (conversations.json)",
    "rows": "CSV, Parquet or JSON Lines with one row per message",
    "langfuse": "observations of Langfuse (blob storage export)",
    "langfuse-scores": "scores of Langfuse, which contain no conversations: lift.labels reads them",
    "langsmith": "runs of LangSmith, JSON Lines or Parquet",
    "phoenix": "spans of Phoenix (OpenInference), JSON Lines or Parquet",
    "otlp": "spans and log records of OpenTelemetry (GenAI conventions): JSON of OTLP, or what an SDK prints",
    "mlflow": "traces of MLflow",
    "weave": "calls of W&B Weave",
    "helicone": "requests of Helicone with their bodies",
    "openai-responses": "answers of OpenAI's Responses API, with or without their requests",
    "openai-batch": "batches of OpenAI: requests and answers, in one file or in two that are imported together",
    "openai-dpo": "preference pairs (DPO) of OpenAI or with chosen and rejected: the preferred answer",
    "claude": "data export of Claude.ai (conversations.json)",
    "gemini": "requests of Gemini (contents of role and parts), with or without answers, and its batches",
    "inspect": "evaluation logs of Inspect AI, .eval or JSON",
    "zendesk": "tickets of Zendesk with their comments",
    "intercom": "conversations of Intercom",
}
# A small compressed table may contain any number of equal rows.
_RECORDS_FREELY: Final = 500_000
_RECORDS_A_BYTE: Final = 4
# Files that contain the wanted file, or are not text, by their first bytes.
_OTHER_FILES: Final = (
    (b"PK\x03\x04", "a ZIP archive or an Excel file; unpack it, or save the sheet as CSV, and read that"),
    (b"%PDF", "a PDF; export the conversations as text, CSV or JSON"),
    (b"SQLite format 3", "a SQLite database; export the messages as CSV"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it first"),
    (b"BZh", "packed with bzip2; unpack it first"),
    (b"\xfd7zXZ", "packed with xz; unpack it first"),
)
_OWN_MESSAGE_FIELDS: Final = frozenset({"timestamp", "tokens", "model"})
_TOOL_FIELDS: Final = frozenset({"tool_calls", "function_call"})
_SCORE: Final = frozenset({"name", "value", "source", "data_type"})
_SCORE_CAMEL: Final = frozenset({"name", "value", "source", "dataType"})


# The formats of tools by what only their records have; the first match is used.
_TOOLS: Final[tuple[tuple[str, Callable[[dict[str, Any]], bool]], ...]] = (
    ("chatgpt", lambda value: isinstance(value.get("mapping"), dict)),
    ("claude", lambda value: isinstance(value.get("chat_messages"), list)),
    ("intercom", is_intercom),
    ("zendesk", is_zendesk),
    ("inspect", is_log),
    ("mlflow", is_trace),
    ("weave", is_call),
    ("helicone", is_request),
    ("otlp", is_spans),
    ("openai-batch", is_batch),
    ("openai-dpo", is_dpo),
    ("gemini", is_contents),
    (
        "sharegpt",
        lambda value: any(isinstance(value.get(key), list) for key in ("conversations", "conversation")),
    ),
    ("langsmith", lambda value: {"run_type", "inputs"} <= value.keys() or is_example(value)),
    (
        "phoenix",
        lambda value: "span_kind" in value or any(str(key).startswith("attributes.") for key in value),
    ),
    ("langfuse-scores", lambda value: value.keys() >= _SCORE or value.keys() >= _SCORE_CAMEL),
    ("langfuse", is_langfuse),
    (
        "openai-responses",
        lambda value: is_responses(value) or is_responses(value.get("request"), value.get("response")),
    ),
)


def format_of(values: Iterable[Any]) -> str | None:
    """Return the format of most of the records, ``None`` if none has one.

    Parameters
    ----------
    values
        The first records of a file.
    """
    found: Counter[str] = Counter()
    for value in values:
        with Boundary(lambda _: None):  # problems of a record are reported when it is read
            found.update(name for name in [_format_of_record(value)] if name is not None)
    # A chat without fields of its own has the format of the others.
    chats = found.pop("messages", 0)
    found["structured" if found["structured"] > found["openai"] else "openai"] += chats
    name, count = found.most_common(1)[0]
    return name if count else None


def _separator_of(head: str) -> str | None:
    """Find the separator that makes a text a table of a known format."""
    for separator in SEPARATORS:
        columns = csv_header(head, separator)
        if len(columns) > 1 and _format_of_record(dict.fromkeys(columns, "")) is not None:
            return separator
    return None


def _widest_separator(head: str) -> str | None:
    """Find the separator that makes most columns of the first line of a text."""
    widest = max(SEPARATORS, key=lambda separator: len(csv_header(head, separator)))
    return widest if len(csv_header(head, widest)) > 1 else None


def _format_of_record(value: Any) -> str | None:
    if isinstance(value, list):
        return "messages" if value and isinstance(value[0], dict) and "role" in value[0] else None
    if not isinstance(value, dict):
        return None
    for name, holds in _TOOLS:
        if holds(value):
            return name
    keys = value.keys()
    if "messages" in keys:
        return _chat_format(value)
    if Columns(keys).complete:
        return "rows"
    return "structured" if "content" in keys else "sharegpt" if is_sharegpt(value) else None


def _chat_format(value: dict[str, Any]) -> str:
    """Return whose format chat messages have: both are written alike, except for a few fields."""
    messages = value["messages"]
    messages = [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    own = not API_FIELDS.isdisjoint(value) or not METADATA.isdisjoint(inside(value, "metadata"))
    if own or any(not _OWN_MESSAGE_FIELDS.isdisjoint(m) for m in messages):
        return "structured"
    of_tools = any(
        message.get("role") in ("tool", "function", "developer")
        or isinstance(message.get("content"), list)
        or not _TOOL_FIELDS.isdisjoint(message)
        for message in messages
    )
    return "openai" if of_tools or "tools" in value else "messages"


# Where APIs list their records, also those of no known format, and what they write beside the list, in snake and
# camel case alike.
_LISTS: Final = (
    "data",
    "runs",
    "traces",
    "items",
    "results",
    "records",
    "rows",
    "examples",
    "feedback",
    "content",
)
_PAGING: Final = frozenset(
    {
        *(
            "meta",
            "object",
            "type",
            "error",
            "hasmore",
            "firstid",
            "lastid",
            "page",
            "pages",
            "limit",
            "offset",
        ),
        *(
            "links",
            "cursor",
            "cursors",
            "nextcursor",
            "nextpagetoken",
            "nextpage",
            "previouspage",
            "pagination",
        ),
        *("total", "totalcount", "totalitems", "totalpages", "totalelements", "count", "parsedquery"),
        "searchcursors",
    }
)
# Objects of these formats hold many conversations; those that are too long to be held are read in pieces.
_COLLECTIONS: Final = ("otlp", "zendesk")


def _json_records(stream: TextIO, drop: Callable[[str], object]) -> Iterator[Record]:
    """Read the records of a JSON file in any layout, and those below a key, such as ``{"data": […]}``.

    Parameters
    ----------
    stream
        The text.
    drop
        Called with the name of each field beside the records that is more than paging.
    """
    for record in json_layouts.json_records(stream, of_page=_of_page):
        lists = {} if record.beside else _lists(record.value)
        for values in lists.values():
            yield from (record._replace(value=one) for one in values)
        if lists or record.beside:
            for name in _beside(record.value, lists):
                drop(name)
        else:
            yield record


def _lists(value: Any) -> dict[str, list[Any]]:
    """Return the lists of records in a page, by their paths; empty for a record."""
    if not isinstance(value, dict) or "messages" in value:
        return {}
    own = _format_of_record(value)
    if own not in (None, "sharegpt", "structured"):
        return {}
    found: dict[str, list[Any]] = {}
    for name, one in value.items():
        if isinstance(one, list) and one and _is_record(name, one[0]):
            found[name] = one
        elif own is None and isinstance(one, dict):
            found |= {f"{name}.{path}": values for path, values in _lists(one).items()}
    if not found and own is None:
        # Records of no known format, to say so.
        name = next((name for name in _LISTS if isinstance(value.get(name), list)), "")
        beside = {_plain(other) for other in value if other != name}
        if name and beside <= _PAGING and all(isinstance(one, dict) for one in value[name]):
            found[name] = value[name]
    return found


def _is_record(name: str, value: Any) -> bool:
    """Return whether an element of a list is a record, and not a message or another part of one."""
    found = _format_of_record(value)
    if found == "rows":
        return "conversation" in Columns(value).of
    texts_only = found in ("sharegpt", "structured") and not any(
        isinstance(one, list) for one in value.values()
    )
    return found is not None and (name in _LISTS or not texts_only)


def _of_page(name: str, value: Any) -> Any:
    """Return the record for an element of a page that is too long to be held; ``None`` if it is not one."""
    if _is_record(name, value) or (name in _LISTS and isinstance(value, dict)):
        return value
    piece = {name: [value]}
    return piece if _format_of_record(piece) in _COLLECTIONS else None


def _beside(value: dict[str, Any], lists: dict[str, list[Any]], prefix: str = "") -> Iterator[str]:
    """Yield the fields beside the records of a page."""
    for name, one in value.items():
        path = f"{prefix}{name}"
        if isinstance(one, dict) and any(known.startswith(f"{path}.") for known in lists):
            yield from _beside(one, lists, f"{path}.")
        elif path not in lists and is_something(one) and _plain(name) not in _PAGING:
            yield path


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def records_of(
    file: Path, wanted: str | None, drop: Callable[[str], object] = lambda _: None
) -> Iterator[Record] | None:
    """Return the records of a file by the layout of its beginning; ``None`` for labelled plain text.

    Parameters
    ----------
    file
        The file.
    wanted
        The format to read it as, ``None`` to recognize it.
    drop
        Called with the name of each field beside the records of a page.

    Raises
    ------
    Unreadable
        It is none of these, or not of the wanted format.
    """
    head = read_head(file)
    if head.startswith(PARQUET_MAGIC):
        return _few(parquet_records(file), file)
    if is_archive(file):
        return _few(archive_records(file), file)
    for magic, message in _OTHER_FILES:
        if head.startswith(magic):
            raise Unreadable(message)
    encoding = encoding_of(head)
    if encoding != "utf-16" and head[:1000].count(0) > len(head[:1000]) / 4:
        raise Unreadable("neither UTF-8 text nor a known binary format; save the file as UTF-8 text")
    text = head.decode(encoding, "replace").lstrip("\ufeff")
    if not text.strip(" \t\r\n"):
        raise Unreadable("the file is empty")
    separator = _separator_of(text) or (_widest_separator(text) if wanted == "rows" else None)
    if wanted == "plain" or (wanted is None and separator is None and looks_plain(text)):
        return None
    layout: Callable[[TextIO], Iterator[Record]]
    if text.lstrip(" \t\r\n")[0] in "{[":
        layout = log_records if begins_log(text) else partial(_json_records, drop=drop)
    elif separator is not None:
        layout = partial(csv_records, separator=separator)
    else:
        raise Unreadable(refuse_text(text) if wanted is None else f"this is not {wanted}: {FORMATS[wanted]}")
    return _few(_opened(file, layout), file)


def _opened(file: Path, layout: Callable[[TextIO], Iterator[Record]]) -> Iterator[Record]:
    with open_text(file) as stream:
        yield from layout(stream)


def _few(records: Iterator[Record], file: Path) -> Iterator[Record]:
    """Yield records, unless there are more than any export has in this many bytes.

    Raises
    ------
    TooMuchError
        If there are.
    """
    yield from itertools.islice(records, max(_RECORDS_FREELY, _RECORDS_A_BYTE * file.stat().st_size))
    if next(records, None) is not None:
        raise TooMuchError


def explained(error: Exception) -> str:
    """Return why the rest of a file is not read."""
    if isinstance(error, TooMuchError | Unreadable):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"not valid {error.encoding} ({error.reason}); save the file as UTF-8"
    if isinstance(error, EOFError | zlib.error | BadGzipFile):
        return f"the compressed data is damaged or ends early ({error}); compress the file again"
    return f"the file {reason(error)}"
