"""Texts from outside, made safe for a plot: on one line, short, without markup, and still distinct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.words.names import columns_of, distinct_lines, fit_to_width, in_a_sentence, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["columns_of", "distinct_names", "escaped", "fit_to_width", "plain"]


def plain(text: Any, width: int = 40) -> str:
    """Return a text from outside as one line, cut to ``width``, without mathematics or control characters."""
    return escaped(in_a_sentence(one_line(text, width)))


def distinct_names(names: Sequence[Any], width: int) -> list[str]:
    """Return names as `plain` does, but cut by what tells them apart, so that different names stay different."""
    return [escaped(in_a_sentence(name)) for name in distinct_lines(names, width)]


def escaped(line: str) -> str:
    """Return a text that matplotlib does not read as mathematics."""
    return line.replace("$", r"\$") or "(empty)"
