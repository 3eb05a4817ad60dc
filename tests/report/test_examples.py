"""Which conversations are shown, and how much of them; which quotation stands for an issue."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from promptlift import report
from support.report_numbers import document_of, exact_tables
from support.report_page import clock, conversations, read_page
from support.sentences import REPORT


def section(made, name):
    return next((one for one in made.sections if one.name == name), None)


def examples(table, prompt_id="p1", **options):
    found = section(document_of(table, prompt_id, clock=clock, **options), "examples")
    return [] if found is None else list(found.transcripts)


def outcomes(shown):
    return [one.outcome for one in shown]


def test_failed_and_completed_conversations_are_shown_in_equal_number_different_issues_first():
    table = conversations(60)
    shown = examples(table)
    assert outcomes(shown) == ["failed"] * 3 + ["completed"] * 3
    assert {dict(one.facts)["Issues"] for one in shown[:3]} == {"Problem 0", "Problem 1", "Problem 2"}
    # When one kind is missing, the other fills up.
    assert outcomes(examples(table[table["task_completed"].fillna(False)])) == ["completed"] * 6
    assert examples(table, examples=0) == []


def test_prompts_that_are_compared_take_turns():
    table = pd.concat([conversations(15), conversations(15, prompt_id="p2")], ignore_index=True)
    shown = examples(table, ["p1", "p2"], examples=4)
    assert sorted(one.prompt for one in shown) == ["p1", "p1", "p2", "p2"]


def test_long_conversations_are_shortened_visibly(tmp_path):
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": f"turn {n} " + "x " * (1500 if n == 0 else 1)}
        for n in range(80)
    ]
    table = conversations(8).assign(content=json.dumps({"messages": messages}))
    page = read_page(report.write(table, "p1", tmp_path / "r.html", clock=clock, examples=1))
    assert REPORT["messages omitted"] in page.text
    assert REPORT["characters omitted"] in page.text
    shown = {int(number) for number in re.findall(r"turn (\d+) ", page.text)}
    assert shown == {*range(12), *range(72, 80)}
    # After all numbers, and folded after two lines; the page needs no script to show the rest.
    assert [attrs["id"] for tag, attrs in page.tags if tag == "section" and "id" in attrs][-1] == "examples"
    source = page.source[page.source.index('<section id="examples">') :]
    assert source[: source.index("</summary>")].count('<span class="line"') == 2
    assert source.index("</summary>") < source.index('<div class="turns">') < source.index("</details>")
    assert "<details open" not in source


def test_content_that_cannot_be_read_and_conversations_in_progress_are_passed_over():
    table = conversations(40)
    table.loc[::2, "content"] = '{"messages": 4}'
    shown = examples(table, examples=50)
    assert len(shown) == 18
    running = table.loc[table["status"] == "in_progress", "conversation_id"]
    assert not {one.conversation_id for one in shown} & set(running)
    without = document_of(table.drop(columns="content"), "p1", clock=clock)
    assert REPORT["no transcripts"] in str(without.sections)


def test_the_output_of_tools_is_shortened_and_of_people_is_not():
    def of_tool(text):
        return {"role": "system", "content": text}

    messages = [
        {"role": "user", "content": "Where is it?"},
        of_tool('[tool call] find{"order": ' + "9" * 400 + "}"),
        of_tool("[tool result] " + "8" * 400),
        {"role": "assistant", "content": "7" * 400},
    ]
    table = conversations(8).assign(content=json.dumps({"messages": messages}))
    (shown,) = examples(table, examples=1)
    assert [turn.role for turn in shown.turns] == ["user", "tool", "tool", "assistant"]
    assert [len(turn.content) <= 110 for turn in shown.turns] == [True, True, True, False]
    assert [turn.content[:3] for turn in shown.preview] == ["777"]


def one(title, evidence, severity="high"):
    return [{"title": title, "severity": severity, "evidence": evidence}]


@pytest.mark.parametrize("redacted", [False, True])
def test_each_prompt_has_a_column_of_issues_and_its_own_quotation_below(redacted):
    table = pd.concat([conversations(40, prompt_id=name) for name in ("p1", "p2")], ignore_index=True)
    made = document_of(table, ["p1", "p2"], clock=clock, redacted=redacted)
    beside, below = section(made, "issues").tables
    labels = ["Issue", "Severity", "p1", "p2", *([] if redacted else ["For example"])]
    assert [column.label for column in beside.columns] == labels
    assert len(below.rows) == 2 * len(beside.rows)
    exact = exact_tables(made)["issues"]
    assert ("evidence" in exact) == (not redacted)
