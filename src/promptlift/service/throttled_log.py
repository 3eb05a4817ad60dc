"""A log that an outage cannot flood: at most one line per second of each kind, with a count."""

from __future__ import annotations

import logging
import math
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

_SECONDS = 1.0

# Lines are of the same kind if logger, message template and the place where an exception was raised are
# equal.
_Kind = tuple[str, str, str, int]


class ThrottledHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Write at most one line of a kind per second, with the number of lines that were left out since the last one.

    Parameters
    ----------
    stream
        Where to write; ``None`` is standard error.
    seconds
        How long one line represents all of its kind.
    """

    def __init__(self, stream: TextIO | None = None, *, seconds: float = _SECONDS) -> None:
        super().__init__(stream)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        self._seconds = seconds
        # When a line of a kind was written last, how many were left out since, and the newest.
        self._seen: dict[_Kind, tuple[float, int, logging.LogRecord]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        kind, now = _kind_of(record), time.monotonic()
        written_at, left_out, _ = self._seen.get(kind, (-math.inf, 0, record))
        if now - written_at < self._seconds:
            self._seen[kind] = written_at, left_out + 1, record
            return
        self._seen[kind] = now, 0, record
        self._write(record, left_out)

    def close(self) -> None:
        """Write the lines that were only counted so far."""
        with self.lock or nullcontext():
            for _, left_out, newest in self._seen.values():
                if left_out:
                    self._write(newest, left_out)
            self._seen.clear()
        super().close()

    def _write(self, record: logging.LogRecord, left_out: int) -> None:
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} more since the last such line)"
            record.args = record.exc_info = record.exc_text = None  # the first line has the traceback
        super().emit(record)


def _kind_of(record: logging.LogRecord) -> _Kind:
    error, raised_at = "", 0
    if record.exc_info and record.exc_info[0] is not None:
        error, trace = record.exc_info[0].__name__, record.exc_info[2]
        while trace is not None:
            raised_at, trace = trace.tb_lineno, trace.tb_next
    return record.name, str(record.msg), error, raised_at
