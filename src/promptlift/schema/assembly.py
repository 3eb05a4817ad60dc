"""Put a prompt together from its original and edits: the same text in the service that searches and in a review."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.schema.search import Edit

__all__ = ["assembled", "has_place"]


def assembled(original: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits made one after the other; an edit without a place in it changes nothing.

    Parameters
    ----------
    original
        The text before any edit.
    edits
        In the order in which they are made.

    Examples
    --------
    >>> from promptlift.schema.search import Edit
    >>> assembled("Help people. Be quick.", [Edit(id="e1", operation="replace", anchor="quick", text="brief")])
    'Help people. Be brief.'
    """
    text = original
    for edit in edits:
        if not has_place(text, edit):
            continue
        if edit.operation == "add":
            at = text.index(edit.anchor) + len(edit.anchor) if edit.anchor else len(text.rstrip())
            text = f"{text[:at]}\n{edit.text}{text[at:]}"
        else:
            text = text.replace(edit.anchor, edit.text if edit.operation == "replace" else "", 1)
    return text


def has_place(text: str, edit: Edit) -> bool:
    """Whether an edit can be made in a text: its anchor stands there, or it adds to the end."""
    if edit.operation == "add":
        return bool(edit.text) and edit.anchor in text
    return edit.operation in ("replace", "delete") and bool(edit.anchor) and edit.anchor in text
