"""The table of endpoints says of the specification what the specification says of itself."""

from __future__ import annotations

import re

import pytest

from agreement.specification import SPECIFICATION
from promptlift.schema.endpoints import ENDPOINTS
from support.shared_data import SHARED
from support.wire import OFFERED, SPECIFIED

DOCUMENT = SHARED.parent / "spec" / "service-api.md"
_ROW = re.compile(r"\| (GET|POST|PATCH|DELETE) \| (/\S+) \| (.*) \|")

needs_document = pytest.mark.skipif(
    not DOCUMENT.is_file(), reason="the specification (../shared/spec) is not on this machine"
)


def rows():
    """Every row of the endpoint tables in the document: endpoint, and what is said of it."""
    matches = map(_ROW.fullmatch, DOCUMENT.read_text(encoding="utf-8").splitlines())
    return {f"{m[1]} {m[2].replace(':id', '{id}')}": m[3] for m in matches if m is not None}


def row_of(endpoint):
    """The row of our table for an endpoint of the specification."""
    return next(
        row
        for row in ENDPOINTS.values()
        for scheme in row.served_schemes()
        if f"{row.method} {row.path_in(scheme)}" == endpoint
    )


def test_the_table_marks_exactly_the_endpoints_of_the_specification():
    assert sorted(SPECIFIED) == sorted(SPECIFICATION)
    assert not set(OFFERED) & set(SPECIFICATION)


@needs_document
def test_the_list_of_the_specification_is_that_of_the_document():
    assert sorted(rows()) == sorted(SPECIFICATION)


@needs_document
def test_the_status_of_success_is_that_of_the_document():
    for endpoint in SPECIFICATION:
        *_, answer = rows()[endpoint].split(" | ")
        if not endpoint.startswith("POST /agents"):  # the agent scheme shows no answers
            assert row_of(endpoint).status == (201 if answer.startswith("201") else 200)


@needs_document
def test_every_query_parameter_of_the_document_is_in_the_table():
    for endpoint in SPECIFICATION:
        request = rows()[endpoint].split(" | ")[0]
        if not request.startswith("query"):
            continue
        without_values = re.sub(r"\([^)]*\)", "", request)
        named = set(re.findall(r"`(\w+)`", without_values))
        assert named
        query = row_of(endpoint).query
        assert query is not None
        assert named <= {field.alias for field in query.model_fields.values()}


@needs_document
def test_a_body_is_in_the_table_where_the_document_has_one():
    for endpoint in SPECIFICATION:
        request = rows()[endpoint].split(" | ")[0]
        row = row_of(endpoint)
        # The table of benchmarks has no column for requests.
        says_body = re.match(r"(optional )?body|any subset|partial|update|create a benchmark|bulk", request)
        assert (row.body is not None) == bool(says_body)
        if row.body is not None:
            assert row.body_optional == request.startswith("optional body")
