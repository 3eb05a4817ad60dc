"""What bodies take and need; service/bad_input refuses by HTTP whatever does not fit their schemas."""

from __future__ import annotations

import pytest

from promptlift.schema import limits
from promptlift.schema.conversations import in_requests
from promptlift.schema.prompts import PromptCreate

PROMPT = {"name": "n", "content": "c", "llmModel": "gpt-4o"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content", "é" * (limits.PROMPT_CONTENT_BYTES // 2)),
        ("tags", ["x" * limits.TAG_CHARS] * limits.TAGS),
        ("temperature", 0),
        ("temperature", 2),
        ("maxTokens", 1),
        ("maxTokens", limits.MAX_TOKENS_MAX),
    ],
)
def test_a_value_of_a_prompt_at_its_bound_is_taken(name, value):
    assert PromptCreate.model_validate({**PROMPT, name: value}).to_wire()[name] == value


def test_conversations_are_sent_in_order_in_bodies_within_the_limits():
    half = limits.BULK_BODY_BYTES // 2
    for sizes in ([1] * (limits.BULK_ROWS + 1), [half - 1, 1, 1, half + 1, half]):
        groups = [list(some) for some in in_requests(sizes, int)]
        assert [one for some in groups for one in some] == sizes
        assert all(len(some) <= limits.BULK_ROWS for some in groups)
        assert all(sum(some) <= half or len(some) == 1 for some in groups)
    assert [len(some) for some in groups] == [2, 1, 1, 1]
