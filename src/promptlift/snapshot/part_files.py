"""Part files: written in full under a name with their hash, and never read without verifying it."""

from __future__ import annotations

import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from promptlift.errors import SnapshotDamaged
from promptlift.schema.metadata import is_metadata_column
from promptlift.snapshot.location import LocalFolder, damaged
from promptlift.snapshot.manifest import NO_VALUE, FilePart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptlift.snapshot.location import Location
    from promptlift.snapshot.manifest import Manifest

__all__ = [
    "OF_CONVERSATIONS",
    "PARTITIONED",
    "TABLES",
    "Wanted",
    "partition_folder",
    "problem_of",
    "read_parts",
    "remove_others",
    "require_whole",
    "write_part",
]

# Tables derived from the rows of conversations; all tables with a folder per prompt and month; and those
# without.
OF_CONVERSATIONS: Final = ("conversations", "messages", "issues", "topics", "details")
PARTITIONED: Final = (*OF_CONVERSATIONS, "verdicts")
TABLES: Final = (*PARTITIONED, "prompts", "optimizations", "variants", "labels", "judges", "deleted")
# Part files, and leftovers of killed writers.
_OURS: Final = re.compile(r"\.?part-\d+-[0-9a-f]{8}\.parquet(\.[0-9a-f]+\.part)?")
# Tables of long texts, which are worth strong compression. In the others, decompression would take most of
# the time.
_TEXTS: Final = frozenset(
    {"messages", "details", "prompts", "optimizations", "variants", "labels", "judges", "verdicts"}
)
_ROW_GROUP_ROWS: Final = 131_072
_THREADS: Final = 4
# Fewer bytes are read before threads could start.
_WORTH_THREADS: Final = 4 << 20

# Verified files, with the marks that detect changes.
_compared: dict[tuple[str, FilePart], object] = {}


def partition_folder(table: str, prompt_id: str | None, month: str | None) -> str:
    """Return the folder of a partition, relative to the snapshot.

    >>> partition_folder("messages", "prm/1", "2026-01")
    'messages/prompt_id=prm%2F1/month=2026-01'
    """
    named = NO_VALUE if prompt_id is None else quote(prompt_id, safe="-_.")
    return f"{table}/prompt_id={named}/month={month or NO_VALUE}"


def write_part(root: Location, folder: str, number: int, table: pa.Table) -> FilePart:
    """Write a complete part file and return its entry for the manifest."""
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
    """Columns to read; those missing in a file are left out of its table.

    Attributes
    ----------
    names
        Their names.
    metadata
        Whether all columns of metadata are included.
    """

    names: frozenset[str]
    metadata: bool = False

    def of(self, present: Sequence[str]) -> list[str]:
        """Return the selected columns of a file."""
        return [
            name for name in present if name in self.names or (self.metadata and is_metadata_column(name))
        ]


def read_parts(root: Location, parts: Sequence[FilePart], wanted: Wanted | None = None) -> list[pa.Table]:
    """Read part files, verifying each of them.

    Parameters
    ----------
    wanted
        Columns to read; by default all.

    Raises
    ------
    SnapshotDamaged
        A file is missing, truncated or changed.
    """

    def read(part: FilePart) -> pa.Table:
        if isinstance(root, LocalFolder):
            _require(root, part)
            # Only requested columns are read from disk.
            file = pq.ParquetFile(pa.memory_map(f"{root.place}/{part.path}"))
        else:
            file = pq.ParquetFile(pa.py_buffer(_whole(root, part)))
        names = None if wanted is None else wanted.of(file.schema_arrow.names)
        return file.read(names, use_threads=False)

    return _each(root, parts, read)


def require_whole(root: Location, parts: Sequence[FilePart]) -> None:
    """Compare files with the manifest before another library reads them, except files compared before and unchanged since.

    Raises
    ------
    SnapshotDamaged
        A file is missing, truncated or changed.
    """
    _each(root, parts, lambda part: _require(root, part))


def problem_of(root: Location, part: FilePart) -> str | None:
    """Read a file again and return its problem; ``None`` if it is unchanged."""
    try:
        _each(root, [part], lambda one: _whole(root, one))
    except SnapshotDamaged as error:
        return error.problems[part.path]
    return None


def _each(root: Location, parts: Sequence[FilePart], do: Callable[[FilePart], Any]) -> list[Any]:
    def done(part: FilePart) -> Any:
        try:
            return do(part)
        except FileNotFoundError:
            raise damaged({part.path: "missing"}) from None

    if sum(part.size for part in parts) < _WORTH_THREADS and isinstance(root, LocalFolder):
        return list(map(done, parts))
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
        return list(threads.map(done, parts))


def _require(root: Location, part: FilePart) -> None:
    known = _compared.get((str(root.place), part))
    if known is None or known != root.stamp(part.path):
        _whole(root, part)


def _whole(root: Location, part: FilePart) -> bytes:
    """Return a file after verifying size, hash and rows against the manifest."""
    stamp = root.stamp(part.path)
    if stamp[0] < part.size:
        raise damaged({part.path: f"cut: {stamp[0]:,} of {part.size:,} bytes"})
    data = root.read(part.path) if stamp[0] == part.size else b""
    if len(data) != part.size or hashlib.sha256(data).hexdigest() != part.sha256:
        raise damaged({part.path: "changed: its content is not what was written"})
    try:
        rows = pq.read_metadata(pa.BufferReader(data)).num_rows
    except pa.ArrowInvalid:
        raise damaged({part.path: "not a Parquet file"}) from None
    if rows != part.rows:
        raise damaged({part.path: f"has {rows:,} rows, and the manifest says {part.rows:,}"})
    _compared[str(root.place), part] = stamp
    return data


def remove_others(root: Location, manifest: Manifest) -> None:
    """Remove the files of neither this state nor the previous one: those of older states, and of a killed pull."""
    kept = {one.path for one in manifest.files} | set(manifest.retired)
    others = (path for table in TABLES for path in root.paths(table) if path not in kept)
    root.remove([path for path in others if _OURS.fullmatch(path.rpartition("/")[2])])
