"""Which conversations are shown, and how much of them."""

from __future__ import annotations

import json

import pandas as pd

from promptlift import report
from support.report_page import clock, conversations, read_page
from support.sentences import REPORT


def articles(page):
    return [attrs["class"].split()[1] for tag, attrs in page.tags if tag == "article"]


def write(table, path, prompt_id="p1", **options):
    return read_page(report.write(table, prompt_id, path, clock=clock, **options))


def test_failed_and_completed_conversations_are_shown_in_equal_number(tmp_path):
    assert articles(write(conversations(60), tmp_path / "r.html")) == ["failed"] * 3 + ["completed"] * 3
    assert articles(write(conversations(60), tmp_path / "o.html", examples=1)) == ["failed"]


def test_when_one_kind_is_missing_the_other_fills_up(tmp_path):
    table = conversations(60)
    done = table[table["task_completed"].fillna(False)]
    assert articles(write(done, tmp_path / "r.html")) == ["completed"] * 6


def test_none_are_shown_when_none_are_wanted(tmp_path):
    page = write(conversations(60), tmp_path / "r.html", examples=0)
    assert articles(page) == []
    assert "Examples" not in page.text


def test_conversations_in_progress_are_no_examples(tmp_path):
    table = conversations(40)
    page = write(table, tmp_path / "r.html", examples=50)
    for name in table.loc[table["status"] == "in_progress", "conversation_id"]:
        assert name not in page.text


def test_examples_show_different_issues_first(tmp_path):
    page = write(conversations(60, content=True), tmp_path / "r.html")
    shown = [data for _, data in page.pieces if data.startswith("Problem ") and len(data) == len("Problem 0")]
    # One in each of the three failed examples, besides the table and the picture.
    assert {"Problem 0", "Problem 1", "Problem 2"} <= set(shown)


def test_the_choice_does_not_depend_on_the_order_of_rows(tmp_path):
    table = conversations(60)
    first = write(table, tmp_path / "a.html")
    turned = table.iloc[::-1].reset_index(drop=True)
    turned.attrs = table.attrs
    second = write(turned, tmp_path / "b.html")
    assert [t for t in first.pieces if t[0] == "dd"] == [t for t in second.pieces if t[0] == "dd"]


def test_prompts_that_are_compared_take_turns(tmp_path):
    table = pd.concat([conversations(40), conversations(40, prompt_id="p2")], ignore_index=True)
    page = write(table, tmp_path / "r.html", ["p1", "p2"], examples=4)
    ids = [data for tag, data in page.pieces if tag == "dd" and "-c0" in data]
    assert sorted(one[:2] for one in ids) == ["p1", "p1", "p2", "p2"]


def test_long_conversations_are_shortened_visibly(tmp_path):
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": f"turn {n} " + "x " * (1500 if n == 0 else 1)}
        for n in range(80)
    ]
    table = conversations(8).assign(content=json.dumps({"messages": messages}))
    page = write(table, tmp_path / "r.html", examples=1)
    assert REPORT["messages omitted"] in page.text
    assert REPORT["characters omitted"] in page.text
    assert "turn 11 " in page.text
    assert "turn 12 " not in page.text
    assert "turn 71 " not in page.text
    assert "turn 72 " in page.text


def test_content_that_cannot_be_read_is_passed_over(tmp_path):
    table = conversations(60)
    broken = table["conversation_id"].isin(table["conversation_id"][::2])
    table.loc[broken, "content"] = '{"messages": 4}'
    page = write(table, tmp_path / "r.html")
    assert len(articles(page)) == 6


def test_a_table_without_content_has_no_examples_and_says_so(tmp_path):
    page = write(conversations(20, content=False), tmp_path / "r.html")
    assert REPORT["no transcripts"] in page.text
