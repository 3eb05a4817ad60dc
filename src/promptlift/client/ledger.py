"""What was logged before, on this computer.

The service forgets an idempotency key after 24 hours; an analyst imports the same file again next week. The ledger remembers
hashes and ids, never content. It is a convenience: when it cannot be read or written, logging goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DATA_VARIABLE = "PROMPTLIFT_DATA"
FILE_NAME = "logged.sqlite3"
_BATCH = 500
_KNOWN = (
    "SELECT key_hash, conversation_id FROM logged "
    "WHERE account_id = ? AND prompt_id = ? AND key_hash IN ({marks})"
)


class LedgerWarning(UserWarning):
    """The ledger of logged conversations cannot be used."""


def ledger_path(environ: Mapping[str, str] | None = None) -> Path:
    """Where the ledger is: in ``PROMPTLIFT_DATA``, else in the user's data folder."""
    environ = os.environ if environ is None else environ
    folder = environ.get(DATA_VARIABLE)
    return (Path(folder) if folder else platformdirs.user_data_path("promptlift")) / FILE_NAME


class Ledger:
    """Idempotency keys that went in, for one account and one prompt.

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
        with self._guard():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                # SQLite itself would make a file that others may read; its journals have the mode of the file.
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = sqlite3.connect(path, timeout=5, isolation_level=None)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS logged ("
                "account_id TEXT NOT NULL, prompt_id TEXT NOT NULL, key_hash TEXT NOT NULL, "
                "conversation_id TEXT NOT NULL, PRIMARY KEY (account_id, prompt_id, key_hash)) WITHOUT ROWID"
            )

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Warn once and go on without the ledger when the file cannot be used."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._drop_connection()
            warnings.warn(
                f"The ledger of logged conversations ({self._path}) cannot be used: {error}. Logging goes on; a repeated "
                f"import is recognised for 24 hours only. Set {DATA_VARIABLE} to a folder that can be written.",
                LedgerWarning,
                stacklevel=4,
            )

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def known(self, keys: Sequence[str]) -> dict[str, str]:
        """Give the keys that were logged before, with the id of the conversation."""
        found: dict[str, str] = {}
        by_hash = {_hash(key): key for key in keys}
        hashes = list(by_hash)
        with self._guard():
            for start in range(0, len(hashes), _BATCH):
                if self._connection is None:
                    break
                part = hashes[start : start + _BATCH]
                query = _KNOWN.format(marks=",".join("?" * len(part)))
                rows = self._connection.execute(query, (self._account, self._prompt, *part))
                found.update((by_hash[key_hash], conversation_id) for key_hash, conversation_id in rows)
        return found

    def add(self, key: str, conversation_id: str) -> None:
        """Remember a conversation that went in; written in batches."""
        self._fresh.append((_hash(key), conversation_id))
        if len(self._fresh) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what was not written yet."""
        fresh, self._fresh = self._fresh, []
        if not fresh or self._connection is None:
            return
        with self._guard():
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                "INSERT OR REPLACE INTO logged VALUES (?, ?, ?, ?)",
                [
                    (self._account, self._prompt, key_hash, conversation_id)
                    for key_hash, conversation_id in fresh
                ],
            )
            self._connection.execute("COMMIT")

    def forget(self) -> None:
        """Forget everything about this prompt: the service no longer has what the ledger says."""
        with self._guard():
            if self._connection is not None:
                self._connection.execute(
                    "DELETE FROM logged WHERE account_id = ? AND prompt_id = ?", (self._account, self._prompt)
                )

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        self._drop_connection()


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
