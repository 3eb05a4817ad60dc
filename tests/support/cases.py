"""Which cases of a behaviour the inner loop tries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def slow_except(quick: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """Mark cases as slow that prove again what the quick ones prove."""
    return [
        case
        if case in quick
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]
