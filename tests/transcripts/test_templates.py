from __future__ import annotations

import pytest

from promptlift.transcripts.templates import templates_of


@pytest.mark.parametrize(
    ("texts", "template"),
    [
        (
            ["You help Anna Smith of ACME.", "You help Bob Jones of ACME.", "You help Eve of ACME."],
            "You help {{value}} of ACME.",
        ),
        (
            ["You help Anna. Her plan is pro today.", "You help Bob. Her plan is free today."],
            "You help {{value_1}}. Her plan is {{value_2}} today.",
        ),
        (
            ["Today is 2026-10-01. Be kind.", "Today is 2026-10-12. Be kind."],
            "Today is {{value}}. Be kind.",
        ),
    ],
)
def test_values_that_differ_become_placeholders(texts, template):
    (found,) = templates_of(texts)
    assert found.text == template
    assert all(found.matches(text) for text in texts)
    assert not found.matches("Something else.")
