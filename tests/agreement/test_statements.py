"""Every row, bound, state and sentence of the specification has a test that proves it: see statements.txt."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from support.shared_data import SHARED

TESTS = Path(__file__).parent.parent
TABLE = Path(__file__).with_name("statements.txt")
DOCUMENT = SHARED.parent / "spec" / "service-api.md"
WAITING = "waiting"


def statements(text):
    """Every statement of the table in order: its section, its words, and the tests that prove it."""
    found = []
    section = ""
    for line in text.partition("\n\n")[2].splitlines():
        if line.startswith("# "):
            section = line[2:]
        elif line.startswith("    "):
            found[-1][2].append(line.strip())
        elif line:
            found.append((section, line, []))
    return found


def said_in(document):
    """Every row below the head of a table, and every sentence, of a Markdown document, with its section."""
    found = []
    section, in_table = "", False
    for line in document.splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        elif not line.startswith("|"):
            in_table = False
            text = re.sub(r"^(\d+\.|-) ", "", line.strip())
            found += [(section, part) for part in re.split(r"(?<=\.) (?=[A-Z`])", text) if part]
        elif not in_table:
            in_table = True
        elif not re.fullmatch(r"\|[-| ]+\|", line):
            found.append((section, line.strip()))
    return found


STATEMENTS = statements(TABLE.read_text(encoding="utf-8"))


def unproven(table):
    """The statements that no test proves."""
    return [words for _, words, proofs in table if not proofs]


@cache
def functions(file):
    """The names of the functions of a test module."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def missing(table):
    """The tests that are named and do not exist."""
    named = {proof for _, _, proofs in table for proof in proofs if proof != WAITING}
    return sorted(
        name
        for name in named
        if not (TESTS / name.partition("::")[0]).is_file()
        or not name.partition("::")[2].startswith("test_")
        or name.partition("::")[2] not in functions(name.partition("::")[0])
    )


def test_every_statement_has_a_test():
    assert len(STATEMENTS) > 250
    assert unproven(STATEMENTS) == []


def test_every_test_that_is_named_exists():
    assert missing(STATEMENTS) == []


def test_no_statement_waits_for_a_part_that_is_not_finished():
    assert [words for _, words, proofs in STATEMENTS if WAITING in proofs] == []


@pytest.mark.skipif(
    not DOCUMENT.is_file(), reason="the specification (../shared/spec) is not on this machine"
)
def test_the_statements_are_those_of_the_document_word_by_word():
    assert [(section, words) for section, words, _ in STATEMENTS] == said_in(
        DOCUMENT.read_text(encoding="utf-8")
    )
