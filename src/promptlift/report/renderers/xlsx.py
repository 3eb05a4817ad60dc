"""A report as an Excel workbook: a summary, then a sheet per table; numbers stay numbers, no cell is a formula."""

from __future__ import annotations

import io
import math
import textwrap
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import ConfigError
from promptlift.report.cells import plain, tables_of
from promptlift.report.charts import write_charts
from promptlift.schema.inert import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.report.document import Document, Kind, Table

__all__ = ["check", "render"]

_CELL_UNITS: Final = 32_767
_WIDEST: Final = 60
_SPAN: Final = 7
_LINE_CHARS: Final = 100
_CHART_WIDTH: Final = 515
_CHART_ROWS: Final = 17
_NUMBERS: Final[dict[str, str]] = {
    "count": "#,##0",
    "share": "0.0%",
    "score": "+0.00;-0.00;0.00",
    "percent": '+0.0"%";-0.0"%";0.0"%"',
    "points": "+0.0;-0.0;0.0",
    "confidence": "0.000",
    "number": "General",
    "day": "yyyy-mm-dd",
    "time": "yyyy-mm-dd hh:mm",
}
_HEAD: Final = {"bold": True, "text_wrap": True, "valign": "top", "bottom": 1, "bg_color": "#EEF2F6"}
_STYLES: Final[dict[str, dict[str, Any]]] = {
    "title": {"bold": True, "font_size": 16},
    "subtitle": {"font_color": "#5B6675", "font_size": 12},
    "head": _HEAD,
    "label": {"font_color": "#5B6675", "valign": "top"},
    "number_head": _HEAD | {"align": "right"},
    "text": {"text_wrap": True, "valign": "top"},
    "heading": {"bold": True, "font_size": 12, "text_wrap": True, "valign": "top"},
    **{kind: {"num_format": form, "valign": "top"} for kind, form in _NUMBERS.items()},
}


def check() -> None:
    """Check that Excel workbooks can be written.

    Raises
    ------
    ConfigError
        When XlsxWriter is not installed.
    """
    try:
        import xlsxwriter  # noqa: F401, PLC0415
    except ImportError as error:
        raise ConfigError("A report as .xlsx needs XlsxWriter: pip install XlsxWriter") from error


def render(document: Document) -> bytes:
    """Render a document."""
    import xlsxwriter  # noqa: PLC0415

    out = io.BytesIO()
    # No text becomes a formula, a link or a number, and no temporary file is written.
    never = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
    with xlsxwriter.Workbook(out, {"in_memory": True, **never}) as book:
        created = document.written_at.astimezone(UTC).replace(tzinfo=None)
        book.set_properties({"title": _fit(document.title)[:250], "author": "promptlift", "created": created})
        styles = {name: book.add_format(style) for name, style in _STYLES.items()}
        headlines, *others = tables_of(document)
        summary = book.add_worksheet("Summary")
        for table in others:
            _write_table(book.add_worksheet(table.title[:31]), plain(table), styles)
        drawn = [figure.chart for section in document.sections for figure in section.figures if figure.chart]
        charts = [*write_charts(book, drawn, styles, _write_cell)] if drawn else []
        _Summary(summary, styles).write(document, headlines, charts)
    return out.getvalue()


