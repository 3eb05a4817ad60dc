"""Both naming schemes in one table."""

from __future__ import annotations

import pytest

from promptlift.schema.naming import SCHEMES, scheme_of


@pytest.mark.parametrize(
    ("name", "noun", "segment", "link"),
    [("prompt", "Prompt", "prompts", "promptId"), ("agent", "Agent", "agents", "agentId")],
)
def test_a_scheme_has_the_words_of_the_specification(name, noun, segment, link):
    scheme = scheme_of(name)
    assert (scheme.name, scheme.noun, scheme.segment, scheme.link) == (name, noun, segment, link)


def test_there_are_exactly_two_schemes():
    assert list(SCHEMES) == ["prompt", "agent"]
