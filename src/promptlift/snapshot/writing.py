"""Write the next state of a snapshot: new part files next to the old ones, then a manifest that lists them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from promptlift.snapshot.columns import joined, without_empty_metadata
from promptlift.snapshot.manifest import save_manifest
from promptlift.snapshot.part_files import (
    OF_CONVERSATIONS,
    Wanted,
    partition_folder,
    read_parts,
    remove_others,
    write_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptlift.snapshot.location import Location
    from promptlift.snapshot.manifest import FilePart, Manifest

__all__ = ["NextState"]

# Size of buffered rows before some are written, and maximum size of a part file, both as Arrow memory.
_HELD_BYTES: Final = 256 << 20
_PART_BYTES: Final = 128 << 20
# New rows get a file of their own, merged with the partition's smaller files: those with at most so many times the rows,
# so that a row is rewritten a few times only and an hourly refresh leaves a handful of files.
_MERGED_ROWS: Final = 4
# Together they have at most this size, as files.
_MERGED_BYTES: Final = 32 << 20
_IDS: Final = Wanted(frozenset({"conversation_id"}))


class NextState:
    """The next state of a snapshot, not visible until :meth:`commit`.

    Parameters
    ----------
    root
        Location of the snapshot.
    files
        Files of the current state.
    """

    def __init__(self, root: Location, files: Iterable[FilePart] = ()) -> None:
        self._root = root
        self._files: dict[str, list[FilePart]] = {}
        for one in files:
            self._files.setdefault(one.partition, []).append(one)
        self._numbers = {folder: 1 + max(map(_number, parts)) for folder, parts in self._files.items()}
        self._held: dict[str, list[pa.Table]] = {}
        self._sizes: dict[str, int] = {}

    def remove(
        self,
        conversation_ids: Iterable[str],
        partitions: Iterable[tuple[str | None, str | None]],
    ) -> None:
        """Remove conversations from the tables derived from their rows, rewriting the files that have them.

        Parameters
        ----------
        conversation_ids
            Deleted conversations, and those whose new rows follow.
        partitions
            Prompt and month of their partitions.
        """
        gone = pa.array(list(conversation_ids), pa.string())
        places = list(dict.fromkeys(partitions))
        for table in OF_CONVERSATIONS:
            for prompt_id, month in places:
                folder = partition_folder(table, prompt_id, month)
                parts = self._files.pop(folder, [])
                for part, ids in zip(parts, read_parts(self._root, parts, _IDS), strict=True):
                    stay = pc.invert(pc.is_in(ids["conversation_id"], value_set=gone))
                    if pc.all(stay).as_py():
                        self._files.setdefault(folder, []).append(part)
                    elif pc.any(stay).as_py():
                        self._hold(folder, read_parts(self._root, [part])[0].filter(stay))

    def add(self, table: str, rows: pa.Table, months: Mapping[str, str | None]) -> None:
        """Add rows to a table with partitions.

        Parameters
        ----------
        rows
            With ``conversation_id`` and ``prompt_id``.
        months
            Start month by conversation.
        """
        if not len(rows):
            return
        month = pa.array([months.get(one) for one in rows["conversation_id"].to_pylist()], pa.string())
        keys = pa.table({"prompt_id": rows["prompt_id"], "month": month}).combine_chunks()
        codes = pc.add(
            pc.multiply(_codes(keys["prompt_id"]), pa.scalar(len(rows) + 1, pa.int64())),
            _codes(keys["month"]),
        )
        order = pc.sort_indices(
            pa.table({"code": codes, "row": pa.array(range(len(rows)))}),
            [("code", "ascending"), ("row", "ascending")],
        )
        rows, keys, codes = rows.take(order), keys.take(order), codes.take(order).to_numpy()
        starts = [0, *(1 + (codes[1:] != codes[:-1]).nonzero()[0]), len(rows)]
        for begin, end in itertools.pairwise(starts):
            key = keys.slice(begin, 1)
            folder = partition_folder(table, key["prompt_id"][0].as_py(), key["month"][0].as_py())
            self._hold(folder, rows.slice(begin, end - begin))

    def clear(self, table: str) -> None:
        """Remove all files of a table."""
        for folder in [one for one in self._files if one.partition("/")[0] == table]:
            del self._files[folder]

    def set_table(self, table: str, rows: pa.Table) -> None:
        """Replace a table that has no partitions."""
        old = self._files.pop(table, [])
        if len(old) == 1 and read_parts(self._root, old)[0].equals(rows):
            self._files[table] = old
        elif len(rows):
            self._files[table] = [write_part(self._root, table, self._next(table), rows)]

    def _hold(self, folder: str, rows: pa.Table) -> None:
        self._held.setdefault(folder, []).append(rows)
        self._sizes[folder] = self._sizes.get(folder, 0) + rows.get_total_buffer_size()
        if self._sizes[folder] > _PART_BYTES:
            self._write(folder)
        while sum(self._sizes.values()) > _HELD_BYTES:
            self._write(max(self._sizes, key=self._sizes.__getitem__))

    def _write(self, folder: str) -> None:
        held = self._held.pop(folder)
        del self._sizes[folder]
        parts = sorted(self._files.get(folder, []), key=lambda one: one.rows)
        count, size = sum(map(len, held)), 0
        while parts and parts[0].rows <= _MERGED_ROWS * count and size + parts[0].size <= _MERGED_BYTES:
            part = parts.pop(0)
            held += read_parts(self._root, [part])
            count, size = count + part.rows, size + part.size
        rows = joined(held).combine_chunks()
        if rows.column_names.count("position"):
            rows = rows.sort_by([("position", "descending")])
        part = write_part(self._root, folder, self._next(folder), without_empty_metadata(rows))
        self._files[folder] = [*parts, part]

    def _next(self, folder: str) -> int:
        number = self._numbers.get(folder, 1)
        self._numbers[folder] = number + 1
        return number

    def commit(self, manifest: Manifest, key: bytes | None = None) -> Manifest:
        """Write the buffered rows, then the manifest with the new files, which makes the state visible.

        Parameters
        ----------
        manifest
            Provides everything but the files, and has those of the current state.
        key
            Signs the manifest.
        """
        for folder in sorted(self._held):
            self._write(folder)
        files = (one for parts in self._files.values() for one in parts)
        state = save_manifest(self._root, manifest.with_files(files), key)
        remove_others(self._root, state)
        return state


def _codes(column: pa.ChunkedArray) -> pa.Array:
    made = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return made.indices.cast(pa.int64())


def _number(part: FilePart) -> int:
    return int(part.path.rpartition("/part-")[2].partition("-")[0])
