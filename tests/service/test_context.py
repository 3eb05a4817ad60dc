"""Which model names are valid, and when the endpoint is asked for its own."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from promptlift.service.call import AppContext
from promptlift.service.errors import ApiException
from promptlift.service.llm.served import ServedModels
from promptlift.service.settings import ServiceSettings


@pytest.fixture
def asked():
    return []


@pytest.fixture
def parts(asked, tmp_path):
    def read():
        asked.append(1)
        return ["served-7b"]

    nobody = cast("Any", None)
    settings = ServiceSettings(data=tmp_path, models=("ours",))
    return AppContext(settings, nobody, nobody, nobody, nobody, nobody, nobody, ServedModels(read))


def check(parts, name):
    """What is wrong with a name; ``None`` when it is valid."""
    try:
        asyncio.run(parts.check_model(name))
    except ApiException as refusal:
        return refusal.details["llmModel"]
    return None


@pytest.mark.parametrize("wanted", ["gpt-4o", "ours"])
def test_the_endpoint_is_not_asked_for_a_name_that_is_known_anyway(parts, asked, wanted):
    assert check(parts, wanted) is None
    assert asked == []


def test_what_the_endpoint_serves_is_valid_and_near_names_of_it_are_offered(parts, asked):
    assert check(parts, "served-7b") is None
    assert "did you mean served-7b?" in check(parts, "served-7")
    assert asked == [1]


def test_a_dead_endpoint_leaves_the_other_names_and_the_answer_says_why(parts):
    def fail():
        raise ConnectionError("nobody there.")

    parts.served = ServedModels(fail)
    assert check(parts, "ours") is None
    problem = check(parts, "served-7b")
    assert "could not be read just now (nobody there); if it serves this one, try again" in problem
    assert "PROMPTLIFT_MODELS" in problem


def test_without_an_endpoint_there_are_the_operators_names(parts):
    parts.served = None
    assert check(parts, "ours") is None
    assert "could not be read" not in check(parts, "served-7b")
