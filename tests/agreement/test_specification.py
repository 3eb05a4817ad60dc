"""The table of endpoints says of the specification what the specification says of itself."""

from __future__ import annotations

import re
from pathlib import Path

from promptlift.schema.endpoints import ENDPOINTS
from support.wire import SPECIFIED

STATEMENTS = Path(__file__).with_name("statements.txt")
_ROW = re.compile(r"\| (GET|POST|PATCH|DELETE) \| (/\S+) \| (.*) \|")


def rows():
    """Every row of the endpoint tables of the document: endpoint, and what is said of it."""
    matches = map(_ROW.fullmatch, STATEMENTS.read_text(encoding="utf-8").splitlines())
    return {f"{m[1]} {m[2].replace(':id', '{id}')}": m[3] for m in matches if m is not None}


def test_the_list_of_the_specification_is_that_of_the_document():
    assert sorted(rows()) == sorted(SPECIFIED)


def test_the_status_of_success_is_that_of_the_document():
    status = {
        f"{row.method} {row.path_in(scheme)}": row.status
        for row in ENDPOINTS.values()
        for scheme in row.served_schemes()
    }
    for endpoint, said in rows().items():
        if not endpoint.startswith("POST /agents"):  # the agent scheme shows no answers
            assert status[endpoint] == (201 if said.split(" | ")[-1].startswith("201") else 200)
