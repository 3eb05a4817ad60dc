"""Whether content is acceptable, and what is seen from it at once."""

from __future__ import annotations

import json

import pytest

from promptlift.service.actions.logging.entries import accept
from promptlift.service.errors import ApiException


def structured(*messages, **rest):
    return json.dumps({"messages": list(messages), **rest})


def said(role, content="x", **rest):
    return {"role": role, "content": content, **rest}


def refused(content):
    with pytest.raises(ApiException) as caught:
        accept(content)
    return caught.value.status, caught.value.code, caught.value.details


@pytest.mark.parametrize(
    ("content", "line", "label", "pair"),
    [
        ("User: hi\nAgent: hello", 2, "Agent", "User/Assistant"),
        ("User: a\nAssistant: b\n\nCustomer: c\nAgent: d", 4, "Customer", "User/Assistant"),
        ("Human: a\nmore\n  assistant : b", 3, "assistant", "Human/AI"),
        ("Agent: hello\r\nHuman: hi", 2, "Human", "Customer/Agent"),
    ],
)
def test_labels_of_two_pairs_are_refused_with_the_line(content, line, label, pair):
    assert refused(content) == (
        400,
        "VALIDATION_ERROR",
        {
            "content": f"line {line}: the label {label} is not of the pair {pair}, which the previous lines have; use one pair, or send structured content"
        },
    )
    # In structured content it is text.
    assert accept(structured(said("user", content))).messages == 1
