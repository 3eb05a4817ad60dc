"""The manifest of a snapshot: every file with its rows and its hash, and the source of the copy."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from promptlift.errors import SnapshotError
from promptlift.schema.naming import SchemeName
from promptlift.snapshot.location import damaged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.snapshot.location import Location

__all__ = [
    "MANIFEST_NAME",
    "NO_VALUE",
    "FilePart",
    "Manifest",
    "load_manifest",
    "save_manifest",
    "signature_of",
    "signing_key",
]

MANIFEST_NAME: Final = "manifest.json"
FORMAT: Final = "promptlift snapshot"
# Incremented when another version would misread the files of a snapshot.
SCHEMA_VERSION: Final = 1
# Hive's folder name for a missing value.
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
# The paths that writers give to files. None leads out of the folder, and no engine reads one as a pattern.
_PATH: Final = re.compile(
    r"[a-z]+/(prompt_id=[\w.%~-]+/month=[\w-]+/)?part-\d{5,9}-[0-9a-f]{8}\.parquet", re.ASCII
)
Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Service(_Strict):
    """The source of the rows."""

    base_url: Annotated[str, Field(pattern="^https?://[!-~]{1,2000}$"), AfterValidator(urlsplit)]
    scheme: SchemeName
    account_id: str | None


class _State(_Strict):
    """State for the next pull."""

    as_of: str | None = None
    keeps_labels: bool = False
    keeps_judges: bool = False
    verdicts_counted: dict[str, list[int]] = {}


@dataclass(frozen=True, slots=True)
class FilePart:
    """One Parquet file of a snapshot.

    Attributes
    ----------
    path
        Relative to the snapshot, with ``/``.
    rows, size, sha256
        Its rows, size in bytes and hash.
    """

    path: str
    rows: Count
    size: Count
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
        """The prompt of all its rows; ``None`` if the table has no partitions."""
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
    """The content of a snapshot.

    Attributes
    ----------
    service
        Address, naming scheme and account of the source; ``None`` for an unknown account.
    filters
        Requested conversations: a prompt, or empty for all.
    content
        Whether transcripts are included.
    totals
        Rows as counted by the last pull: all rows of the service, or it would have raised.
    finished_at
        Time of the last pull.
    pulls, requests
        Number of pulls so far, and of requests in the last one.
    deleted_meanwhile
        Conversations that were deleted while the last pull read them.
    warnings
        Counts of unusable values, by table and column.
    state
        State of this pull for the next one.
    files
        Every file.
    retired
        Files of the previous state, kept until the next change for concurrent readers.
    written_by
        The program that wrote the files.
    signature
        See :func:`signature_of`; empty if unsigned.
    """

    service: Annotated[dict[str, Any], AfterValidator(lambda found: _Service(**found) and found)]
    filters: dict[str, str | None] = field(default_factory=dict)
    content: bool = False
    totals: dict[str, Count] = field(default_factory=dict)
    finished_at: str = ""
    pulls: int = 0
    requests: int = 0
    deleted_meanwhile: int = 0
    warnings: dict[str, dict[str, int]] = field(default_factory=dict)
    state: Annotated[dict[str, Any], AfterValidator(lambda found: _State(**found) and found)] = field(
        default_factory=dict
    )
    files: tuple[FilePart, ...] = ()
    retired: tuple[str, ...] = ()
    written_by: str = ""
    signature: str = ""

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
        """Return the manifest with other files, retiring those that it no longer has."""
        kept = tuple(sorted(files, key=lambda one: one.path))
        names = {one.path for one in kept}
        return replace(
            self, files=kept, retired=tuple(one.path for one in self.files if one.path not in names)
        )


_READER: Final = TypeAdapter(Manifest)


def signing_key(api_key: str | None) -> bytes | None:
    """Derive the signing key from an API key, which it does not reveal; ``None`` without an API key."""
    return hmac.digest(api_key.encode(), b"promptlift snapshot", "sha256") if api_key else None


def signature_of(manifest: Manifest, key: bytes) -> str:
    """Return the signature of a manifest: the key's fingerprint, and the HMAC-SHA256 of the rest."""
    name = hmac.digest(key, b"name", "sha256").hex()[:16]
    return f"{name}:{hmac.digest(key, _body(manifest), 'sha256').hex()}"


