"""What belongs together: the files of an import, and the requests and answers of a batch."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

__all__ = ["OtherFiles", "Pair", "Pairs"]


class OtherFiles:
    """Files that are imported together. What is known of them is cached from one file to the next.

    Parameters
    ----------
    files
        All files of the import.

    Attributes
    ----------
    files
        The same, as paths.
    formats
        Formats of those that were looked at.
    """

    def __init__(self, files: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.files = [Path(file) for file in files]
        self.formats: dict[Path, str | None] = {}


@dataclass(slots=True)
class Pair:
    """A request, its answer, or both, with the line of the first of them."""

    line: int
    asked: Any = None
    answered: Any = None
    more: dict[str, Any] = field(default_factory=dict)


class Pairs:
    """Requests and answers of batches by their ids, which may come again in another batch."""

    def __init__(self) -> None:
        self._found: defaultdict[str, list[Pair]] = defaultdict(list)

    def add(self, name: str, found: Pair) -> None:
        """Add a request or an answer to the first one of the name that lacks it."""
        for known in self._found[name]:
            if (known.asked is None or found.asked is None) and (
                known.answered is None or found.answered is None
            ):
                known.asked = found.asked if known.asked is None else known.asked
                known.answered = found.answered if known.answered is None else known.answered
                known.more |= found.more
                return
        self._found[name].append(found)

    def batches(self) -> Iterator[list[tuple[str, Pair]]]:
        """Yield the pairs with their names: first those of each name that came first, then the second ones, and so on."""
        for batch in itertools.zip_longest(*self._found.values()):
            yield [(name, pair) for name, pair in zip(self._found, batch, strict=True) if pair is not None]
