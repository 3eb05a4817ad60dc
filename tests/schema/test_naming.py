"""Both naming schemes in one table."""

from __future__ import annotations

import pytest

from promptlift.schema.insights import PromptInsightsView, StepFailures
from promptlift.schema.naming import SCHEMES, link_of, scheme_of
from promptlift.schema.optimizations import Optimization


@pytest.mark.parametrize(
    ("name", "noun", "segment", "link"),
    [("prompt", "Prompt", "prompts", "promptId"), ("agent", "Agent", "agents", "agentId")],
)
def test_a_scheme_has_the_words_of_the_specification(name, noun, segment, link):
    scheme = scheme_of(name)
    assert (scheme.name, scheme.noun, scheme.segment, scheme.link) == (name, noun, segment, link)


def test_there_are_exactly_two_schemes():
    assert list(SCHEMES) == ["prompt", "agent"]


@pytest.mark.parametrize("name", ["", "Prompt", "bot"])
def test_another_scheme_is_refused_and_the_message_names_the_two(name):
    with pytest.raises(ValueError, match="'prompt' or 'agent'"):
        scheme_of(name)


def test_a_link_is_found_under_either_name():
    assert link_of({"promptId": "a"}) == "a"
    assert link_of({"agentId": "b"}) == "b"
    assert link_of({"promptId": None, "agentId": "b"}) == "b"
    assert link_of({"id": "x"}) is None


@pytest.mark.parametrize("link", ["promptId", "agentId"])
def test_what_belongs_to_a_prompt_has_its_id_under_either_name(link):
    view = {
        link: "p",
        "period": {"days": 30, "from": "2026-01-01T00:00:00Z", "to": "2026-01-31T00:00:00Z"},
        "summary": {
            "totalConversations": 0,
            "completedConversations": 0,
            "abandonedConversations": 0,
            "completionRate": None,
        },
        "metrics": {
            "taskCompletion": {"rate": None, "trend": None},
            "sentiment": {"average": None, "distribution": {"positive": 0, "neutral": 0, "negative": 0}},
        },
    }
    assert PromptInsightsView.from_wire(view).prompt_id == "p"
    assert StepFailures.from_wire({link: "p"}).prompt_id == "p"
    assert Optimization.from_wire({"id": "o", "status": "running", link: "p"}).prompt_id == "p"
