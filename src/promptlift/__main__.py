"""``python -m promptlift``: the same as the command ``promptlift``."""

from __future__ import annotations

from promptlift.cli import main

if __name__ == "__main__":
    main()
