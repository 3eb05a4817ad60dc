"""How a list is read completely while the service goes on writing: decisions only, no I/O.

The service gives pages by offset. Between two pages rows are inserted and deleted, so the same offset means
another row. Pages therefore overlap by a few rows. A page *meets* when it has a row that is read already: because
the order is fixed, everything before that row is read too, or did not exist throughout. A page that does not meet is not
believed; the walk steps back until one does. At the end the rows are compared with the total that the service
gives, and read again from the top when there are too few.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

Row = dict[str, Any]

PAGE_ROWS: Final = 100
OVERLAP_MOST: Final = 3
# A list from which rows vanish while it is read will lose more.
OVERLAP_AFTER_MISS: Final = 6
# Requests that a read may make beyond one for every full page.
SPARE_REQUESTS: Final = 5
_REPEATS_MAX: Final = 3


class ListBroken(Exception):
    """The pages do not fit together. The message says how."""


def overlap_for(total: int, limit: int) -> int:
    """Choose how many rows neighbouring pages share.

    As many as can be afforded: a quiet read of N rows stays within N/100 + 5 requests, up to some 49,000 rows; one row always.
    """
    for overlap in range(min(OVERLAP_MOST, limit - 1), 1, -1):
        pages = 1 + -(-max(0, total - limit) // (limit - overlap))
        if pages <= total / limit + SPARE_REQUESTS:
            return overlap
    return min(1, limit - 1)


@dataclass(slots=True)
class Walk:
    """Read one list: ask :attr:`offset`, hand the page to :meth:`take`, until :attr:`done`.

    Attributes
    ----------
    limit
        Rows to ask for.
    rows
        Ids of the rows that were given.
    total
        As the service last gave it.
    complete
        Whether nothing is missing; meaningful when done.
    """

    limit: int = PAGE_ROWS
    offset: int = 0
    rows: set[str] = field(default_factory=set)
    total: int = 0
    done: bool = False
    complete: bool = False
    pages: int = 0
    _covered: set[str] = field(default_factory=set)
    _island: tuple[int, list[str], bool] | None = None
    _overlap: int = OVERLAP_MOST
    _repeats: int = 0
    _catching_up: bool = False
    _grown: int = 0

    def take(self, page: list[Row], *, total: int, limit: int | None = None) -> list[Row]:
        """Take the page at :attr:`offset` and give the rows that are new.

        Parameters
        ----------
        page
            Rows with a text under ``id``.
        total, limit
            As the service gave them; it may allow fewer rows a page than asked for.

        Raises
        ------
        ListBroken
            When the pages cannot be one list.
        """
        if self.pages == 0:
            self.limit = min(self.limit, limit) if limit and limit > 0 else self.limit
            self._overlap = overlap_for(total, self.limit)
        else:
            self._grown += max(0, total - self.total)
        self.pages += 1
        self.total = total
        if self.pages > 20 + 4 * (max(total, len(self.rows)) // max(1, self.limit - self._overlap) + 1):
            raise ListBroken("the list changes faster than it can be read")
        ids = [row["id"] for row in page]
        new = [row for row in page if row["id"] not in self.rows]
        self.rows.update(row["id"] for row in new)
        if self._meets(ids):
            self._go_on(ids, total)
        else:
            self._step_back(ids)
        return new

    def _meets(self, ids: list[str]) -> bool:
        if self.offset == 0 and not self._catching_up:
            return True
        return any(one in self._covered for one in ids)

    def _go_on(self, ids: list[str], total: int) -> None:
        end = self.offset + len(ids)
        last = end >= total
        self._covered.update(ids)
        if self._island is not None:
            start, island, was_last = self._island
            self._island = None
            if not self._covered.isdisjoint(island):
                # Where the island ends may have moved since; the next page must meet it to be believed.
                self._covered.update(island)
                end, last = min(start + len(island), total), last or was_last
        if self._catching_up or last:
            self._finish(total)
            return
        if not ids:
            raise ListBroken(f"the service gives no rows at offset {self.offset} of {total}")
        # At least one row further, else a service with pages of one row would never end.
        self.offset = max(end - self._overlap, self.offset + 1) if end > self.offset else end

    def _step_back(self, ids: list[str]) -> None:
        if self._catching_up and self.offset + len(ids) < self.total and ids:
            # More new rows at the top than one page holds.
            self.offset += max(1, len(ids) - self._overlap)
            return
        if self.offset == 0:
            # Nothing of what was read is left in the list: this page is its beginning.
            self._catching_up = False
            self._go_on(ids, self.total)
            return
        self._island = (self.offset, ids, self.offset + len(ids) >= self.total) if ids else None
        self._overlap = min(OVERLAP_AFTER_MISS, self.limit - 1)
        self.offset = max(0, min(self.offset, self.total) - max(1, self.limit - 1))

    def _finish(self, total: int) -> None:
        """Compare with the total; when rows are missing, look for them at the top, then everywhere."""
        # What was inserted while reading may lie where it was read already; nobody can promise that.
        if total - len(self.rows) <= (self._grown if self._repeats else 0):
            self.done = self.complete = True
            return
        self._repeats += 1
        if self._repeats > _REPEATS_MAX:
            self.done = True
            return
        self._catching_up = self._repeats == 1
        if not self._catching_up:
            self._covered.clear()
        self.offset = 0
