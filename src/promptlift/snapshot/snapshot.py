"""A snapshot that is read: its manifest, its tables, and the check that finds what accidents did to them."""

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
# How often a read begins anew because a writer has replaced the state meanwhile.
_TRIES: Final = 5
_KEY_VARIABLE: Final = "PROMPTLIFT_API_KEY"
_WRONG: Final = "the signature is wrong: whoever wrote this did not have the key"


class Snapshot:
    """A folder of Parquet files: the tables of an account, each file with its rows and hash in the manifest.

    Parameters
    ----------
    folder
        Where it is: a folder, or an address that fsspec knows, such as ``s3://bucket/january``.
    storage_options
        Of the file system of an address, such as ``{"key": …, "secret": …, "endpoint_url": …}``.
    api_key
        Key of the account, by which the signature is checked; by default ``PROMPTLIFT_API_KEY``.

    Attributes
    ----------
    folder
        Where it is.
    location
        The same, to read from.
    manifest
        What it holds: files, totals, filters, times.

    Raises
    ------
    SnapshotError
        When there is none, or its layout is another.
    SnapshotDamaged
        When the manifest was cut or changed, or contradicts itself.
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
        """Take the state that the last pull left."""
        self.manifest = load_manifest(self.location)

    @property
    def signature(self) -> str:
        """In words, whether who wrote the manifest had the key of the account."""
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
        """The key with which the next state is signed: the one with which this state was.

        Raises
        ------
        SnapshotDamaged
            When the signature is wrong: what is there must not become part of a state with a right one.
        """
        if self.signature == _WRONG:
            raise damaged({MANIFEST_NAME: _WRONG})
        return self._key if self.signature == "signed with this key" else None

    def files(self, table: str, *, prompt_ids: Sequence[str] | None = None) -> list[Path | str]:
        """Return the files of a table, for any engine that reads Parquet; only these belong to it, and each of them is whole.

        Parameters
        ----------
        table
            Name of the table.
        prompt_ids
            Only those of these prompts, where the table is split by prompt.

        Raises
        ------
        SnapshotDamaged
            When a file is missing, cut or changed.
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
        """Read a table, every file with its hash checked; ``None`` where it has no rows.

        Parameters
        ----------
        table
            Name of the table.
        columns
            Columns to read; all when they are left out.
        prompt_ids
            Only rows of these prompts, where the table is split by prompt.
        metadata
            Whether the columns of metadata are read too.
        keep
            Returns the rows of a file that are wanted.

        Raises
        ------
        SnapshotDamaged
            When a file is missing, cut or changed.
        """
        wanted = None if columns is None else Wanted(frozenset(columns), metadata=metadata)
        found = self._from_parts(table, prompt_ids, lambda parts: read_parts(self.location, parts, wanted))
        if keep is not None:
            found = [without_empty_metadata(keep(one)) for one in found]
        return joined(found) if found else None

    def _from_parts(
        self, table: str, prompt_ids: Sequence[str] | None, use: Callable[[list[FilePart]], _Found]
    ) -> _Found:
        """Use the files of a table; those of a newer state where these are gone, because two pulls were made meanwhile."""
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
        """Return a table in an engine that goes beyond pandas; rows are read when something is asked.

        The engine reads the files that the manifest lists. Each is compared with its hash now, or was before and is the same still.

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
            A DuckDB relation, a Polars LazyFrame or a Spark DataFrame, which the functions of ``promptlift.analysis`` take. Beside
            ``prompt_id`` stands ``prompt``, the name.

        Raises
        ------
        MissingExtra
            When the engine is not installed.
        SnapshotDamaged
            When a file is missing, cut or changed.
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
        """Return the names of the prompts by id; those that share a name have their id in it."""
        rows = self.read("prompts", ["prompt_id", "name"])
        ids, names = ([], []) if rows is None else (rows["prompt_id"].to_pylist(), rows["name"].to_pylist())
        shared = Counter(names)
        return {
            one: name if shared[name] == 1 else f"{name} ({one})"
            for one, name in zip(ids, names, strict=True)
            if name is not None
        }

    def find(self, table: str, conversation_id: str) -> dict[str, Any] | None:
        """Return the row of a conversation, column to value; ``None`` when it is not there."""
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

        This finds accidents. Who can write to the folder can write a manifest that fits what they made of it; only the signature,
        which is checked where the key is at hand, tells that (see :attr:`signature`).

        Returns
        -------
        dict
            Path of each file that is missing, cut, changed or not in the manifest, to what is wrong with it; empty when all is as it
            was written.
        """
        try:
            listed = {one.path for one in self.manifest.files} | set(self.manifest.retired)
            # What a writer has written is not in the manifest before it ends; if it was killed, the next one removes it.
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
    """Read every file of a snapshot and compare it with the manifest, which has a hash of its own.

    Parameters
    ----------
    folder
        The snapshot: a folder or an address.
    storage_options, api_key
        As for :class:`Snapshot`.

    Returns
    -------
    dict
        As of :meth:`Snapshot.verify`; where the manifest itself is damaged, what is wrong with it.
    """
    try:
        return Snapshot(folder, storage_options=storage_options, api_key=api_key).verify()
    except SnapshotDamaged as error:
        return error.problems
