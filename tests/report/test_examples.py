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


def test_failed_and_completed_conversations_are_shown_in_equal_number_different_issues_first(tmp_path):
    page = write(conversations(60), tmp_path / "r.html")
    assert articles(page) == ["failed"] * 3 + ["completed"] * 3
    shown = [data for _, data in page.pieces if data.startswith("Problem ") and len(data) == len("Problem 0")]
    # One in each of the three failed examples, besides the table and the picture.
    assert {"Problem 0", "Problem 1", "Problem 2"} <= set(shown)


def test_when_one_kind_is_missing_the_other_fills_up(tmp_path):
    table = conversations(20)
    done = table[table["task_completed"].fillna(False)]
    assert articles(write(done, tmp_path / "r.html")) == ["completed"] * 6


def test_none_are_shown_when_none_are_wanted(tmp_path):
    page = write(conversations(20), tmp_path / "r.html", examples=0)
    assert articles(page) == []
    assert "Examples" not in page.text


def test_prompts_that_are_compared_take_turns(tmp_path):
    table = pd.concat([conversations(15), conversations(15, prompt_id="p2")], ignore_index=True)
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


def test_content_that_cannot_be_read_and_conversations_in_progress_are_passed_over(tmp_path):
    table = conversations(40)
    table.loc[::2, "content"] = '{"messages": 4}'
    page = write(table, tmp_path / "r.html", examples=50)
    assert len(articles(page)) == 18
    for name in table.loc[table["status"] == "in_progress", "conversation_id"]:
        assert name not in page.text


def test_a_table_without_content_has_no_examples_and_says_so(tmp_path):
    page = write(conversations(20, content=False), tmp_path / "r.html")
    assert REPORT["no transcripts"] in page.text


def test_examples_come_after_all_numbers_and_are_folded_after_two_lines(tmp_path):
    page = write(conversations(20), tmp_path / "r.html", examples=1)
    assert articles(page) == ["failed"]
    sections = [attrs["id"] for tag, attrs in page.tags if tag == "section" and "id" in attrs]
    assert sections[-1] == "examples"
    # The first message is the title; the page needs no script to show the rest.
    source = page.source[page.source.index('<section id="examples">') :]
    summary = source[source.index("<summary>") : source.index("</summary>")]
    assert summary.count('<span class="line"') == 2
    assert "Answer" in summary
    assert source.index("</summary>") < source.index('<div class="turns">') < source.index("</details>")
    assert "<details open" not in source


def tool_call(text, role="system"):
    return {"role": role, "content": text}


def test_the_output_of_tools_is_shortened_and_of_people_not(tmp_path):
    rows = ", ".join(f'{{"id": {n},\n   "state": "sent"}}' for n in range(90))
    said = "please " * 60
    messages = [
        {"role": "user", "content": said},
        tool_call('[tool call] find_orders({"name": "x"})', "assistant"),
        tool_call(f"[tool result] [{rows}]"),
        {"role": "assistant", "content": "All of them were sent."},
        {"role": "user", "content": "Good"},
    ]
    table = conversations(8).assign(content=json.dumps({"messages": messages}))
    page = write(table, tmp_path / "r.html", examples=1)
    turns = [
        attrs["class"] for tag, attrs in page.tags if tag == "div" and "turn " in f"{attrs.get('class')} "
    ]
    assert turns == ["turn user", "turn tool", "turn tool", "turn assistant", "turn user"]
    shown = next(text for _, text in page.pieces if text.startswith("[tool result]"))
    assert len(shown) <= 160
    assert "\n" not in shown
    assert said.strip() in page.text
    lines = [text for tag, text in page.pieces if tag == "span" and "All of them" in text]
    assert lines == [" All of them were sent."]
