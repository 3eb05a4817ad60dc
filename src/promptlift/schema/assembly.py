"""Put a prompt together from its original and edits: the same text in the service that searches and in a review."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["assembled"]

_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n[ \t]*(?:\n[ \t]*)+")


class _Edit(Protocol):
    @property
    def operation(self) -> str | None: ...
    @property
    def anchor(self) -> str: ...
    @property
    def text(self) -> str: ...


def assembled(original: str, edits: Iterable[_Edit]) -> str:
    """Return a text with edits made one after the other.

    An addition whose anchor is not there stands at the end, and so does a new text for one that is not there, so that a
    set from which an edit is left out still makes a prompt. A deletion without its text changes nothing.

    Parameters
    ----------
    original
        The text before any edit.
    edits
        In the order in which they were written.

    Examples
    --------
    >>> from promptlift.schema.search import Edit
    >>> assembled("Help people. Be quick.", [Edit(id="e1", operation="replace", anchor="quick", text="brief")])
    'Help people. Be brief.'
    """
    text = original
    for edit in edits:
        at = text.find(edit.anchor) if edit.anchor else -1
        if edit.operation == "add":
            text = _added(text, edit.text, at + len(edit.anchor) if at >= 0 else None)
        elif at >= 0:
            text = text[:at] + edit.text + text[at + len(edit.anchor) :]
            text = text if edit.text else _tidy(text)
        elif edit.text:
            text = _added(text, edit.text, None)
    return text


def _added(text: str, new: str, at: int | None) -> str:
    if at is None:
        return f"{text.rstrip()}\n{new}" if text.strip() else new
    rest = text[at:]
    # After a whole line a line of its own, within a line in the line.
    gap = "\n" if not rest or rest.startswith("\n") else " "
    return f"{text[:at]}{gap}{new}{rest}"


def _tidy(text: str) -> str:
    """Close the gap that a deletion leaves."""
    lines = text.split("\n")
    kept = [line for at, line in enumerate(lines) if line.strip() or (at and lines[at - 1].strip())]
    return _BLANK_LINES.sub("\n\n", "\n".join(kept))
