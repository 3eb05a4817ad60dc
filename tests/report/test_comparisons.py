"""The answer that opens a report: how prompts differ, and how its period differs from the one before, in every format."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift import analysis, report
from promptlift.errors import ConfigError
from promptlift.report.compose import build
from promptlift.report.period import window_of
from promptlift.report.renderers import pdf
from support.report_numbers import document_of, exact_tables, html_tables, pdf_text, squeezed
from support.report_page import NOW, clock, conversations, read_page

OVERLAPPING = (
    "v2 completes 10 points more than v1 (2 to 19); clearly higher. 10 more of 100 users get their task done."
)


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


@pytest.mark.slow
def test_prompts_whose_intervals_overlap_may_differ_all_the_same(tmp_path):
    """130 of 200 vs 151 of 200: 58 to 71 and 69 to 81 %, yet the difference is 1.5 to 19.2 points."""
    page = read_page(write(tmp_path, [counted("v1", 130, 200), counted("v2", 151, 200)]))
    assert "58% to 71%" in page.text
    assert "69% to 81%" in page.text
    assert OVERLAPPING in page.text
    assert page.text.index(OVERLAPPING) < page.text.index("Completed their task")


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


def test_its_numbers_are_those_of_compare():
    parts = [counted("v1", 130, 200), counted("v2", 151, 200), counted("v3", 90, 180)]
    exact = exact_tables(document_of(pd.concat(parts, ignore_index=True), ["v1", "v2", "v3"], clock=clock))[
        "differences"
    ]
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
    parts = [counted("v1", 130, 200), counted("v2", 150, 200), counted("v3", 120, 180)]
    path = write(tmp_path, parts, ending="md")
    said = path.read_text("utf-8").replace("\\", "")
    assert "every prompt is compared with v1." in said
    assert "p of the score test below 0.05, adjusted for 2 comparisons" in said
    assert (
        "v2 completes 10 points more than v1 (1 to 19); perhaps higher, but not clearly: p is 0.059 among 2 comparisons."
        in said
    )
    assert "No clear difference between v3 and v1: +2 points measured (−8 to +11); unclear." in said


@pytest.mark.slow
def test_many_prompts_have_a_table_and_one_sentence(tmp_path):
    parts = [counted(f"v{number}", 20 + number, 40) for number in range(1, 7)]
    path = write(tmp_path, parts)
    tables, _ = html_tables(path)
    assert [row[0] for row in tables["differences"][1:]] == [f"v{number}" for number in range(2, 7)]
    text = read_page(path).text
    assert "No clear difference among 5 variants: the largest between v6 and v1, +12 points measured" in text
    assert "No clear difference between" not in text


@pytest.mark.slow
def test_a_prompt_without_conversations_is_no_comparison(tmp_path):
    parts = [counted("v1", 13, 20), counted("v2", 15, 20)]
    page = read_page(write(tmp_path, parts, ids=["none", "v1", "v2"]))
    assert "No clear difference between v2 and v1: +10 points measured" in page.text
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


def dated(completed, n, *, days_ago, prompt_id="v1"):
    """Make conversations of one day."""
    return counted(prompt_id, completed, n).assign(started_at=NOW - timedelta(days=days_ago))


def document(parts, ids="v1", **options):
    given = {"title": None, "logo": None, "redacted": False, "examples": 0, "period": None, **options}
    return build(pd.concat(parts, ignore_index=True), ids, clock=clock, **given)


def tables(made):
    return {table.name: table for section in made.sections for table in section.tables}


@given(*[st.lists(st.sampled_from([-1.0, -0.9, 0.0, 0.1, 1.0]), min_size=2, max_size=60)] * 2)
@pytest.mark.slow
def test_nothing_is_higher_whose_interval_holds_0(first, second):
    parts = [
        counted(name, 0, len(scores)).assign(sentiment_score=scores)
        for name, scores in (("v1", first), ("v2", second))
    ]
    table = tables(document(parts, ["v1", "v2"]))["differences"]
    cells = dict(zip((column.key for column in table.columns), table.rows[0], strict=True))
    for measure in ("task_completed", "negative", "sentiment_score"):
        difference, verdict = cells[f"{measure}_difference"], cells[f"{measure}_verdict"]
        assert verdict != "higher" or difference.low > 0
        assert verdict != "lower" or difference.high < 0


def test_ranks_that_are_sure_while_the_means_are_not_are_unclear():
    parts = [
        counted(name, 0, 60).assign(sentiment_score=scores)
        for name, scores in (("v1", [0.0] * 50 + [1.0] * 10), ("v2", [0.1] * 54 + [1.0] * 6))
    ]
    table = tables(document(parts, ["v1", "v2"]))["differences"]
    assert table.rows[0][-1] == "unclear"
    assert table.rows[0][-2].low < 0 < table.rows[0][-2].high


def test_a_period_is_compared_with_as_many_days_before_it():
    parts = [
        dated(38, 40, days_ago=3),
        dated(20, 40, days_ago=10),
        dated(0, 40, days_ago=17),
    ]
    made = document(parts, period=7)
    assert made.answer == (
        "95% of 40 conversations completed their task (83% to 99%).",
        (
            "This period completes 45 points more than the 7 days before (27 to 61); clearly higher. "
            "45 more of 100 users get their task done."
        ),
    )
    assert tables(made)["before"].rows[0][0].value == 0.5
    section = next(one for one in made.sections if one.name == "before")
    assert any("not an experiment" in text for text in section.paragraphs)


def test_a_period_without_one_before_says_so():
    made = document([dated(30, 40, days_ago=3)], period=7)
    assert made.answer[1] == (
        "This period and the 7 days before cannot be compared: there are no conversations of the 7 days before."
    )
    assert "before" not in tables(made)


def test_what_else_differs_is_said_below_the_differences():
    parts = [
        counted("v1", 100, 200).assign(latency_ms=np.arange(200.0)),
        counted("v2", 100, 200).assign(latency_ms=np.arange(200.0) + 500.0),
    ]
    section = document(parts, ["v1", "v2"]).sections[0]
    assert any("mean latency in milliseconds of v2 is 500 higher" in point for point in section.points)


@pytest.mark.slow
def test_a_redacted_report_names_no_value_of_a_column_that_may_name_a_person():
    said = {"metadata.customer": "Quentin", "title": "Zephyr", "agent": "Marlowe", "company_name": "Acme"}
    parts = []
    for name in ("v1", "v2"):
        part = counted(name, 100, 200)
        half = np.arange(200) % 2 == 0
        # Not the same conversations: of columns that say the same only one is named.
        values = {
            column: np.where(half ^ (np.arange(200) % 10 == place), value, "A")
            for place, (column, value) in enumerate(said.items())
        }
        # In one half the difference is another, so that each column is worth a sentence.
        done = half if name == "v2" else ~half
        topics = [["Wobblefish"] if one else [] for one in half]
        parts.append(part.assign(task_completed=pd.array(done, dtype="boolean"), topics=topics, **values))
    hidden = {"Wobblefish", *said.values()}
    plain = str(document(parts, ["v1", "v2"]).sections)
    assert {word for word in hidden if word in plain} >= {"Wobblefish", "Quentin", "Marlowe"}
    redacted = str(document(parts, ["v1", "v2"], redacted=True))
    assert not {word for word in hidden if word in redacted}


@pytest.mark.parametrize(
    ("period", "before"),
    [
        (7, ("the 7 days before", datetime(2026, 2, 24, 9, 30, tzinfo=UTC))),
        (1, ("the day before", datetime(2026, 3, 8, 9, 30, tzinfo=UTC))),
        (("2026-02-01", "2026-02-28"), ("the 28 days before", datetime(2026, 1, 4, tzinfo=UTC))),
        # Of a period that is not over, as much counts as has passed.
        (
            ("2026-03-01", "2026-03-31"),
            ("the equally long period before", datetime(2026, 2, 19, 14, 30, tzinfo=UTC)),
        ),
        (("2026-03-09", None), ("the equally long period before", datetime(2026, 3, 7, 14, 30, tzinfo=UTC))),
        ((None, "2026-02-28"), None),
        (("2026-04-01", None), None),
        (None, None),
    ],
)
def test_the_period_before_is_as_long(period, before):
    window = window_of(period, NOW)
    if before is None:
        assert window.previous is None
        return
    assert (window.previous.words, window.previous.start) == before
    assert window.previous.end == window.start


def test_a_trend_that_a_model_saw_is_said_as_its_own(tmp_path):
    table = conversations(400)
    table = table[table["status"].eq("completed")].copy()
    days = np.arange(len(table)) * 30 // len(table)
    began = pd.Timestamp(NOW).tz_convert("UTC") - pd.Timedelta(days=35)
    table["started_at"] = table["created_at"] = began + pd.to_timedelta(days, unit="D")
    done = np.random.default_rng(1).random(len(table)) < 0.2 + 0.02 * days
    table["task_completed"] = pd.array(done, dtype="boolean")
    table["basis"] = "model"
    page = read_page(write(tmp_path, [table]))
    (sentence,) = re.findall(r"Completion rises by [^)]*\)[^.]*\.", page.text)
    assert sentence.endswith(", as the model sees it.")
