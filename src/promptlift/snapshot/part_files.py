"""Part files: written whole under a name that has their hash, and never read without that hash being right."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from promptlift.errors import SnapshotDamaged
from promptlift.schema.metadata import METADATA_PREFIX
from promptlift.snapshot.columns import joined
from promptlift.snapshot.location import LocalFolder
from promptlift.snapshot.manifest import NO_VALUE, FilePart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.snapshot.location import Location
    from promptlift.snapshot.manifest import Manifest

__all__ = [
    "OF_CONVERSATIONS",
    "PARTITIONED",
    "TABLES",
    "Wanted",
    "damaged",
    "partition_folder",
    "problem_of",
    "read_parts",
    "read_table",
    "remove_others",
    "write_part",
]

# Tables that are made of the rows of conversations; all with a folder for each prompt and month; and those without.
OF_CONVERSATIONS: Final = ("conversations", "messages", "issues", "topics", "details")
PARTITIONED: Final = (*OF_CONVERSATIONS, "verdicts")
TABLES: Final = (*PARTITIONED, "prompts", "optimizations", "variants", "labels", "judges", "deleted")
# Of an older layout: its labels were in two tables.
_FORMER: Final = ("answers",)

# Part files, and what is left of one when its writer is killed.
_OURS: Final = re.compile(r"\.?part-\d+-[0-9a-f]{8}\.parquet(\.[0-9a-f]+\.part)?")
# Tables of long texts, which are worth packing tightly. In the others unpacking would take longer than all else.
_TEXTS: Final = frozenset(
    {"messages", "details", "prompts", "optimizations", "variants", "labels", "judges", "verdicts"}
)
_ROW_GROUP_ROWS: Final = 131_072
_THREADS: Final = 4
# Fewer bytes on the disk are read before threads have begun.
_WORTH_THREADS: Final = 4 << 20

# Files whose hash was right, with what says that they are the same still.
_verified: dict[tuple[str, str, str], object] = {}
_verified_lock = threading.Lock()
# Footers of files that were read lately: parsing one takes as long as reading several of its columns.
_footers: OrderedDict[tuple[str, str, str], _Footer] = OrderedDict()
_footers_lock = threading.Lock()
_MOST_FOOTERS: Final = 512
# Tables that were read last, while their files are the same still: notebooks read the same one cell after cell.
_tables: OrderedDict[object, pa.Table] = OrderedDict()
_tables_lock = threading.Lock()
_MOST_TABLES: Final = 4
_MOST_TABLE_BYTES: Final = 32 << 20


def partition_folder(table: str, prompt_id: str | None, month: str | None) -> str:
    """Return the folder of a partition, relative to the snapshot.

    >>> partition_folder("messages", "prm/1", "2026-01")
    'messages/prompt_id=prm%2F1/month=2026-01'
    """
    named = NO_VALUE if prompt_id is None else quote(prompt_id, safe="-_.")
    return f"{table}/prompt_id={named}/month={month or NO_VALUE}"


def write_part(root: Location, folder: str, number: int, table: pa.Table) -> FilePart:
    """Write a part file whole and return its entry of the manifest."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd" if folder.partition("/")[0] in _TEXTS else "snappy",
        row_group_size=_ROW_GROUP_ROWS,
        write_statistics=True,
        store_schema=False,
    )
    data = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(data).hexdigest()
    path = f"{folder}/part-{number:05d}-{digest[:8]}.parquet"
    root.write(path, data)
    return FilePart(path, len(table), len(data), digest)


@dataclass(frozen=True)
class Wanted:
    """Columns to read; those that a file does not have are left out of its table.

    Attributes
    ----------
    names
        Their names.
    metadata
        Whether all columns of metadata are among them.
    without
        Columns that are not read, whatever else says.
    """

    names: frozenset[str]
    metadata: bool = False
    without: frozenset[str] = frozenset()

    def of(self, present: Sequence[str]) -> list[str]:
        """Return those of a file."""
        return [
            name
            for name in present
            if name not in self.without
            and (name in self.names or (self.metadata and name.startswith(METADATA_PREFIX)))
        ]


@dataclass(frozen=True)
class _Footer:
    """The end of a file: where its columns are, and which of them have no value."""

    metadata: pq.FileMetaData
    schema: pa.Schema
    names: tuple[str, ...]
    empty: frozenset[str]


def read_table(root: Location, parts: Sequence[FilePart], wanted: Wanted) -> pa.Table:
    """Read columns of part files, one or more, into a table, each file with its hash checked.

    What was read a moment ago is not read again while its files are the same. A column in which no file has a value is not
    read either: the table has it all the same.

    Parameters
    ----------
    wanted
        Columns to read.

    Raises
    ------
    FileNotFoundError
        When a file is not there.
    SnapshotDamaged
        When a file is not as it was written; the error names all of these.
    """
    footers = [_footer(root, part) for part in parts]
    known = [one for one in footers if one is not None]
    if len(known) < len(parts):
        return joined(read_parts(root, parts, wanted))
    key = (str(root.place), tuple((part.path, part.sha256) for part in parts), wanted)
    with _tables_lock:
        if key in _tables:
            _tables.move_to_end(key)
            return _tables[key]
    found = _read_known(root, parts, wanted, known)
    if found.nbytes <= _MOST_TABLE_BYTES:
        with _tables_lock:
            _tables[key] = found
            while len(_tables) > _MOST_TABLES:
                _tables.popitem(last=False)
    return found


