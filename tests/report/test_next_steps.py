"""What follows from the numbers, as far as their basis allows it."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from promptlift.report.compose import compose
from promptlift.report.gather import gather
from promptlift.report.period import Window
from promptlift.schema.basis import UNTOLD, WAYS
from support.report_numbers import document_of
from support.report_page import NOW, clock, conversations


def two_models(basis="outcome", **columns):
    """Conversations of two models, of which one fails more often; names of customers are metadata."""
    parts = []
    for model, completed in (("strong", 150), ("weak", 60)):
        part = conversations(220, prompt_id="p1").query("status == 'completed'").head(200).copy()
        part["conversation_id"] = model + part["conversation_id"]
        part["task_completed"] = pd.array([place < completed for place in range(200)], dtype="boolean")
        part["metadata.customer"] = f"Jo {model}"
        parts.append(part.assign(llm_model=model, **columns))
    table = pd.concat(parts, ignore_index=True)
    table.attrs["promptlift"] = conversations(1).attrs["promptlift"] | {"basis": basis}
    return table.assign(basis=basis)


def sections(made):
    return {section.name: section for section in made.sections}


def made_of(table, **options):
    return document_of(table, "p1", clock=clock, examples=0, **options)


def test_outcomes_tell_where_it_fails_and_what_to_do_next():
    found = sections(made_of(two_models()))
    assert found["segments"].points[0].startswith("model weak completes 45 points less than the rest")
    # The same number in users would be in every line.
    assert not any("of 100 users" in point for point in found["segments"].points)
    read, avoid = found["next"].points
    assert "“Where it fails”" in read
    assert "failed. lift.optimize('p1') tests texts" in avoid
    assert [*found].index("next") < [*found].index("completion") < [*found].index("segments")


def test_of_several_prompts_the_one_to_optimize_is_the_one_that_fails():
    table = two_models()
    table["prompt_id"] = table["llm_model"].map({"strong": "good", "weak": "bad"})
    points = sections(document_of(table, ["good", "bad"], clock=clock, examples=0))["next"].points
    assert any("lift.optimize('bad') tests texts" in point for point in points)


def test_a_redacted_report_names_no_customer():
    assert "Jo weak" not in str(made_of(two_models(), redacted=True))


def test_a_model_that_nothing_proves_gets_a_note_and_labels_are_the_next_step():
    made = made_of(two_models("model"))
    (note,) = made.notices
    assert (note.kind, "50 labels" in note.text) == ("note", True)
    assert "segments" not in sections(made)
    assert sections(made)["next"].points[0].startswith("Label at least 50 conversations")


def test_a_word_list_gets_a_warning_and_the_next_step_is_a_better_basis():
    made = made_of(two_models("words"))
    assert [notice.kind for notice in made.notices] == ["warning"]
    assert made.answer == (f"Whether tasks were completed {UNTOLD}.",)
    assert made.headlines[0].numbers[0].label == "Completed their task, as a word list sees it"
    assert made_of(two_models("model")).headlines[0].numbers[0].label == "Completed their task"
    assert "segments" not in sections(made)
    assert sections(made)["next"].points == WAYS


@pytest.mark.usefixtures("draws")
def test_prompts_that_have_no_text_in_common_are_not_compared():
    table = pd.concat([two_models(), two_models().assign(prompt_id="p2", task_completed=True)])
    material = gather(table, ["p1", "p2"], Window())
    texts = {"p1": "You help the customers of an airline with their bookings.", "p2": "Write a poem."}
    known = {name: prompt | {"content": texts[name]} for name, prompt in material.prompts.items()}

    def made(prompts):
        return compose(dataclasses.replace(material, prompts=prompts), window=Window(), now=NOW, examples=0)

    said = "p1 and p2 have no text in common: their numbers are side by side, not compared."
    apart = made(known)
    assert apart.answer == (said,)
    assert "differences" not in sections(apart)
    assert "more often" not in sections(apart)["completion"].figures[0].paint("wide")
    alike = made({name: prompt | {"content": f"{texts['p1']} {name}"} for name, prompt in known.items()})
    assert said not in alike.answer
    assert "differences" in sections(alike)
    assert "more often" in sections(alike)["completion"].figures[0].paint("wide")
