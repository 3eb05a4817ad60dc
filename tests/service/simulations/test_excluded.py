"""Excluded data and topics, and the organization, where scenarios are made."""

from __future__ import annotations

import json
import random

from promptlift.service.insights.organization import Organization
from promptlift.service.simulations.personas import draw, library
from promptlift.service.simulations.scenarios import from_conversation, write_scenarios
from promptlift.service.simulations.tasks import PromptText
from support.scripted_model import ScriptedModel, model_tasks

PROMPT = PromptText("You help.", "gpt-4o", None, None, None)


def test_a_logged_opening_that_holds_excluded_data_is_no_scenario():
    talk = "User: my salary is late, and my mail is a@example.com\nAssistant: Sorry."
    assert from_conversation(talk, None) is not None
    assert from_conversation(talk, None, exclusions="salaries") is None
    assert from_conversation(talk, None, exclusions="e-mail addresses") is None
    other = from_conversation(
        "User: where is it?\nAssistant: Here.", {"topics": ["salary", "parcel"]}, exclusions="salary"
    )
    assert "salary" not in f"{other.title} {other.goal}"


def test_the_model_is_told_and_what_it_writes_all_the_same_is_left_out():
    drafts = [
        {"title": "Salary", "opening": "Where is my pay?", "goal": "Know it."},
        {"title": "Pay", "opening": "What about salaries?", "goal": "Know it."},
        {"title": "Pay", "opening": "When do you pay?", "goal": "Know the salary."},
        {"title": "Parcel", "opening": "Where is my parcel?", "goal": "Know it."},
    ]
    model = ScriptedModel(lambda _: json.dumps({"scenarios": drafts}))
    written = write_scenarios(
        model_tasks(model),
        prompt=PROMPT,
        count=1,
        known=[],
        personas=draw(library(), 2, random.Random(1)),
        seed=1,
        organization=Organization("Parcels", "Be on time", "", "Complaints"),
        exclusions="salaries",
    )
    assert [one.title for one in written] == ["Parcel"]
    (asked,) = model.asked
    assert '"industry": "Parcels"' in asked.last
    assert "Complaints" in asked.last
    assert '{"kind": "excluded", "text": "salaries"}' in asked.last
    assert "salaries" not in asked.system
