"""A redacted report can be passed on: nothing that was said is in it, in any format."""

from __future__ import annotations

import io
import json
import re
import zipfile

import pandas as pd
import pytest

from promptlift import report
from promptlift.errors import ConfigError
from promptlift.report.redaction import WITHHELD, repeats
from promptlift.report.renderers import pdf
from support.report_numbers import FORMATS, pdf_text
from support.report_page import clock, conversations, read_page
from support.sentences import REPORT

SAID = "My name is Quentin Zephyr and parcel Wobblefish never came"
SECRETS = ("Quentin", "Zephyr", "Wobblefish", "Summarised", "Topicword")


def confidential():
    table = conversations(24)
    table["content"] = json.dumps(
        {"messages": [{"role": "user", "content": SAID}, {"role": "assistant", "content": SAID}]}
    )
    table["summary"] = f"Summarised: {SAID}"
    table["topics"] = [["Topicword", SAID]] * len(table)
    titles = ["Late parcel", f"User says: {SAID}", "quentin ZEPHYR and parcel, wobblefish"]
    table["issues"] = [
        [{"title": titles[n % 3], "severity": "high", "evidence": SAID}] for n in range(len(table))
    ]
    return table


def everything_in(path):
    """All text of a file, the parts of archives and pages too."""
    if path.suffix == ".pdf":
        return pdf_text(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            parts = [(name, archive.read(name)) for name in archive.namelist()]
    else:
        parts = [(path.name, path.read_bytes())]
    texts = []
    for name, data in parts:
        if name.endswith(".parquet"):
            texts.append(pd.read_parquet(io.BytesIO(data)).to_csv())
            texts.append(data.decode("latin-1"))
        else:
            texts.append(data.decode("utf-8", "replace"))
    return "\n".join(texts)


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_nothing_that_was_said_is_in_the_file(tmp_path, ending):
    if ending == "pdf":
        try:
            pdf.check()
        except ConfigError as error:
            pytest.skip(str(error))
    plain = report.write(confidential(), "p1", tmp_path / f"plain.{ending}", clock=clock)
    path = report.write(confidential(), "p1", tmp_path / f"r.{ending}", clock=clock, redact=True)
    assert "parcel" in everything_in(path)
    assert not re.search("|".join(SECRETS), everything_in(path), re.IGNORECASE)
    assert re.search("Quentin", everything_in(plain), re.IGNORECASE)


def test_no_transcript_is_even_read(tmp_path):
    table = confidential()
    page = read_page(
        report.write(table.drop(columns="content"), "p1", tmp_path / "r.html", clock=clock, redact=True)
    )
    assert [tag for tag, _ in page.tags].count("article") == 6
    assert REPORT["only by id"] in page.text
    assert "p1-c000" in page.text


def test_titles_that_repeat_what_was_said_are_withheld_and_counted_together(tmp_path):
    page = read_page(report.write(confidential(), "p1", tmp_path / "r.html", clock=clock, redact=True))
    assert WITHHELD in page.text
    assert "16 of 24" in page.text
    assert REPORT["redacted"] in page.text


def test_addresses_and_numbers_are_taken_out_of_titles(tmp_path):
    table = conversations(24)
    secret = "write to jo.doe@example.org or +44 20 7946 0999, see https://example.org/x?token=abc"
    table["issues"] = [[{"title": f"Problem with {secret}", "severity": "high", "evidence": "No"}]] * len(
        table
    )
    page = read_page(report.write(table, "p1", tmp_path / "r.html", clock=clock, redact=True))
    assert not re.search(r"jo\.doe|7946|token=abc", page.source)
    assert "write to [e-mail] or [number], see [link]" in page.text


@pytest.mark.parametrize(
    ("title", "said", "found"),
    [
        ("Refund late", "my refund is late", False),
        ("Customer: my refund is late", "Oh no, MY refund -- is late!", True),
        ("Refund", "refund", True),
        ("A refund that is late", "is late", True),
        ("", "", False),
        ("Late", "", False),
        ("one two three", "one two three four", False),
        ("Ünïted Straße", "hallo ünïted strasse", False),
        ("ÜNÏTED STRASSE", "ünïted straße", True),
    ],
)
def test_a_title_repeats_what_was_said_when_four_words_in_a_row_are_the_same(title, said, found):
    assert repeats(title, said) is found
