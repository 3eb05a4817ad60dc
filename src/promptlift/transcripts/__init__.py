"""Conversations from other tools' exports, one module per format.

>>> from promptlift import transcripts
>>> reading = transcripts.read("support.jsonl")  # doctest: +SKIP
>>> reading.format, len(reading.conversations)  # doctest: +SKIP
('openai', 40)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptlift.errors import TranscriptError
from promptlift.schema.boundary import Boundary
from promptlift.transcripts import (
    chatgpt,
    claude,
    helicone,
    langsmith,
    phoenix,
    preferences,
    sharegpt,
    structured,
    weave,
)
from promptlift.transcripts.beside import OtherFiles
from promptlift.transcripts.chat import check_roles
from promptlift.transcripts.collector import Collector, ParsedConversation
from promptlift.transcripts.gemini import read_gemini
from promptlift.transcripts.helpdesk import intercom_of, read_zendesk
from promptlift.transcripts.inspect_ai import read_inspect
from promptlift.transcripts.labels import Label, read_labels
from promptlift.transcripts.langfuse import read_langfuse, read_langfuse_scores
from promptlift.transcripts.mlflow import read_mlflow
from promptlift.transcripts.otlp import read_otlp
from promptlift.transcripts.plain import read_plain
from promptlift.transcripts.reading import ImportedConversation, Problem, Reading
from promptlift.transcripts.recognition import FORMATS, explained, format_of, records_of
from promptlift.transcripts.refusals import refuse_records
from promptlift.transcripts.responses import read_batch, read_responses
from promptlift.transcripts.rows import check_columns, read_rows
from promptlift.transcripts.sources import (
    RECORD_CHARS,
    Record,
    is_packed,
    is_zip,
    open_text,
    too_long,
)
from promptlift.transcripts.system_prompts import SystemPrompt, SystemPrompts
from promptlift.transcripts.traces import read_traces

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

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
    "read_in_parts",
    "read_labels",
]

Reader = Callable[[Iterable[Record], Collector], None]


def _each(parse: Callable[[Record, Collector], ParsedConversation]) -> Reader:
    """Return what reads one conversation from each record."""
    return lambda records, collector: collector.add_each(records, parse)


# Formats whose records are conversations, so that a file can be read in parts, and ...
_READERS_OF_RECORDS: Final[dict[str, Reader]] = {
    "structured": _each(structured.conversation_of),
    "openai": _each(structured.conversation_of),
    "sharegpt": _each(sharegpt.conversation_of),
    "chatgpt": _each(chatgpt.conversation_of),
    "openai-dpo": _each(preferences.conversation_of),
    "claude": _each(claude.conversation_of),
    "zendesk": read_zendesk,
    "intercom": _each(intercom_of),
    "inspect": read_inspect,
}
# ... others, whose conversations may be spread over the whole file, and over several, such as pages of an API.
_READERS_OF_FILES: Final[dict[str, Reader]] = {
    "langfuse": read_langfuse,
    "langfuse-scores": read_langfuse_scores,
    "langsmith": partial(read_traces, call_of=langsmith.call_of),
    "phoenix": partial(read_traces, call_of=phoenix.call_of),
    "otlp": read_otlp,
    "mlflow": read_mlflow,
    "weave": partial(read_traces, call_of=weave.call_of),
    "helicone": partial(read_traces, call_of=helicone.call_of),
    "openai-responses": read_responses,
    "openai-batch": read_batch,
    "gemini": read_gemini,
}
_READERS: Final = frozenset({"rows", *_READERS_OF_RECORDS, *_READERS_OF_FILES})
_LOOKED_AT: Final = 50
_WHOLE_FILE_BYTES: Final = 2 * 1024**3
_TOO_LARGE: Final = (
    f"the file is larger than {_WHOLE_FILE_BYTES // 1024**3} GB; parts of one conversation may be anywhere "
    "in it, so it must be held in memory as a whole. Export shorter periods, or split the file so that each "
    "part has whole sessions"
)
_UNPACKED_FREELY: Final = 256 * 1024 * 1024
_UNPACKED_TIMES: Final = 100


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the contract's name
    columns: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    beside: OtherFiles | Iterable[str | os.PathLike[str]] = (),
) -> Reading:
    """Read the conversations of one file.

    The format is recognized from the content; gzip is decompressed. A record that cannot be read, or that is
    over a limit of the service, becomes a problem with its line, and the rest is imported.

    Parameters
    ----------
    path
        The file.
    format
        A key of ``FORMATS``, to force this format.
    columns
        Columns of a table by their content: ``{"role": "author_type", "text": "comment"}``. Then the file is
        read as ``rows``.
    roles
        Meaning of unknown roles in the file: ``{"Visitor": "user"}``.
    beside
        Other files of the same export. What belongs together in files of one format (traces that continue on the
        next page of an API, spans and the log records with their content, requests of a batch and its answers) is
        read with the first of these files. An `OtherFiles` is looked at once for many calls.

    Returns
    -------
    Reading
        Conversations, problems, counts of dropped fields, notes, and the system prompts.

    Raises
    ------
    TranscriptError
        If there is no such file, it may not be read, or ``format``, a key of ``columns`` or a value of
        ``roles`` is unknown.

    Examples
    --------
    >>> sorted(FORMATS)[:3]
    ['chatgpt', 'langfuse', 'langfuse-scores']
    """
    _check_format(format)
    return next(_read(path, format, columns, roles, beside, in_parts=False))


def read_in_parts(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the contract's name
    columns: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    beside: OtherFiles | Iterable[str | os.PathLike[str]] = (),
) -> Iterator[Reading]:
    """Read the conversations of one file, about a thousand at a time, so that a large file needs little memory.

    This works for files whose records are conversations (``structured``, ``openai``, ``sharegpt``,
    ``chatgpt``, ``claude``, ``openai-dpo``, ``zendesk``, ``intercom``, ``inspect``), and for ``rows``, which are
    sorted in a temporary file. In other formats the parts of a conversation may be anywhere in the
    file, so it is read as a whole; over 2 GB it is refused.

    Parameters
    ----------
    path, format, columns, roles, beside
        As in `read`.

    Yields
    ------
    Reading
        Conversations with their system prompts. Problems, notes, and counts of dropped fields are in the last
        one, which may have no conversations.

    Raises
    ------
    TranscriptError
        As in `read`.

    Examples
    --------
    >>> for part in read_in_parts("large.jsonl"):  # doctest: +SKIP
    ...     print(lift.log(part, prompt_id="Support assistant"))
    """
    _check_format(format)
    return _read(path, format, columns, roles, beside, in_parts=True)


def _check_format(name: str | None) -> None:
    if name is not None and name not in FORMATS:
        raise TranscriptError(f"There is no format {name!r}. Known formats: {', '.join(FORMATS)}")


def _read(
    path: str | os.PathLike[str],
    wanted: str | None,
    columns: Mapping[str, str] | None,
    roles: Mapping[str, str] | None,
    beside: OtherFiles | Iterable[str | os.PathLike[str]],
    *,
    in_parts: bool,
) -> Iterator[Reading]:
    """Yield parts of a file whenever they are full, and finally the rest with the problems and notes of all."""
    file = Path(path)
    others = beside if isinstance(beside, OtherFiles) else OtherFiles(beside)
    if file not in others.files:
        others = OtherFiles([file, *others.files])
    collector = Collector(
        str(path), _max_chars(file), columns=check_columns(columns), roles=check_roles(roles), others=others
    )
    wanted = "rows" if columns and wanted is None else wanted
    if file.is_dir():
        collector.problem(None, "a directory, not a file; pass the files in it")
        yield collector.finish(wanted or "")
        return
    found = ""
    try:
        for found in _read_file(file, collector, wanted):
            if in_parts and collector.is_full:
                yield collector.part(found)
    except FileNotFoundError as error:
        raise TranscriptError(f"There is no file {path}") from error
    except PermissionError as error:
        raise TranscriptError(f"The file {path} may not be read") from error
    except Exception as error:  # noqa: BLE001 - a damaged file may raise anything
        collector.problem(None, explained(error))
    yield collector.finish(wanted or found)


def _max_chars(file: Path) -> float:
    """Return how many characters of conversations a file may contain: unlimited, unless it is compressed.

    Conversations compress to a tenth or a twentieth. A file of repeated bytes would decompress to a thousand
    times its size and fill the memory.
    """
    try:
        packed = is_packed(file) or is_zip(file)
        return max(_UNPACKED_FREELY, _UNPACKED_TIMES * file.stat().st_size) if packed else math.inf
    except OSError:
        return math.inf  # opening it reports the problem


def _read_file(file: Path, collector: Collector, wanted: str | None) -> Iterator[str]:
    """Read a file by its content, and yield the name of the format whenever conversations were added, and at the end."""
    records = records_of(file, wanted, collector.drop)
    if records is not None:
        yield from _read_records(records, file, collector, wanted)
        return
    _read_plain_file(file, collector)
    yield "plain"


def _read_plain_file(file: Path, collector: Collector) -> None:
    with open_text(file) as stream:
        whole = stream.read(RECORD_CHARS + 1)
    if len(whole) > RECORD_CHARS:
        collector.problem(1, too_long("conversation (a file of plain text is one)", RECORD_CHARS))
    else:
        read_plain(whole, collector)


def _read_records(
    records: Iterator[Record], file: Path, collector: Collector, wanted: str | None
) -> Iterator[str]:
    """Read records, and yield the name of the format whenever conversations were added, and at the end."""
    first = list(itertools.islice(records, _LOOKED_AT))
    found = wanted if wanted in _READERS else _recognised(first, collector)
    if found is None:
        for record in first:
            if record.fault is not None:
                collector.problem(record.line, record.fault)
        return
    records = itertools.chain(first, records)
    if found in _READERS_OF_RECORDS:
        for one in records:
            _READERS_OF_RECORDS[found]([one], collector)
            yield found
    elif found == "rows":
        for _ in read_rows(records, collector):
            yield found
    elif file.stat().st_size > _WHOLE_FILE_BYTES:
        collector.problem(None, _TOO_LARGE)
    else:
        pages = _pages(file, found, collector, wanted)
        if pages[0] == file:
            following = [(page, _following(page, collector, wanted)) for page in pages[1:]]
            of_each = (
                collector.within(str(page), of_page)
                for page, of_page in [(collector.file, records), *following]
            )
            _READERS_OF_FILES[found](itertools.chain.from_iterable(of_each), collector)
        else:
            collector.note(f"Its records are read together with those of {pages[0]}.")
    yield found


def _pages(file: Path, found: str, collector: Collector, wanted: str | None) -> list[Path]:
    """Return the files of the import that have traces of one format, which may continue from one file to the next."""
    others = collector.others
    if others is None:
        return [file]
    others.formats[file] = found
    for other in others.files:
        if other not in others.formats:
            others.formats[other] = None
            with Boundary(lambda _: None):  # reported when the file itself is read
                records = records_of(other, wanted) or iter(())
                first = [record.value for record in itertools.islice(records, _LOOKED_AT)]
                others.formats[other] = format_of(first) if wanted is None else wanted
    pages = [other for other in others.files if others.formats[other] == found]
    return pages if sum(page.stat().st_size for page in pages) <= _WHOLE_FILE_BYTES else [file]


def _following(file: Path, collector: Collector, wanted: str | None) -> Iterator[Record]:
    """Yield the records of a further file; what is wrong with it is its own problem."""
    try:
        yield from records_of(file, wanted, collector.drop) or ()
    except Exception as error:  # noqa: BLE001 - a damaged file may raise anything
        yield Record(1, fault=explained(error))


def _recognised(first: list[Record], collector: Collector) -> str | None:
    """Return the format of the first records; report a problem if there is none."""
    values = [record.value for record in first if record.fault is None]
    found = format_of(values)
    if not first:
        collector.problem(None, "the file has no records")
    elif found is None and values:
        collector.problem(first[0].line, refuse_records(values))
    return found
