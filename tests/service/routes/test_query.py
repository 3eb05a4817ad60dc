"""Query parameters: read one by one, and all that is wrong is said at once."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from promptlift.service.errors import ApiException
from promptlift.service.routes.http import Query


def query_of(text):
    return Query(Request({"type": "http", "query_string": text.encode(), "headers": []}))


def problems(query):
    with pytest.raises(ApiException) as caught:
        query.check()
    assert caught.value.code == "VALIDATION_ERROR"
    return caught.value.details


def test_without_parameters_there_are_defaults_and_no_problem():
    query = query_of("")
    assert query.page(20) == (20, 0)
    assert query.text("promptId") is None
    assert query.words("tags", 5) == []
    assert query.choice("status", ("a", "b")) is None
    assert query.choice("days", ("7", "30"), "30") == "30"
    assert query.flag("hasInsights") is None
    assert query.flag("includeInsights", default=True) is True
    query.check()


@pytest.mark.parametrize(("limit", "offset"), [(1, 0), (100, 0), (50, 2**53)])
def test_a_page_within_the_bounds_is_taken(limit, offset):
    query = query_of(f"limit={limit}&offset={offset}")
    assert query.page(20) == (limit, offset)
    query.check()


@pytest.mark.parametrize(
    "limit", ["0", "101", "-1", "1.5", "ten", "", " 5", "+5", "1e1", "٥", "9" * 5000, "0x10", "1_0", "NaN"]
)
def test_a_limit_outside_its_range_is_a_problem(limit):
    query = query_of("")
    query._values = {"limit": limit}
    query.page(20)
    assert problems(query) == {"limit": "must be a whole number from 1 to 100"}


@pytest.mark.parametrize("offset", ["-1", "1.5", "x", "", "9007199254740993", "9" * 400])
def test_an_offset_outside_its_range_is_a_problem(offset):
    query = query_of(f"offset={offset}")
    query.page(20)
    assert problems(query) == {"offset": f"must be a whole number from 0 to {2**53}"}


def test_all_problems_are_said_at_once():
    query = query_of("limit=0&offset=-1&status=c&hasInsights=1&promptId=%00")
    query.page(20)
    query.choice("status", ("a", "b"))
    query.flag("hasInsights")
    query.text("promptId")
    assert problems(query) == {
        "limit": "must be a whole number from 1 to 100",
        "offset": f"must be a whole number from 0 to {2**53}",
        "status": "must be one of a, b",
        "hasInsights": "must be true or false",
        "promptId": "must not contain a NUL character",
    }


@pytest.mark.parametrize("value", ["True", "TRUE", "1", "yes", "", "truefalse"])
def test_a_flag_is_true_or_false_and_nothing_else(value):
    query = query_of(f"flag={value}")
    query.flag("flag")
    assert problems(query) == {"flag": "must be true or false"}


def test_words_are_between_commas_and_each_counts_once():
    query = query_of("tags=a,%20b%20,,a,c%20d")
    assert query.words("tags", 3) == ["a", "b", "c d"]
    query.check()


def test_too_many_words_and_too_long_texts_are_problems():
    query = query_of("tags=a,b,c&promptId=" + "x" * 10_001)
    query.words("tags", 2)
    query.text("promptId")
    assert problems(query) == {
        "tags": "must have at most 2 entries",
        "promptId": "must have at most 10000 characters",
    }
