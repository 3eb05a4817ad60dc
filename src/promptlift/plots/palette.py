"""The colours and markers of groups, and which of them a name has."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MARKERS", "PALETTE", "PALETTE_ON_DARK", "SENTIMENT_COLORS", "slots_of"]

# After Okabe and Ito (2008), for every common colour blindness; but no two of one hue, and each place has its hue on white and on black.
PALETTE = ("#0072B2", "#C99700", "#009E73", "#D55E00", "#CC79A7", "#7B5BBE")
PALETTE_ON_DARK = ("#56B4E9", "#F0C000", "#009E73", "#D55E00", "#CC79A7", "#B79CED")
# Markers distinguish the groups where colours cannot: in grey print, or for the colour-blind.
MARKERS = ("o", "s", "^", "D", "v", "P")
SENTIMENT_COLORS = {"negative": "#D55E00", "neutral": "#8C8C8C", "positive": "#009E73"}


def slots_of(names: Sequence[str], size: int) -> list[int]:
    """Return a place in the palette for each name: its own in every picture, and no place twice while there is another.

    The place follows from the name alone, so that a prompt has its colour from run to run. Where two names have the same
    one, the second in the order of their digests takes the next that is free.
    """
    digests = [int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest()[:8]) for name in names]
    slots = [0] * len(names)
    taken: set[int] = set()
    for place in sorted(range(len(names)), key=lambda place: digests[place]):
        free = (number % size for number in range(digests[place] % size, digests[place] % size + size))
        slots[place] = next((one for one in free if one not in taken), digests[place] % size)
        taken.add(slots[place])
    return slots
