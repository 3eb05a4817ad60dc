"""Everything that came from a conversation, a prompt or a model is hostile: it is shown, and does nothing."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import shutil
import subprocess
import unicodedata
import zipfile
from functools import cache
from pathlib import Path

import openpyxl
import pandas as pd
import pypdf
import pytest
from markdown_it import MarkdownIt

from promptlift import report
from promptlift.frames import optimizations_table
from promptlift.frames.edits import edits_table
from promptlift.frames.variants import variants_table
from promptlift.report.compose import compose
from promptlift.report.gather import gather
from promptlift.report.period import Window
from promptlift.report.renderers import renderer_for
from support.cases import slow_except
from support.hostile import ENCODABLE, ONE_OF_EACH, PAYLOADS
from support.report_page import NOW, Page, clock, conversations

pytestmark = pytest.mark.usefixtures("draws")

# What the page itself is made of.
OWN_TAGS = set(
    "html head meta title style body main header footer section article figure figcaption h1 h2 h3 p div span dl dt dd "  # noqa: SIM905
    "ul li table thead tbody tr th td time details summary svg g path use defs clippath rect text tspan line polyline".split()
)
MARKDOWN_TAGS = set("h1 h2 h3 p ul li table thead tbody tr th td strong em blockquote br hr".split())  # noqa: SIM905
MARKDOWN_TAGS |= {"details", "summary"}
# What a PDF may do.
ACTIONS = {"/JS", "/JavaScript", "/AA", "/OpenAction", "/URI", "/Launch", "/EmbeddedFile", "/EF", "/GoToR"}


def encodable(payload):
    return payload.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def talk(messages):
    return json.dumps({"messages": messages})


# A few payloads a report: all of them are shown in it. The first is also its title, and the name of its prompt.
GROUPS = [ONE_OF_EACH, *(PAYLOADS[start::8] for start in range(8))]
groups = pytest.mark.parametrize("group", slow_except([0], range(len(GROUPS))))


def poisoned(payloads):
    """Conversations with the payloads wherever a text can be."""
    table = conversations(6 * len(payloads), prompt_id="p1")
    texts = payloads * 6
    safe = [encodable(text) for text in texts]
    roles = ("user", "assistant", "system", "user")
    table["content"] = [talk([{"role": role, "content": text} for role in roles]) for text in safe]
    table["issues"] = [
        [{"title": text or " ", "severity": "high", "evidence": text}, {"title": "Known", "severity": "low"}]
        for text in texts
    ]
    table["topics"] = [[text] for text in texts]
    for name in ("llm_model", "company_name", "summary", "analyser"):
        table[name] = pd.Series(texts, index=table.index, dtype=object)
    table["conversation_id"] = [f"{text[:300]}{number}" for number, text in enumerate(safe)]
    table.attrs["promptlift"]["warnings"] = dict.fromkeys(payloads, 3)
    return table.assign(
        prompt_id=pd.Series([payloads[0] or "p"] * len(table), index=table.index, dtype=object)
    )


@cache
def document_of(*payloads):
    """The document of a poisoned report, made once for all formats."""
    title = payloads[0]
    material = gather(poisoned(payloads), title or "p", Window())
    return compose(
        material, window=Window(), now=NOW, title=title or None, logo=None, redacted=False, examples=6
    )


def rendered(payloads, ending):
    return renderer_for(Path(f"r.{ending}"))(document_of(*payloads))


@groups
@pytest.mark.slow
def test_payloads_become_text_and_nothing_else(group):
    data = rendered(GROUPS[group], "html")
    page = Page(data.decode("utf-8", "strict"))
    assert page.names <= OWN_TAGS
    assert page.misnested == []
    assert page.comments == []
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in {"src", "srcdoc", "action", "autofocus"}
            assert not name.endswith("href") or value.startswith("#")
            if tag != "svg" and name == "style":
                assert "url(" not in value.replace("url(#", "")
    assert [tag for tag, _ in page.tags].count("style") == 1
    assert [tag for tag, _ in page.tags].count("svg") == 6
    nothing_invisible(page.source)
    assert len(data) < 300_000


def nothing_invisible(text):
    odd = {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs"}}
    assert odd <= set("\n\t\r\u00ad\u200d\u200c")
    assert not re.search("[\u0300-\u036f]{4}", text)


@groups
def test_no_cell_of_a_workbook_does_anything(group):
    data = rendered(GROUPS[group], "xlsx")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        forbidden = r"external|vba|macro|embed|activex|connection|media"
        assert not [name for name in names if re.search(forbidden, name, re.IGNORECASE)]
        # The only drawings are the charts, and they refer to nothing but their own sheet.
        assert all(re.search(r"/drawing\d\.xml(\.rels)?$", name) for name in names if "drawing" in name)
        charts = [archive.read(name).decode("utf-8") for name in names if "/charts/" in name]
        for chart in charts:
            assert set(re.findall(r"<c:f>('[^']*'!)?", chart)) == {"'Chart data'!"}
        for name in names:
            part = archive.read(name).decode("utf-8")
            assert not re.search("<f>|<f |<hyperlink|TargetMode", part)
    book = openpyxl.load_workbook(io.BytesIO(data))
    for sheet in book:
        assert sheet.freeze_panes == "A2"
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type in {"s", "n", "d"}
                assert cell.hyperlink is None
                if isinstance(cell.value, str):
                    nothing_invisible(cell.value)
                    assert len(cell.value.encode("utf-16-le")) <= 2 * 32_767
    assert len(data) < 100_000


@groups
def test_markdown_shows_payloads_as_text(group):
    text = rendered(GROUPS[group], "md").decode("utf-8", "strict")
    nothing_invisible(text.replace("\u2060", ""))
    source = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    page = Page(source)
    assert page.names <= MARKDOWN_TAGS
    assert page.comments == []
    # Nothing of a payload makes a block: all reports have the same headings and tables, in the same order.
    plain = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render(rendered([f"plain {number}" for number in range(len(GROUPS[group]))], "md").decode())
    )
    blocks = ("h1", "h2", "h3", "table", "tr", "th", "td", "ul", "hr", "blockquote", "details", "summary")
    assert [tag for tag, _ in page.tags if tag in blocks] == [
        tag for tag, _ in Page(plain).tags if tag in blocks
    ]
    assert len(text) < 300_000


def all_payloads():
    """Conversations in which every payload is said, and is the title of an issue somewhere."""
    table = conversations(len(PAYLOADS))
    texts = [encodable(payload) for payload in PAYLOADS]
    roles = ("user", "assistant")
    table["content"] = [
        talk([{"role": roles[n % 2], "content": texts[(start + n) % len(texts)]} for n in range(20)])
        for start in range(len(texts))
    ]
    table["task_completed"] = pd.array([n % 2 == 0 for n in range(len(table))], dtype="boolean")
    table["status"] = "completed"
    return table


@pytest.mark.slow
@pytest.mark.usefixtures("needs_pdf")
def test_a_pdf_holds_payloads_as_text_within_its_pages(tmp_path):
    table = all_payloads()
    chosen = PAYLOADS[::4]
    table["issues"] = [
        [{"title": chosen[n % 8], "severity": "high", "evidence": chosen[-1 - n % 8]}]
        for n in range(len(table))
    ]
    path = report.write(table, "p1", tmp_path / "r.pdf", clock=clock, examples=12, title=chosen[0])
    reader = pypdf.PdfReader(path)
    assert len(reader.pages) < 60
    for number in range(1, reader.trailer["/Size"]):
        entry = reader.get_object(number)
        keys = set(entry) if isinstance(entry, dict) else set()
        assert not keys & ACTIONS
    for page in reader.pages:
        assert "/Annots" not in page
    pdftotext = shutil.which("pdftotext")
    if pdftotext:
        command = [pdftotext, "-bbox", path, "-"]
        boxes = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        places = re.findall(
            r'<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)"', boxes
        )
        assert len(places) > 1000
        # A4 is 595 by 842 points; accents and other tall letters may stick out of their line.
        outside = [box for box in places if float(box[0]) < 20 or float(box[2]) > 580 or float(box[3]) > 850]
        assert outside == []


def soffice():
    return shutil.which("soffice") or shutil.which("libreoffice")


needs_spreadsheet = pytest.mark.skipif(soffice() is None, reason="LibreOffice is not on this machine")


@pytest.mark.slow
@needs_spreadsheet
def test_a_spreadsheet_program_shows_payloads_as_they_are_and_computes_nothing(tmp_path):
    table = all_payloads()
    path = report.write(table, "p1", tmp_path / "r.xlsx", clock=clock, examples=50)
    every_sheet = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
    command = [
        soffice(),
        f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}",
        "--headless",
        "--norestore",
    ]
    command += ["--convert-to", every_sheet, "--outdir", str(tmp_path / "out"), str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    files = sorted((tmp_path / "out").iterdir())
    book = openpyxl.load_workbook(path)
    assert [file.stem.partition("-")[2] for file in files] == sorted(book.sheetnames)
    shown = next(file for file in files if file.stem.endswith("Examples"))
    rows = list(csv.reader(io.StringIO(shown.read_bytes().decode("utf-8"), newline="")))
    texts = [row[rows[0].index("Text")] for row in rows[1:]]
    written = [row[rows[0].index("Text")] for row in book["Examples"].iter_rows(min_row=2, values_only=True)]
    assert len(texts) == len(written) > 900
    assert texts == [text or "" for text in written]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not on this machine")
def test_a_browser_runs_nothing_of_it(tmp_path):
    table = all_payloads()
    table["issues"] = [
        [{"title": PAYLOADS[(n + k) % 29], "severity": "high", "evidence": PAYLOADS[n]} for k in range(8)]
        for n in range(len(table))
    ]
    # Without the policy of the page: escaping alone must hold.
    path = report.write(table, "p1", tmp_path / "r.html", clock=clock, title="honest", examples=50)
    path.write_text(
        re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", path.read_text("utf-8")), "utf-8"
    )
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()]
    dom = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    assert "<title>honest</title>" in dom
    assert "owned" in dom  # the payloads are there, as text
    assert not re.search(r"<(script|iframe|img|a|body on)\b", dom)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(ENCODABLE), 60))
def test_names_of_variants_become_text(start):
    names = ENCODABLE[start : start + 60]
    one = {"id": "opt_1", "promptId": "p1", "status": "completed", "createdAt": "2026-03-01T10:00:00Z"}
    one |= {"results": {"winnerSelected": True, "winningVariantId": "var_0", "lift": 5.0}}
    rows = [
        {"id": f"var_{n}", "name": name, "isOriginal": n == len(names) - 1, "stage": "confirm",
         "metrics": {"taskCompletion": 60.0}, "lift": 5.0 + n, "warnings": [name]}
        for n, name in enumerate(names)
    ]  # fmt: skip
    edits = [
        {"id": f"e{n}", "operation": "replace", "anchor": name, "text": name, "symptom": name, "state": "kept",
         "evidence": [{"conversationId": name, "quote": name}]}
        for n, name in enumerate(names)
    ]  # fmt: skip
    winner = {"id": "var_0", "isWinner": True, "generation": 1, "edits": edits}
    variants, _, about = variants_table([{"id": "opt_1", "optimization": one, "variants": rows}])
    variants.attrs["promptlift"] = {"table": "variants", **about}
    material = dataclasses.replace(
        gather(conversations(24), "p1", Window()),
        optimizations=optimizations_table([one])[0],
        variants=variants,
        edits=edits_table([{"id": "opt_1", "variants": [winner]}])[0],
    )
    document = compose(material, window=Window(), now=NOW, title=None, logo=None, redacted=False, examples=0)
    (edits,) = (table for part in document.sections for table in part.tables if table.name == "edits")
    assert len(edits.rows) == len(names)
    page = Page(renderer_for(Path("r.html"))(document).decode("utf-8"))
    assert page.names <= OWN_TAGS
    assert page.misnested == []
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert [tag for tag, _ in page.tags].count("svg") == 8
    nothing_invisible(page.source)
