"""What a report says about optimizations: what was tried, how sure it is, and what became of it."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from promptlift import report
from promptlift.frames.optimizations import optimizations_table
from promptlift.frames.variants import variants_table
from promptlift.report.cells import formatted
from promptlift.report.compose import compose
from promptlift.report.gather import MAX_OPTIMIZATIONS, gather
from promptlift.report.period import Window
from promptlift.report.sections.optimizations import optimizations, rehearsal_notice
from support.report_numbers import document_of, exact_tables, html_tables, markdown_tables, sheets, squeezed
from support.report_page import NOW, clock, conversations, read_page
from support.sentences import REPORT

PAIRS = {"n": 150, "n11": 84, "n10": 31, "n01": 14, "n00": 21, "dropped": 2}


def optimization(number=1, **more):
    return {
        "id": f"opt_{number}",
        "promptId": "p1",
        "status": "completed",
        "mode": "validation",
        "variantCount": 2,
        "createdAt": f"2026-03-0{number}T10:00:00Z",
        "rehearsal": False,
        "results": {
            "winnerSelected": True,
            "winningVariantId": f"var_{number}1",
            "lift": 17.346939,
            "liftLow": 5.76,
            "liftHigh": 30.3,
            "liftExpected": 14.5,
            "confidence": 0.9198,
            "confidenceNeeded": 0.9,
            "pairs": PAIRS,
            "trace": [0.5, 0.9198],
            "reason": "threshold",
        },
        **more,
    }


def variants(number=1, names=("Shorter", "Kinder")):
    original = {
        "id": f"var_{number}0",
        "name": "Original",
        "isOriginal": True,
        "metrics": {"taskCompletion": 65.3},
    }
    rows = [original | {"number": 0, "stage": "confirm", "pairs": PAIRS}]
    for place, name in enumerate(names, 1):
        rows.append(
            {
                "id": f"var_{number}{place}",
                "name": name,
                "isOriginal": False,
                "number": place,
                "stage": "confirm" if place == 1 else "screen",
                "metrics": {"taskCompletion": 76.7, "sentiment": 0.3, "quality": 70},
                "originalTaskCompletion": 65.3,
                "lift": 17.346939 if place == 1 else 2.0,
                "liftLow": 5.76 if place == 1 else None,
                "liftHigh": 30.3,
                "liftExpected": 14.5,
                "intervalLevel": 0.9,
                "confidence": 0.9198 if place == 1 else None,
                "pairs": PAIRS if place == 1 else PAIRS | {"n": 15},
                "isWinner": place == 1,
                "warnings": ["Best of 2 variants."] if place == 1 else [],
            }
        )
    return rows


def material(*tried, sets=None):
    made = gather(conversations(30), "p1", Window())
    table, _ = optimizations_table(list(tried))
    items = [
        {"id": one["id"], "optimization": one, "variants": rows}
        for one, rows in zip(tried, sets or [variants(n) for n in range(1, 1 + len(tried))], strict=True)
    ]
    frame, _, about = variants_table(items)
    frame.attrs["promptlift"] = {"table": "variants", **about}
    newest = table.sort_values("created_at", ascending=False, kind="stable")
    return dataclasses.replace(made, optimizations=newest, variants=frame)


def texts(table):
    return [
        {column.key: formatted(cell, column.kind) for cell, column in zip(row, table.columns, strict=True)}
        for row in table.rows
    ]


def test_a_winner_is_named_with_its_lift_interval_and_confidence():
    tried, each = optimizations(material(optimization()), redacted=False).tables
    (row,) = texts(tried)
    assert row["result"] == "winner: Shorter"
    assert row["lift"] == "+17.3% (+5.8% to +30.3%)"
    assert row["confidence"] == "0.919"
    assert row["pairs"] == "150"
    original, winner, other = texts(each)
    assert (original["mark"], winner["mark"], other["mark"]) == ("original", "winner", "")
    assert winner["lift_expected"] == "+14.5%"
    assert winner["task_completion"] == "77%"
    assert winner["original"] == "65%"


def test_an_interval_without_an_end_is_said_to_have_none():
    _, each = optimizations(material(optimization()), redacted=False).tables
    assert texts(each)[2]["lift"] == "+2.0% (−∞% to +30.3%)"


def test_what_became_of_it_is_said():
    said = {
        "staged": "staged, awaiting approval",
        "testing": "staged, regression test running",
        "rejected": "staged, regression test failed",
        "live": "applied, current version",
        "superseded": "applied, since replaced",
        "rolled_back": "applied, rolled back",
        None: "",
    }
    each = [
        optimization(number, deployment=None if state is None else {"state": state})
        for number, state in enumerate(said, 1)
    ]
    tried, _ = optimizations(material(*each), redacted=False).tables
    # The newest comes first.
    assert [row["deployment"] for row in texts(tried)] == [*said.values()][::-1]


def test_without_a_winner_the_reason_is_said():
    said = {
        ("completed", "futility"): "no winner: stopped early, could no longer win",
        ("completed", "budget"): "no winner within the budget",
        ("completed", "guardrail"): "no winner: sentiment or quality declined",
        ("completed", None): "no winner",
        ("stopped", "stopped"): "stopped by a person",
        ("failed", None): "failed",
        ("running", None): "running",
    }
    each = [
        optimization(
            number,
            status=status,
            results={"winnerSelected": False, "winningVariantId": None, "reason": reason},
        )
        for number, (status, reason) in enumerate(said, 1)
    ]
    sets = [[row | {"isWinner": False} for row in variants(number)] for number in range(1, 1 + len(said))]
    tried, _ = optimizations(material(*each, sets=sets), redacted=False).tables
    assert [row["result"] for row in texts(tried)] == [*said.values()][::-1]


def test_a_rehearsal_is_marked_before_everything_and_at_every_number():
    made = material(optimization(rehearsal=True))
    (notice,) = rehearsal_notice(made)
    assert notice.kind == "warning"
    assert "say nothing about a real prompt" in notice.text
    tried, each = optimizations(made, redacted=False).tables
    assert texts(tried)[0]["mark"] == "rehearsal"
    assert all("rehearsal" in row["mark"] for row in texts(each))
    assert rehearsal_notice(material(optimization())) == ()


def test_a_service_that_reports_no_sample_size_gets_no_interval():
    rows = [
        {"id": "var_10", "name": "Original", "isOriginal": True, "metrics": {"taskCompletion": 60.0}},
        {
            "id": "var_11",
            "name": "New",
            "isOriginal": False,
            "lift": 10.0,
            "metrics": {"taskCompletion": 66.0},
        },
    ]
    results = {"winnerSelected": True, "winningVariantId": "var_11", "lift": 10.0, "confidence": 0.93}
    section = optimizations(material(optimization(results=results), sets=[rows]), redacted=False)
    tried, each = section.tables
    assert texts(tried)[0]["lift"] == "+10.0% (no interval)"
    assert texts(each)[1]["lift"] == "+10.0% (no interval)"
    assert texts(each)[1]["pairs"] == "–"
    assert any("reports no sample size" in words for words in section.paragraphs)


@pytest.mark.usefixtures("draws")
def test_the_newest_come_first_and_the_picture_is_of_the_newest():
    section = optimizations(material(optimization(1), optimization(2)), redacted=False)
    tried, each = section.tables
    assert [row["created_at"] for row in texts(tried)] == ["2 Mar 2026, 10:00", "1 Mar 2026, 10:00"]
    assert [row["optimization"] for row in texts(each)] == ["1"] * 3 + ["2"] * 3
    (figure,) = section.figures
    svg = figure.paint("wide")
    assert "Shorter" in svg
    assert "opt_1" not in svg


def test_warnings_of_the_service_are_passed_on():
    section = optimizations(material(optimization()), redacted=False)
    assert section.points[0] == "No. 1, Shorter: Best of 2 variants."
    assert "No. 1, Kinder: The given rates do not reproduce the lift" in section.points[1]


def test_names_are_redacted():
    sets = [variants(names=("for jo@example.org", "call 0123456789"))]
    section = optimizations(material(optimization(), sets=sets), redacted=True)
    assert [row["variant"] for row in texts(section.tables[1])] == [
        "Original",
        "for [e-mail]",
        "call [number]",
    ]
    assert "example.org" not in section.figures[0].paint("wide")


def test_where_nothing_was_tried_there_is_no_section_and_only_a_service_says_so():
    options = {"window": Window(), "now": NOW, "title": None, "logo": None, "redacted": False, "examples": 0}
    of_table = gather(conversations(9), "p1", Window())
    for made, said in (
        (dataclasses.replace(of_table, optimizations=optimizations_table([])[0]), True),
        (of_table, False),
    ):
        assert optimizations(made, redacted=False) is None
        document = compose(made, **options)
        assert "optimizations" not in [section.name for section in document.sections]
        assert (REPORT["no optimization"] in str(document.sections)) == said


def test_many_are_said_to_be_many():
    many = [optimization(1) | {"id": f"opt_{n}", "createdAt": f"2026-03-01T10:{n:02}:00Z"} for n in range(25)]
    section = optimizations(material(*many, sets=[variants()] * 25), redacted=False)
    assert len(section.tables[0].rows) == MAX_OPTIMIZATIONS
    assert any("The newest 20 of 25 optimizations are shown." in words for words in section.paragraphs)


def test_a_real_optimization_has_the_same_numbers_in_every_format(lift, tmp_path):
    prompt = lift.client.prompts.create(
        name="Tried", content="You help with parcels.", llm_model="gpt-4o-mini"
    )
    lift.optimize(prompt.id, mode="exploratory", variants=2, seed=3, wait=False).wait(timeout=120)
    paths = {}
    for ending in ("html", "xlsx", "md"):
        paths[ending] = report.write(lift, prompt.id, tmp_path / f"r.{ending}", clock=clock)
    assert "Rehearsal" in read_page(paths["html"]).text
    table = lift.variants(prompt_id=prompt.id)
    exact = exact_tables(document_of(lift, prompt.id, clock=clock))["variants"].set_index("variant")
    for row in table.to_dict("records"):
        mine = exact.loc[row["name"]]
        for key, name in (("lift", "lift"), ("task_completion", "task_completion"), ("pairs", "n")):
            assert mine[key] == row[name] or (pd.isna(mine[key]) and pd.isna(row[name]))
    shown, _ = html_tables(paths["html"])
    in_markdown = [[squeezed("".join(row)) for row in rows] for rows in markdown_tables(paths["md"])]
    for name in ("optimizations", "variants"):
        assert [squeezed("".join(row)) for row in shown[name]] in in_markdown
    rows = sheets(paths["xlsx"])["Variants"]
    assert [row[rows[0].index("Lift")] for row in rows[1:]] == [
        None if pd.isna(value) else pytest.approx(value, rel=1e-14) for value in exact["lift"]
    ]
