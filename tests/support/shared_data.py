"""Where the real conversations are, for tests that measure on them and skip without them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(os.environ.get("PROMPTLIFT_SHARED", Path(__file__).parents[3] / "shared")) / "data"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(),
    reason="the real conversations (../shared/data) are not on this machine",
)

CONVERSATION_FILES = (
    "sgd-service",
    "tau2-airline",
    "tau2-retail",
    "taubench-airline",
    "topicalchat",
    "uss-redial",
    "uss-sgd",
)


def load(name: str) -> list[dict[str, Any]]:
    """Read one gzipped JSONL file of the real conversations."""
    with gzip.open(SHARED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
