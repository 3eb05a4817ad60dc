"""A ledger of the conversations that were logged from this computer.

The service forgets an idempotency key after 24 hours; an analyst imports the same file again next week. The ledger remembers
hashes and ids, never content. What it says is compared with what the service has: a service may lose what it had.
When the ledger cannot be read or written, logging continues.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DATA_VARIABLE = "PROMPTLIFT_DATA"
FILE_NAME = "logged.sqlite3"
_BATCH = 500
_STATES = (
    "SELECT source_hash, content_hash, number, conversation_id FROM states "
    "WHERE account_id = ? AND prompt_id = ? AND source_hash IN ({marks}) ORDER BY number"
)
_KNOWN = (
    "SELECT key_hash, conversation_id FROM logged "
    "WHERE account_id = ? AND prompt_id = ? AND key_hash IN ({marks})"
)


@dataclass(frozen=True, slots=True)
class LoggedState:
    """A content that a conversation had when it was logged from here.

    Attributes
    ----------
    number
        Higher for a content that was first logged later. An old export that is imported again keeps its number.
    conversation_ids
        The ids that the conversation got.
    """

    number: int
    conversation_ids: list[str]


class LedgerWarning(UserWarning):
    """The ledger of logged conversations cannot be used."""


def ledger_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the ledger: in ``PROMPTLIFT_DATA``, or else in the user's data folder."""
    environ = os.environ if environ is None else environ
    folder = environ.get(DATA_VARIABLE)
    return (Path(folder) if folder else platformdirs.user_data_path("promptlift")) / FILE_NAME


class Ledger:
    """The idempotency keys logged for one account and one prompt.

    Parameters
    ----------
    path
        SQLite file; made when it is not there.
    account_id, prompt_id
        Keys of other accounts and prompts do not count.
    """

    def __init__(self, path: Path, *, account_id: str, prompt_id: str) -> None:
        self._path = path
        self._account = account_id
        self._prompt = prompt_id
        self._connection: sqlite3.Connection | None = None
        self._fresh: list[tuple[str, str]] = []
        self._fresh_states: list[tuple[str, str, str]] = []
        with self._guard():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                # SQLite itself would make a file that others may read; its journals have the mode of the file.
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = sqlite3.connect(path, timeout=5, isolation_level=None)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            _make_tables(self._connection)

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Warn once and continue without the ledger when the file cannot be used."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._drop_connection()
            warnings.warn(
                f"The ledger of logged conversations ({self._path}) cannot be used: {error}. Logging continues; a repeated "
                f"import is recognised for 24 hours only. Set {DATA_VARIABLE} to a folder that can be written.",
                LedgerWarning,
                stacklevel=4,
            )

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def known(self, keys: Sequence[str]) -> dict[str, list[str]]:
        """Return the keys that were logged before, with the ids that the conversation got.

        It has several ids where the service lost it and it was logged again. A restored backup has one of the former ones.
        """
        by_hash = {_hash(key): key for key in keys}
        found: dict[str, list[str]] = {}
        for key_hash, conversation_id in self._rows(_KNOWN, list(by_hash)):
            found.setdefault(by_hash[key_hash], []).append(conversation_id)
        return found

    def states(self, source_ids: Iterable[str]) -> dict[str, dict[str, LoggedState]]:
        """Return the contents that were logged before with these source ids: source id, content hash, state."""
        self.flush()  # two states of one conversation may be in one call
        by_hash = {_hash(source_id): source_id for source_id in source_ids}
        found: dict[str, dict[str, LoggedState]] = {}
        for source_hash, content_hash, number, conversation_id in self._rows(_STATES, list(by_hash)):
            states = found.setdefault(by_hash[source_hash], {})
            states.setdefault(content_hash, LoggedState(number, [])).conversation_ids.append(conversation_id)
        return found

    def _rows(self, query: str, hashes: Sequence[str]) -> list[Any]:
        rows: list[Any] = []
        with self._guard():
            for start in range(0, len(hashes), _BATCH):
                if self._connection is None:
                    break
                part = hashes[start : start + _BATCH]
                text = query.format(marks=",".join("?" * len(part)))
                rows += self._connection.execute(text, (self._account, self._prompt, *part))
        return rows

    def add(
        self, key: str, conversation_id: str, *, source_id: str | None = None, content_hash: str = ""
    ) -> None:
        """Remember a conversation that is in the service; written in batches."""
        self._fresh.append((_hash(key), conversation_id))
        if source_id is not None:
            self._fresh_states.append((_hash(source_id), content_hash, conversation_id))
        if len(self._fresh) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the pending entries."""
        fresh, self._fresh = self._fresh, []
        states, self._fresh_states = self._fresh_states, []
        if not fresh or self._connection is None:
            return
        mine = (self._account, self._prompt)
        with self._guard():
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                "INSERT OR IGNORE INTO logged VALUES (?, ?, ?, ?)", [(*mine, *one) for one in fresh]
            )
            self._connection.executemany(
                "INSERT OR IGNORE INTO states (account_id, prompt_id, source_hash, content_hash, conversation_id) "
                "VALUES (?, ?, ?, ?, ?)",
                [(*mine, *one) for one in states],
            )
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        self._drop_connection()


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    columns = connection.execute("SELECT name, pk FROM pragma_table_info('logged')").fetchall()
    of_one_id = ("conversation_id", 0) in columns  # a ledger of version 0.1 has one id a key
    if of_one_id:
        connection.execute("ALTER TABLE logged RENAME TO logged_before")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS logged ("
        "account_id TEXT NOT NULL, prompt_id TEXT NOT NULL, key_hash TEXT NOT NULL, conversation_id TEXT NOT NULL, "
        "PRIMARY KEY (account_id, prompt_id, key_hash, conversation_id)) WITHOUT ROWID"
    )
    if of_one_id:
        connection.execute("INSERT INTO logged SELECT * FROM logged_before")
        connection.execute("DROP TABLE logged_before")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS states ("
        "number INTEGER PRIMARY KEY, account_id TEXT NOT NULL, prompt_id TEXT NOT NULL, "
        "source_hash TEXT NOT NULL, content_hash TEXT NOT NULL, conversation_id TEXT NOT NULL, "
        "UNIQUE (account_id, prompt_id, source_hash, content_hash, conversation_id))"
    )
    connection.execute("COMMIT")


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
