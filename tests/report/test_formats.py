"""What is particular to each format: dates and widths of workbooks, pages of PDF, what is missing on a machine."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import openpyxl
import pandas as pd
import pypdf
import pytest

from promptlift import analysis, report
from promptlift.report.cells import formatted
from promptlift.report.document import Column, Document, Estimate, Part, Section, Table
from promptlift.report.renderers import renderer_for
from promptlift.report.renderers.markdown import escape
from support.report_numbers import FORMATS, pdf_can_be_written
from support.report_page import NOW, clock, conversations

CODE = """
import sys; sys.path.insert(0, sys.argv[1])
from support import report_page as page
from promptlift import report
for path in sys.argv[3:]:
    report.write(page.conversations(30), "p1", path, clock=page.clock, logo=sys.argv[2])
"""


@pytest.mark.slow
def test_the_same_data_and_clock_give_the_same_bytes_in_every_process(tmp_path):
    from PIL import Image

    logo = tmp_path / "logo.png"
    Image.new("RGBA", (60, 30), (0, 90, 180, 128)).save(logo)
    endings = [ending for ending in FORMATS if ending != "pdf" or pdf_can_be_written()]
    here, there = ([tmp_path / f"{place}.{ending}" for ending in endings] for place in ("here", "there"))
    for path in here:
        report.write(conversations(30), "p1", path, clock=clock, logo=logo)
    command = [sys.executable, "-c", CODE, str(Path(__file__).parents[1]), str(logo), *map(str, there)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo"})
    for one, other in zip(here, there, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.suffix


def document(cells, kind="text", level=None):
    table = Table(
        "things", "Things", (Column("thing", "Thing", kind, level),), tuple((cell,) for cell in cells)
    )
    return Document("T", "S", (), (), (), (), (Section("s", "S", tables=(table,)),), "F", NOW)


def sheet_of(cells, kind="text", level=None):
    data = renderer_for(Path("r.xlsx"))(document(cells, kind, level))
    return openpyxl.load_workbook(io.BytesIO(data))["Things"]


def test_a_cell_holds_at_most_what_excel_allows():
    cells = ["A" * 40_000, "\U0001f600" * 17_000, "=" * 33_000, "x" * 32_767]
    shown = [row[0] for row in sheet_of(cells).iter_rows(min_row=2, values_only=True)]
    assert all(len(text.encode("utf-16-le")) <= 2 * 32_767 for text in shown)
    assert [text.endswith("(cut: Excel's limit)") for text in shown] == [True, True, True, False]


def test_control_characters_and_halves_of_characters_are_seen():
    (shown,) = sheet_of(["a\x00b\x01c\x0bd\x1be\ud800f\uffff_x0041_"]).iter_rows(min_row=2, values_only=True)
    assert shown[0] == "a␀b␁c\nd␛e\ufffdf_x0041_"


def test_numbers_that_excel_has_not_are_texts_or_empty():
    cells = [Estimate(5.0, -float("inf"), float("inf")), Estimate(float("nan")), None]
    rows = list(sheet_of(cells, "percent", 90).iter_rows(min_row=2, values_only=True))
    assert rows == [(5.0, "−∞", "∞"), (None, None, None), (None, None, None)]


def test_times_are_dates_in_utc_and_say_so():
    sheet = sheet_of([datetime(2026, 3, 1, 23, 30, tzinfo=UTC), datetime(1850, 1, 1, tzinfo=UTC)], "time")
    assert [cell.value for cell in sheet["A"]] == [
        "Thing (UTC)",
        datetime(2026, 3, 1, 23, 30),  # noqa: DTZ001  Excel has no zones
        "1850-01-01 00:00",
    ]
    assert sheet["A2"].number_format == "yyyy-mm-dd hh:mm"


def test_every_sheet_has_a_frozen_header_and_widths(tmp_path):
    book = openpyxl.load_workbook(report.write(conversations(60), "p1", tmp_path / "r.xlsx", clock=clock))
    assert book.sheetnames == [
        "Summary",
        "Task completion by week",
        "Sentiment",
        "Issues",
        "The data",
        "Examples",
        "Chart data",
    ]
    assert book.properties.created == NOW.replace(tzinfo=None)
    for sheet in book:
        assert sheet.freeze_panes == "A2"
        assert all(10 <= sheet.column_dimensions[name].width <= 62 for name in ("A", "B"))
    assert book["Issues"]["C2"].number_format == "0.0%"
    assert book["Task completion by week"].auto_filter.ref == "A1:H7"


@pytest.mark.parametrize("prompts", [("p1",), tuple(f"p{n}" for n in range(8))])
@pytest.mark.slow
def test_a_workbook_draws_two_charts_of_the_exact_numbers(tmp_path, prompts):
    table = pd.concat([conversations(60, prompt_id=name) for name in prompts], ignore_index=True)
    path = report.write(table, [*prompts], tmp_path / "r.xlsx", clock=clock)
    book = openpyxl.load_workbook(path)
    trend, issues = book["Summary"]._charts
    assert (type(trend).__name__, type(issues).__name__) == ("LineChart", "BarChart")
    sheet = book["Chart data"]
    by = "prompt_id" if len(prompts) > 1 else None
    found = analysis.issues(table, by=by, top=8)
    for place, (chart, made, name) in enumerate(
        ((trend, analysis.completion_trend(table, freq="auto", by=by), "rate"), (issues, found, "share"))
    ):
        assert len(chart.series) == min(6, len(prompts))
        for prompt, series in zip(prompts, chart.series, strict=False):
            mine = made if by is None else made[made[by] == prompt]
            assert cells(sheet, series.tx.strRef.f) == [prompt]
            assert len(cells(sheet, series.cat.numRef.f if place == 0 else series.cat.strRef.f)) == len(mine)
            assert cells(sheet, series.val.numRef.f) == pytest.approx(mine[name].tolist(), nan_ok=True)
            bars = series.errBars
            above = (mine[f"{name}_high"] - mine[name]).tolist()
            below = (mine[name] - mine[f"{name}_low"]).tolist()
            assert cells(sheet, bars.plus.numRef.f) == pytest.approx(above, nan_ok=True)
            assert cells(sheet, bars.minus.numRef.f) == pytest.approx(below, nan_ok=True)


def cells(sheet, reference):
    name, _, area = reference.partition("!")
    assert name == "'Chart data'"
    found = sheet[area.replace("$", "")]
    rows = found if isinstance(found, tuple) else ((found,),)
    return [float("nan") if row[0].value is None else row[0].value for row in rows]


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("plain text, 5% of 10.", "plain text, 5% of 10."),
        ("a | b", "a &#124; b"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("3.14 is a number", "3\\.14 is a number"),
        ("snake_case *and* `code`", "snake\\_case \\*and\\* &#96;code&#96;"),
        ("see https://x.org and @me", "see https:\u2060//x.org and @\u2060me"),
        ("$x$ \\(y\\)", "&#36;x&#36; &#92;(y&#92;)"),
        ("[x](y)", "\\[x\\](y)"),
    ],
)
def test_markdown_is_escaped_where_it_must_be(text, markdown):
    assert escape(text) == markdown


def test_cells_are_printed_by_their_kind():
    assert formatted(Estimate(0.5, 0.25, 0.75), "share") == "50% (25% to 75%)"
    assert formatted(Estimate(12.34, -1.0, float("inf")), "percent") == "+12.3% (−1.0% to +∞%)"
    assert formatted(Estimate(0.5), "share") == "50% (no interval)"
    assert formatted(Part(0, 0), "part") == "–"
    assert formatted(None, "text") == ""
    assert formatted(0.94999, "confidence") == "0.949"
    assert formatted(4.25, "points") == "+4.2"
    assert formatted(datetime(2026, 3, 1, 9, 5, tzinfo=UTC), "time") == "1 Mar 2026, 09:05"


@pytest.mark.slow
@pytest.mark.usefixtures("needs_pdf")
def test_a_pdf_has_pages_numbers_a_title_and_tags(tmp_path):
    reader = pypdf.PdfReader(
        report.write(conversations(100), "p1", tmp_path / "r.pdf", clock=clock, title="March")
    )
    assert 3 <= len(reader.pages) <= 9
    assert reader.metadata.title == "March"
    assert reader.metadata.creation_date == NOW
    assert "/StructTreeRoot" in reader.trailer["/Root"]
    for number, page in enumerate(reader.pages, 1):
        assert f"{number} / {len(reader.pages)}" in page.extract_text()
        assert (float(page.mediabox.width), float(page.mediabox.height)) == pytest.approx(
            (595.28, 841.89), abs=0.1
        )


def without(tmp_path, body):
    """Write a PDF in a process in which WeasyPrint is as the body of a module says."""
    (tmp_path / "weasyprint.py").write_text(body)
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from promptlift import report
from promptlift.errors import PromptliftError
try:
    report.write(None, "p1", {str(tmp_path / "r.pdf")!r})
except PromptliftError as error:
    print(type(error).__name__, error)
"""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_without_the_extra_the_error_names_it_before_anything_is_read(tmp_path):
    said = without(tmp_path, "raise ImportError('no module')")
    assert said == "MissingExtra A report as PDF needs the extra 'pdf': pip install \"promptlift[pdf]\"\n"


@pytest.mark.slow
def test_without_pango_the_error_says_what_to_install(tmp_path):
    said = without(
        tmp_path, "print('advice of its own')\nraise OSError('cannot load library libpango-1.0-0')"
    )
    assert said.startswith(
        "ConfigError A report as PDF needs the library Pango, which is not installed (cannot load"
    )
    assert "apt install libpango-1.0-0" in said
    assert "or write the report as .html" in said
    assert "advice of its own" not in said
