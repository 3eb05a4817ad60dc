"""The main text of a page by trafilatura, where it is installed: ``pip install "promptlift[website]"``.

A page may be made to keep an HTML parser busy for hours or to fill the memory, so it is read in a process of its own that
ends in time. Without the package, or when that process fails, the shown text of the page is taken as it is.

The package also returns text that a page hides from its visitors, where somebody may write to the language model. So it
only says which of the shown text is the main text.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from promptlift.service.llm.hostile_text import storable_line
from promptlift.service.websites.page_text import LINE_CHARS, TEXT_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["extract", "main_text"]

EXTRACT_SECONDS: Final = 8.0
MEMORY_BYTES: Final = 1024 * 1024 * 1024
# Less is the text of a cookie notice, not of a company.
LEAST_CHARS: Final = 200


def main_text(page: str, shown: Sequence[str], *, seconds: float = EXTRACT_SECONDS) -> list[str] | None:
    """Return the paragraphs of a page's main text; ``None`` where nobody can tell it from the rest.

    Parameters
    ----------
    shown
        The text that visitors of the page see; nothing else is returned.
    """
    if importlib.util.find_spec("trafilatura") is None:
        return None
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter and this module
            [sys.executable, "-P", "-m", __name__],
            input=page.encode("utf-8", "replace"),
            capture_output=True,
            timeout=seconds,
            check=True,
            env=environment,
        )
    except (subprocess.SubprocessError, OSError):
        return None
    text = done.stdout.decode("utf-8", "replace")[:TEXT_CHARS]
    seen = _letters(shown)
    lines = [storable_line(line, LINE_CHARS) for line in text.splitlines()]
    found = [line for line in lines if line and _letters([line]) in seen]
    return found if sum(map(len, found)) >= LEAST_CHARS else None


def _letters(texts: Iterable[str]) -> str:
    """Return the letters and digits of texts: two readers of a page agree on them, and not on the spaces between."""
    return "".join(one for text in texts for one in text if one.isalnum())


def extract(page: bytes) -> str:
    """Return the main text of a page; the side of the child process."""
    import resource  # noqa: PLC0415 - not on Windows

    import trafilatura  # noqa: PLC0415 - not always installed

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    found = trafilatura.extract(
        page.decode("utf-8", "replace"), include_comments=False, include_tables=False, favor_recall=True
    )
    return found or ""


if __name__ == "__main__":
    sys.stdout.buffer.write(extract(sys.stdin.buffer.read()).encode("utf-8", "replace"))
