"""What a report says about optimizations: what was tried, how sure it is, what was edited, and what became of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import promptlift
from promptlift import analysis
from promptlift.frames import edits_table, optimizations_table
from promptlift.frames.variants import variants_table
from promptlift.report.gather import gather
from promptlift.report.period import Window
from promptlift.report.sections.optimizations import optimizations, rehearsal_notice
from support.report_numbers import document_of, exact_tables, texts_of
from support.report_page import clock, conversations
from support.reviewed_world import ReviewedWorld
from support.searched_service import TEXTS, SearchedService, candidates, edits

PAIRS = {"n": 150, "n11": 84, "n10": 31, "n01": 14, "n00": 21, "dropped": 2}


def optimization(number=1, **more):
    results = {
        "winnerSelected": True, "winningVariantId": f"var_{number}1", "lift": 17.346939, "liftLow": 5.76, "liftHigh": 30.3,
        "liftExpected": 14.5, "confidence": 0.9198, "confidenceNeeded": 0.9, "pairs": PAIRS, "trace": [0.5, 0.9198],
        "reason": "threshold",
    }  # fmt: skip
    return {
        "id": f"opt_{number}", "promptId": "p1", "status": "completed", "mode": "validation", "variantCount": 2,
        "createdAt": f"2026-03-0{number}T10:00:00Z", "rehearsal": False, "results": results, **more,
    }  # fmt: skip


def variants(number=1, names=("Shorter", "Kinder")):
    def variant(place, name, **more):
        return {
            "id": f"var_{number}{place}", "number": place, "name": name, "isOriginal": False, "stage": "confirm",
            "metrics": {"taskCompletion": 76.7, "sentiment": 0.3, "quality": 70}, "originalTaskCompletion": 65.3,
            "lift": 17.346939, "liftLow": 5.76, "liftHigh": 30.3, "liftExpected": 14.5, "intervalLevel": 0.9,
            "confidence": 0.9198, "pairs": PAIRS, "isWinner": True, "warnings": ["Best of 2 variants."], **more,
        }  # fmt: skip

    original = {
        "id": f"var_{number}0",
        "number": 0,
        "name": "Original",
        "isOriginal": True,
        "stage": "confirm",
    }
    original |= {"metrics": {"taskCompletion": 65.3}, "pairs": PAIRS}
    screened = {
        "stage": "screen", "lift": 2.0, "liftLow": None, "confidence": None, "pairs": PAIRS | {"n": 15}, "isWinner": False,
        "warnings": [],
    }  # fmt: skip
    return [original, variant(1, names[0]), variant(2, names[1], **screened)]


def material(*tried, sets=None, **more):
    sets = sets or [variants(n) for n in range(1, 1 + len(tried))]
    items = [
        {"id": one["id"], "optimization": one, "variants": rows}
        for one, rows in zip(tried, sets, strict=True)
    ]
    frame, _, about = variants_table(items)
    frame.attrs["promptlift"] = {"table": "variants", **about}
    newest = optimizations_table(list(tried))[0].sort_values("created_at", ascending=False, kind="stable")
    made = gather(conversations(30), "p1", Window())
    return dataclasses.replace(
        made, optimizations=newest, variants=frame, edits=edits_table(items)[0], **more
    )


def tables_of(made, *, redacted=False):
    return {table.name: texts_of(table) for table in optimizations(made, redacted=redacted).tables}


def test_a_winner_is_named_with_its_lift_interval_and_confidence():
    found = tables_of(material(optimization()))
    (row,) = found["optimizations"]
    told = {
        "result": "winner: Shorter",
        "lift": "+17.3% (+5.8% to +30.3%)",
        "confidence": "0.919",
        "pairs": "150",
    }
    assert told.items() <= row.items()
    _, winner, other = found["variants"]
    assert [row["mark"] for row in found["variants"]] == ["original", "winner", ""]
    assert {"lift_expected": "+14.5%", "task_completion": "77%", "original": "65%"}.items() <= winner.items()
    # An interval without an end.
    assert other["lift"] == "+2.0% (−∞% to +30.3%)"
    points = optimizations(material(optimization()), redacted=False).points
    assert points[0] == "No. 1, Shorter: Best of 2 variants."
    assert "No. 1, Kinder: The given rates do not reproduce the lift" in points[1]


def test_deployments_and_reasons_are_words_and_the_newest_come_first():
    states = {
        "staged": "staged, awaiting approval",
        "testing": "staged, regression test running",
        "rejected": "staged, regression test failed",
        "live": "applied, current version",
        "superseded": "applied, since replaced",
        "rolled_back": "applied, rolled back",
        None: "",
    }
    reasons = {
        ("completed", "futility"): "no winner: stopped early, could no longer win",
        ("completed", "budget"): "no winner within the budget",
        ("completed", "guardrail"): "no winner: sentiment or quality declined",
        ("completed", None): "no winner",
        ("stopped", "stopped"): "stopped by a person",
        ("failed", None): "failed",
        ("running", None): "running",
    }
    tried = [
        optimization(
            number, status=status, deployment=state and {"state": state},
            results={"winnerSelected": False, "winningVariantId": None, "reason": reason},
        )
        for number, (state, (status, reason)) in enumerate(zip(states, reasons, strict=True), 1)
    ]  # fmt: skip
    sets = [[row | {"isWinner": False} for row in variants(number)] for number in range(1, 1 + len(tried))]
    rows = tables_of(material(*tried, sets=sets))["optimizations"][::-1]
    assert [row["deployment"] for row in rows] == [*states.values()]
    assert [row["result"] for row in rows] == [*reasons.values()]
    assert rows[0]["created_at"] == "1 Mar 2026, 10:00"


def test_a_rehearsal_is_marked_before_everything_and_at_every_number():
    made = material(optimization(rehearsal=True))
    (notice,) = rehearsal_notice(made)
    assert notice.kind == "warning"
    assert "say nothing about a real prompt" in notice.text
    assert all("rehearsal" in row["mark"] for rows in tables_of(made).values() for row in rows)
    assert rehearsal_notice(material(optimization())) == ()


@pytest.mark.usefixtures("draws")
def test_the_figure_is_of_the_newest_and_names_are_redacted():
    made = material(
        optimization(1), optimization(2), sets=[variants(), variants(2, ("for jo@example.org", "Last"))]
    )
    section = optimizations(made, redacted=True)
    names = [row["variant"] for row in texts_of(section.tables[1])]
    assert names == ["Original", "for [e-mail]", "Last", "Original", "Shorter", "Kinder"]
    svg = section.figures[0].paint("wide")
    assert "Last" in svg
    assert "Shorter" not in svg
    assert "example.org" not in svg


def searched(**changed):
    service = SearchedService(**changed)
    return material(service.optimizations[0] | {"id": "o00001"}, sets=[service.variants])


def test_the_edits_of_a_winner_have_symptom_and_evidence():
    made = searched()
    rows = tables_of(made)["edits"]
    assert [row["symptom"] for row in rows] == [
        "Requests are declined and nothing is offered",
        "People are asked for what they said already",
        "Answers are too long to be read",
    ]
    assert rows[0]["change"] == f"added: {TEXTS['e1']}"
    assert rows[2]["change"] == f"replaced: Answer in {{language}}. → {TEXTS['e3']}"
    assert rows[0]["evidence"].startswith("2 places: “I am afraid that this is not possible.”")
    assert (rows[0]["won"], rows[0]["lost"], rows[1]["generation"]) == ("9", "2", "2")
    assert any("no part of its lift" in words for words in optimizations(made, redacted=False).paragraphs)
    assert "edits" not in tables_of(material(optimization()))


def test_the_edits_of_a_redacted_report_have_no_words_of_conversations():
    made = edits()
    made["e1"]["symptom"] = "The assistant says I am afraid that this is not possible"
    made["e4"]["symptom"] = "jo@example.org is asked again"
    rows = tables_of(searched(variants=candidates(made=made)), redacted=True)["edits"]
    assert [row["evidence"] for row in rows] == ["2 places"] * 3
    assert "withheld" in rows[0]["symptom"]
    assert rows[1]["symptom"] == "[e-mail] is asked again"


@pytest.mark.slow
class TestCorrectedByLabels:
    """The judge calls every conversation of the variant completed and none of the original."""

    CELLS = 60

    @pytest.fixture
    def world(self, service):
        made = ReviewedWorld.beside(service.data)
        yield made
        made.database.close()

    @pytest.fixture
    def lift(self, service, world):
        with promptlift.connect(service.base_url, world.key, progress=False) as opened:
            yield opened

    def tried(self, lift, world, says):
        """An optimization with 80 labels; ``says`` is the label of the variant or the original in a cell."""
        made = world.optimization()
        world.talk(made, [f"cell {number}" for number in range(self.CELLS)])
        self.labelled(lift, made, says)
        return made

    def labelled(self, lift, made, says, *, n=80, seed=0):
        simulations = lift.optimizations[made].simulations()
        plan = analysis.label_plan(simulations, n=n, seed=seed)
        about = simulations.set_index("simulation_id").loc[plan["conversation_id"]]
        arms = zip(about["is_original"], about["cell"], strict=True)
        values = [says(not original, int(cell)) for original, cell in arms]
        lift.labels.add(plan.assign(value=values), labeller="ann")

    def found(self, lift, world, labels):
        document = document_of(lift, world.prompt_id, clock=clock, labels=labels)
        return exact_tables(document), str(document.sections)

    def test_a_lift_that_labels_do_not_confirm_has_their_numbers_and_a_mark(self, lift, world):
        made = self.tried(lift, world, lambda variant, cell: cell % 5 > 1 if variant else cell % 2 == 0)
        expected = analysis.corrected_lift(lift.optimizations[made].simulations(), lift.labels()).iloc[0]
        found, _ = self.found(lift, world, lift.labels())
        (row,) = found["corrected_lifts"].to_dict("records")
        names = {
            "original": "task_completion_original",
            "original_corrected": "task_completion_original_corrected",
        }
        for column in ("lift_points", "task_completion", "original"):
            assert row[column] == pytest.approx(expected[names.get(column, column)], rel=1e-12)
            for end in ("", "_low", "_high"):
                corrected = names.get(f"{column}_corrected", f"{column}_corrected")
                assert row[f"{column}_corrected{end}"] == pytest.approx(
                    expected[f"{corrected}{end}"], rel=1e-12
                )
        assert (row["n_labels"], row["verdict"], row["errors"]) == (80, "not confirmed", "differ by arm")
        assert found["optimizations"]["mark"].tolist() == ["not confirmed by labels"]
        marks = found["variants"].set_index("variant")["mark"]
        assert marks["Variant 1"] == "winner, not confirmed by labels"
        assert marks["Original"] == "original"
        # Labels that do not say what they are of are matched by conversation.
        bare = lift.labels()[["conversation_id", "question", "value", "chance", "draw_id"]]
        assert self.found(lift, world, bare)[0]["corrected_lifts"].equals(found["corrected_lifts"])

    def test_a_lift_that_labels_confirm_is_not_marked(self, lift, world):
        self.tried(lift, world, lambda variant, cell: cell % 4 > 0 if variant else cell % 4 == 0)
        found, _ = self.found(lift, world, lift.labels())
        assert found["corrected_lifts"]["verdict"].tolist() == ["confirmed"]
        assert found["optimizations"]["mark"].fillna("").tolist() == [""]

    def test_too_few_labels_and_labels_of_two_draws_are_refused(self, lift, world):
        made = self.tried(lift, world, lambda variant, cell: cell % 5 > 1 if variant else cell % 2 == 0)
        found, text = self.found(lift, world, lift.labels().head(6))
        few = found["corrected_lifts"].iloc[0]
        assert (few["verdict"], few["lift_points"]) == ("not corrected", 100.0)
        assert np.isnan(few["lift_points_corrected"])
        assert "Variant 1: not corrected by labels. Too few labels of the variant" in text
        self.labelled(lift, made, lambda _, cell: cell % 2 == 0, n=20, seed=5)
        assert "The labels of the variant come from 2 draws" in self.found(lift, world, lift.labels())[1]


def test_a_real_optimization_has_the_numbers_of_its_variants(lift):
    prompt = lift.client.prompts.create(
        name="Tried", content="You help with parcels.", llm_model="gpt-4o-mini"
    )
    lift.optimize(prompt.id, mode="exploratory", variants=2, seed=3, wait=False).wait(timeout=120)
    document = document_of(lift, prompt.id, clock=clock)
    assert any("rehearsal" in notice.text for notice in document.notices)
    exact = exact_tables(document)["variants"].set_index("variant")
    for row in lift.variants(prompt_id=prompt.id).to_dict("records"):
        for key, name in (("lift", "lift"), ("task_completion", "task_completion"), ("pairs", "n")):
            mine = exact.loc[row["name"], key]
            assert mine == row[name] or (pd.isna(mine) and pd.isna(row[name]))
