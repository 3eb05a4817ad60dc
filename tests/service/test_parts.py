"""Which model names are valid, and when the endpoint is asked for its own."""

from __future__ import annotations

from typing import Any, cast

import pytest

from promptlift.service.parts import Parts
from promptlift.service.settings import ServiceSettings


@pytest.fixture
def asked():
    return []


@pytest.fixture
def parts(asked, tmp_path):
    def list_models():
        asked.append(1)
        return ["served-7b"]

    nobody = cast("Any", None)
    settings = ServiceSettings(data=tmp_path, models=("ours",))
    return Parts(settings, nobody, nobody, nobody, nobody, nobody, list_models)


@pytest.mark.parametrize("wanted", ["gpt-4o", "ours"])
def test_the_endpoint_is_not_asked_for_a_name_that_is_known_anyway(parts, asked, wanted):
    assert parts.model_names(wanted) == ("ours",)
    assert asked == []


def test_the_endpoint_is_asked_once_a_minute_for_other_names(parts, asked):
    assert parts.model_names("served-7b") == ("ours", "served-7b")
    assert parts.model_names("another") == ("ours", "served-7b")
    assert asked == [1]


def test_a_dead_endpoint_leaves_the_other_names(parts, asked, caplog):
    def fail():
        asked.append(1)
        raise ConnectionError("nobody there")

    parts.list_models = fail
    assert parts.model_names("served-7b") == ("ours",)
    assert parts.model_names("served-7b") == ("ours",)
    assert asked == [1]
    assert "does not list its models: nobody there" in caplog.text


def test_without_an_endpoint_there_are_the_operators_names(parts):
    parts.list_models = None
    assert parts.model_names("served-7b") == ("ours",)
