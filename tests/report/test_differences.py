"""How far prompts differ: the difference with its interval, in every format, and when it is called higher or lower."""

from __future__ import annotations

import numpy as np
import openpyxl
import pandas as pd
import pytest

from promptlift import analysis, report
from promptlift.errors import ConfigError
from promptlift.report.renderers import pdf
from support.report_numbers import exact_tables, html_tables, pdf_text, squeezed
from support.report_page import clock, conversations, read_page
from support.sentences import REPORT

OVERLAPPING = REPORT["more often"] + "(95% interval +1.5 to +19.2)."


def counted(prompt_id, completed, n):
    """Make ``n`` ended conversations of which that many completed their task; the others sound negative."""
    table = conversations(2 * n, prompt_id=prompt_id)
    table = table[table["status"].eq("completed")].iloc[:n].copy()
    done = np.arange(n) < completed
    table["task_completed"] = pd.array(done, dtype="boolean")
    table["sentiment"] = pd.Categorical(
        np.where(done, "positive", "negative"), table["sentiment"].cat.categories
    )
    return table


def write(tmp_path, parts, *, ending="html", ids=None):
    ids = ids or list(dict.fromkeys(part["prompt_id"].iloc[0] for part in parts))
    return report.write(pd.concat(parts, ignore_index=True), ids, tmp_path / f"r.{ending}", clock=clock)


def test_prompts_whose_intervals_overlap_may_differ_all_the_same(tmp_path):
    """130 of 200 vs 151 of 200: 58 to 71 and 69 to 81 %, yet the difference is 1.5 to 19.2 points."""
    page = read_page(write(tmp_path, [counted("v1", 130, 200), counted("v2", 151, 200)]))
    assert "58% to 71%" in page.text
    assert "69% to 81%" in page.text
    assert OVERLAPPING in page.text


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["md", "xlsx", "pdf"])
def test_every_format_says_the_difference(tmp_path, ending):
    if ending == "pdf":
        try:
            pdf.check()
        except ConfigError:
            pytest.skip("PDF cannot be written here")
    path = write(tmp_path, [counted("v1", 130, 200), counted("v2", 151, 200)], ending=ending)
    if ending == "pdf":
        assert squeezed(OVERLAPPING) in pdf_text(path)
    elif ending == "md":
        assert OVERLAPPING in path.read_text("utf-8").replace("\\", "")
    else:
        book = openpyxl.load_workbook(path)
        assert OVERLAPPING in [cell.value for cell in book["Summary"]["A"]]


def test_its_numbers_are_those_of_compare(tmp_path):
    parts = [counted("v1", 130, 200), counted("v2", 151, 200), counted("v3", 90, 180)]
    exact = exact_tables(write(tmp_path, parts, ending="parquet.zip"))["differences"]
    table = pd.concat(parts, ignore_index=True).assign(
        negative=lambda t: t["sentiment"].astype("str").eq("negative")
    )
    assert exact["prompt"].tolist() == ["v2", "v3"]
    assert set(exact["against"]) == {"v1"}
    for outcome in ("task_completed", "negative", "sentiment_score"):
        found = analysis.compare(table, by="prompt_id", outcome=outcome, control="v1")
        name = "difference" if outcome == "sentiment_score" else "difference_points"
        for end in ("", "_low", "_high"):
            assert exact[f"{outcome}_difference{end}"].tolist() == pytest.approx(
                found[f"{name}{end}"].tolist()
            )
    assert exact["task_completed_verdict"].tolist() == ["higher", "lower"]
    assert exact["negative_verdict"].tolist() == ["lower", "higher"]


def test_several_prompts_are_compared_with_the_first_one_and_the_correction_is_named(tmp_path):
    page = read_page(
        write(tmp_path, [counted("v1", 130, 200), counted("v2", 151, 200), counted("v3", 120, 180)])
    )
    assert "Every prompt is compared with v1." in page.text
    assert "after Holm's correction for 2 prompts" in page.text
    assert "The interval does not include 0, but p is 0.057 after the correction for 2 prompts." in page.text
    assert REPORT["unclear"] in page.text


def test_fewer_completed_tasks_are_said_to_be_fewer(tmp_path):
    page = read_page(write(tmp_path, [counted("v1", 151, 200), counted("v2", 130, 200)]))
    assert REPORT["less often"] in page.text
    assert "−10.5 percentage points (95% interval −19.2 to −1.5)" in page.text


def test_many_prompts_have_a_table_without_sentences(tmp_path):
    parts = [counted(f"v{number}", 20 + number, 40) for number in range(1, 7)]
    path = write(tmp_path, parts)
    tables, _ = html_tables(path)
    assert [row[0] for row in tables["differences"][1:]] == [f"v{number}" for number in range(2, 7)]
    assert "completes tasks" not in read_page(path).text


def test_a_prompt_without_conversations_is_no_comparison(tmp_path):
    parts = [counted("v1", 13, 20), counted("v2", 15, 20)]
    page = read_page(write(tmp_path, parts, ids=["none", "v1", "v2"]))
    assert "v2 or v1 completes tasks more often" in page.text
    alone = read_page(write(tmp_path, parts[:1], ids=["v1", "none"]))
    assert "How the prompts differ" not in alone.text


def test_prompts_that_nobody_judged_cannot_be_compared_yet(tmp_path):
    blank = counted("v2", 15, 20)
    blank["task_completed"] = pd.array([pd.NA] * 20, dtype="boolean")
    blank["sentiment_score"] = [np.inf, *[np.nan] * 19]
    blank["sentiment"] = pd.Categorical([None] * 20, blank["sentiment"].cat.categories)
    path = write(tmp_path, [counted("v1", 13, 20), blank])
    assert "v2 and v1 cannot be compared yet" in read_page(path).text
    (row,) = html_tables(path)[0]["differences"][1:]
    assert row[2:] == ["–", "not compared"] * 3


def test_one_prompt_has_nothing_to_differ_from(tmp_path):
    page = read_page(write(tmp_path, [counted("v1", 13, 20)]))
    assert "How the prompts differ" not in page.text
