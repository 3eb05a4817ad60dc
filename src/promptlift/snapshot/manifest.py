"""The manifest of a snapshot: every file with its rows and its hash, and what the whole is a copy of."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from promptlift.errors import SnapshotDamaged, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.snapshot.location import Location

__all__ = [
    "MANIFEST_NAME",
    "NO_VALUE",
    "SCHEMA_VERSION",
    "FilePart",
    "Manifest",
    "load_manifest",
    "save_manifest",
]

MANIFEST_NAME: Final = "manifest.json"
FORMAT: Final = "promptlift snapshot"
# Raised when the files of an older snapshot would be read wrongly. Since 2 all labels are in one table.
SCHEMA_VERSION: Final = 2
# Older layouts from this one on are read, and written anew with the next change.
_OLDEST: Final = 1
# What Hive writes in the name of a folder where a row has no value.
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_OWN_HASH: Final = "manifest_sha256"


@dataclass(frozen=True, slots=True)
class FilePart:
    """One Parquet file of a snapshot.

    Attributes
    ----------
    path
        Relative to the snapshot, with ``/``.
    rows, size, sha256
        Its rows, bytes and hash.
    """

    path: str
    rows: int
    size: int
    sha256: str

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.path.partition("/")[0]

    @property
    def partition(self) -> str:
        """Folder of the file."""
        return self.path.rpartition("/")[0]

    @property
    def prompt_id(self) -> str | None:
        """The prompt of all its rows; ``None`` where the table has no partitions."""
        return self._key("prompt_id")

    @property
    def month(self) -> str | None:
        """The month in which all its conversations began, as ``2026-01``."""
        return self._key("month")

    def _key(self, name: str) -> str | None:
        marked = (part for part in self.path.split("/") if part.startswith(f"{name}="))
        value = next(marked, f"{name}={NO_VALUE}").removeprefix(f"{name}=")
        return None if value == NO_VALUE else unquote(value)


@dataclass(frozen=True)
class Manifest:
    """What a snapshot holds.

    Attributes
    ----------
    service
        Address, naming scheme and account that the rows came from; an unknown account is ``None``.
    filters
        Conversations that were asked for: a prompt, or nothing for all.
    content
        Whether transcripts are there.
    insights_listed
        Whether the service sent insights with its list.
    totals
        Rows as the service counted them.
    began_at, finished_at
        Times of the last pull.
    pulls, requests
        Pulls until now, and the requests of the last one.
    deleted
        Conversations that were here and are no longer at the service; the table ``deleted`` names them.
    deleted_meanwhile
        Conversations that were deleted while the last pull read them.
    warnings
        Table to the counts of unusable values by column.
    state
        What the next pull needs to know of this one.
    files
        Every file.
    retired
        Files of the state before, kept until the next change for those who still read them.
    schema_version, written_by
        Layout of the files, and the program that wrote them.
    """

    service: dict[str, Any]
    filters: dict[str, Any] = field(default_factory=dict)
    content: bool = False
    insights_listed: bool = False
    totals: dict[str, int | None] = field(default_factory=dict)
    began_at: str = ""
    finished_at: str = ""
    pulls: int = 0
    requests: int = 0
    deleted: int = 0
    deleted_meanwhile: int = 0
    warnings: dict[str, dict[str, int]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    files: tuple[FilePart, ...] = ()
    retired: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION
    written_by: str = ""

    def of_table(self, table: str) -> list[FilePart]:
        """Return the files of a table."""
        return [one for one in self.files if one.table == table]

    def rows(self) -> dict[str, int]:
        """Return the rows of each table."""
        counted: Counter[str] = Counter()
        for one in self.files:
            counted[one.table] += one.rows
        return dict(counted)

    def with_files(self, files: Iterable[FilePart]) -> Manifest:
        """Return the manifest with other files, those that it no longer has retired."""
        kept = tuple(sorted(files, key=lambda one: one.path))
        names = {one.path for one in kept}
        return replace(
            self, files=kept, retired=tuple(one.path for one in self.files if one.path not in names)
        )


def save_manifest(location: Location, manifest: Manifest) -> None:
    """Write the manifest, which makes its state visible at once."""
    location.remove_unfinished(MANIFEST_NAME)
    location.write(MANIFEST_NAME, _written(manifest))


def load_manifest(location: Location) -> Manifest:
    """Read the manifest of a snapshot.

    Raises
    ------
    SnapshotError
        When there is none, or its layout is another.
    SnapshotDamaged
        When it was cut or changed.
    """
    folder = location.place
    try:
        text = location.read(MANIFEST_NAME)
    except FileNotFoundError:
        raise SnapshotError(
            f"{folder} is no snapshot: it has no {MANIFEST_NAME}. lift.pull({str(folder)!r}) or `promptlift pull` makes one"
            f"{', and goes on with the one that was begun there' if location.exists('.pull') else ''}."
        ) from None
    data = _read(text, folder)
    version = data["schema_version"]
    if version > SCHEMA_VERSION:
        raise SnapshotError(
            f"{folder} was written by {data.get('written_by') or 'a newer promptlift'} with layout {version}; this version "
            f"reads up to {SCHEMA_VERSION}. Upgrade promptlift, or pull into another folder."
        )
    if version < _OLDEST:
        raise SnapshotError(
            f"{folder} was written by {data.get('written_by') or 'an older promptlift'} with layout {version}, which this "
            f"version does not read: it reads from {_OLDEST} on. Pull into another folder."
        )
    files = tuple(
        FilePart(one["path"], one["rows"], one["bytes"], one["sha256"]) for one in data.pop("files")
    )
    known = {name: data[name] for name in Manifest.__dataclass_fields__ if name in data}
    known["retired"] = tuple(data.get("retired") or ())
    return Manifest(**{**known, "files": files})


def _read(text: bytes, folder: object) -> dict[str, Any]:
    damaged = SnapshotDamaged(
        f"The {MANIFEST_NAME} of {folder} was cut or changed, so nothing there is proven. Take the file from a backup, "
        "or pull into a new folder.",
        problems={MANIFEST_NAME: "cut or changed"},
    )
    try:
        data = json.loads(text)
        del data[_OWN_HASH]
    except (ValueError, KeyError, AttributeError, TypeError):
        raise damaged from None
    if data.get("format") != FORMAT or not isinstance(data.get("schema_version"), int):
        raise damaged
    # The hash is that of the file without its own line.
    body = text.rpartition(f',\n "{_OWN_HASH}"'.encode())[0]
    if text != body + _signature(body):
        raise damaged
    found: dict[str, Any] = data
    return found


def _written(manifest: Manifest) -> bytes:
    """Write the manifest for people: what it is first, then a line a file."""
    head = {
        "format": FORMAT,
        "schema_version": manifest.schema_version,
        "written_by": manifest.written_by,
        "service": manifest.service,
        "filters": manifest.filters,
        "content": manifest.content,
        "insights_listed": manifest.insights_listed,
        "began_at": manifest.began_at,
        "finished_at": manifest.finished_at,
        "pulls": manifest.pulls,
        "requests": manifest.requests,
        "totals": manifest.totals,
        "rows": manifest.rows(),
        "deleted": manifest.deleted,
        "deleted_meanwhile": manifest.deleted_meanwhile,
        "warnings": manifest.warnings,
        "state": manifest.state,
        "retired": manifest.retired,
    }
    lines = [f" {_json(name)}: {_json(value)}" for name, value in head.items()]
    files = [
        _json({"path": one.path, "rows": one.rows, "bytes": one.size, "sha256": one.sha256})
        for one in manifest.files
    ]
    lines.append(' "files": [\n  ' + ",\n  ".join(files) + "\n ]" if files else ' "files": []')
    body = ("{\n" + ",\n".join(lines)).encode()
    return body + _signature(body)


def _signature(body: bytes) -> bytes:
    """Return the end of a manifest: the hash of everything before it."""
    return f',\n "{_OWN_HASH}": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
