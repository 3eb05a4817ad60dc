"""Conversations from other tools' exports, one module for each format.

>>> from promptlift import transcripts
>>> reading = transcripts.read("support.jsonl")  # doctest: +SKIP
>>> reading.format, len(reading.conversations)  # doctest: +SKIP
('openai', 40)
"""

from __future__ import annotations

import itertools
import math
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptlift.errors import TranscriptError
from promptlift.transcripts.beside import OtherFiles
from promptlift.transcripts.chat import check_roles
from promptlift.transcripts.chatgpt import read_chatgpt
from promptlift.transcripts.claude import read_claude
from promptlift.transcripts.collector import Collector
from promptlift.transcripts.eval_logs import archive_records, begins_log, is_archive, log_records
from promptlift.transcripts.gemini import read_gemini
from promptlift.transcripts.helicone import read_helicone
from promptlift.transcripts.helpdesk import read_intercom, read_zendesk
from promptlift.transcripts.inspect_ai import read_inspect
from promptlift.transcripts.json_layouts import json_records
from promptlift.transcripts.labels import Label, read_labels
from promptlift.transcripts.langfuse import read_langfuse, read_langfuse_scores
from promptlift.transcripts.langsmith import read_langsmith
from promptlift.transcripts.lines import RECORD_CHARS, too_long
from promptlift.transcripts.mlflow import read_mlflow
from promptlift.transcripts.otlp import read_otlp
from promptlift.transcripts.pages import unpaged
from promptlift.transcripts.phoenix import read_phoenix
from promptlift.transcripts.plain import PAIRS, looks_plain, read_plain
from promptlift.transcripts.preferences import read_dpo
from promptlift.transcripts.reading import ImportedConversation, Problem, Reading, TooMuchError
from promptlift.transcripts.recognition import format_of, separator_of, widest_separator
from promptlift.transcripts.refusals import refuse_records, refuse_text
from promptlift.transcripts.responses import read_batch, read_responses
from promptlift.transcripts.rows import check_columns, read_rows
from promptlift.transcripts.sharegpt import read_sharegpt
from promptlift.transcripts.sources import Record, encoding_of, is_packed, is_zip, open_text, read_head
from promptlift.transcripts.structured import read_structured
from promptlift.transcripts.system_prompts import SystemPrompt, SystemPrompts
from promptlift.transcripts.tables import PARQUET_MAGIC, csv_records, parquet_records
from promptlift.transcripts.weave import read_weave

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "FORMATS",
    "ImportedConversation",
    "Label",
    "OtherFiles",
    "Problem",
    "Reading",
    "SystemPrompt",
    "SystemPrompts",
    "read",
    "read_labels",
]