def _read_known(
    root: Location, parts: Sequence[FilePart], wanted: Wanted, known: Sequence[_Footer]
) -> pa.Table:
    fields = {
        name: one.schema.field(name)
        for names, one in {one.names: one for one in known}.items()
        for name in wanted.of(names)
    }
    empty = frozenset(fields)
    for one in known:
        empty &= one.empty | (fields.keys() - set(one.names))
    found = joined(_read_all(root, parts, replace(wanted, without=empty), known))
    for name in fields.keys() & empty:
        found = found.append_column(fields[name], pa.nulls(len(found), fields[name].type))
    return found


def read_parts(root: Location, parts: Sequence[FilePart], wanted: Wanted | None = None) -> list[pa.Table]:
    """Read part files, each with its hash checked.

    Parameters
    ----------
    wanted
        Columns to read; all without it.

    Raises
    ------
    FileNotFoundError
        When a file is not there.
    SnapshotDamaged
        When a file is not as it was written; the error names all of these.
    """
    footers = [None if wanted is None else _footer(root, part) for part in parts]
    return _read_all(root, parts, wanted, footers)


def _read_all(
    root: Location, parts: Sequence[FilePart], wanted: Wanted | None, footers: Sequence[_Footer | None]
) -> list[pa.Table]:
    def read(part: FilePart, footer: _Footer | None) -> pa.Table:
        return _read(root, part, wanted, footer)

    if sum(part.size for part in parts) < _WORTH_THREADS and isinstance(root, LocalFolder):
        return list(map(read, parts, footers))
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
        return list(threads.map(read, parts, footers))


def _read(root: Location, part: FilePart, wanted: Wanted | None, footer: _Footer | None) -> pa.Table:
    if footer is None:
        file = pq.ParquetFile(pa.py_buffer(_checked(root, part)))
        names = None if wanted is None else wanted.of(file.schema_arrow.names)
    else:
        # Only what is asked for comes from the disk.
        file = pq.ParquetFile(pa.memory_map(_path(root, part)), metadata=footer.metadata)
        names = None if wanted is None else wanted.of(footer.names)
    return file.read(names, use_threads=False)


def _footer(root: Location, part: FilePart) -> _Footer | None:
    """Return the footer of a file on this machine whose hash was found right, and which is the same still."""
    if not isinstance(root, LocalFolder) or not _is_known(root, part):
        return None
    key = _key(root, part)
    with _footers_lock:
        found = _footers.get(key)
        if found is not None:
            _footers.move_to_end(key)
            return found
    file = pq.ParquetFile(pa.memory_map(_path(root, part)))
    found = _Footer(
        file.metadata, file.schema_arrow, tuple(file.schema_arrow.names), _empty_columns(file.metadata)
    )
    with _footers_lock:
        _footers[key] = found
        while len(_footers) > _MOST_FOOTERS:
            _footers.popitem(last=False)
    return found


def _empty_columns(metadata: pq.FileMetaData) -> frozenset[str]:
    """Return the columns that have no value, as the file's statistics say."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    found = set()
    for place in range(metadata.num_columns):
        chunks = [group.column(place) for group in groups]
        # Columns of lists have another path: what their counts mean is left to the reader.
        name = metadata.schema.column(place).name
        if all(chunk.path_in_schema == name and _is_empty(chunk) for chunk in chunks):
            found.add(name)
    return frozenset(found)


def _is_empty(chunk: pq.ColumnChunkMetaData) -> bool:
    statistics = chunk.statistics
    return statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values


def _path(root: Location, part: FilePart) -> str:
    return f"{root.place}/{part.path}"


def _checked(root: Location, part: FilePart) -> bytes:
    before = root.stamp(part.path)
    data = root.read(part.path)
    if len(data) != part.size or hashlib.sha256(data).hexdigest() != part.sha256:
        raise damaged({part.path: _how(len(data), part)})
    with _verified_lock:
        _verified[_key(root, part)] = before
    return data


def _is_known(root: Location, part: FilePart) -> bool:
    stamp = _verified.get(_key(root, part))
    return stamp is not None and stamp == root.stamp(part.path)


def _key(root: Location, part: FilePart) -> tuple[str, str, str]:
    return str(root.place), part.path, part.sha256


def _how(size: int, part: FilePart) -> str:
    if size < part.size:
        return f"cut: {size:,} of {part.size:,} bytes"
    return "changed: its content is not what was written"


def damaged(problems: dict[str, str]) -> SnapshotDamaged:
    """Return the error that names damaged files."""
    named = "; ".join(f"{path} ({what})" for path, what in problems.items())
    return SnapshotDamaged(
        f"The snapshot is damaged: {named}. Take the files from a backup, or pull into a new folder.",
        problems=problems,
    )


def problem_of(root: Location, part: FilePart) -> str | None:
    """Return what is wrong with a file, read anew; ``None`` when it is as it was written."""
    digest, size = hashlib.sha256(), 0
    try:
        for block in root.blocks(part.path):
            size += len(block)
            digest.update(block)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"unreadable: {error.strerror}"
    if size == part.size and digest.hexdigest() == part.sha256:
        return None
    return _how(size, part)


def remove_others(root: Location, manifest: Manifest) -> None:
    """Remove the files that neither this state nor the one before has: of older states, and of a pull that was killed."""
    kept = {one.path for one in manifest.files} | set(manifest.retired)
    others = (path for table in (*TABLES, *_FORMER) for path in root.paths(table) if path not in kept)
    root.remove([path for path in others if _OURS.fullmatch(path.rpartition("/")[2])])
