"""The elements of a static fallback: every text is text, and the words carry the meaning without any style."""

from __future__ import annotations

import re

import pytest
from markupsafe import Markup

from promptlift.display.static_html import (
    badge,
    element,
    facts,
    paragraph,
    root,
    table,
    text,
    transcript,
)
from promptlift.display.turn import Turn
from support.cases import slow_except
from support.hostile import ONE_OF_EACH, PAYLOADS, name_of
from support.report_page import Page

OWN_TAGS = {
    "b", "br", "caption", "div", "p", "small", "span", "strong", "table", "tbody", "td", "th", "thead", "tr",
}  # fmt: skip
OWN_ATTRIBUTES = {"style", "class", "scope"}


def read(html):
    return Page(str(html))


def everything(payload):
    """Every part with the payload in every place that takes text."""
    return root(
        paragraph(payload, " and ", payload),
        paragraph(payload, soft=True),
        badge(payload, "good"),
        table([payload, "Number"], [[payload, 1], [badge(payload), payload]], numbers=[1], caption=payload),
        facts([(payload, payload), ("Empty", "")]),
        transcript([Turn(payload, payload, detail=payload), Turn("user", payload)]),
        element("span", payload, title=payload),
    )


@pytest.mark.parametrize("payload", slow_except(ONE_OF_EACH, PAYLOADS), ids=name_of)
def test_a_payload_becomes_text_and_nothing_else(payload):
    page = read(everything(payload))
    assert page.names <= OWN_TAGS
    assert page.misnested == []
    assert page.comments == []
    for tag, attributes in page.tags:
        assert set(attributes) <= OWN_ATTRIBUTES | ({"title"} if tag == "span" else set())
        assert "url(" not in attributes.get("style", "")


@pytest.mark.parametrize("payload", slow_except(ONE_OF_EACH, PAYLOADS), ids=name_of)
def test_nothing_is_left_that_a_page_would_typeset_or_that_is_not_seen(payload):
    html = re.sub(r"title=\"[^\"]*\"", "", str(everything(payload)))
    words = re.sub(r"<[^>]*>", "\x00", html)
    # Delimiters of mathematics count only inside one text node.
    assert not [node for node in words.split("\x00") if re.search(r"\$.|.\$|\\[^\x00]", node)]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x01-\x08\x1b]", words)
    html.encode()


def test_texts_keep_one_space_where_pieces_meet():
    assert str(paragraph("a", " and ", "b")).count("a and b") == 1
    assert text("  two  ") == " two "
    assert text(None) == ""
    assert text("one\ntwo") == "one<br>two"


def test_a_text_that_is_too_long_is_cut():
    assert len(text("word " * 100, 50)) <= 50
    shown = transcript([Turn("user", "word " * 1000)], limit=100)
    assert "characters omitted" in shown


def test_all_that_is_omitted_from_a_message_is_counted():
    turn = Turn.shown("user", "x" * 5_000, 1_000)
    assert f"{turn.cut:,} characters omitted" in transcript([turn], limit=1_000)
    assert f"{5_000 - 99:,} characters omitted" in transcript([turn], limit=100)


def test_what_could_run_or_load_is_refused():
    for tag in ("script", "style", "iframe", "img onerror", "", "a><script"):
        with pytest.raises(ValueError, match="has no element"):
            element(tag)
    for attribute in ("onclick", "href", "src", "srcdoc", "id"):
        with pytest.raises(ValueError, match="has no attribute"):
            element("p", **{attribute: "x"})


def test_markup_is_taken_as_it_is_and_text_is_not():
    assert element("p", Markup("<b>x</b>")) == Markup("<p><b>x</b></p>")
    assert element("p", "<b>x</b>") == Markup("<p>&lt;b&gt;x&lt;/b&gt;</p>")


def test_a_table_needs_as_many_cells_as_headers():
    with pytest.raises(ValueError, match="zip"):
        table(["a", "b"], [["only one"]])
