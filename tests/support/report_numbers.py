"""The numbers of one report as each format has them: exact in its document and in Excel, printed in the others."""

from __future__ import annotations

import math
import re
from functools import cache
from html.parser import HTMLParser

import openpyxl
import pandas as pd
import pypdf
from markdown_it import MarkdownIt

from promptlift.errors import ConfigError
from promptlift.report.cells import formatted, plain, tables_of
from promptlift.report.compose import compose
from promptlift.report.gather import gather
from promptlift.report.period import window_of
from promptlift.report.renderers import pdf

FORMATS = ("html", "pdf", "xlsx", "md")
# Printed as a picture of their own or not at all: not compared cell by cell.
NOT_PRINTED = {"headline", "examples"}
_NUMBER = re.compile(r"([+−-]?(?:\d[\d,]*(?:\.\d+)?|∞))(%)?")


def squeezed(text: str) -> str:
    """A text without white space and soft hyphens, as lines may break anywhere."""
    return re.sub(r"[\s\u00ad\u2060]+", "", text)


class _Tables(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: dict[str, list[list[str]]] = {}
        self.cards: list[list[str]] = []
        self._name, self._cell, self._card = "", False, False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if (attributes.get("id") or "").startswith("table-"):
            self._name = attributes["id"].removeprefix("table-")
            self.found[self._name] = []
        if tag == "tr":
            self.found[self._name].append([])
        if tag in {"td", "th"}:
            self.found[self._name][-1].append("")
            self._cell = True
        if tag == "div" and attributes.get("class") == "card":
            self.cards.append([])
        self._card = tag == "p" and attributes.get("class") in {"label", "value", "detail"}

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self._cell = False
        if tag == "p":
            self._card = False

    def handle_data(self, data):
        if self._cell:
            self.found[self._name][-1][-1] += data
        elif self._card:
            self.cards[-1].append(data)


def html_tables(path):
    """Cells of the tables by name, and the texts of the cards."""
    tables = _Tables(path.read_text("utf-8"))
    return {
        name: [[" ".join(cell.split()) for cell in row] for row in rows]
        for name, rows in tables.found.items()
    }, [[" ".join(part.split()) for part in card] for card in tables.cards]


def markdown_tables(path):
    """Cells of the tables in their order, as a Markdown reader gives them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text("utf-8"))
    tables, cells = [], None
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in {"td_open", "th_open"}:
            cells = tables[-1][-1]
            text = "".join(child.content for child in tokens[place + 1].children or ())
            cells.append(" ".join(text.replace("\u2060", "").split()))
    return tables


@cache
def pdf_can_be_written() -> bool:
    """Whether WeasyPrint and Pango are on this machine."""
    try:
        pdf.check()
    except ConfigError:
        return False
    return True


def pdf_text(path):
    """All text of the pages, squeezed."""
    return squeezed("".join(page.extract_text() for page in pypdf.PdfReader(path).pages))


def document_of(source, prompt_id, *, clock, period=None, labels=None, **options):
    """The document that ``report.write`` would render."""
    window = window_of(period, clock())
    return compose(gather(source, prompt_id, window, labels), window=window, now=clock(), **options)


def texts_of(table):
    """Rows of a table as they are printed."""
    return [
        {column.key: formatted(cell, column.kind) for cell, column in zip(row, table.columns, strict=True)}
        for row in table.rows
    ]


def exact_tables(document):
    """Tables of a document with a column for each number."""
    return {table.name: _exact(plain(table)) for table in tables_of(document)}


def _exact(table):
    frame = pd.DataFrame(table.rows, columns=[column.key for column in table.columns])
    for column in table.columns:
        if column.kind in {"day", "time"}:
            frame[column.key] = pd.to_datetime(frame[column.key], utc=True)
        elif column.kind != "text":
            frame[column.key] = pd.to_numeric(frame[column.key])
    return frame


def sheets(path):
    """Rows of each sheet."""
    book = openpyxl.load_workbook(path)
    return {sheet.title: [list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book}


def numbers_in(printed: str):
    """Numbers of a printed cell with half of their last digit, in the unit of the exact ones."""
    found = []
    for digits, share in _NUMBER.findall(printed):
        plain = digits.replace(",", "").replace("−", "-")
        if plain.endswith("∞"):
            found.append((-math.inf if plain.startswith("-") else math.inf, 0.0))
            continue
        scale = 0.01 if share else 1.0
        decimals = len(plain.partition(".")[2])
        half = 0.5 * 10**-decimals * scale
        found.append((float(plain) * scale, half))
    return found
