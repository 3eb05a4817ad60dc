"""What one request with many conversations may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from promptlift.schema import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Item = TypeVar("Item")

# Half of what our service takes: the sizes are estimates where the body is not made yet.
_BYTES: Final = limits.BULK_BODY_BYTES // 2


def in_requests(items: Sequence[Item], size: Callable[[Item], int]) -> Iterator[Sequence[Item]]:
    """Split conversations into what one request may hold, in their order.

    Parameters
    ----------
    size
        Bytes that one of them takes in a body.

    Examples
    --------
    >>> [len(some) for some in in_requests(["x"] * 1100, len)]
    [500, 500, 100]
    """
    start = total = 0
    for number, one in enumerate(items):
        length = size(one)
        if number > start and (number - start >= limits.BULK_ROWS or total + length > _BYTES):
            yield items[start:number]
            start, total = number, 0
        total += length
    if start < len(items):
        yield items[start:]
