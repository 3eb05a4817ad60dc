"""A log that an outage cannot flood: at most one line per second of each kind, with a count."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

_SECONDS = 1.0

# Lines are of the same kind if logger, message template and the place where an exception was raised are
# equal.
_Kind = tuple[str, str, str, int]


class ThrottledHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Write the first line of a kind immediately, and then at most one per second, with the number of lines that it represents.

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
        # The lines omitted since the last one of their kind: their number, and the newest.
        self._left_out: dict[_Kind, tuple[int, logging.LogRecord | None]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        kind = _kind_of(record)
        if kind in self._left_out:
            self._left_out[kind] = self._left_out[kind][0] + 1, record
        else:
            self._begin(kind)
            super().emit(record)

    def close(self) -> None:
        """Write the lines that were only counted so far."""
        self.acquire()
        try:
            for kind in list(self._left_out):
                self._end(kind)
        finally:
            self.release()
        super().close()

    def _begin(self, kind: _Kind) -> None:
        self._left_out[kind] = 0, None
        timer = threading.Timer(self._seconds, self._go_on, (kind,))
        timer.daemon = True
        timer.start()

    def _go_on(self, kind: _Kind) -> None:
        self.acquire()
        try:
            if self._end(kind):
                self._begin(kind)
        finally:
            self.release()

    def _end(self, kind: _Kind) -> bool:
        """Write how many lines were omitted; return whether there were any."""
        count, newest = self._left_out.pop(kind, (0, None))
        if newest is None:
            return False
        newest.msg, newest.args = f"{newest.getMessage()} ({count} more since the last such line)", None
        newest.exc_info = newest.exc_text = None  # the first line has the traceback
        super().emit(newest)
        return True


def _kind_of(record: logging.LogRecord) -> _Kind:
    error, raised_at = "", 0
    if record.exc_info and record.exc_info[0] is not None:
        error, trace = record.exc_info[0].__name__, record.exc_info[2]
        while trace is not None:
            raised_at, trace = trace.tb_lineno, trace.tb_next
    return record.name, str(record.msg), error, raised_at
