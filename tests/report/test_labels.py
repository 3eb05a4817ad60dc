"""A report with labels: corrected numbers beside the judge's, the same in every format, and words for which is which."""

from __future__ import annotations

import re

import numpy as np
import pytest

from promptlift import analysis, report
from support.labelled import judged, label
from support.report_numbers import (
    FORMATS,
    document_of,
    exact_tables,
    html_tables,
    markdown_tables,
    pdf_can_be_written,
    pdf_text,
    sheets,
    squeezed,
)
from support.report_page import conversations


@pytest.fixture(scope="module")
def world():
    table, truth = judged(1_200)
    table = (
        table.drop(columns="channel")
        .rename(columns={"prompt": "prompt_id"})
        .assign(issues=[[] for _ in range(1_200)])
    )
    return table, label(analysis.label_plan(table, by="prompt_id", n=240), truth)


def written(world, path, *, prompts=("old", "new"), labels=None, **options):
    table, known = world
    return report.write(table, prompts, path, labels=known if labels is None else labels, **options)


@pytest.mark.slow
def test_the_answer_is_corrected_and_repeats_the_judge(world, tmp_path):
    text = written(world, tmp_path / "report.md").read_text()
    assert "Corrected by 240 labels: new completes " in text
    assert "Uncorrected, as the judge says: new completes " in text
    assert "Completed their task, corrected by labels" in text
    assert "Completed their task, as the judge says" in text
    one = written(world, tmp_path / "one.md", prompts="new").read_text()
    assert "Corrected by 120 labels: " in one
    assert "Uncorrected, as the judge says: " in one


def test_a_refusal_is_in_the_report(world, tmp_path):
    _, labels = world
    picked = labels.assign(chance=np.nan)
    text = written(world, tmp_path / "report.md", prompts="new", labels=picked, redact=True).read_text()
    assert "Not corrected by labels." in text
    assert "picked by hand, by low confidence or by search" in text


def test_labels_of_all_conversations_are_the_numbers_of_the_report(world, tmp_path):
    table, _ = world
    truth = judged(1_200)[1]
    known = (
        truth.rename("value").rename_axis("conversation_id").reset_index().assign(question="task_completed")
    )
    text = written((table, known), tmp_path / "report.md").read_text()
    assert "orrected by" not in text
    assert "as the judge says" not in text
    assert "People said of every conversation whether its task was completed." in text
    assert "clearly lower" in text


def test_a_report_without_labels_has_no_word_of_them(tmp_path):
    text = report.write(conversations(20), "p1", tmp_path / "report.md").read_text()
    assert "orrected by" not in text


@pytest.mark.slow
def test_every_figure_of_the_corrected_table_is_the_same_in_every_format(world, tmp_path):
    """Cell by cell: Excel has the exact numbers; HTML, Markdown and PDF print these."""
    paths = {
        one: written(world, tmp_path / f"r.{one}") for one in FORMATS if one != "pdf" or pdf_can_be_written()
    }
    table, labels = world
    exact = exact_tables(document_of(table, ("old", "new"), labels=labels))["corrected"]
    assert set(exact["prompt"]) == {"old", "new"}
    page = html_tables(paths["html"])[0]["corrected"]
    assert page in markdown_tables(paths["md"])
    printed_pdf = pdf_text(paths["pdf"]) if "pdf" in paths else None
    cells = [
        cell
        for sheet in sheets(paths["xlsx"]).values()
        for row in sheet
        for cell in row
        if isinstance(cell, float)
    ]
    for row in exact.to_dict("records"):
        (shown,) = [one for one in page if one[0] == row["prompt"]]
        for place, name in ((1, "rate"), (2, "rate_corrected")):
            ends = [row[f"{name}{end}"] for end in ("", "_low", "_high")]
            assert [100 * one for one in ends] == pytest.approx(_percents(shown[place]), abs=0.51)
            assert all(np.isclose(cells, one).any() for one in ends)
            if printed_pdf is not None:
                assert squeezed(shown[place]) in printed_pdf


@pytest.mark.slow
def test_every_figure_of_the_corrected_comparison_is_the_same_in_every_format(world, tmp_path):
    table, labels = world
    one = analysis.compare(table, by="prompt_id", control="old", labels=labels).iloc[0]
    ends = [one[f"difference_points_corrected{end}"] for end in ("", "_low", "_high")]
    paths = {
        one: written(world, tmp_path / f"r.{one}") for one in FORMATS if one != "pdf" or pdf_can_be_written()
    }
    columns = [f"task_completed_corrected{end}" for end in ("", "_low", "_high")]
    (exact,) = exact_tables(document_of(table, ("old", "new"), labels=labels))["differences"].to_dict(
        "records"
    )
    assert [exact[name] for name in columns] == pytest.approx(ends, rel=1e-12)
    assert (exact["task_completed_verdict"], one["verdict"]) == ("lower", "worse")

    title = next(one for one in sheets(paths["xlsx"]) if one.startswith("How the prompts differ"))
    head, cells = sheets(paths["xlsx"])[title][:2]
    start = head.index("Completed their task, difference corrected by labels")
    assert cells[start : start + 3] == pytest.approx(ends, rel=1e-12)

    page = html_tables(paths["html"])[0]["differences"]
    assert page in markdown_tables(paths["md"])
    (place,) = [n for n, name in enumerate(page[0]) if "corrected by labels" in name]
    shown = page[1][place]
    assert shown == f"{_signed(ends[0])} ({_signed(ends[1])} to {_signed(ends[2])})"
    assert page[1][place + 1] == "lower"
    if "pdf" in paths:
        assert squeezed(shown) in pdf_text(paths["pdf"])


def _signed(points):
    return f"{points:+.1f}".replace("-", "−")


def _percents(printed):
    return [float(one) for one in re.findall(r"(\d+(?:\.\d+)?)%", printed)]
