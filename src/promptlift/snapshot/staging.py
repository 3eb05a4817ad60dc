"""Rows that a pull has read but not yet put into tables, so that it can be interrupted and resumed at any point."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from promptlift.snapshot.columns import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptlift.snapshot.location import Location

    Row = dict[str, Any]

__all__ = ["FOLDER", "StagedRow", "Staging"]

FOLDER: Final = ".pull"
_STATE: Final = "state.json"
# Files of rows in the order of the list, and of rows fetched in advance.
_IN_TURN: Final = "rows"
_AHEAD: Final = "ahead"
# The most that is lost if the process is killed.
_ROWS: Final = 2_000
_BYTES: Final = 16 << 20
_SECONDS: Final = 2.0


class StagedRow(NamedTuple):
    """A row as received from the service.

    Attributes
    ----------
    row
        Decoded JSON.
    list_hash
        Hash of the row in the list.
    late
        0, or the number of the attempt that found it at the top of the list after having passed there.
    """

    row: dict[str, Any]
    list_hash: int
    late: int


class Staging:
    """Rows in the order in which they were read, in files that are written in one piece.

    Parameters
    ----------
    root
        Location of the snapshot.
    key
        Identifies the pull; rows left by a different pull are discarded.

    Attributes
    ----------
    state
        Facts stored with :meth:`note`.
    """

    def __init__(self, root: Location, key: Row) -> None:
        self._root = root
        self._held: list[tuple[str, int, int, bytes]] = []
        self._held_bytes = 0
        self._written_at = time.monotonic()
        self.state: Row = {"key": key}
        found = self._load()
        if found is not None and found.get("key") == key:
            self.state = found
        else:
            self.clear()
        if found is None or found.get("key") != key:
            self.note()
        self._files = len(self._paths())
        # Rows whose details were fetched in advance, and those left by an earlier attempt, by id.
        self._ahead: dict[str, StagedRow] = {}
        self._ahead_written: set[str] = set()
        self._ahead_files = len(self._paths(_AHEAD))
        self._index: dict[str, tuple[int, str]] | None = None
        self._loaded: tuple[str, dict[str, Row]] | None = None

    def _load(self) -> Row | None:
        try:
            found = json.loads(self._root.read(f"{FOLDER}/{_STATE}"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _paths(self, kind: str = _IN_TURN) -> list[str]:
        begin, end = f"{FOLDER}/{kind}-", ".parquet"
        return [path for path in self._root.paths(FOLDER) if path.startswith(begin) and path.endswith(end)]

    def _table(self, path: str, columns: Sequence[str] | None = None) -> pa.Table:
        return pq.read_table(pa.BufferReader(self._root.read(path)), columns=columns)

    def note(self, **facts: Any) -> None:
        """Store facts about the pull."""
        self.state |= facts
        self._root.write(f"{FOLDER}/{_STATE}", json.dumps(self.state).encode())

    def add(self, staged: StagedRow) -> None:
        """Store a row."""
        self._ahead.pop(staged.row["id"], None)
        data = to_json(staged.row)
        self._held.append((staged.row["id"], staged.list_hash, staged.late, data))
        self._held_bytes += len(data)
        if len(self._held) >= _ROWS or self._held_bytes >= _BYTES:
            self.flush()
        self._flush_in_time()

    def save(self, row: Row, list_hash: int) -> None:
        """Store a row with its details in advance, so that they need not be fetched again if the pull ends before its turn."""
        self._ahead[row["id"]] = StagedRow(row, list_hash, 0)
        self._flush_in_time()

    def saved(self, one: str, list_hash: int) -> Row | None:
        """Return a row with its details from an earlier attempt; ``None`` if it has changed in the list."""
        if self._index is None:
            self._index = self._read_index()
        found, path = self._index.get(one, (None, None))
        if path is None or found != list_hash:
            return None
        if self._loaded is None or self._loaded[0] != path:
            rows = (orjson.loads(row) for row in self._table(path, columns=["row"])["row"].to_pylist())
            self._loaded = path, {row["id"]: row for row in rows}
        return self._loaded[1][one]

    def _read_index(self) -> dict[str, tuple[int, str]]:
        index = {}
        for path in (*self._paths(_AHEAD), *self._paths()):
            table = self._table(path, columns=["id", "hash"])
            for one, list_hash in zip(table["id"].to_pylist(), table["hash"].to_pylist(), strict=True):
                index[one] = list_hash, path
        return index

    def _flush_in_time(self) -> None:
        if time.monotonic() - self._written_at > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows."""
        self._written_at = time.monotonic()
        ahead = [one for key, one in self._ahead.items() if key not in self._ahead_written]
        if ahead:
            self._ahead_files += 1
            rows = [(one.row["id"], one.list_hash, one.late, to_json(one.row)) for one in ahead]
            self._write(f"{_AHEAD}-{self._ahead_files:06d}.parquet", rows)
            self._ahead_written.update(one.row["id"] for one in ahead)
        if self._held:
            self._files += 1
            self._write(f"{_IN_TURN}-{self._files:06d}.parquet", self._held)
            self._held.clear()
            self._held_bytes = 0

    def _write(self, name: str, held: Sequence[tuple[str, int, int, bytes]]) -> None:
        ids, hashes, late, rows = zip(*held, strict=True)
        table = pa.table(
            {
                "id": pa.array(ids, pa.string()),
                "hash": pa.array(hashes, pa.int64()),
                "late": pa.array(late, pa.int32()),
                "row": pa.array(rows, pa.binary()),
            }
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", use_dictionary=False)
        self._root.write(f"{FOLDER}/{name}", sink.getvalue().to_pybytes())

    def any(self) -> bool:
        """Return whether there are any rows."""
        return bool(self._held or self._files)

    def ids(self) -> list[str]:
        """Return the ids of all rows, in the order of the list."""
        self.flush()
        early: list[str] = []
        late: dict[int, list[str]] = {}
        for path in self._paths():
            table = self._table(path, columns=["id", "late"])
            for one, attempt in zip(table["id"].to_pylist(), table["late"].to_pylist(), strict=True):
                (late.setdefault(attempt, []) if attempt else early).append(one)
        return [*(one for attempt in sorted(late, reverse=True) for one in late[attempt]), *early]

    def last_places(self) -> dict[str, int]:
        """Return the position of the last reading of each row, in reading order."""
        self.flush()
        ids = [one for path in self._paths() for one in self._table(path, columns=["id"])["id"].to_pylist()]
        return {one: place for place, one in enumerate(ids)}

    def rows(self) -> Iterator[list[StagedRow]]:
        """Yield all rows in reading order, file by file."""
        self.flush()
        for path in self._paths():
            table = self._table(path)
            columns = (table[name].to_pylist() for name in ("row", "hash", "late"))
            yield [
                StagedRow(orjson.loads(row), list_hash, late)
                for row, list_hash, late in zip(*columns, strict=True)
            ]

    def clear(self) -> None:
        """Discard everything: it is in the tables, or no longer wanted."""
        self._root.remove_folder(FOLDER)
        self._held.clear()
