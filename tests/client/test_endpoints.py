from __future__ import annotations

import pytest

from promptlift.client.endpoints import ENDPOINTS, encode_id
from promptlift.errors import ValidationError
from promptlift.schema.naming import SCHEMES


@pytest.mark.parametrize(
    ("identifier", "segment"),
    [
        ("a1", "a1"),
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("a?b#c", "a%3Fb%23c"),
        ("a b%2F", "a%20b%252F"),
        ("ü\n", "%C3%BC%0A"),
    ],
)
def test_an_id_stays_one_path_segment(identifier, segment):
    assert encode_id(identifier) == segment


@pytest.mark.parametrize("identifier", ["", None, 7])
def test_a_missing_id_never_becomes_another_endpoint(identifier):
    with pytest.raises(ValidationError, match="An id is needed"):
        ENDPOINTS["prompts.get"].path_for(SCHEMES["prompt"], identifier)


def test_the_scheme_decides_the_segment():
    endpoint = ENDPOINTS["prompts.status"]
    assert endpoint.path_for(SCHEMES["prompt"], "x") == "/prompts/x/status"
    assert endpoint.path_for(SCHEMES["agent"], "x") == "/agents/x/status"


def test_only_what_changes_nothing_the_second_time_or_carries_a_key_may_be_repeated():
    for endpoint in ENDPOINTS.values():
        if endpoint.method == "GET" or endpoint.name in ("conversations.lookup", "conversations.update"):
            assert endpoint.repeat == "always"
        else:
            assert endpoint.repeat == ("keyed" if endpoint.name == "conversations.create" else "never")
