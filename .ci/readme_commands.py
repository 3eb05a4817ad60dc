"""Print one of the README's two commands: ``readme_commands.py 1`` or ``2``.

The commands are the shell blocks under the heading "Two commands", so what is run is what is written.
"""

# ruff: noqa: INP001, T201  a script that prints
from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def commands(text: str) -> list[str]:
    """Shell blocks of the section "Two commands", in order."""
    section = re.search(r"^## Two commands$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise SystemExit('README.md has no section "## Two commands" that another section follows')
    return [block.strip() for block in re.findall(r"^```sh$(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)]


if __name__ == "__main__":
    print(commands(README.read_text(encoding="utf-8"))[int(sys.argv[1]) - 1])
