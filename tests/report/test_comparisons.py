"""The answer that opens a report: how prompts differ, and how its period differs from the one before."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift import analysis
from promptlift.report.gather import gather
from promptlift.report.period import Window
from promptlift.report.sections.comparisons import between_prompts
from support.labelled import judged, label
from support.report_numbers import document_of, exact_tables, texts_of
from support.report_page import NOW, clock, conversations


def counted(prompt_id, completed, n, **columns):
    """Make ``n`` ended conversations of which that many completed their task; the others sound negative."""
    table = conversations(2 * n, prompt_id=prompt_id)
    table = table[table["status"].eq("completed")].iloc[:n].copy()
    done = np.arange(n) < completed
    table["task_completed"] = pd.array(done, dtype="boolean")
    named = np.where(done, "positive", "negative")
    table["sentiment"] = pd.Categorical(named, table["sentiment"].cat.categories)
    return table.assign(**columns)


def document(parts, ids=None, **options):
    table = pd.concat(parts, ignore_index=True)
    ids = ids or list(dict.fromkeys(table["prompt_id"]))
    return document_of(table, ids, clock=clock, examples=0, **options)


def tables(made):
    return {table.name: table for section in made.sections for table in section.tables}


def test_prompts_whose_intervals_overlap_may_differ_all_the_same():
    """130 of 200 vs 151 of 200: 58 to 71 and 69 to 81%, yet the difference is 1.5 to 19.2 points."""
    made = document([counted("v1", 130, 200), counted("v2", 151, 200)])
    assert [group.numbers[0].detail.partition(" (")[0] for group in made.headlines] == [
        "58% to 71%",
        "69% to 81%",
    ]
    assert made.answer == (
        "v2 completes 10 points more than v1 (2 to 19); clearly higher. 10 more of 100 users get their task done.",
    )


def test_many_prompts_have_a_table_and_one_sentence():
    made = document([counted(f"v{number}", 20 + number, 40) for number in range(1, 7)])
    assert [row[0] for row in tables(made)["differences"].rows] == [f"v{number}" for number in range(2, 7)]
    (sentence,) = made.answer
    said = "No clear difference among 5 variants: the largest between v6 and v1, +12 points measured"
    assert sentence.startswith(said)


def test_a_prompt_without_conversations_or_verdicts_is_no_comparison():
    parts = [counted("v1", 13, 20), counted("v2", 15, 20)]
    made = document(parts, ["none", "v1", "v2"])
    assert made.answer[0].startswith("No clear difference between v2 and v1: +10 points measured")
    assert "differences" not in tables(document(parts[:1], ["v1", "none"]))
    blank = parts[1].assign(task_completed=pd.array([pd.NA] * 20, dtype="boolean"))
    blank["sentiment_score"] = [np.inf, *[np.nan] * 19]
    blank["sentiment"] = pd.Categorical([None] * 20, blank["sentiment"].cat.categories)
    made = document([parts[0], blank])
    assert "v2 and v1 cannot be compared yet" in made.answer[0]
    (row,) = texts_of(tables(made)["differences"])
    assert [*row.values()][2:] == ["–", "not compared"] * 3


@given(*[st.lists(st.sampled_from([-1.0, -0.9, 0.0, 0.1, 1.0]), min_size=2, max_size=60)] * 2)
@pytest.mark.slow
def test_nothing_is_higher_whose_interval_holds_0(first, second):
    parts = [
        counted(name, 0, len(scores), sentiment_score=scores)
        for name, scores in (("v1", first), ("v2", second))
    ]
    material = gather(pd.concat(parts, ignore_index=True), ["v1", "v2"], Window())
    (table,) = between_prompts(material, redacted=False).section.tables
    cells = dict(zip((column.key for column in table.columns), table.rows[0], strict=True))
    for measure in ("task_completed", "negative", "sentiment_score"):
        difference, verdict = cells[f"{measure}_difference"], cells[f"{measure}_verdict"]
        assert verdict != "higher" or difference.low > 0
        assert verdict != "lower" or difference.high < 0


def test_a_period_is_compared_with_as_many_days_before_it():
    parts = [
        counted("v1", completed, 40, started_at=NOW - timedelta(days=days))
        for completed, days in ((38, 3), (20, 10), (0, 17))
    ]
    made = document(parts, "v1", period=7)
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
    made = document(parts[:1], "v1", period=7)
    said = "This period and the 7 days before cannot be compared: there are no conversations of the 7 days before."
    assert made.answer[1] == said
    assert "before" not in tables(made)


def test_what_else_differs_is_said_below_the_differences():
    parts = [counted(f"v{n}", 100, 200, latency_ms=np.arange(200.0) + 500.0 * (n - 1)) for n in (1, 2)]
    points = document(parts).sections[0].points
    assert any("mean latency in milliseconds of v2 is 500 higher" in point for point in points)


@pytest.mark.slow
def test_a_redacted_report_names_no_value_of_a_column_that_may_name_a_person():
    said = {"metadata.customer": "Quentin", "title": "Zephyr", "agent": "Marlowe", "company_name": "Acme"}
    parts = []
    for name in ("v1", "v2"):
        half = np.arange(200) % 2 == 0
        # Not the same conversations: of columns that say the same only one is named.
        values = {
            column: np.where(half ^ (np.arange(200) % 10 == place), value, f"{value} Junior")
            for place, (column, value) in enumerate(said.items())
        }
        # In one half the difference is another, so that each column is worth a sentence.
        done = pd.array(half if name == "v2" else ~half, dtype="boolean")
        topics = [["Wobblefish"] if one else [] for one in half]
        parts.append(counted(name, 100, 200, task_completed=done, topics=topics, **values))
    hidden = {"Wobblefish", *said.values()}
    plain = str(document(parts).sections)
    assert {word for word in hidden if word in plain} >= {"Wobblefish", "Quentin", "Marlowe"}
    redacted = str(document(parts, redacted=True))
    assert not {word for word in hidden if word in redacted}


def test_a_trend_that_a_model_saw_is_said_as_its_own():
    table = conversations(400)
    table = table[table["status"].eq("completed")].assign(basis="model")
    days = np.arange(len(table)) * 30 // len(table)
    began = pd.Timestamp(NOW).tz_convert("UTC") - pd.Timedelta(days=35)
    table["started_at"] = table["created_at"] = began + pd.to_timedelta(days, unit="D")
    done = np.random.default_rng(1).random(len(table)) < 0.2 + 0.02 * days
    (sentence,) = document([table.assign(task_completed=pd.array(done, dtype="boolean"))]).answer[1:]
    assert re.fullmatch(r"Completion rises by [^)]*\)[^.]*, as the model sees it\.", sentence)


@pytest.fixture(scope="module")
def labelled():
    """Conversations of which the judge turns the difference round, the truth, and labels that turn it back."""
    table, truth = judged(1_200)
    table = table.drop(columns="channel").rename(columns={"prompt": "prompt_id"})
    table = table.assign(issues=[[] for _ in range(1_200)])
    return table, truth, label(analysis.label_plan(table, by="prompt_id", n=240), truth)


def test_with_labels_the_answer_and_the_verdict_are_corrected_and_the_judge_is_repeated(labelled):
    table, _, labels = labelled
    made = document([table], ["old", "new"], labels=labels)
    assert "Corrected by 240 labels: new completes " in made.answer[0]
    assert "Uncorrected, as the judge says: new completes " in str(made.sections)
    measures = [number.label for number in made.headlines[0].numbers]
    assert measures[:2] == [
        "Completed their task, corrected by labels",
        "Completed their task, as the judge says",
    ]
    exact = exact_tables(made)
    overview = analysis.prompt_overview(table, by="prompt_id", labels=labels).set_index("prompt_id")
    compared = analysis.compare(table, by="prompt_id", control="old", labels=labels).iloc[0]
    for end in ("", "_low", "_high"):
        for column in ("rate", "rate_corrected"):
            mine = exact["corrected"].set_index("prompt")[f"{column}{end}"]
            assert mine.to_dict() == pytest.approx(overview[f"{column}{end}"].to_dict(), rel=1e-12)
        corrected = exact["differences"][f"task_completed_corrected{end}"].iloc[0]
        assert corrected == pytest.approx(compared[f"difference_points_corrected{end}"], rel=1e-12)
    assert (exact["differences"]["task_completed_verdict"].iloc[0], compared["verdict"]) == ("lower", "worse")
    one = document([table], "new", labels=labels).answer
    assert any("Corrected by 120 labels: " in sentence for sentence in one)
    assert any("Uncorrected, as the judge says: " in sentence for sentence in one)


def test_labels_that_were_picked_by_hand_are_refused_in_words(labelled):
    table, _, labels = labelled
    made = str(document([table], "new", labels=labels.assign(chance=np.nan), redacted=True))
    assert "Not corrected by labels." in made
    assert "picked by hand, by low confidence or by search" in made


def test_labels_of_all_conversations_are_the_numbers_of_the_report(labelled):
    table, truth, _ = labelled
    known = (
        truth.rename("value").rename_axis("conversation_id").reset_index().assign(question="task_completed")
    )
    made = str(document([table], ["old", "new"], labels=known))
    for words in ("orrected by", "as the judge says"):
        assert words not in made
        assert words not in str(document([table], ["old", "new"]))
    assert "People said of every conversation whether its task was completed." in made
    assert "clearly lower" in made
