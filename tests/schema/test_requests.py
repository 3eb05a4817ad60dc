"""What bodies take and need; service/bad_input refuses by HTTP whatever does not fit their schemas."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from promptlift.schema import limits
from promptlift.schema.conversations import in_requests
from promptlift.schema.optimizations import SEED_MAX, OptimizationCreate
from promptlift.schema.prompts import PromptCreate

PROMPT = {"name": "n", "content": "c", "llmModel": "gpt-4o"}


def problems(model, body):
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    return {".".join(map(str, error["loc"])) for error in caught.value.errors()}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.01),
        ("temperature", 2.01),
        ("temperature", float("nan")),
        ("temperature", "1"),
        ("maxTokens", 0),
        ("maxTokens", 1.5),
        ("maxTokens", "5"),
        ("content", "é" * (limits.PROMPT_CONTENT_BYTES // 2 + 1)),
        ("content", "\ud800"),
    ],
)
def test_a_value_of_a_prompt_outside_its_bounds_is_refused(name, value):
    assert problems(PromptCreate, {**PROMPT, name: value}) == {name}


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


def test_an_optimization_has_one_to_five_variants():
    for count in (0, 6, "3", 2.5, True):
        assert problems(OptimizationCreate, {"variantCount": count}) == {"variantCount"}
    body = {"promptId": "p", "variantCount": 5, "seed": SEED_MAX}
    assert OptimizationCreate.model_validate(body).to_wire() == body


def test_conversations_are_sent_in_order_in_bodies_within_the_limits():
    half = limits.BULK_BODY_BYTES // 2
    for sizes in ([1] * (limits.BULK_ROWS + 1), [half - 1, 1, 1, half + 1, half]):
        groups = [list(some) for some in in_requests(sizes, int)]
        assert [one for some in groups for one in some] == sizes
        assert all(len(some) <= limits.BULK_ROWS for some in groups)
        assert all(sum(some) <= half or len(some) == 1 for some in groups)
    assert [len(some) for some in groups] == [2, 1, 1, 1]