def _fit(text: str) -> str:
    """Return a text that fits into a cell: valid in XML, at most 32,767 UTF-16 units."""
    text = visible(text)
    while len(text.encode("utf-16-le")) // 2 > _CELL_UNITS:
        mark = " … (cut: Excel's limit)"
        text = text.removesuffix(mark)[: (_CELL_UNITS - len(mark)) // (1 if text.isascii() else 2)] + mark
    return text


def _write_cell(
    sheet: Any, row: int, column: int, value: Any, kind: Kind | str, styles: dict[str, Any]
) -> None:
    style = styles[kind]
    if isinstance(value, datetime):
        time = value.astimezone(UTC).replace(tzinfo=None)
        if time.year < 1900:
            sheet.write_string(row, column, time.isoformat(" ", "minutes"), style)
        else:
            sheet.write_datetime(row, column, time, style)
    elif isinstance(value, str):
        sheet.write_string(row, column, _fit(value), style)
    elif value is None or math.isnan(value):
        sheet.write_blank(row, column, None, style)
    elif math.isinf(value):
        sheet.write_string(row, column, "∞" if value > 0 else "−∞", style)
    else:
        sheet.write_number(row, column, value, style)


def _write_table(sheet: Any, table: Table, styles: dict[str, Any]) -> None:
    deepest = 1
    for place, column in enumerate(table.columns):
        sheet.write_string(0, place, column.label, styles["head" if column.kind == "text" else "number_head"])
        cells = [row[place] for row in table.rows]
        width = _width(column.label, cells)
        sheet.set_column(place, place, width)
        deepest = max(deepest, len(textwrap.wrap(column.label, int(width) - 3)))
        for number, cell in enumerate(cells, 1):
            _write_cell(sheet, number, place, cell, column.kind, styles)
    sheet.set_row(0, 16 * deepest)
    sheet.freeze_panes(1, 0)
    if table.rows:
        sheet.autofilter(0, 0, len(table.rows), len(table.columns) - 1)
    _for_paper(sheet)


def _width(label: str, cells: list[Any]) -> float:
    texts = [
        max((len(line) for line in cell.splitlines()), default=0) for cell in cells if isinstance(cell, str)
    ]
    longest_word = max(map(len, label.split()), default=0)
    return float(min(_WIDEST, max([12, longest_word + 4, *(size + 2 for size in texts)])))


def _for_paper(sheet: Any) -> None:
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    sheet.set_footer("&C&P / &N")


class _Summary:
    """The first sheet, written from top to bottom."""

    def __init__(self, sheet: Any, styles: dict[str, Any]) -> None:
        self._sheet, self._styles, self._row = sheet, styles, 0

    def write(self, document: Document, headlines: Table, charts: Sequence[Any]) -> None:
        self._sheet.set_column(0, 1, 26)
        self._sheet.set_column(2, _SPAN, 15)
        self._line(document.title, "title")
        self._sheet.freeze_panes(1, 0)
        self._logo(document)
        self._line(document.subtitle, "subtitle")
        for place, sentence in enumerate(document.answer):
            self._wide(sentence, 0, "heading" if place == 0 else "text")
        for label, value in document.facts:
            self._pair(label, value)
        for notice in document.notices:
            self._pair(notice.kind.capitalize(), notice.text)
        self._row += 1
        self._headlines(headlines, named=len(document.headlines) > 1)
        self._charts(charts)
        for section in document.sections:
            if section.points or (section.paragraphs and not section.transcripts):
                self._row += 1
                self._line(section.title, "heading")
                for text in (*section.paragraphs, *section.points):
                    self._wide(text, 0)
        self._row += 1
        self._wide(document.footer, 0)
        _for_paper(self._sheet)

    def _line(self, text: str, style: str) -> None:
        self._sheet.write_string(self._row, 0, _fit(text), self._styles[style])
        self._row += 1

    def _pair(self, label: str, value: str) -> None:
        self._sheet.write_string(self._row, 0, _fit(label), self._styles["label"])
        self._wide(value, 1)

    def _wide(self, text: str, start: int, style: str = "text") -> None:
        """Write a text across the sheet, in as many lines as it needs."""
        text = _fit(text)
        self._sheet.merge_range(self._row, start, self._row, _SPAN, "", self._styles[style])
        self._sheet.write_string(self._row, start, text, self._styles[style])
        lines = sum(math.ceil(len(line) / (_LINE_CHARS + 26 * (1 - start))) or 1 for line in text.split("\n"))
        self._sheet.set_row(self._row, 15 * min(lines, 20))
        self._row += 1

    def _headlines(self, table: Table, *, named: bool) -> None:
        labels = (
            "Prompt" if named else "",
            "Measure",
            "Value",
            "95% from",
            "95% to",
            "Counted",
            "Conversations",
        )
        for place, label in enumerate(labels):
            style = self._styles["head" if place < 2 else "number_head"]
            self._sheet.write_string(self._row, place, label, style)
        self._row += 1
        for prompt, measure, unit, *numbers in plain(table).rows:
            kinds = ("text", "text", str(unit), str(unit), str(unit), "count", "count")
            for place, (value, kind) in enumerate(zip((prompt, measure, *numbers), kinds, strict=True)):
                _write_cell(self._sheet, self._row, place, value, kind, self._styles)
            self._row += 1

    def _charts(self, charts: Sequence[Any]) -> None:
        """Put the charts side by side."""
        self._row += 1
        for place, chart in enumerate(charts):
            chart.set_size({"width": _CHART_WIDTH, "height": _CHART_ROWS * 20})
            self._sheet.insert_chart(self._row, 0, chart, {"x_offset": place * (_CHART_WIDTH + 10)})
        self._row += _CHART_ROWS + 1 if charts else 0

    def _logo(self, document: Document) -> None:
        logo = document.logo
        if logo is None:
            return
        self._sheet.set_row(0, max(24, logo.height * 0.375 + 6))
        image = {"image_data": io.BytesIO(logo.data), "x_scale": 0.5, "y_scale": 0.5, "decorative": True}
        self._sheet.insert_image(0, _SPAN - 1, f"logo.{logo.kind}", image)
