"""What is particular to each format: cells and charts of workbooks, pages of PDF, what is missing on a machine."""

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
from PIL import Image

from promptlift import analysis, report
from promptlift.errors import ConfigError, MissingExtra
from promptlift.report.document import Column, Document, Estimate, Section, Table
from promptlift.report.renderers import renderer_for
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


def sheet_of(cells, kind="text", level=None):
    table = Table(
        "things", "Things", (Column("thing", "Thing", kind, level),), tuple((cell,) for cell in cells)
    )
    document = Document("T", "S", (), (), (), (), (Section("s", "S", tables=(table,)),), "F", NOW)
    return openpyxl.load_workbook(io.BytesIO(renderer_for(Path("r.xlsx"))(document)))["Things"]


def rows_of(sheet):
    return list(sheet.iter_rows(min_row=2, values_only=True))


def test_texts_that_excel_cannot_hold_are_cut_or_made_visible():
    long = ["A" * 40_000, "\U0001f600" * 17_000, "=" * 33_000, "x" * 32_767]
    *cut, odd = (row[0] for row in rows_of(sheet_of([*long, "a\x00b\x01c\x0bd\x1be\ud800f\uffff_x0041_"])))
    assert all(len(text.encode("utf-16-le")) <= 2 * 32_767 for text in cut)
    assert [text.endswith("(cut: Excel's limit)") for text in cut] == [True, True, True, False]
    assert odd == "a␀b␁c\nd␛e\ufffdf_x0041_"


def test_numbers_and_times_that_excel_has_not_are_texts_or_empty():
    cells = [Estimate(5.0, -float("inf"), float("inf")), Estimate(float("nan")), None]
    assert rows_of(sheet_of(cells, "percent", 90)) == [(5.0, "−∞", "∞"), (None,) * 3, (None,) * 3]
    times = [datetime(2026, 3, 1, 23, 30, tzinfo=UTC), datetime(1850, 1, 1, tzinfo=UTC)]
    sheet = sheet_of(times, "time")
    written = [times[0].replace(tzinfo=None), "1850-01-01 00:00"]  # Excel has no zones
    assert [cell.value for cell in sheet["A"]] == ["Thing (UTC)", *written]
    assert sheet["A2"].number_format == "yyyy-mm-dd hh:mm"


def test_every_sheet_has_a_frozen_header_and_widths(tmp_path):
    book = openpyxl.load_workbook(report.write(conversations(60), "p1", tmp_path / "r.xlsx", clock=clock))
    assert book.sheetnames == [
        "Summary", "Task completion by week", "Sentiment", "Issues", "The data", "Examples", "Chart data",
    ]  # fmt: skip
    assert book.properties.created == NOW.replace(tzinfo=None)
    for sheet in book:
        assert sheet.freeze_panes == "A2"
        assert all(10 <= sheet.column_dimensions[name].width <= 62 for name in ("A", "B"))
    assert book["Issues"]["C2"].number_format == "0.0%"
    assert book["Task completion by week"].auto_filter.ref == "A1:H7"


@pytest.mark.parametrize("prompts", [("p1",), tuple(f"p{n}" for n in range(8))])
def test_a_workbook_draws_two_charts_of_the_exact_numbers(tmp_path, prompts):
    table = pd.concat([conversations(60, prompt_id=name) for name in prompts], ignore_index=True)
    book = openpyxl.load_workbook(report.write(table, [*prompts], tmp_path / "r.xlsx", clock=clock))
    trend, issues = book["Summary"]._charts
    assert (type(trend).__name__, type(issues).__name__) == ("LineChart", "BarChart")
    by = "prompt_id" if len(prompts) > 1 else None
    rates = analysis.completion_trend(table, freq="auto", by=by)
    shares = analysis.issues(table, by=by, top=8)
    for chart, found, name in ((trend, rates, "rate"), (issues, shares, "share")):
        assert len(chart.series) == min(6, len(prompts))
        for prompt, series in zip(prompts, chart.series, strict=False):
            mine = found if by is None else found[found[by] == prompt]
            bars = series.errBars
            for reference, values in (
                (series.tx.strRef, [prompt]),
                (series.val.numRef, mine[name]),
                (bars.plus.numRef, mine[f"{name}_high"] - mine[name]),
                (bars.minus.numRef, mine[name] - mine[f"{name}_low"]),
            ):
                shown = cells(book["Chart data"], reference.f)
                assert shown == (
                    [prompt] if reference is series.tx.strRef else pytest.approx([*values], nan_ok=True)
                )
            assert len(cells(book["Chart data"], (series.cat.numRef or series.cat.strRef).f)) == len(mine)


def cells(sheet, reference):
    name, _, area = reference.partition("!")
    assert name == "'Chart data'"
    found = sheet[area.replace("$", "")]
    rows = found if isinstance(found, tuple) else ((found,),)
    return [float("nan") if row[0].value is None else row[0].value for row in rows]


@pytest.mark.slow
@pytest.mark.usefixtures("needs_pdf")
def test_a_pdf_has_pages_numbers_a_title_and_tags(tmp_path):
    path = report.write(conversations(100), "p1", tmp_path / "r.pdf", clock=clock, title="March")
    reader = pypdf.PdfReader(path)
    assert 3 <= len(reader.pages) <= 9
    assert (reader.metadata.title, reader.metadata.creation_date) == ("March", NOW)
    assert "/StructTreeRoot" in reader.trailer["/Root"]
    for number, page in enumerate(reader.pages, 1):
        assert f"{number} / {len(reader.pages)}" in page.extract_text()
        assert (float(page.mediabox.width), float(page.mediabox.height)) == pytest.approx(
            (595.28, 841.89), abs=0.1
        )


@pytest.fixture
def without(tmp_path, monkeypatch):
    """Say why no PDF can be written where the module of WeasyPrint has a body."""
    monkeypatch.syspath_prepend(tmp_path)

    def why(body, error):
        monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
        (tmp_path / "weasyprint.py").write_text(body)
        with pytest.raises(error) as raised:
            report.write(None, "p1", tmp_path / "r.pdf")
        return str(raised.value)

    return why


def test_what_pdf_needs_is_named_before_anything_is_read(without, capsys):
    said = without("raise ImportError('no module')", MissingExtra)
    assert said == "A report as PDF needs the extra 'pdf': pip install \"promptlift[pdf]\""
    said = without(
        "print('advice of its own')\nraise OSError('cannot load library libpango-1.0-0')", ConfigError
    )
    needs = "A report as PDF needs the library Pango, which is not installed (cannot load"
    assert said.startswith(needs)
    assert "apt install libpango-1.0-0" in said
    assert "or write the report as .html" in said
    assert capsys.readouterr().out == ""
