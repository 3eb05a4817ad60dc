"""Parts of the dialogs of a review."""

from __future__ import annotations

from typing import Any, Final

from promptlift.schema.inert import shorten, visible
from promptlift.widgets.word_diff import describe_difference, diff_lines

__all__ = ["comparison"]

_TEXT_CHARS: Final = 60_000


def comparison(before: tuple[str, str], after: tuple[str, str]) -> dict[str, Any]:
    """Return the part of a dialog that compares two named texts."""
    return {
        "difference": describe_difference(before[1], after[1]),
        "diff": diff_lines(before[1], after[1]),
        "texts": [[name, _shortened(text)] for name, text in (before, after)],
    }


def _shortened(text: str) -> str:
    kept, cut = shorten(visible(text), _TEXT_CHARS)
    return f"{kept}\n… {cut:,} more characters" if cut else kept
