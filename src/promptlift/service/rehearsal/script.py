"""The script of the rehearsal: lines, rewrites and situations, read from ``script.toml``."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any, Final

__all__ = ["SCRIPT"]

SCRIPT: Final[dict[str, Any]] = tomllib.loads(
    resources.files(__package__).joinpath("script.toml").read_text(encoding="utf-8")
)
