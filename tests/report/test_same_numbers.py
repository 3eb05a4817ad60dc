"""One report in every format: all numbers are the same, and those of ``promptlift.analysis``."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from promptlift import analysis, plots
from promptlift.analysis.sentences import completion_sentence, ends_of
from promptlift.frames import edits_table, optimizations_table, variants_table
from promptlift.report.compose import compose
from promptlift.report.gather import gather
from promptlift.report.period import Window
from promptlift.report.renderers import renderer_for
from promptlift.words.figures import percent
from support.labelled import label
from support.report_numbers import (
    FORMATS,
    NOT_PRINTED,
    exact_tables,
    html_tables,
    markdown_tables,
    numbers_in,
    pdf_can_be_written,
    pdf_text,
    sheets,
    squeezed,
)
from support.report_page import NOW, conversations
from support.searched_service import SearchedService
from support.side_by_side import experiment

pytestmark = pytest.mark.slow  # every test needs reports in every format, the PDF among them


def with_gaps(table):
    """Some conversations without insights or without a score, some days without conversations."""
    table = table.copy()
    table["task_completed"] = table["task_completed"].mask(table.index % 7 == 3)
    for name in ("sentiment_score", "sentiment"):
        table[name] = table[name].mask(table.index % 11 == 5)
    table.loc[table.index % 13 == 0, "sentiment"] = "neutral"
    return table


@pytest.fixture(scope="module", params=["one", "three"])
def written(request, tmp_path_factory):
    """A prompt with optimizations, and three prompts with labels: every table that a report can have."""
    ids = {"one": ["p1"], "three": ["p1", "p2", "p3"]}[request.param]
    rates = [0.35 + 0.1 * n for n in range(len(ids))]
    parts = [conversations(131 + 17 * n, prompt_id=one, rate=rates[n]) for n, one in enumerate(ids)]
    table = pd.concat(map(with_gaps, parts), ignore_index=True)
    material = gather(table, ids, Window())
    if len(ids) == 1:
        service = SearchedService()
        items = [{"id": "o00001", "optimization": service.optimizations[0], "variants": service.variants}]
        variants, _, about = variants_table(items)
        variants.attrs["promptlift"] = {"table": "variants", **about}
        tried = optimizations_table(service.optimizations)[0]
        material = replace(material, optimizations=tried, variants=variants, edits=edits_table(items)[0])
        live = experiment(("v1", "v2", "Variant 1"), 300), experiment(n=200, basis="words"), experiment(n=0)
        material = replace(material, experiments=live)
    else:
        truth = table.set_index("conversation_id")["sentiment"].eq("positive")
        labels = label(analysis.label_plan(table, by="prompt_id", n=150), truth)
        material = gather(table, ids, Window(), labels)
    options = {"window": Window(), "now": NOW, "title": None, "logo": None, "redacted": False, "examples": 6}
    paths = {"document": compose(material, **options)}
    for ending in FORMATS:
        if ending != "pdf" or pdf_can_be_written():
            paths[ending] = tmp_path_factory.mktemp(ending) / f"r.{ending}"
            paths[ending].write_bytes(renderer_for(paths[ending])(paths["document"]))
    return table, ids, paths


def test_the_exact_numbers_are_those_of_analysis(written):
    table, ids, paths = written
    table = table.assign(prompt=table["prompt_id"])
    by = "prompt" if len(ids) > 1 else None
    exact = exact_tables(paths["document"])
    assert {"optimizations", "variants", "edits", "live"} <= set(exact) or {
        "corrected",
        "differences",
    } <= set(exact)
    trend, mine = analysis.completion_trend(table, freq="auto", by=by), exact["completion"]
    trend = trend[trend[["n", "n_missing", "n_in_progress"]].any(axis=1)].reset_index(drop=True)
    assert all(mine[name].equals(trend[name]) for name in ("rate", "rate_low", "rate_high"))
    for name in ("completed", "n_missing", "period_start"):
        assert mine[name].tolist() == trend[name].tolist()
    assert mine["completed_of"].tolist() == trend["n"].tolist()
    shares = ["share", "share_low", "share_high"]
    spread = analysis.sentiment_distribution(table, by=by)
    assert exact["sentiment"][shares].equals(spread[shares])
    issues = analysis.issues(table, by=by, top=8)
    assert exact["issues"][shares].equals(issues[shares])
    assert exact["issues"]["completed_without_of"].tolist() == issues["n_rated_without"].tolist()
    for row in analysis.prompt_overview(table, by=by).to_dict("records"):
        mine = exact["headline"]
        mine = mine[mine["prompt"] == (row["prompt"] if by else "")].set_index("measure")
        mine = mine[~mine.index.str.contains("corrected")]
        measures = (
            ("rate", "n"),
            ("sentiment_mean", "sentiment_n"),
            ("negative_share", None),
            ("conversations", None),
        )
        for (value, n), (_, shown) in zip(measures, mine.iterrows(), strict=True):
            assert shown["value"] == row[value]
            assert n is None or shown["n"] == row[n]
        assert mine["value_low"].iloc[0] == row["rate_low"]
        assert mine["n"].iloc[2] == row["negative"] + row["neutral"] + row["positive"]


def test_a_workbook_has_the_exact_numbers(written):
    _, _, paths = written
    found = sheets(paths["xlsx"])
    titles = {table.name: table.title for part in paths["document"].sections for table in part.tables}
    rows = found["Summary"]
    start = next(place for place, row in enumerate(rows) if row[1] == "Measure") + 1
    exact = exact_tables(paths["document"])
    exact["headline"] = exact["headline"].drop(columns=["prompt", "unit"])
    found["Headline"] = [[], *(row[1:7] for row in rows[start : start + len(exact["headline"])])]
    for name, table in exact.items():
        cells = found[titles.get(name, name.capitalize())[:31]][1:]
        assert len(cells) == len(table) > 0, name
        for row, (_, mine) in zip(cells, table.iterrows(), strict=True):
            for cell, value in zip(row, mine, strict=True):
                same_cell(cell, value)


def same_cell(cell, value):
    if value is None or value == "" or pd.isna(value):
        assert cell in {None, ""}
    elif isinstance(value, pd.Timestamp):
        assert cell == value.tz_localize(None).to_pydatetime()
    elif isinstance(value, float) and math.isinf(value):
        assert cell == ("∞" if value > 0 else "−∞")
    else:
        assert cell == (value if isinstance(value, str) else pytest.approx(value, rel=1e-14, abs=1e-300))


def test_html_markdown_and_pdf_print_the_exact_numbers_alike(written):
    _, ids, paths = written
    tables, cards = html_tables(paths["html"])
    exact = exact_tables(paths["document"])
    assert set(tables) | NOT_PRINTED == set(exact)
    assert ("issues_by_prompt" in tables) == (len(ids) > 1)
    in_markdown = [
        [[squeezed(cell) for cell in row] for row in table] for table in markdown_tables(paths["md"])
    ]
    text = pdf_text(paths["pdf"]) if "pdf" in paths else None
    folded = {table.name for part in paths["document"].sections for table in part.tables if table.folded}
    for name, rows in tables.items():
        assert [[squeezed(cell) for cell in row] for row in rows] in in_markdown, name
        assert len(rows) - 1 == len(exact[name])
        for row, (_, mine) in zip(rows[1:], exact[name].iterrows(), strict=True):
            assert text is None or (squeezed("".join(row)) in text) != (name in folded), (name, row)
            same_as_printed(row, mine)
    in_markdown = [row for table in in_markdown for row in table]
    assert [card[0] for card in cards] == exact["headline"]["measure"].tolist()
    for card, (_, mine) in zip(cards, exact["headline"].iterrows(), strict=True):
        assert [squeezed(part) for part in card] in in_markdown
        assert text is None or squeezed("".join(card)) in text
        printed = [numbers_in(card[1])[0], *numbers_in(card[2].replace("(95% interval)", ""))]
        for (shown, half), column in zip(printed, ("value", "value_low", "value_high"), strict=False):
            assert pd.isna(mine[column]) or abs(shown - mine[column]) <= half
        assert pd.isna(mine["value_low"]) or printed[-1][0] == mine["n"]


def same_as_printed(row, exact):
    """Every number of a printed row is the exact one, rounded."""
    values = [value for value in exact if isinstance(value, int | float) and not pd.isna(value)]
    printed = [cell for cell in row if not any(cell == value for value in exact if isinstance(value, str))]
    for day in (value for value in exact if isinstance(value, pd.Timestamp)):
        (dated,) = (cell for cell in printed if f"{day.day} {day:%b %Y}" in cell)
        printed.remove(dated)
    found = [number for cell in printed for number in numbers_in(cell)]
    # "0 of 0" is printed as a dash.
    if "–" in printed:
        values = [value for value in values if any(is_rounded(value, *number) for number in found)]
    assert len(found) == len(values), (row, exact.tolist())
    assert all(is_rounded(value, *number) for number, value in zip(found, values, strict=True)), row


def is_rounded(value, shown, half):
    """Whether a number is the exact one, rounded; that of a lift in percent is exact in percent."""
    return any(abs(scale * shown - value) <= scale * half + 1e-12 or shown == value for scale in (1, 100))


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_table_sentence_title_page_and_workbook_agree(tmp_path_factory, yes, no, unknown):
    assume(yes + no)
    outcomes = [True] * yes + [False] * no + [None] * unknown
    table = conversations(len(outcomes)).assign(
        status="completed", task_completed=pd.array(outcomes, "boolean")
    )
    row = analysis.completion(table).iloc[0]
    rate, low, high = ends_of(row, "rate")
    assert (row["n"], row["completed"], rate) == (yes + no, yes, yes / (yes + no))
    shown, *ends = percent(rate, low, high)
    interval, of = " to ".join(ends), f"of {yes + no} conversation"
    sentence = completion_sentence((rate, low, high), row["n"])
    title = plots.completion_trend(table, freq="MS", title="auto").get_title(loc="left").replace("\n", " ")
    for said in (sentence, title):
        assert said.startswith(f"{shown} {of}"), said
        assert f"({interval})" in said
    window = {"window": Window(), "now": NOW, "title": None, "logo": None, "redacted": False, "examples": 1}
    document = compose(gather(table, ["p1"], Window()), **window)
    folder = tmp_path_factory.mktemp("agree")
    for ending in ("html", "xlsx"):
        (folder / f"r.{ending}").write_bytes(renderer_for(folder / f"r.{ending}")(document))
    _, cards = html_tables(folder / "r.html")
    card = next(card for card in cards if card[0] == "Completed their task")
    assert card[1] == shown
    assert card[2].startswith(f"{interval} (95% interval), {yes} of {yes + no}")
    cells = next(cells for cells in sheets(folder / "r.xlsx")["Summary"] if "Completed their task" in cells)
    assert cells[cells.index("Completed their task") + 1 :][:5] == pytest.approx(
        [rate, low, high, yes, yes + no]
    )
