"""Exit on SIGTERM, even if a library swallows the exception."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["exit_if_terminated", "exit_on_sigterm"]

EXIT_CODE = 143
_terminated = False


def exit_on_sigterm() -> None:
    """Exit with code 143 on SIGTERM."""
    signal.signal(signal.SIGTERM, _terminate)


def exit_if_terminated() -> None:
    """Exit if SIGTERM arrived and the exception was lost, as happens while some compiled modules are loaded."""
    if _terminated:
        sys.exit(EXIT_CODE)


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the signature of a handler
    global _terminated  # noqa: PLW0603  a signal is the process's
    _terminated = True
    sys.exit(EXIT_CODE)
