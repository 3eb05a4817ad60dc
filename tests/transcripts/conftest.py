"""Small made-up files, and what was read from them in a short form."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def written(tmp_path) -> Callable[..., Path]:
    """Write a file: text, bytes, or JSON of anything else; a list of records becomes JSON Lines for ``.jsonl``."""

    def write(name: str, data: Any) -> Path:
        path = tmp_path / name
        if name.removesuffix(".gz").endswith(".jsonl") and isinstance(data, list):
            data = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in data)
        if not isinstance(data, str | bytes):
            data = json.dumps(data, ensure_ascii=False, indent=1)
        raw = data.encode() if isinstance(data, str) else data
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write


@pytest.fixture
def said() -> Callable[[Any], list[tuple[str, str]]]:
    """Give the roles and texts of an imported conversation."""
    return lambda conversation: [
        (m["role"], m["content"]) for m in json.loads(conversation.content)["messages"]
    ]
