"""Charts of a workbook that the spreadsheet program draws itself, from numbers on a sheet of their own."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from promptlift.plots.palette import PALETTE, slots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from promptlift.report.document import Chart, Estimate

__all__ = ["SHEET", "write_charts"]

SHEET: Final = "Chart data"
# The value, both ends of its interval, and how far they are from it.
_ENDS: Final = (": 95% from", ": 95% to", ": below", ": above")
_COLUMNS: Final = 1 + len(_ENDS)
_MOST_SERIES: Final = len(PALETTE)
_GREY: Final = "#7A8694"


def write_charts(
    book: Any, charts: Sequence[Chart], styles: dict[str, Any], write_cell: Callable[..., None]
) -> Iterator[Any]:
    """Write the numbers of the charts side by side on a sheet, and yield each chart.

    Parameters
    ----------
    book
        The workbook.
    charts
        What to draw; of many groups the first ones are drawn, and all are on the sheet.
    styles
        Formats of the cells by kind, and of the ``head``.
    write_cell
        Writes a value of a kind to a row and column of a sheet.
    """
    sheet = book.add_worksheet(SHEET)
    sheet.freeze_panes(1, 0)
    left = 0
    for chart in charts:
        kind = "time" if isinstance(chart.categories[0], datetime) else "text"
        sheet.set_column(left, left, 34 if kind == "text" else 18)
        sheet.set_column(left + 1, left + _COLUMNS * len(chart.series), 14)
        write_cell(sheet, 0, left, chart.label, "head", styles)
        for row, category in enumerate(chart.categories, 1):
            write_cell(sheet, row, left, category, kind, styles)
        for place, (name, shares) in enumerate(chart.series):
            column = left + 1 + _COLUMNS * place
            for offset, end in enumerate(("", *_ENDS)):
                write_cell(sheet, 0, column + offset, f"{name}{end}", "head", styles)
            for row, share in enumerate(shares, 1):
                lengths = share.value - share.low, share.high - share.value
                for offset, value in enumerate((share.value, share.low, share.high, *lengths)):
                    write_cell(sheet, row, column + offset, value, "share", styles)
        yield _drawn(book, chart, left)
        left += 2 + _COLUMNS * len(chart.series)


def _drawn(book: Any, chart: Chart, left: int) -> Any:
    is_line = chart.kind == "line"
    made = book.add_chart({"type": chart.kind})
    # Names come from outside: a chart refers to the cells that hold them, which are never formulas.
    last = len(chart.categories)
    colors = slots_of([name for name, _ in chart.series[:_MOST_SERIES]], len(PALETTE))
    for place, slot in enumerate(colors):
        column, color = left + 1 + _COLUMNS * place, PALETTE[slot]
        marker = {"type": "circle", "size": 5, "fill": {"color": color}, "border": {"color": color}}
        made.add_series(
            {
                "name": [SHEET, 0, column],
                "categories": [SHEET, 1, left, last, left],
                "values": [SHEET, 1, column, last, column],
                "line" if is_line else "fill": {"color": color},
                **({"marker": marker} if is_line else {"gap": 60}),
                "y_error_bars" if is_line else "x_error_bars": _error_bars(chart.series[place][1], column),
            }
        )
    made.set_title({"name": chart.title, "overlay": False, "name_font": {"size": 12}})
    # Bars end at the next 5% above every interval.
    most = max(share.high for _, shares in chart.series for share in shares)
    shares_axis = {
        "num_format": "0%",
        "min": 0,
        "max": 1.0 if is_line else min(1.0, math.ceil(20 * most) / 20),
        "major_gridlines": {"visible": True, "line": {"color": "#E3E7EC"}},
    }
    if is_line:
        whole_days = all(isinstance(at, datetime) and at.hour == 0 for at in chart.categories)
        made.set_x_axis(
            {
                "text_axis": True,
                "num_format": "d mmm" if whole_days else "d mmm hh:mm",
                "num_font": {"rotation": -45},
            }
        )
        made.set_y_axis(shares_axis)
    else:
        # Bars begin at the bottom; the most frequent issue belongs to the top.
        made.set_y_axis({"reverse": True, "major_gridlines": {"visible": False}})
        made.set_x_axis({**shares_axis, "label_position": "high"})
    made.set_legend({"position": "bottom"} if len(chart.series) > 1 else {"none": True})
    made.show_blanks_as("gap")
    return made


def _error_bars(shares: Sequence[Estimate], column: int) -> dict[str, Any]:
    """Return the intervals: as the cells that hold their lengths, and the lengths for programs that do not compute."""
    from xlsxwriter.utility import xl_range_formula  # noqa: PLC0415  (the package must import quickly)

    minus, plus = (xl_range_formula(SHEET, 1, column + at, len(shares), column + at) for at in (3, 4))
    return {
        "type": "custom",
        "minus_values": f"={minus}",
        "minus_data": [_length(share.low, share.value) for share in shares],
        "plus_values": f"={plus}",
        "plus_data": [_length(share.value, share.high) for share in shares],
        "line": {"color": _GREY},
    }


def _length(low: float, high: float) -> float:
    return 0.0 if math.isnan(high - low) else high - low
