"""A redacted report can be passed on: nothing that was said is in it, in any format."""

from __future__ import annotations

import json
import re
import zipfile

import pytest

from promptlift import report
from promptlift.report.redaction import WITHHELD
from support.report_numbers import FORMATS, pdf_can_be_written, pdf_text
from support.report_page import clock, conversations, read_page
from support.sentences import REPORT

SAID = "My name is Quentin Zephyr and parcel Wobblefish never came"
SECRETS = "Quentin|Zephyr|Wobblefish|Summarised|Topicword"


def confidential():
    table = conversations(24)
    turns = [{"role": role, "content": SAID} for role in ("user", "assistant")]
    titles = ["Late parcel", f"User says: {SAID}", "quentin ZEPHYR and parcel, wobblefish"]
    return table.assign(
        content=json.dumps({"messages": turns}),
        summary=f"Summarised: {SAID}",
        topics=[["Topicword", SAID]] * 24,
        issues=[[{"title": titles[n % 3], "severity": "high", "evidence": SAID}] for n in range(24)],
    )


def everything_in(path):
    """All text of a file, also of the parts of an archive and of the pages of a PDF."""
    if path.suffix == ".pdf":
        return pdf_text(path)
    if not zipfile.is_zipfile(path):
        return path.read_text("utf-8")
    with zipfile.ZipFile(path) as archive:
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_nothing_that_was_said_is_in_the_file(tmp_path, ending):
    if ending == "pdf" and not pdf_can_be_written():
        pytest.skip("PDF cannot be written here")
    # WeasyPrint takes nine seconds to balance columns of six conversations without transcripts.
    path = report.write(confidential(), "p1", tmp_path / f"r.{ending}", clock=clock, redact=True, examples=2)
    said = everything_in(path)
    assert "parcel" in said
    assert not re.search(SECRETS, said, re.IGNORECASE)
    # A page takes no time, and all formats are made from the same document.
    plain = report.write(confidential(), "p1", tmp_path / "plain.html", clock=clock)
    assert re.search("Quentin", everything_in(plain), re.IGNORECASE)


def test_no_transcript_is_read_and_titles_that_repeat_what_was_said_are_withheld_and_counted_together(
    tmp_path,
):
    table = confidential().drop(columns="content")
    page = read_page(report.write(table, "p1", tmp_path / "r.html", clock=clock, redact=True))
    assert [tag for tag, _ in page.tags].count("article") == 6
    for text in (REPORT["only by id"], "p1-c000", WITHHELD, "16 of 24", REPORT["redacted"]):
        assert text in page.text


def test_addresses_and_numbers_are_taken_out_of_titles(tmp_path):
    secret = "write to jo.doe@example.org or +44 20 7946 0999, see https://example.org/x?token=abc"
    issue = {"title": f"Problem with {secret}", "severity": "high", "evidence": "No"}
    table = conversations(24).assign(issues=[[issue]] * 24)
    page = read_page(report.write(table, "p1", tmp_path / "r.html", clock=clock, redact=True))
    assert not re.search(r"jo\.doe|7946|token=abc", page.source)
    assert "write to [e-mail] or [number], see [link]" in page.text
