"""The document model of a report, the same for every format: texts, numbers, tables, and figures as SVG.

Texts are not escaped: each renderer escapes them for its format. They have no control characters, because
``schema.inert.visible`` removed them from everything that came from outside. Numbers are numbers: each renderer formats
them, or writes them as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptlift.display.turn import Turn

Kind = Literal[
    "text", "count", "share", "score", "percent", "points", "confidence", "part", "number", "day", "time"
]
"""The kind of values in a column.

``share`` is a fraction from 0 to 1, ``score`` a number from -1 to 1, ``percent`` a relative change in percent, ``points`` a
difference in percentage points, ``confidence`` a probability that must not be
rounded up, ``part`` a count out of a total, ``number`` any number, ``day`` and ``time`` times in UTC.
"""


Width = Literal["wide", "narrow"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the bounds of its interval; NaN where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def of(cls, row: Any, name: str) -> Estimate:
        """Read a column of a row, with the columns of its interval."""
        return cls(*(float(row[f"{name}{end}"]) for end in ("", "_low", "_high")))


@dataclass(frozen=True, slots=True)
class Part:
    """A count out of a total."""

    hits: int
    total: int

    @classmethod
    def of(cls, row: Any, hits: str, total: str) -> Part:
        """Read two columns of a row."""
        return cls(int(row[hits]), int(row[total]))


Cell = str | int | float | datetime | Estimate | Part | None


@dataclass(frozen=True, slots=True)
class Headline:
    """One headline number.

    Attributes
    ----------
    label
        Its name.
    kind
        ``share``, ``score`` or ``count``.
    estimate
        The number and its 95% interval.
    basis
        The number of conversations, and where it applies how many of them were counted.
    detail
        Its interval and size in words.
    """

    label: str
    kind: Kind
    estimate: Estimate
    basis: Part | int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class HeadlineGroup:
    """The headline numbers of one prompt; the name is empty when there is only one prompt."""

    name: str
    numbers: tuple[Headline, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence to read before the numbers."""

    kind: Literal["warning", "note"]
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    key
        Its name in machine-readable files.
    label
        Its name for people.
    kind
        The kind of its cells; a cell of any kind may be ``None``.
    level
        Coverage of the intervals in percent when the cells are ``Estimate``, else ``None``.
    """

    key: str
    label: str
    kind: Kind = "text"
    level: int | None = None


Field = tuple[Column, "Callable[[Any], Cell]"]
"""A column of a table, and what it shows of a row of data."""


@dataclass(frozen=True, slots=True)
class Table:
    """A small table.

    Attributes
    ----------
    name
        Short name, unique in the document.
    title
        Title for people.
    folded
        Whether it repeats a figure or another table: a page folds it, and paper leaves it out.
    most
        Rows that a page shows at once: longer tables are folded, and paper has as many rows and the number of the others.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False
    most: int | None = None

    @classmethod
    def of(cls, name: str, title: str, rows: Iterable[Any], *fields: Field, **how: Any) -> Table:
        """Make a table of rows of data, each column beside what it shows of a row."""
        columns = tuple(column for column, _ in fields)
        return cls(
            name, title, columns, tuple(tuple(shown(row) for _, shown in fields) for row in rows), **how
        )

    @property
    def hidden(self) -> int:
        """How many of its rows are more than a page shows at once."""
        return 0 if self.most is None else max(0, len(self.rows) - self.most)


@dataclass(frozen=True, slots=True)
class Chart:
    """The numbers of a figure, for programs that draw charts of their own.

    Attributes
    ----------
    kind
        ``line`` over time, or ``bar`` with a bar for each category and group.
    title
        Title of the chart.
    label
        What the categories are.
    categories
        Times in UTC, or texts.
    series
        Name and shares of each group, one for each category.
    """

    kind: Literal["line", "bar"]
    title: str
    label: str
    categories: tuple[datetime | str, ...]
    series: tuple[tuple[str, tuple[Estimate, ...]], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure.

    Attributes
    ----------
    name
        Short name, unique in the document.
    alt
        The figure in a sentence, for those who cannot see it.
    paint
        Returns an ``<svg>`` element without external references, for a wide or a narrow page. Formats without figures
        never call it.
    caption
        What a reader must know to read it.
    chart
        Its numbers, where a workbook shows them as a chart.
    is_half
        Whether paper shows it beside another one.
    """

    name: str
    alt: str
    paint: Callable[[Width], str]
    caption: str = ""
    chart: Chart | None = None
    is_half: bool = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """An example conversation.

    Attributes
    ----------
    title
        What the user asked for.
    turns
        The messages; empty when the report is redacted.
    preview
        The two messages after the first of the user, a line each: what is seen while the rest is folded.
    """

    title: str
    conversation_id: str
    prompt: str
    started_at: datetime | None
    outcome: Literal["completed", "failed"]
    facts: tuple[tuple[str, str], ...]
    turns: tuple[Turn, ...]
    preview: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Logo:
    """An image that was checked and re-encoded: PNG or JPEG, with its size in pixels."""

    data: bytes
    kind: Literal["png", "jpeg"]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report: paragraphs first, then figures, tables and transcripts."""

    name: str
    title: str
    paragraphs: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    transcripts: tuple[Transcript, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report, written at ``written_at``; ``answer`` is what it found, in sentences."""

    title: str
    subtitle: str
    answer: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    notices: tuple[Notice, ...]
    headlines: tuple[HeadlineGroup, ...]
    sections: tuple[Section, ...]
    footer: str
    written_at: datetime
    logo: Logo | None = None
