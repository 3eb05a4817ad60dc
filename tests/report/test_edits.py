"""What a report says about the edits of winners: the same in every format, every text as text."""

from __future__ import annotations

import dataclasses

from promptlift.frames import edits_table, optimizations_table, variants_table
from promptlift.report.cells import formatted
from promptlift.report.compose import compose
from promptlift.report.gather import gather
from promptlift.report.period import Window
from promptlift.report.renderers import renderer_for
from promptlift.report.sections.optimizations import optimizations
from support.report_numbers import exact_tables, html_tables, markdown_tables, sheets, squeezed
from support.report_page import NOW, conversations
from support.searched_service import TEXTS, SearchedService, candidates, edits


def material(service=None):
    service = service or SearchedService()
    items = [{"id": "o00001", "optimization": service.optimizations[0], "variants": service.variants}]
    frame, _, about = variants_table(items)
    frame.attrs["promptlift"] = {"table": "variants", **about}
    return dataclasses.replace(
        gather(conversations(24), "p1", Window()),
        optimizations=optimizations_table(service.optimizations)[0],
        variants=frame,
        edits=edits_table(items)[0],
    )


def table_of(section):
    return next(table for table in section.tables if table.name == "edits")


def texts(table):
    return [
        {column.key: formatted(cell, column.kind) for cell, column in zip(row, table.columns, strict=True)}
        for row in table.rows
    ]


def test_the_edits_of_the_winner_are_listed_with_symptom_and_evidence():
    section = optimizations(material(), redacted=False)
    rows = texts(table_of(section))
    assert [row["symptom"] for row in rows] == [
        "Requests are declined and nothing is offered",
        "Answers are too long to be read",
        "People are asked for what they said already",
    ]
    assert rows[0]["change"] == f"added: {TEXTS['e1']}"
    assert rows[1]["change"] == f"replaced: Answer in {{language}}. → {TEXTS['e3']}"
    assert rows[0]["evidence"].startswith("2 places: “I am afraid that this is not possible.”")
    assert (rows[0]["won"], rows[0]["lost"], rows[2]["generation"]) == ("9", "2", "2")
    assert any("no part of its lift" in words for words in section.paragraphs)


def test_a_report_that_is_shared_has_no_words_of_conversations():
    made = edits()
    made["e1"]["symptom"] = "The assistant says I am afraid that this is not possible"
    made["e4"]["symptom"] = "jo@example.org is asked again"
    service = SearchedService(variants=candidates(made=made))
    rows = texts(table_of(optimizations(material(service), redacted=True)))
    assert [row["evidence"] for row in rows] == ["2 places"] * 3
    assert "withheld" in rows[0]["symptom"]
    assert rows[2]["symptom"] == "[e-mail] is asked again"


def test_without_a_search_there_is_no_such_table():
    made = dataclasses.replace(material(), edits=edits_table([])[0])
    assert [table.name for table in optimizations(made, redacted=False).tables] == [
        "optimizations",
        "variants",
    ]


def composed(made):
    return compose(made, window=Window(), now=NOW, title=None, logo=None, redacted=False, examples=0)


def test_every_format_has_the_same_rows(tmp_path):
    document = composed(material())
    paths = {}
    for ending in ("html", "xlsx", "md"):
        paths[ending] = tmp_path / f"r.{ending}"
        paths[ending].write_bytes(renderer_for(paths[ending])(document))
    shown, _ = html_tables(paths["html"])
    page = [squeezed("".join(row)) for row in shown["edits"]]
    assert len(page) >= 3
    assert page in [[squeezed("".join(row)) for row in rows] for rows in markdown_tables(paths["md"])]
    exact = exact_tables(document)["edits"]
    rows = sheets(paths["xlsx"])["Edits of the winners"]
    assert list(exact["won"]) == [row[rows[0].index("Won")] for row in rows[1:]] == [9, 6, 8]
