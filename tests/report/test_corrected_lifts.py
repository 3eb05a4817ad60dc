"""The lift of an optimization corrected by labels on its simulated conversations, the same in every format."""

from __future__ import annotations

import numpy as np
import pytest

import promptlift
from promptlift import analysis, report
from support.report_numbers import (
    FORMATS,
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
from support.report_page import clock
from support.reviewed_world import ReviewedWorld

pytestmark = pytest.mark.slow

CELLS = 60
# Names in the report, and those of analysis.corrected_lift.
ESTIMATES = {
    "lift_points_corrected": "lift_points_corrected",
    "task_completion_corrected": "task_completion_corrected",
    "original_corrected": "task_completion_original_corrected",
}
JUDGED = {
    "lift_points": "lift_points",
    "task_completion": "task_completion",
    "original": "task_completion_original",
}


@pytest.fixture
def world(service):
    made = ReviewedWorld.beside(service.data)
    yield made
    made.database.close()


@pytest.fixture
def lift(service, world):
    with promptlift.connect(service.base_url, world.key, progress=False) as opened:
        yield opened


def labelled(lift, optimization, says, *, n=80, seed=0):
    """Label a draw of an optimization; ``says`` answers for the variant and the cell."""
    plan = analysis.simulated_label_plan(lift.optimizations[optimization].simulations(), n=n, seed=seed)
    about = (
        lift.optimizations[optimization].simulations().set_index("simulation_id").loc[plan["conversation_id"]]
    )
    answers = [
        says(not original, int(cell))
        for original, cell in zip(about["is_original"], about["cell"], strict=True)
    ]
    lift.labels.add(plan.assign(value=answers), labeller="ann")


@pytest.fixture
def optimization(world, lift):
    """The judge calls all of the variant completed and none of the original; people say otherwise."""
    made = world.optimization()
    world.talk(made, [f"cell {number}" for number in range(CELLS)])
    labelled(lift, made, lambda variant, cell: cell % 5 > 1 if variant else cell % 2 == 0)
    return made


def written(lift, world, folder, ending, **options):
    return report.write(lift, world.prompt_id, folder / f"r.{ending}", clock=clock, **options)


def tables_of(lift, world, labels):
    return exact_tables(document_of(lift, world.prompt_id, clock=clock, labels=labels))


def test_every_figure_of_the_corrected_lift_is_the_same_in_every_format(lift, world, optimization, tmp_path):
    labels = lift.labels()
    expected = analysis.corrected_lift(lift.optimizations[optimization].simulations(), labels).iloc[0]
    paths = {
        ending: written(lift, world, tmp_path, ending, labels=labels)
        for ending in FORMATS
        if ending != "pdf" or pdf_can_be_written()
    }
    (exact,) = tables_of(lift, world, labels)["corrected_lifts"].to_dict("records")
    title = next(one for one in sheets(paths["xlsx"]) if one.startswith("Lift corrected"))
    _, cells = sheets(paths["xlsx"])[title][:2]
    numbers = {name: expected[column] for name, column in JUDGED.items()}
    for name, column in ESTIMATES.items():
        numbers |= {f"{name}{end}": expected[f"{column}{end}"] for end in ("", "_low", "_high")}
    numbers["n_labels"] = expected["n_labels"] + expected["n_labels_original"]
    assert numbers["n_labels"] == 80
    for name, value in numbers.items():
        assert exact[name] == pytest.approx(value, rel=1e-12)
        assert any(np.isclose(one, value, rtol=1e-12) for one in cells if isinstance(one, int | float)), name
    assert (exact["verdict"], exact["errors"]) == ("not confirmed", "differ by arm")

    (head, row), page = html_tables(paths["html"])[0]["corrected_lifts"], html_tables(paths["html"])[0]
    assert page["corrected_lifts"] in markdown_tables(paths["md"])
    printed = [one for cell in row[2:9] for one in numbers_in(cell)]
    in_order = [value for name, value in exact.items() if name in numbers]
    assert len(printed) == len(in_order) == len(numbers)
    for (shown, half), value in zip(printed, in_order, strict=True):
        assert abs(shown - value) <= half + 1e-12, head
    if "pdf" in paths:
        assert squeezed("".join(row)) in pdf_text(paths["pdf"])


def test_a_winner_that_labels_do_not_confirm_is_marked_in_every_table(lift, world, optimization, tmp_path):
    found = tables_of(lift, world, lift.labels())
    assert found["optimizations"]["mark"].tolist() == ["not confirmed by labels"]
    marks = found["variants"].set_index("variant")["mark"]
    assert marks["Variant 1"] == "winner, not confirmed by labels"
    assert marks["Original"] == "original"


def test_a_winner_that_labels_confirm_is_not_marked(lift, world, tmp_path):
    made = world.optimization()
    world.talk(made, [f"cell {number}" for number in range(CELLS)])
    labelled(lift, made, lambda variant, cell: cell % 4 > 0 if variant else cell % 4 == 0)
    found = tables_of(lift, world, lift.labels())
    assert found["corrected_lifts"]["verdict"].tolist() == ["confirmed"]
    assert found["optimizations"]["mark"].fillna("").tolist() == [""]


def test_too_few_labels_and_labels_of_two_draws_are_refused_in_words(lift, world, optimization, tmp_path):
    few = tables_of(lift, world, lift.labels().head(6))["corrected_lifts"].iloc[0]
    assert few["verdict"] == "not corrected"
    assert np.isnan(few["lift_points_corrected"])
    assert few["lift_points"] == 100.0
    text = written(lift, world, tmp_path, "md", labels=lift.labels().head(6)).read_text()
    assert "Variant 1: not corrected by labels. Too few labels of the variant" in text
    labelled(lift, optimization, lambda _, cell: cell % 2 == 0, n=20, seed=5)
    mixed = tables_of(lift, world, lift.labels())["corrected_lifts"].iloc[0]
    assert mixed["verdict"] == "not corrected"
    text = written(lift, world, tmp_path, "md", labels=lift.labels()).read_text()
    assert "The labels of the variant come from 2 draws" in text


def test_labels_that_do_not_say_what_they_are_of_are_matched_by_conversation(
    lift, world, optimization, tmp_path
):
    other = world.optimization()
    world.talk(other, ["another"])
    labels = lift.labels()[["conversation_id", "question", "value", "chance", "draw_id"]]
    found = tables_of(lift, world, labels)["corrected_lifts"]
    assert found["n_labels"].tolist() == [80]
    assert tables_of(lift, world, lift.labels())["corrected_lifts"].equals(found)
