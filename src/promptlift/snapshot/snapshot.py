"""Reading a snapshot: its manifest, its tables, and the check for accidental damage."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow.compute as pc

from promptlift.errors import SnapshotDamaged
from promptlift.snapshot.columns import joined, without_empty_metadata
from promptlift.snapshot.location import RemoteFolder, damaged, location_of
from promptlift.snapshot.manifest import MANIFEST_NAME, load_manifest, signature_of, signing_key
from promptlift.snapshot.part_files import (
    PARTITIONED,
    TABLES,
    Wanted,
    problem_of,
    read_parts,
    require_whole,
)
from promptlift.snapshot.writer_lock import OWNER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from promptlift.snapshot.location import Location
    from promptlift.snapshot.manifest import FilePart, Manifest
    from promptlift.snapshot.scan import Engine

__all__ = ["Snapshot", "verify"]

_Found = TypeVar("_Found")
# How often a read restarts because a writer has replaced the state meanwhile.
_TRIES: Final = 5
_KEY_VARIABLE: Final = "PROMPTLIFT_API_KEY"
_WRONG: Final = "the signature is wrong: whoever wrote this did not have the key"


class Snapshot:
    """A folder of Parquet files: the tables of an account, each file with its rows and hash in the manifest.

    Parameters
    ----------
    folder
        Location: a folder, or an address that fsspec supports, such as ``s3://bucket/january``.
    storage_options
        Options of the file system of an address, such as ``{"key": …, "secret": …, "endpoint_url": …}``.
    api_key
        Key of the account for checking the signature; by default ``PROMPTLIFT_API_KEY``.

    Attributes
    ----------
    folder
        Location as given.
    location
        The location to read from.
    manifest
        Its content: files, totals, filters, times.

    Raises
    ------
    SnapshotError
        There is none, or its layout is different.
    SnapshotDamaged
        The manifest was truncated or changed, or contradicts itself.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | Location,
        *,
        storage_options: Mapping[str, Any] | None = None,
        api_key: str | None = None,
    ) -> None:
        self._key = signing_key(os.environ.get(_KEY_VARIABLE, "").strip() if api_key is None else api_key)
        self.location = location_of(folder, storage_options)
        self.folder: Path | str = self.location.place
        self.manifest: Manifest = load_manifest(self.location)

    def __repr__(self) -> str:
        manifest = self.manifest
        rows = manifest.rows()
        counted = ", ".join(
            f"{rows[name]:,} {name}" for name in ("conversations", "messages", "prompts") if rows.get(name)
        )
        size = sum(one.size for one in manifest.files)
        found = f"{counted or 'no rows'}; {len(manifest.files)} files, {size / 1e6:,.1f} MB"
        lines = [
            f"Snapshot of {manifest.service.get('base_url')} in {self.folder}",
            f"{found}; pulled {manifest.finished_at}, {manifest.requests} requests",
            f"promptlift.open_snapshot({str(self.folder)!r}) reads it, `promptlift verify` checks it.",
        ]
        return "\n".join(lines)

    @property
    def storage_options(self) -> dict[str, Any] | None:
        """Options of the file system; ``None`` for a folder."""
        return self.location.options if isinstance(self.location, RemoteFolder) else None

    def reload(self) -> None:
        """Load the state of the last pull."""
        self.manifest = load_manifest(self.location)

    @property
    def signature(self) -> str:
        """Description of whether the writer of the manifest had the key of the account."""
        signature = self.manifest.signature
        if not signature:
            return "not signed"
        if self._key is None:
            return "signed; not checked, no key"
        right = signature_of(self.manifest, self._key)
        if signature == right:
            return "signed with this key"
        same_key = signature.partition(":")[0] == right.partition(":")[0]
        return _WRONG if same_key else "signed; not checked, this is another key"

    @property
    def key_to_sign(self) -> bytes | None:
        """The key for signing the next state: the one that signed this state.

        Raises
        ------
        SnapshotDamaged
            The signature is wrong: the existing data must not become part of a validly signed state.
        """
        if self.signature == _WRONG:
            raise damaged({MANIFEST_NAME: _WRONG})
        return self._key if self.signature == "signed with this key" else None

    def files(self, table: str, *, prompt_ids: Sequence[str] | None = None) -> list[Path | str]:
        """Return the files of a table, for any engine that reads Parquet; only these belong to it, and each of them is verified.

        Parameters
        ----------
        table
            Name of the table.
        prompt_ids
            Only files of these prompts, if the table is split by prompt.

        Raises
        ------
        SnapshotDamaged
            A file is missing, truncated or changed.
        """
        place = self.folder
        parts = self._from_parts(table, prompt_ids, self._whole)
        return [f"{place}/{one.path}" if isinstance(place, str) else place / one.path for one in parts]

    def read(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        prompt_ids: Sequence[str] | None = None,
        metadata: bool = False,
        keep: Callable[[pa.Table], pa.Table] | None = None,
    ) -> pa.Table | None:
        """Read a table, checking the hash of every file; ``None`` if it has no rows.

        Parameters
        ----------
        table
            Name of the table.
        columns
            Columns to read; by default all.
        prompt_ids
            Only rows of these prompts, if the table is split by prompt.
        metadata
            Whether to read the columns of metadata too.
        keep
            Function that returns the wanted rows of a file.

        Raises
        ------
        SnapshotDamaged
            A file is missing, truncated or changed.
        """
        wanted = None if columns is None else Wanted(frozenset(columns), metadata=metadata)
        found = self._from_parts(table, prompt_ids, lambda parts: read_parts(self.location, parts, wanted))
        if keep is not None:
            found = [without_empty_metadata(keep(one)) for one in found]
        return joined(found) if found else None

    def _from_parts(
        self, table: str, prompt_ids: Sequence[str] | None, use: Callable[[list[FilePart]], _Found]
    ) -> _Found:
        """Use the files of a table, or those of a newer state if these are gone because of two pulls meanwhile."""
        for _ in range(_TRIES):
            before = self.manifest
            try:
                return use(self._parts(table, prompt_ids))
            except SnapshotDamaged:
                self.reload()
                if before == self.manifest:
                    raise
        return use(self._parts(table, prompt_ids))

    def _whole(self, parts: list[FilePart]) -> list[FilePart]:
        require_whole(self.location, parts)
        return parts

    def scan(self, table: str = "conversations", *, engine: Engine = "duckdb", connection: Any = None) -> Any:
        """Return a table in an engine that scales beyond pandas and reads rows lazily.

        The engine reads the files in the manifest. Each is compared with its hash now, unless it was before
        and is unchanged.

        Parameters
        ----------
        table
            Name of the table.
        engine
            ``duckdb`` (one machine), ``polars``, or ``spark`` (many).
        connection
            A DuckDB connection or a Spark session; by default that of the process.

        Returns
        -------
        object
            A DuckDB relation, a Polars LazyFrame or a Spark DataFrame, which the functions of
            ``promptlift.analysis`` accept. ``prompt`` is the name for ``prompt_id``.

        Raises
        ------
        MissingExtra
            The engine is not installed.
        SnapshotDamaged
            A file is missing, truncated or changed.
        """
        from promptlift.snapshot.scan import scan  # noqa: PLC0415  engines are extras

        files = [one.path for one in self._from_parts(table, None, self._whole)]
        return scan(
            self.folder,
            files,
            table,
            engine=engine,
            connection=connection,
            storage_options=self.storage_options,
            prompts=self._prompt_names(),
        )

    def _prompt_names(self) -> dict[str, str]:
        """Return the names of the prompts by id; shared names include the id."""
        rows = self.read("prompts", ["prompt_id", "name"])
        ids, names = ([], []) if rows is None else (rows["prompt_id"].to_pylist(), rows["name"].to_pylist())
        shared = Counter(names)
        return {
            one: name if shared[name] == 1 else f"{name} ({one})"
            for one, name in zip(ids, names, strict=True)
            if name is not None
        }

    def find(self, table: str, conversation_id: str) -> dict[str, Any] | None:
        """Return the row of a conversation, column to value; ``None`` if there is none."""
        for part in self.manifest.of_table(table):
            (rows,) = read_parts(self.location, [part], Wanted(frozenset({"conversation_id"})))
            place = pc.index(rows["conversation_id"], conversation_id).as_py()
            if place >= 0:
                (rows,) = read_parts(self.location, [part])
                found: dict[str, Any] = rows.slice(place, 1).to_pylist()[0]
                return found
        return None

    def partitions(
        self, table: str, columns: Sequence[str]
    ) -> Iterator[tuple[tuple[str | None, str | None], pa.Table]]:
        """Yield prompt and month of each file of a table, and its rows."""
        for part in self.manifest.of_table(table):
            (rows,) = read_parts(self.location, [part], Wanted(frozenset(columns)))
            yield (part.prompt_id, part.month), rows

    def verify(self) -> dict[str, str]:
        """Read every file and compare it with the manifest: path, size, hash and rows.

        This detects accidents. Somebody who can write to the folder can also write a matching manifest; only
        the signature, which is checked if the key is available, detects that (see :attr:`signature`).

        Returns
        -------
        dict
            Problems by path of each file that is missing, truncated, changed or not in the manifest; empty if
            all files are unchanged.
        """
        try:
            listed = {one.path for one in self.manifest.files} | set(self.manifest.retired)
            # Files of an active writer are not in the manifest until it ends; if it was killed, the next one
            # removes them.
            there = [] if self.location.exists(OWNER) else map(self.location.paths, TABLES)
            found = {
                ascii(path)[1:-1]: "not in the manifest"
                for paths in there
                for path in paths
                if path.endswith(".parquet") and path not in listed
            }
        except SnapshotDamaged as error:
            found = error.problems
        if self.signature == _WRONG:
            found[MANIFEST_NAME] = _WRONG
        damage = ((part.path, problem_of(self.location, part)) for part in self.manifest.files)
        return found | {path: problem for path, problem in damage if problem is not None}

    def _parts(self, table: str, prompt_ids: Sequence[str] | None) -> list[FilePart]:
        parts = self.manifest.of_table(table)
        if prompt_ids is None or table not in PARTITIONED:
            return parts
        return [one for one in parts if one.prompt_id in prompt_ids]


def verify(
    folder: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    api_key: str | None = None,
) -> dict[str, str]:
    """Read every file of a snapshot and compare it with the manifest, which has its own hash.

    Parameters
    ----------
    folder
        The snapshot: a folder or an address.
    storage_options, api_key
        As in :class:`Snapshot`.

    Returns
    -------
    dict
        As in :meth:`Snapshot.verify`; if the manifest itself is damaged, its problem.
    """
    try:
        return Snapshot(folder, storage_options=storage_options, api_key=api_key).verify()
    except SnapshotDamaged as error:
        return error.problems
