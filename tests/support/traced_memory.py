"""How much memory Python objects take while something runs."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MB = 1024 * 1024


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    """Assert that no more than so many bytes of Python objects are held at a time."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, f"{peak / MB:.0f} MB"