def save_manifest(location: Location, manifest: Manifest, key: bytes | None = None) -> Manifest:
    """Write the manifest, signed if there is a key, which makes its state visible atomically."""
    manifest = replace(manifest, signature=signature_of(manifest, key) if key else "")
    location.remove_unfinished(MANIFEST_NAME)
    location.write(MANIFEST_NAME, _written(manifest))
    return manifest


def load_manifest(location: Location) -> Manifest:
    """Read the manifest of a snapshot, refusing anything that this program would not write.

    Raises
    ------
    SnapshotError
        There is none, or its layout is different.
    SnapshotDamaged
        It was truncated or changed, or contradicts itself.
    """
    folder = location.place
    try:
        text = location.read(MANIFEST_NAME)
    except FileNotFoundError:
        raise SnapshotError(
            f"{folder} is no snapshot: it has no {MANIFEST_NAME}. lift.pull({str(folder)!r}) or `promptlift pull` makes one"
            f"{', and continues the one that was begun there' if location.exists('.pull') else ''}."
        ) from None
    try:
        data = json.loads(text)
        version = data["schema_version"] if data["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError, RecursionError):
        version = None
    if type(version) is not int:
        raise damaged({MANIFEST_NAME: "cut or changed"})
    if version != SCHEMA_VERSION:
        raise SnapshotError(
            f"{folder} has layout {version}, and this version of promptlift reads layout {SCHEMA_VERSION}. Pull into another "
            "folder, or upgrade promptlift where that one is newer."
        )
    try:
        manifest = _READER.validate_json(text, strict=True)
    except ValidationError as error:
        where = ascii(".".join(map(str, error.errors()[0]["loc"])))[1:-1]
        raise damaged({MANIFEST_NAME: f"cut or changed, at {where or 'its end'}"}) from None
    problems = _contradictions(manifest)
    if not problems and text != _written(manifest):
        problems = {MANIFEST_NAME: "cut or changed"}
    if problems:
        raise damaged(problems)
    return manifest


def _contradictions(manifest: Manifest) -> dict[str, str]:
    """Return contradictions in a manifest, from path to problem."""
    problems = {}
    for path, times in Counter(one.path for one in manifest.files).items():
        if not _PATH.fullmatch(path):
            problems[ascii(path)[1:-1]] = "not a path of a snapshot file, so it was not opened"
        elif times > 1:
            problems[path] = f"listed {times} times"
    rows = manifest.rows()
    wrong = [
        f"{total:,} {name} by the total, {rows.get(name, 0):,} by the files"
        for name, total in manifest.totals.items()
        if total != rows.get(name, 0)
    ]
    return problems | ({MANIFEST_NAME: f"changed: {'; '.join(wrong)}"} if wrong and not problems else {})


def _written(manifest: Manifest) -> bytes:
    """Return the complete manifest: its content and the hash of the content."""
    body = _body(manifest)
    signed = f',\n "signature": {_json(manifest.signature)}' if manifest.signature else ""
    return body + f',\n "manifest_sha256": "{hashlib.sha256(body).hexdigest()}"{signed}\n}}\n'.encode()


def _body(manifest: Manifest) -> bytes:
    """Write the manifest in readable form: the description first, then one line per file."""
    said = {name: getattr(manifest, name) for name in Manifest.__dataclass_fields__}
    del said["files"], said["signature"]
    head = {"format": FORMAT, "schema_version": SCHEMA_VERSION, **said, "rows": manifest.rows()}
    lines = [f" {_json(name)}: {_json(value)}" for name, value in head.items()]
    files = ",\n  ".join(_json(asdict(one)) for one in manifest.files)
    lines.append(f' "files": [\n  {files}\n ]')
    return ("{\n" + ",\n".join(lines)).encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
