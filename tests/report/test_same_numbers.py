"""One report in every format: all figures are the same, and those of ``promptlift.analysis``."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from promptlift import analysis, report
from support.report_numbers import (
    FORMATS,
    NOT_PRINTED,
    document_of,
    exact_tables,
    html_tables,
    markdown_tables,
    numbers_in,
    pdf_can_be_written,
    pdf_text,
    sheets,
    squeezed,
)
from support.report_page import clock, conversations

pytestmark = pytest.mark.slow  # every test needs reports in every format, the PDF among them

TITLES = {
    "completion": "Task completion by",
    "issues": "Issues",
    "sentiment": "Sentiment",
    "differences": "How the prompts differ",
    "data": "The data",
}


def with_gaps(table):
    """Some conversations without insights or without a score, some days without conversations."""
    table = table.copy()
    table["task_completed"] = table["task_completed"].mask(table.index % 7 == 3)
    table["sentiment_score"] = table["sentiment_score"].mask(table.index % 11 == 5)
    table["sentiment"] = table["sentiment"].mask(table.index % 11 == 5)
    table.loc[table.index % 13 == 0, "sentiment"] = "neutral"
    return table


@pytest.fixture(scope="module", params=["one", "three"])
def written(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    ids = {"one": ["p1"], "three": ["p1", "p2", "p3"]}[request.param]
    parts = [
        with_gaps(conversations(131 + 17 * n, prompt_id=one, rate=0.35 + 0.1 * n))
        for n, one in enumerate(ids)
    ]
    table = pd.concat(parts, ignore_index=True)
    one_or_all = ids if len(ids) > 1 else "p1"
    paths = {"document": document_of(table, one_or_all, clock=clock)}
    for ending in FORMATS:
        if ending == "pdf" and not pdf_can_be_written():
            continue
        paths[ending] = report.write(table, one_or_all, folder / f"r.{ending}", clock=clock)
    return table, ids, paths


def test_the_exact_numbers_are_those_of_analysis(written):
    table, ids, paths = written
    table = table.assign(prompt=table["prompt_id"])
    by = "prompt" if len(ids) > 1 else None
    exact = exact_tables(paths["document"])
    trend = analysis.completion_trend(table, freq="auto", by=by)
    assert exact["completion"]["rate"].equals(trend["rate"])
    assert exact["completion"]["rate_low"].equals(trend["rate_low"])
    assert exact["completion"]["completed"].tolist() == trend["completed"].tolist()
    assert exact["completion"]["completed_of"].tolist() == trend["n"].tolist()
    assert exact["completion"]["n_missing"].tolist() == trend["n_missing"].tolist()
    assert exact["completion"]["period_start"].tolist() == trend["period_start"].tolist()
    spread = analysis.sentiment_distribution(table, by=by)
    assert exact["sentiment"][["share", "share_low", "share_high"]].equals(
        spread[["share", "share_low", "share_high"]]
    )
    issues = analysis.issues(table, by=by, top=8)
    assert exact["issues"]["share"].equals(issues["share"])
    assert exact["issues"]["completed_without_of"].tolist() == issues["n_rated_without"].tolist()
    overview = analysis.prompt_overview(table, by=by)
    headline = exact["headline"]
    for row in overview.to_dict("records"):
        mine = headline[headline["prompt"] == (row["prompt"] if by else "")].set_index("measure")
        assert mine["value"].tolist() == [
            row["rate"],
            row["sentiment_mean"],
            row["negative_share"],
            row["conversations"],
        ]
        assert mine.loc["Completed their task", ["value_low", "value_high"]].tolist() == [
            row["rate_low"],
            row["rate_high"],
        ]
        assert mine["n"].dropna().tolist() == [
            row["n"],
            row["sentiment_n"],
            row["negative"] + row["neutral"] + row["positive"],
        ]


def test_a_workbook_has_the_exact_numbers(written):
    _, _, paths = written
    found = sheets(paths["xlsx"])
    for name, exact in exact_tables(paths["document"]).items():
        if name == "headline":
            continue
        title = next(title for title in found if title.startswith(TITLES.get(name, name.capitalize())))
        rows = found[title][1:]
        assert len(rows) == len(exact), name
        for row, (_, mine) in zip(rows, exact.iterrows(), strict=True):
            assert len(row) == len(mine)
            for cell, value in zip(row, mine, strict=True):
                same_cell(cell, value)


def same_cell(cell, value):
    if value is None or value == "" or pd.isna(value):
        assert cell in {None, ""}
    elif isinstance(value, pd.Timestamp):
        assert cell == value.tz_localize(None).to_pydatetime()
    elif isinstance(value, str):
        assert cell == value
    else:
        assert isinstance(cell, int | float)
        assert cell == pytest.approx(value, rel=1e-14, abs=1e-300)


def test_the_summary_of_a_workbook_has_the_headline_numbers(written):
    _, _, paths = written
    rows = sheets(paths["xlsx"])["Summary"]
    start = next(place for place, row in enumerate(rows) if row[1] == "Measure") + 1
    exact = exact_tables(paths["document"])["headline"]
    columns = ["measure", "value", "value_low", "value_high", "hits", "n"]
    assert len(exact) > 0
    for row, (_, mine) in zip(rows[start : start + len(exact)], exact[columns].iterrows(), strict=True):
        for cell, value in zip(row[1 : 1 + len(columns)], mine, strict=True):
            same_cell(cell, value)


def test_html_markdown_and_pdf_print_the_exact_numbers_alike(written):
    _, _, paths = written
    tables, _ = html_tables(paths["html"])
    exact = exact_tables(paths["document"])
    assert set(tables) - {"prompts", "issues_by_prompt"} == set(exact) - NOT_PRINTED
    assert ("issues_by_prompt" in tables) == (len(written[1]) > 1)
    in_markdown = markdown_tables(paths["md"])
    text = pdf_text(paths["pdf"]) if "pdf" in paths else None
    for name, rows in tables.items():
        assert [[squeezed(cell) for cell in row] for row in rows] in [
            [[squeezed(cell) for cell in row] for row in table] for table in in_markdown
        ], name
        for row in rows[1:]:
            assert text is None or squeezed("".join(row)) in text, (name, row)
        if name in exact:
            assert len(rows) - 1 == len(exact[name])
            for row, (_, mine) in zip(rows[1:], exact[name].iterrows(), strict=True):
                same_as_printed(row, mine)


def test_the_shares_of_issues_have_a_column_for_each_prompt(written):
    _, ids, paths = written
    tables, _ = html_tables(paths["html"])
    if len(ids) == 1:
        assert "issues_by_prompt" not in tables
        return
    (head, *rows), exact = tables["issues_by_prompt"], exact_tables(paths["document"])["issues"]
    # Beside many prompts there is no room for a quotation.
    last = [] if len(ids) > 4 else ["For example"]
    assert head[2:] == [*(f"{name} (95% interval)" for name in ids), *last]
    assert [row[0] for row in rows] == list(dict.fromkeys(exact["issue"]))
    for row in rows:
        of_issue = exact[exact["issue"] == row[0]].set_index("prompt").loc[ids]
        for cell, (_, mine) in zip(row[2 : 2 + len(ids)], of_issue.iterrows(), strict=True):
            found = numbers_in(cell)
            assert len(found) == 3
            for (shown, half), name in zip(found, ("share", "share_low", "share_high"), strict=True):
                assert abs(shown - mine[name]) <= half + 1e-12


def same_as_printed(row, exact):
    """Every number of a printed row is the exact one, rounded."""
    values = [value for value in exact if isinstance(value, int | float) and not pd.isna(value)]
    printed = [cell for cell in row if not any(cell == value for value in exact if isinstance(value, str))]
    days = [value for value in exact if isinstance(value, pd.Timestamp)]
    for day in days:
        assert f"{day.day} {day:%b %Y}" in printed[0]
        printed = printed[1:]
    # "0 of 0" is printed as a dash.
    found = [number for cell in printed for number in numbers_in(cell)]
    if any(cell == "–" for cell in printed):
        values = [value for value in values if any(abs(value - mine) <= half + 1e-12 for mine, half in found)]
    assert len(found) == len(values), (row, exact.tolist())
    for (mine, half), value in zip(found, values, strict=True):
        assert abs(mine - value) <= half + 1e-12 or (math.isinf(mine) and mine == value), (
            row,
            exact.tolist(),
        )


def test_the_cards_have_the_headline_numbers(written):
    _, ids, paths = written
    _, cards = html_tables(paths["html"])
    if len(ids) > 4:
        assert cards == []
        return
    exact = exact_tables(paths["document"])["headline"]
    assert [card[0] for card in cards] == exact["measure"].tolist()
    text = pdf_text(paths["pdf"]) if "pdf" in paths else None
    in_markdown = [row for table in markdown_tables(paths["md"]) for row in table]
    for card, (_, mine) in zip(cards, exact.iterrows(), strict=True):
        (value, half), *_ = numbers_in(card[1])
        assert abs(value - mine["value"]) <= half
        assert card in in_markdown
        assert text is None or squeezed("".join(card)) in text
        if not pd.isna(mine["value_low"]):
            low, high, *rest = numbers_in(card[2].replace("(95% interval)", ""))
            assert abs(low[0] - mine["value_low"]) <= low[1]
            assert abs(high[0] - mine["value_high"]) <= high[1]
            assert rest[-1][0] == mine["n"]
