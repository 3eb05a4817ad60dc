"""A snapshot that is read: its manifest, its tables, and the proof that they are what was written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from promptlift.errors import SnapshotDamaged, SnapshotError
from promptlift.snapshot.columns import joined, without_empty_metadata
from promptlift.snapshot.location import RemoteFolder, location_of
from promptlift.snapshot.manifest import MANIFEST_NAME, SCHEMA_VERSION, load_manifest
from promptlift.snapshot.part_files import PARTITIONED, Wanted, damaged, problem_of, read_parts, read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from promptlift.snapshot.location import Location
    from promptlift.snapshot.manifest import FilePart, Manifest
    from promptlift.snapshot.scan import Engine

__all__ = ["Snapshot", "verify"]

# How often a read begins anew because a writer has replaced the state meanwhile.
_TRIES: Final = 5


class Snapshot:
    """A folder of Parquet files: the tables of an account, each file with its rows and hash in the manifest.

    Parameters
    ----------
    folder
        Where it is: a folder, or an address that fsspec knows, such as ``s3://bucket/january``.
    storage_options
        Of the file system of an address, such as ``{"key": …, "secret": …, "endpoint_url": …}``.

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
        When the manifest was cut or changed.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | Location,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
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
            f"promptlift.open_snapshot({str(self.folder)!r}) reads it, `promptlift verify` proves it.",
        ]
        return "\n".join(lines)

    @property
    def storage_options(self) -> dict[str, Any] | None:
        """Options of the file system; ``None`` for a folder."""
        return self.location.options if isinstance(self.location, RemoteFolder) else None

    def reload(self) -> None:
        """Take the state that the last pull left."""
        self.manifest = load_manifest(self.location)

    def files(self, table: str, *, prompt_ids: Sequence[str] | None = None) -> list[Path | str]:
        """Return the files of a table, for any engine that reads Parquet; only these belong to it.

        Parameters
        ----------
        table
            Name of the table.
        prompt_ids
            Only those of these prompts, where the table is split by prompt.

        Raises
        ------
        SnapshotError
            When the table is that of labels in the layout of an older promptlift.
        """
        self._check_layout(table)
        parts = self._parts(table, prompt_ids)
        if isinstance(self.folder, str):
            return [f"{self.folder}/{one.path}" for one in parts]
        return [self.folder / one.path for one in parts]

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
        for _ in range(_TRIES):
            parts = self._parts(table, prompt_ids)
            try:
                if parts and wanted is not None and keep is None:
                    return read_table(self.location, parts, wanted)
                found = read_parts(self.location, parts, wanted)
            except FileNotFoundError:
                # Two pulls were made since the manifest was read, or the file is gone.
                before = self.manifest
                self.reload()
                if before == self.manifest:
                    break
                continue
            if keep is not None:
                found = [without_empty_metadata(keep(one)) for one in found]
            return joined(found) if found else None
        raise damaged(self._problems(self._parts(table, prompt_ids)))

    def scan(self, table: str = "conversations", *, engine: Engine = "duckdb", connection: Any = None) -> Any:
        """Return a table in an engine that goes beyond pandas; nothing is read until something is asked.

        The engine reads the files that the manifest lists, and does not compare them with their hashes: :meth:`verify` does.

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
        SnapshotError
            When the table is that of labels in the layout of an older promptlift.
        """
        self._check_layout(table)
        from promptlift.snapshot.scan import scan  # noqa: PLC0415  engines are extras

        files = [one.path for one in self.manifest.files]
        return scan(
            self.folder,
            files,
            table,
            engine=engine,
            connection=connection,
            storage_options=self.storage_options,
            prompts=self._prompt_names(),
        )

    def _check_layout(self, table: str) -> None:
        """Refuse the files of labels that an older promptlift wrote: they are in two tables, and wide."""
        if table == "labels" and self.manifest.schema_version < SCHEMA_VERSION:
            raise SnapshotError(
                f"The labels of {self.folder} are as an older promptlift wrote them. lift.pull({str(self.folder)!r}) writes them "
                f"anew, and promptlift.open_snapshot({str(self.folder)!r}).labels() reads them as they are."
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
            (rows,) = self._read_part(part, ["conversation_id"])
            place = pc.index(rows["conversation_id"], conversation_id).as_py()
            if place >= 0:
                (rows,) = self._read_part(part, None)
                found: dict[str, Any] = rows.slice(place, 1).to_pylist()[0]
                return found
        return None

    def partitions(
        self, table: str, columns: Sequence[str]
    ) -> Iterator[tuple[tuple[str | None, str | None], pa.Table]]:
        """Yield prompt and month of each file of a table, and its rows."""
        for part in self.manifest.of_table(table):
            (rows,) = self._read_part(part, columns)
            yield (part.prompt_id, part.month), rows

    def _read_part(self, part: FilePart, columns: Sequence[str] | None) -> list[pa.Table]:
        wanted = None if columns is None else Wanted(frozenset(columns))
        try:
            return read_parts(self.location, [part], wanted)
        except FileNotFoundError:
            raise damaged(self._problems([part])) from None

    def verify(self) -> dict[str, str]:
        """Read every file and compare it with the manifest.

        Returns
        -------
        dict
            Path of each file that is missing, cut or changed, to what is wrong with it; empty when all is as it was
            written. Files that the manifest does not have are no part of the snapshot.
        """
        return self._problems(self.manifest.files)

    def _problems(self, parts: Sequence[FilePart]) -> dict[str, str]:
        found = ((part.path, problem_of(self.location, part)) for part in parts)
        return {path: problem for path, problem in found if problem is not None}

    def _parts(self, table: str, prompt_ids: Sequence[str] | None) -> list[FilePart]:
        parts = self.manifest.of_table(table)
        if prompt_ids is None or table not in PARTITIONED:
            return parts
        return [one for one in parts if one.prompt_id in prompt_ids]


def verify(
    folder: str | os.PathLike[str], *, storage_options: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Read every file of a snapshot and compare it with the manifest, which has a hash of its own.

    Parameters
    ----------
    folder
        The snapshot: a folder or an address.
    storage_options
        Of the file system of an address.

    Returns
    -------
    dict
        Path of each file that is missing, cut or changed, to what is wrong with it.
    """
    try:
        return Snapshot(folder, storage_options=storage_options).verify()
    except SnapshotDamaged as error:
        if MANIFEST_NAME in error.problems:
            return error.problems
        raise
