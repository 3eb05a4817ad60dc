"""Texts that help desks store as HTML."""

from __future__ import annotations

import html
import re
from typing import Any, Final

__all__ = ["plain"]

_TAG: Final = re.compile(r"<(?:br|/p|/div|/li)[^>]*>", re.IGNORECASE)
_ANY_TAG: Final = re.compile(r"<[a-zA-Z/][^>]*>")


def plain(text: Any) -> str:
    """Return the text of HTML."""
    if not isinstance(text, str):
        return ""
    # Nothing after the last > ends a tag; otherwise each < there would be scanned to the end of the text.
    end = text.rfind(">") + 1
    return html.unescape(_ANY_TAG.sub("", _TAG.sub("\n", text[:end])) + text[end:]).strip()
