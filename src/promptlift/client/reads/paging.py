"""Read a list completely while the service keeps writing: decisions only, no I/O.

The service gives pages by offset. Between two pages rows are inserted and deleted, so the same offset may
mean a different row. Pages therefore overlap by a few rows. A page *meets* if it has a row that was already
read: because the order is fixed, everything before that row was read too, or did not exist throughout. A page
that does not meet is not trusted; the walk steps back until one does.

The total is a claim like any other. The list ends where a page is shorter than the service could have made
it, and the total of the same answer agrees. The rows read are then compared with that total. A difference is
accepted only as far as pages have shown rows to move: if rows moved up, others before them were deleted; if
rows moved down while the total grew, others were inserted. An unexplained difference is read again, and never
counts as complete.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = dict[str, Any]

PAGE_ROWS: Final = 100
# Rows shared by neighbouring pages: this many may be deleted between two pages before one must be read again.
OVERLAP: Final = 3
# A larger overlap for a list that loses rows while it is read, because it will lose more.
OVERLAP_AFTER_MISS: Final = 6
# How often a list is read from the top before the read fails.
_PASSES_MAX: Final = 3
# A count and a page taken at different moments differ once, not three times.
_DOUBTS_MAX: Final = 2
_IDLE_MAX: Final = 8
# How many rows may be deleted in the unread part before the walk checks.
_FALL_UNSEEN: Final = 20
# Nobody logs faster than this while a list is read.
_GROWTH_MAX: Final = 10_000
# unspecified: the maximum rows of a page. A service's own undeclared limit is a round number.
_ROUND: Final = 5


class ListBroken(Exception):
    """The pages do not fit together. The message explains how."""


def pages_for(total: int, limit: int = PAGE_ROWS) -> int:
    """Count the requests for a list without changes, at most N / 97 + 1: a full last page costs one more.

    Parameters
    ----------
    limit
        The most rows of a page after the first. Where it is larger, a page of the usual size is asked ahead for nothing.

    Examples
    --------
    >>> [pages_for(total) for total in (0, 99, 100, 600, 10_000)], pages_for(10_000, 1_000)
    ([1, 1, 2, 7, 104], 12)
    """
    if total < PAGE_ROWS:
        return 1
    return 2 + (total - PAGE_ROWS) // (limit - OVERLAP) + (limit > PAGE_ROWS)


@dataclass(slots=True)
class Walk:
    """Read one list: request :attr:`offset`, pass the page to :meth:`take`, until :attr:`done`.

    Attributes
    ----------
    limit
        Rows to request.
    rows
        Ids of the rows returned so far, with the position where each was last seen.
    total
        As the service last gave it.
    complete
        Whether nothing is missing; meaningful when done.
    gone
        Minimum number of returned rows no longer in the list; meaningful when done.
    late
        Rows found at the top after the walk had passed there.
    as_of
        The time from which to request changes after this walk, from the first page.
    """

    limit: int = PAGE_ROWS
    late: set[str] = field(default_factory=set)
    as_of: str | None = None
    offset: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    total: int = 0
    done: bool = False
    complete: bool = False
    gone: int = 0
    pages: int = 0
    _first_total: int = 0
    # Of this pass, from the top to the end of the list:
    _covered: set[str] = field(default_factory=set)
    _believed: int = 0
    _highest: int = 0
    _ended_at: int = 0
    _appeared: int = 0
    _vanished: int = 0
    _found: int = 0
    _caught_up: bool = False
    _passes: int = 1
    # Of the current position:
    _island: tuple[int, list[str], bool] | None = None
    _above: set[str] = field(default_factory=set)
    _overlap: int = OVERLAP
    _catching_up: bool = False
    _confirmed: tuple[int, int] | None = None
    _largest: int = 0
    _doubts: int = 0
    _strays: int = 0
    _idle: int = 0

    @classmethod
    def resumed(cls, ids: Sequence[str], *, total: int, limit: int = PAGE_ROWS) -> Walk:
        """Continue an interrupted walk, however long ago: to the walk it is a long pause between two pages.

        Parameters
        ----------
        ids
            Rows that were read, in the order of the list.
        total
            As last reported by the service.
        limit
            Rows of its pages.
        """
        walk = cls(limit=limit)
        if not ids:
            return walk
        walk.rows = {one: place for place, one in enumerate(ids)}
        walk._covered = set(ids)
        walk.total = walk._first_total = walk._believed = walk._highest = max(total, len(ids))
        walk._overlap = min(OVERLAP, limit - 1)
        walk._largest = limit
        walk.pages = 1
        walk.offset = max(0, len(ids) - walk._overlap)
        return walk

    def take(self, page: list[Row], *, total: int, limit: int | None = None) -> list[Row]:
        """Process the page at :attr:`offset` and return its new rows.

        Parameters
        ----------
        page
            Rows with a string under ``id``.
        total, limit
            As reported by the service; it may allow fewer rows per page than requested.

        Raises
        ------
        ListBroken
            The pages cannot belong to one list.
        """
        most = min(self.limit, limit) if limit and limit > 0 else self.limit
        if self.pages == 0:
            self.limit, self._first_total = most, total
            self._overlap = min(OVERLAP, most - 1)
        self.pages += 1
        self.total = total
        ids = [row["id"] for row in page]
        if len(set(ids)) < len(ids):
            raise ListBroken("a page has the same row twice")
        self._check_growth()
        known = self.rows
        new = [row for row in page if row["id"] not in known]
        if self._catching_up:
            self.late.update(row["id"] for row in new)
        if not self._doubtful(ids, total):
            if self._meets(ids):
                self._measure(ids, total)
                self._place(ids)
                self._go_on(ids, total, most)
            else:
                self._place(ids)
                self._step_back(ids, most)
        else:
            self._place(ids)
        self._largest = max(self._largest, len(ids))
        return new

    def guess(self) -> int | None:
        """Return the start of the next page if the one at :attr:`offset` is like the previous ones.

        ``None`` if it may be the last, or if the walk is not moving forward.
        """
        if self.pages == 0 or self._catching_up or self._island is not None or self._largest < self.limit:
            return None
        end = self.offset + self.limit
        return end - self._overlap if end < self.total else None

    def _place(self, ids: list[str]) -> None:
        self.rows.update(zip(ids, range(self.offset, self.offset + len(ids)), strict=True))

    def _check_growth(self) -> None:
        step = max(1, self.limit - self._overlap)
        if self.pages > 20 + 4 * (len(self.rows) // step + 1) or self._strays > 20 + self.pages // 4:
            raise ListBroken("the list changes faster than it can be read")
        if len(self.rows) > 2 * self._first_total + _GROWTH_MAX:
            raise ListBroken(f"the list began with {self._first_total} rows and does not end")

    def _doubtful(self, ids: list[str], total: int) -> bool:
        """Return whether the page contradicts its own total, so that it must be requested again."""
        end = self.offset + len(ids)
        if end <= total if ids else end >= total:
            self._doubts = 0
            return False
        self._doubts += 1
        if self._doubts <= _DOUBTS_MAX:
            return True
        if not ids:
            raise ListBroken(f"the service returns no rows at offset {self.offset} of {total}")
        raise ListBroken(f"the service counts {total} rows and returns {len(ids)} from offset {self.offset}")

    def _meets(self, ids: list[str]) -> bool:
        if self.offset == 0 and not self._catching_up:
            return True
        return not self._covered.isdisjoint(ids)

    def _measure(self, ids: list[str], total: int) -> None:
        """Record how far the rows have moved since they were read: that many were inserted or deleted before them."""
        grown, self._believed = total - self._believed, total
        self._highest = max(self._highest, total)
        if self._catching_up or not self._covered:
            return
        for place in range(len(ids) - 1, -1, -1):
            if ids[place] in self._covered:
                moved = self.offset + place - self.rows[ids[place]]
                self._vanished += max(0, -moved)
                self._appeared += max(0, min(moved, grown))
                return

    def _go_on(self, ids: list[str], total: int, most: int) -> None:
        end = self.offset + len(ids)
        last = end >= total
        proven = last and self._proves_the_end(len(ids), most)
        seen = len(self._covered)
        self._covered.update(ids)
        if self._island is not None:
            start, island, was_last = self._island
            self._island = None
            if not self._covered.isdisjoint(island):
                # The end of the island may have moved since; the next page must meet it to be trusted.
                self._covered.update(island)
                end, proven = min(start + len(island), total), proven or was_last
        if self._catching_up:
            self._covered |= self._above
            self._found += len(self._covered) - seen
            self._finish(self._ended_at)  # rows inserted since are not required
            return
        if proven and self._is_settled(end, total):
            self._ended_at = total
            self._finish(total)
            return
        self._idle = 0 if len(self._covered) > seen else self._idle + 1
        inserted = max(0, total - self._first_total)  # as many known rows may have moved to later pages
        if self._idle > _IDLE_MAX + inserted // max(1, self.limit - self._overlap):
            raise ListBroken(f"the service keeps returning the same {seen} of {total} rows")
        # At least one row further, or a service with pages of one row would never end.
        self.offset = max(end - self._overlap, self.offset + 1) if end > self.offset else end

    def _proves_the_end(self, count: int, most: int) -> bool:
        """Return whether the page is shorter than the service could have made it."""
        if self.pages == 1:
            # As many rows as a limit of the service's own would bring?
            return count < most and (count == 0 or count % _ROUND != 0)
        return count < min(most, self._largest)

    def _is_settled(self, end: int, total: int) -> bool:
        """Return whether a total that fell much further than observed deletions was confirmed by a second answer."""
        fallen = self._highest - self._vanished - total
        if fallen <= max(_FALL_UNSEEN, self._highest // 100) or self._confirmed == (end, total):
            return True
        self._confirmed = (end, total)
        return False

    def _step_back(self, ids: list[str], most: int) -> None:
        if self._catching_up and self.offset + len(ids) < self.total and ids:
            # More new rows at the top than one page holds.
            self._above.update(ids)
            self.offset += max(1, len(ids) - self._overlap)
            return
        self._strays += 1
        if self.offset == 0:
            # None of the rows read are left in the list: this page is its beginning.
            self._start_again()
            self._go_on(ids, self.total, most)
            return
        end = self.offset + len(ids)
        proven = end >= self.total and self._proves_the_end(len(ids), most)
        self._island = (self.offset, ids, proven) if ids else None
        self._overlap = min(OVERLAP_AFTER_MISS, self.limit - 1)
        self.offset = max(0, min(self.offset, self.total) - max(1, self.limit - 1))

    def _finish(self, total: int) -> None:
        """Compare with the total; if rows are missing, look for them at the top, then everywhere."""
        missing = total - len(self._covered)
        # Rows inserted during the read may be in the part already read. Once everything was read twice, the
        # difference is accepted.
        unseen = self._appeared if self._caught_up and self._passes > 1 else 0
        if -(self._vanished + self._found) <= missing <= unseen:
            self.done = self.complete = True
            self.gone = max(0, len(self.rows) - self.total)
        elif missing > 0 and not self._caught_up:
            self._caught_up = self._catching_up = True
            self._above.clear()
            self.offset = 0
        elif self._passes >= _PASSES_MAX:
            self.done = True
        else:
            self._passes += 1
            self._start_again()

    def _start_again(self) -> None:
        """Discard the coverage of this pass, and read everything from the top."""
        self._covered.clear()
        self._above.clear()
        self._catching_up = self._caught_up = False
        self._appeared = self._vanished = self._found = 0
        self._believed = self._highest = self.total
        self._confirmed = self._island = None
        self.offset = 0
