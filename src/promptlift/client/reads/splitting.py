"""Lists without an offset and without a total: when a part of one is known to be whole, as a decision from values.

The specification's ``GET /optimizations`` takes a ``limit`` and says neither how many rows there are nor how many
it gives at most. A part (the rows of some filters) is known to be whole when it has fewer rows than the service is
known to give at once. Else it is split by status, then by prompt, and its parts are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.schema.limits import LIST_LIMIT_MAX, OPTIMIZATIONS_LIMIT_DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable

# In the order of an optimization's life: one that moves on between two requests is seen at least once.
LIFE_ORDER: Final = ("queued", "running", "completed", "failed", "stopped")

# unspecified: the largest limit. Smaller ones for a service that refuses a hundred, larger ones for one that has none.
_SMALLER: Final = (LIST_LIMIT_MAX, 50, 20, None)
_LARGER: Final = (1_000, 10_000)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of some filters; ``None`` is not filtered."""

    prompt_id: str | None = None
    status: str | None = None

    def by_status(self) -> list[Part]:
        """Return the parts of this one, one a status."""
        return [Part(self.prompt_id, status) for status in LIFE_ORDER]

    def by_prompt(self, prompt_ids: Iterable[str]) -> list[Part]:
        """Return the parts of this one, one a prompt."""
        return [Part(prompt_id, self.status) for prompt_id in prompt_ids]

    def __str__(self) -> str:
        status = f"status {self.status}" if self.status else "any status"
        return f"{status}, {'one prompt' if self.prompt_id else 'all prompts'}"


class Reach:
    """The number of rows that the service is known to give at once, and the limit to ask for.

    Attributes
    ----------
    limit
        The limit to ask for; ``None`` leaves it out.
    """

    def __init__(self) -> None:
        self.limit: int | None = _SMALLER[0]
        # The default limit counts as seen: that is what a service returns when no limit is given.
        self._most = OPTIMIZATIONS_LIMIT_DEFAULT
        self._ceiling = False

    def is_whole(self, count: int) -> bool:
        """Whether an answer with this many rows is known to be everything: other answers had more."""
        return count < self._most

    def took(self, count: int) -> bool:
        """Record an answer; return whether the same request is worth repeating with the new limit."""
        self._most = max(self._most, count)
        if self._ceiling or self.limit is None or count < self.limit:
            return False
        larger = [limit for limit in _LARGER if limit > self.limit]
        if not larger:
            self._ceiling = True
            return False
        self.limit = larger[0]
        return True

    def refused(self) -> bool:
        """Record that the limit was refused; return whether there is another to try."""
        self._ceiling = True
        if self.limit is None:
            return False
        if self.limit > LIST_LIMIT_MAX:
            self.limit = max(one for one in (LIST_LIMIT_MAX, *_LARGER) if one < self.limit)
            return True
        self.limit = _SMALLER[_SMALLER.index(self.limit) + 1]
        return True
