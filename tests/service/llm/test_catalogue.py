"""Which model names a prompt may be bound to."""

from __future__ import annotations

from promptlift.service.llm.served import CATALOGUE, is_known, problem_of


def test_every_name_of_the_catalogue_of_the_endpoint_and_of_a_dated_snapshot_is_valid():
    assert not [name for name in CATALOGUE if problem_of(name) is not None]
    assert problem_of("our-model-7b") is not None
    assert problem_of("our-model-7b", ["our-model-7b"]) is None
    dated = "gpt-4o-2024-11-20 claude-sonnet-4-5-20250929 claude-3-5-sonnet@20240620 gpt-4-0613 gemini-2.0-flash-001"
    assert all(is_known(name) for name in dated.split())
    assert not any(map(is_known, ("gpt-4o-2024", "gpt-9-2024-11-20", "gpt-4o-9999", "gpt-4o-2024-11-20-x")))
