"""Which model names a prompt may be bound to."""

from __future__ import annotations

import pytest

from promptlift.service.llm.served import CATALOGUE, is_known, problem_of


def test_every_name_of_the_catalogue_of_the_endpoint_and_of_a_dated_snapshot_is_valid():
    assert not [name for name in CATALOGUE if problem_of(name) is not None]
    assert problem_of("our-model-7b") is not None
    assert problem_of("our-model-7b", ["our-model-7b"]) is None
    dated = "gpt-4o-2024-11-20 claude-sonnet-4-5-20250929 claude-3-5-sonnet@20240620 gpt-4-0613 gemini-2.0-flash-001"
    assert all(is_known(name) for name in dated.split())
    assert not any(map(is_known, ("gpt-4o-2024", "gpt-9-2024-11-20", "gpt-4o-9999", "gpt-4o-2024-11-20-x")))


def test_a_near_name_is_offered():
    assert problem_of("gpt-44o") == (
        "Unknown model name; did you mean gpt-4o, gpt-4, gpt-5.4? PROMPTLIFT_MODELS adds names of your own"
    )


@pytest.mark.parametrize("name", ["GPT-4o", "gpt-4o ", "<script>", "x" * 200])
def test_another_name_is_a_problem_that_says_what_to_do(name):
    problem = problem_of(name)
    assert problem is not None
    assert problem.startswith("Unknown model name; ")
    assert problem.endswith("PROMPTLIFT_MODELS adds names of your own")
    assert name not in problem.split() or name == "gpt-4o "
