"""Part files: written whole under a name that has their hash, and never read without that hash being right."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from promptlift.atomic_write import atomic_write
from promptlift.errors import SnapshotDamaged
from promptlift.schema.metadata import METADATA_PREFIX
from promptlift.snapshot.manifest import NO_VALUE, FilePart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

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
_ROW_GROUP_ROWS: Final = 131_072
_THREADS: Final = 4

# Files whose hash was right, with what says that they are the same still.
_verified: dict[tuple[Path, str], tuple[int, int, int]] = {}
_verified_lock = threading.Lock()


def partition_folder(table: str, prompt_id: str | None, month: str | None) -> str:
    """Return the folder of a partition, relative to the snapshot.

    >>> partition_folder("messages", "prm/1", "2026-01")
    'messages/prompt_id=prm%2F1/month=2026-01'
    """
    named = NO_VALUE if prompt_id is None else quote(prompt_id, safe="-_.")
    return f"{table}/prompt_id={named}/month={month or NO_VALUE}"


def write_part(root: Path, folder: str, number: int, table: pa.Table) -> FilePart:
    """Write a part file whole and return its entry of the manifest."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        row_group_size=_ROW_GROUP_ROWS,
        write_statistics=True,
        store_schema=False,
    )
    data = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(data).hexdigest()
    path = f"{folder}/part-{number:05d}-{digest[:8]}.parquet"
    (root / folder).mkdir(parents=True, exist_ok=True)
    atomic_write(root / path, data)
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


def read_parts(root: Path, parts: Sequence[FilePart], wanted: Wanted | None = None) -> list[pa.Table]:
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
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
        return list(threads.map(lambda part: _read(root, part, wanted), parts))


def _read(root: Path, part: FilePart, wanted: Wanted | None) -> pa.Table:
    path = root / part.path
    if wanted is not None and _is_known(path, part):
        # Only what is asked for comes from the disk.
        source: Any = pa.memory_map(str(path))
    else:
        source = pa.py_buffer(_checked(path, part))
    file = pq.ParquetFile(source)
    names = None if wanted is None else wanted.of(file.schema_arrow.names)
    return file.read(names, use_threads=False)


def _checked(path: Path, part: FilePart) -> bytes:
    before = path.stat()
    data = path.read_bytes()
    if len(data) != part.size or hashlib.sha256(data).hexdigest() != part.sha256:
        raise damaged({part.path: _how(len(data), part)})
    with _verified_lock:
        _verified[path, part.sha256] = _stamp(before)
    return data


def _is_known(path: Path, part: FilePart) -> bool:
    stamp = _verified.get((path, part.sha256))
    return stamp is not None and stamp == _stamp(path.stat())


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ino


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


def problem_of(root: Path, part: FilePart) -> str | None:
    """Return what is wrong with a file, read anew; ``None`` when it is as it was written."""
    digest, size = hashlib.sha256(), 0
    try:
        with (root / part.path).open("rb") as file:
            while block := file.read(1 << 20):
                size += len(block)
                digest.update(block)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"unreadable: {error.strerror}"
    if size == part.size and digest.hexdigest() == part.sha256:
        return None
    return _how(size, part)


def remove_others(root: Path, manifest: Manifest) -> None:
    """Remove the files that neither this state nor the one before has: of older states, and of a pull that was killed."""
    kept = {one.path for one in manifest.files} | set(manifest.retired)
    for table in TABLES:
        folder = root / table
        if not folder.is_dir():
            continue
        for at, _, files in os.walk(folder, topdown=False):
            here = Path(at)
            for name in files:
                path = here / name
                if path.relative_to(root).as_posix() not in kept and _OURS.fullmatch(name):
                    path.unlink(missing_ok=True)
            if not any(here.iterdir()):
                here.rmdir()
