"""What a report says, whatever the format: plain texts, numbers ready to print, and pictures as SVG.

Texts are as they are, unescaped: each renderer makes them harmless in its own way. They hold no control characters,
because ``inert.visible`` went over everything that came from outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "Column",
    "Document",
    "Figure",
    "Headline",
    "HeadlineGroup",
    "Notice",
    "Section",
    "Table",
    "Transcript",
    "Turn",
]


@dataclass(frozen=True, slots=True)
class Headline:
    """One number at the top.

    Attributes
    ----------
    label, value, detail
        What it is, the number as printed, and its interval and size in words.
    share, low, high
        The number and its interval as fractions of the scale that a reader can draw, or ``None``.
    """

    label: str
    value: str
    detail: str = ""
    share: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class HeadlineGroup:
    """The headline numbers of one prompt; the name is empty when the report is about one."""

    name: str
    numbers: tuple[Headline, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence that must be read before the numbers."""

    kind: Literal["warning", "note"]
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; numbers stand right."""

    label: str
    kind: Literal["text", "number"] = "text"


@dataclass(frozen=True, slots=True)
class Table:
    """A small table of printed cells."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture.

    Attributes
    ----------
    name
        Short name, unique in the document.
    alt
        The picture in a sentence, for who cannot see it.
    svg
        An ``<svg>`` element without outside references.
    """

    name: str
    title: str
    alt: str
    svg: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of an example, or the mark of a gap (role ``gap``)."""

    role: Literal["user", "assistant", "system", "gap"]
    text: str
    at: str = ""
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """An example conversation."""

    title: str
    outcome: Literal["completed", "failed"]
    facts: tuple[tuple[str, str], ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report: paragraphs first, then pictures, tables and transcripts."""

    name: str
    title: str
    paragraphs: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    transcripts: tuple[Transcript, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...]
    notices: tuple[Notice, ...]
    headlines: tuple[HeadlineGroup, ...]
    sections: tuple[Section, ...]
    footer: str
    language: str = field(default="en")
