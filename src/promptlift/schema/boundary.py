"""The boundary around one record of an untrusted file or request: its defects do not affect other records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_REASON_CHARS: Final = 300


class Unreadable(ValueError):
    """One record cannot be read; the message explains why and what to do."""


class Boundary:
    """Reports any error from reading one record, so that the next one is still read.

    Parameters
    ----------
    report
        Receives the reason.

    Examples
    --------
    >>> with Boundary(print):
    ...     {}["role"]
    cannot be read: KeyError: 'role'
    """

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, Exception):
            self._report(reason(error))
        return isinstance(error, Exception)


def reason(error: Exception) -> str:
    """Return why a record cannot be read, as text that can be printed and sent."""
    if isinstance(error, Unreadable):
        return printable(str(error))
    if isinstance(error, RecursionError):
        return "nested too deeply to be read"
    return printable(f"cannot be read: {type(error).__name__}: {str(error)[:_REASON_CHARS]}")


def printable(text: str) -> str:
    """Return a text in which halves of surrogate pairs, which cannot be encoded, are escaped."""
    return text.encode(errors="backslashreplace").decode()
