"""Part files: written whole under a name that has their hash, and never read without that hash being right."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from promptlift.errors import SnapshotDamaged
from promptlift.schema.metadata import METADATA_PREFIX
from promptlift.snapshot.location import LocalFolder
from promptlift.snapshot.manifest import NO_VALUE, FilePart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from promptlift.snapshot.location import Location
    from promptlift.snapshot.manifest import Manifest

__all__ = [
    "PARTITIONED",
    "TABLES",
    "Wanted",
    "damaged",
    "partition_folder",
    "problem_of",
    "read_parts",
    "remove_others",
    "write_part",
]

# Tables with a folder for each prompt and month, and those without.
PARTITIONED: Final = ("conversations", "messages", "issues", "topics", "labels", "details")
TABLES: Final = (*PARTITIONED, "prompts", "optimizations", "variants", "answers", "deleted")

# Part files, and what is left of one when its writer is killed.
_OURS: Final = re.compile(r"\.?part-\d+-[0-9a-f]{8}\.parquet(\.[0-9a-f]+\.part)?")
# Tables of long texts, which are worth packing tightly. In the others unpacking would take longer than all else.
_TEXTS: Final = frozenset({"messages", "details", "prompts", "optimizations", "variants"})
_ROW_GROUP_ROWS: Final = 131_072
_THREADS: Final = 4
# Fewer bytes on the disk are read before threads have begun.
_WORTH_THREADS: Final = 4 << 20

# Files whose hash was right, with what says that they are the same still.
_verified: dict[tuple[str, str, str], object] = {}
_verified_lock = threading.Lock()


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
    """

    names: frozenset[str]
    metadata: bool = False

    def of(self, present: Sequence[str]) -> list[str]:
        """Return those of a file."""
        return [
            name
            for name in present
            if name in self.names or (self.metadata and name.startswith(METADATA_PREFIX))
        ]


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
    if sum(part.size for part in parts) < _WORTH_THREADS and isinstance(root, LocalFolder):
        return [_read(root, part, wanted) for part in parts]
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
        return list(threads.map(lambda part: _read(root, part, wanted), parts))


def _read(root: Location, part: FilePart, wanted: Wanted | None) -> pa.Table:
    if wanted is not None and isinstance(root, LocalFolder) and _is_known(root, part):
        # Only what is asked for comes from the disk.
        source: Any = pa.memory_map(str(root.place / part.path))
    else:
        source = pa.py_buffer(_checked(root, part))
    file = pq.ParquetFile(source)
    names = None if wanted is None else wanted.of(file.schema_arrow.names)
    return file.read(names, use_threads=False)


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
    others = (path for table in TABLES for path in root.paths(table) if path not in kept)
    root.remove([path for path in others if _OURS.fullmatch(path.rpartition("/")[2])])
