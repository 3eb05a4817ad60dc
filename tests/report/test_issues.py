"""The table of issues: prompts side by side, the worst severity counted, and quotations that stand for their issue."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from promptlift import report
from promptlift.report.compose import build
from support.report_numbers import document_of, exact_tables, html_tables
from support.report_page import clock, conversations


def one(title, evidence, severity="high"):
    return [{"title": title, "severity": severity, "evidence": evidence}]


def quotes(table):
    issues = exact_tables(document_of(table, "p1", clock=clock))["issues"]
    return dict(zip(issues["issue"], issues["evidence"], strict=True))


def judged(*rows):
    """Make conversations of (issues, status, completed, sentiment score)."""
    table = conversations(len(rows))
    table["issues"] = [found for found, *_ in rows]
    table["status"] = pd.Categorical([row[1] for row in rows], ["completed", "abandoned", "in_progress"])
    table["task_completed"] = pd.array([row[2] for row in rows], dtype="boolean")
    table["sentiment_score"] = [row[3] for row in rows]
    return table


def test_an_issue_is_quoted_where_it_is_clearest():
    table = judged(
        (one("Unanswered", "still typing"), "in_progress", None, -0.9),
        (one("Unanswered", "thanks, bye"), "completed", True, -0.8),
        (one("Unanswered", "Hello?"), "abandoned", False, -0.1),
        (one("Unanswered", "Why does nobody answer me?"), "abandoned", False, -0.6),
    )
    assert quotes(table) == {"Unanswered": "“Why does nobody answer me?”"}


def test_the_worst_severity_goes_before_everything_else(tmp_path):
    table = judged(
        (one("Slow", "a bit slow", "low"), "abandoned", False, -0.9),
        (one("Slow", "I waited two days", "high"), "completed", True, 0.5),
    )
    assert quotes(table) == {"Slow": "“I waited two days”"}
    tables, _ = html_tables(report.write(table, "p1", tmp_path / "r.html", clock=clock))
    assert tables["issues"][1][1] == "high in 1 of 2"


def test_a_quotation_is_cut_at_a_word():
    said = "I have been waiting for an answer since Monday and " * 6
    (quote,) = quotes(judged((one("Slow", said), "abandoned", False, -0.5))).values()
    kept = quote.removeprefix("“").removesuffix("…”")
    assert said.startswith(f"{kept} ")
    assert len(quote) <= 183


@pytest.mark.usefixtures("draws")
def test_long_titles_in_a_figure_are_cut_and_stay_apart():
    titles = ["A" * 120, "A" * 119 + "B", "Short"]
    table = judged(*((one(title, "x"), "abandoned", False, 0.0) for title in titles))
    made = build(table, "p1", title=None, logo=None, redacted=False, examples=0, period=None, clock=clock)
    (figure,) = next(section for section in made.sections if section.name == "issues").figures
    shown = re.findall(r">(A+…A+B?)<", figure.paint("narrow"))
    assert len(shown) == len(set(shown)) == 2


@pytest.mark.slow
def test_each_prompt_has_a_column_and_its_own_quotation_below(tmp_path):
    parts = [conversations(40, prompt_id=name) for name in ("p1", "p2")]
    table = pd.concat(parts, ignore_index=True)
    tables, _ = html_tables(report.write(table, ["p1", "p2"], tmp_path / "r.html", clock=clock))
    assert tables["issues_by_prompt"][0] == [
        "Issue", "Severity", "p1 (95% interval)", "p2 (95% interval)", "For example",
    ]  # fmt: skip
    assert len(tables["issues"]) == 2 * len(tables["issues_by_prompt"]) - 1
    redacted, _ = html_tables(
        report.write(table, ["p1", "p2"], tmp_path / "x.html", clock=clock, redact=True)
    )
    assert redacted["issues_by_prompt"][0][-1] == "p2 (95% interval)"