FORMATS: Final[dict[str, str]] = {
    "structured": "JSON or JSON Lines of the service: messages and metadata, or records with content",
    "plain": f"plain text with role labels ({PAIRS}), one conversation for each file",
    "openai": "chat messages of OpenAI as JSON Lines, with or without tools",
    "sharegpt": "ShareGPT: conversations or items of from and value, or pairs of texts, JSON or JSON Lines",
    "chatgpt": "account export of ChatGPT (conversations.json)",
    "rows": "CSV, Parquet or JSON Lines with one row for each message",
    "langfuse": "observations of Langfuse (blob storage export)",
    "langfuse-scores": "scores of Langfuse; they hold no conversations: lift.labels reads them",
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
_READERS: Final[dict[str, Callable[[Iterable[Record], Collector], None]]] = {
    "structured": read_structured,
    "openai": read_structured,
    "sharegpt": read_sharegpt,
    "chatgpt": read_chatgpt,
    "rows": read_rows,
    "langfuse": read_langfuse,
    "langfuse-scores": read_langfuse_scores,
    "langsmith": read_langsmith,
    "phoenix": read_phoenix,
    "otlp": read_otlp,
    "mlflow": read_mlflow,
    "weave": read_weave,
    "helicone": read_helicone,
    "openai-responses": read_responses,
    "openai-batch": read_batch,
    "openai-dpo": read_dpo,
    "claude": read_claude,
    "gemini": read_gemini,
    "inspect": read_inspect,
    "zendesk": read_zendesk,
    "intercom": read_intercom,
}
_LOOKED_AT: Final = 50
_UNPACKED_FREELY: Final = 256 * 1024 * 1024
_UNPACKED_TIMES: Final = 100
# Files that contain the wanted file, or are not text, by their first bytes.
_OTHER_FILES: Final = (
    (b"PK\x03\x04", "a ZIP archive or an Excel file; unpack it, or save the sheet as CSV, and read that"),
    (b"%PDF", "a PDF; export the conversations as text, CSV or JSON"),
    (b"SQLite format 3", "a SQLite database; export the messages as CSV"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it first"),
    (b"BZh", "packed with bzip2; unpack it first"),
    (b"\xfd7zXZ", "packed with xz; unpack it first"),
)


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the contract's name
    columns: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    beside: OtherFiles | Iterable[str | os.PathLike[str]] = (),
) -> Reading:
    """Read the conversations of one file.

    The format is recognised from the content; gzip is unpacked. A record that cannot be read, or that is over a
    limit of the service, becomes a problem with its line, and the rest is imported.

    Parameters
    ----------
    path
        The file.
    format
        A key of ``FORMATS``, to read the file as that format whatever it looks like.
    columns
        Columns of a table by what they hold: ``{"role": "author_type", "text": "comment"}``. It is read as ``rows`` then.
    roles
        What the roles of the file mean, where these are not known: ``{"Visitor": "user"}``.
    beside
        Other files of the same export. Some tools keep what belongs together in several: spans of OpenTelemetry and the log
        records with their content, requests of a batch and its answers. An `OtherFiles` is read once for many calls.

    Returns
    -------
    Reading
        Conversations, problems, what was dropped by field, notes, and the system prompts.

    Raises
    ------
    TranscriptError
        When there is no such file, it may not be read, or ``format``, a key of ``columns`` or a value of ``roles`` is
        unknown.

    Examples
    --------
    >>> sorted(FORMATS)[:3]
    ['chatgpt', 'langfuse', 'langfuse-scores']
    """
    if format is not None and format not in FORMATS:
        raise TranscriptError(f"There is no format {format!r}. Known formats: {', '.join(FORMATS)}")
    file = Path(path)
    collector = Collector(
        str(path),
        _max_chars(file),
        columns=check_columns(columns),
        roles=check_roles(roles),
        others=beside if isinstance(beside, OtherFiles) else OtherFiles([file, *beside]),
    )
    if columns and format is None:
        format = "rows"  # noqa: A001
    if file.is_dir():
        collector.problem(None, "a directory, not a file; give the files in it")
        return collector.finish(format or "")
    found = ""
    try:
        head = read_head(file)
        found = _read_file(file, head, collector, format)
    except TooMuchError as error:
        collector.problem(None, str(error))
    except FileNotFoundError as error:
        raise TranscriptError(f"There is no file {path}") from error
    except PermissionError as error:
        raise TranscriptError(f"The file {path} may not be read") from error
    except (EOFError, zlib.error, OSError) as error:
        collector.problem(None, f"the packed data is damaged or ends early ({error}); pack the file again")
    except UnicodeDecodeError as error:
        collector.problem(None, f"not valid {error.encoding} ({error.reason}); save the file as UTF-8")
    return collector.finish(format or found)


def _max_chars(file: Path) -> float:
    """Return how many characters of conversations a file may hold: any number, unless it is packed.

    Conversations shrink to a tenth or a twentieth when they are packed. A file of repeated bytes would unpack to a
    thousand times its size and fill the memory.
    """
    try:
        packed = is_packed(file) or is_zip(file)
        return max(_UNPACKED_FREELY, _UNPACKED_TIMES * file.stat().st_size) if packed else math.inf
    except OSError:
        return math.inf  # opening it says what is wrong


def _read_file(file: Path, head: bytes, collector: Collector, wanted: str | None) -> str:
    """Read a file by its content and return the name of the format."""
    binary = _binary_records(file, head)
    if binary is not None:
        return _read_records(binary, file, collector, wanted)
    encoding = encoding_of(head)
    text = head.decode(encoding, "replace").lstrip("\ufeff")
    refusal = _refusal(head, text, encoding)
    if refusal is not None:
        collector.problem(None, refusal)
        return ""
    separator = separator_of(text) or (widest_separator(text) if wanted == "rows" else None)
    with open_text(file, encoding) as stream:
        if wanted == "plain" or (wanted is None and separator is None and looks_plain(text)):
            whole = stream.read(RECORD_CHARS + 1)
            if len(whole) > RECORD_CHARS:
                collector.problem(1, too_long("conversation (a file of plain text is one)", RECORD_CHARS))
            else:
                read_plain(whole, collector)
            return "plain"
        if text.lstrip(" \t\r\n")[0] in "{[":
            records = log_records(stream) if begins_log(text) else json_records(stream)
            return _read_records(records, file, collector, wanted)
        if separator is not None:
            return _read_records(csv_records(stream, separator), file, collector, wanted)
    if wanted is not None:
        collector.problem(1, f"this is not {wanted}: {FORMATS[wanted]}")
    else:
        collector.problem(None, refuse_text(text))
    return ""


def _binary_records(file: Path, head: bytes) -> Iterator[Record] | None:
    """Return the records of a file that is not text, ``None`` when it holds none that are known."""
    if head.startswith(PARQUET_MAGIC):
        return parquet_records(file)
    return archive_records(file) if is_archive(file) else None


def _refusal(head: bytes, text: str, encoding: str) -> str | None:
    """Return why a file is not read at all, ``None`` when it is text."""
    for magic, message in _OTHER_FILES:
        if head.startswith(magic):
            return message
    if encoding != "utf-16" and head[:1000].count(0) > len(head[:1000]) / 4:
        return "neither UTF-8 text nor a known binary format; save the file as UTF-8 text"
    return None if text.strip(" \t\r\n") else "the file is empty"


def _read_records(records: Iterator[Record], file: Path, collector: Collector, wanted: str | None) -> str:
    records = unpaged(records)
    first = list(itertools.islice(records, _LOOKED_AT))
    if wanted in _READERS:
        found: str | None = wanted
    else:
        suffixes = [suffix for suffix in file.suffixes if suffix.lower() != ".gz"]
        values = [record.value for record in first if record.fault is None]
        single = bool(suffixes) and suffixes[-1].lower() == ".json"
        found = format_of(values, single=single)
        if not first:
            collector.problem(None, "the file has no records")
        elif found is None and values:
            collector.problem(first[0].line, refuse_records(values))
    if found is None:
        for record in first:
            if record.fault is not None:
                collector.problem(record.line, record.fault)
        return ""
    _READERS[found](itertools.chain(first, records), collector)
    return found
