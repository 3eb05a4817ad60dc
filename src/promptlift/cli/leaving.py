"""Being told to end by SIGTERM, also when a library swallows the exception that says so."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["leave_if_told", "listen"]

CODE = 143
_told = False


def listen() -> None:
    """Leave with code 143 on SIGTERM."""
    signal.signal(signal.SIGTERM, _leave)


def leave_if_told() -> None:
    """Leave when SIGTERM came and the exception was lost, as in the start of some compiled modules."""
    if _told:
        sys.exit(CODE)


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the signature of a handler
    global _told  # noqa: PLW0603  a signal is the process's
    _told = True
    sys.exit(CODE)
