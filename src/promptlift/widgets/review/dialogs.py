"""Parts of the dialogs of a review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema.inert import shorten, visible
from promptlift.widgets.tree import diff_block, h
from promptlift.widgets.word_diff import describe_difference, diff_lines

if TYPE_CHECKING:
    from promptlift.widgets.tree import Node, Nodes

__all__ = ["comparison", "warning"]

_TEXT_CHARS: Final = 60_000


def comparison(before: tuple[str, str], after: tuple[str, str], *, opened: bool = False) -> Nodes:
    """Return the part of a dialog that compares two named texts."""
    whole = [
        h(
            "details.plw-text",
            h("summary", name),
            h("div.plw-foreign.plw-whole", _shortened(text)),
            open=opened,
        )
        for name, text in (before, after)
    ]
    diff = diff_block(diff_lines(before[1], after[1]))
    return [h("p.plw-soft", describe_difference(before[1], after[1])), *([diff] if diff else []), *whole]


def warning(words: str) -> Node:
    """Return a warning of a dialog."""
    return h("p.plw-warning.plw-foreign", f"⚠ {words}")


def _shortened(text: str) -> str:
    kept, cut = shorten(visible(text), _TEXT_CHARS)
    return f"{kept}\n… {cut:,} more characters" if cut else kept
