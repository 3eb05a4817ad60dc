from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from promptlift.transcripts import SystemPrompts
from promptlift.transcripts.templates import templates_of

START = datetime(2026, 10, 1, tzinfo=UTC)


def prompts_of(texts, *, apart=timedelta(days=1)):
    prompts = SystemPrompts()
    for number, text in enumerate(texts):
        prompts.add(text, START + number * apart)
    return prompts


def folded(texts, **how):
    return [prompt.text for prompt in prompts_of(texts).folded(**how)]


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


def test_many_texts_that_are_alike_are_one():
    texts = [f"You help customer {number} of ACME." for number in range(300)]
    found = prompts_of([*texts, "Be kind."]).folded()
    assert [(prompt.text, prompt.conversations) for prompt in found] == [
        ("You help customer {{value}} of ACME.", 300),
        ("Be kind.", 1),
    ]


def test_few_that_are_alike_are_versions_unless_dates_or_one_version_say_otherwise():
    wordings = ["Be kind to customers of ACME.", "Be very kind to customers of ACME."]
    assert folded(wordings) == wordings
    assert folded(wordings, one_version=True) == ["Be {{value}}kind to customers of ACME."]
    dates = ["It is 2026-10-01 in Rome. Be kind.", "It is 2026-10-02 in Rome. Be kind."]
    assert folded(dates) == ["It is {{value}} in Rome. Be kind."]


def test_long_texts_are_compared_quickly_enough_to_be_read():
    rules = "".join(f"Rule {number}: be kind to everybody who asks.\n" for number in range(500))
    (found,) = templates_of([f"You help {name}.\n{rules}" for name in ("Anna", "Bob", "Eve")])
    assert found.text == "You help {{value}}.\n" + rules
