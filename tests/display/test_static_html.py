"""The elements of a static fallback: every text is text, and the words carry the meaning without any style."""

from __future__ import annotations

import math
import re

import pytest
from markupsafe import Markup

from promptlift.display.static_html import (
    Bar,
    badge,
    bars,
    bars_html,
    element,
    facts,
    last_values,
    paragraph,
    root,
    table,
    text,
    transcript,
)
from promptlift.display.turn import Turn
from support.hostile import ONE_OF_EACH, PAYLOADS
from support.report_page import Page

OWN_TAGS = {
    "caption",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    *("b", "br", "div", "p", "small", "span", "strong"),
}


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


@pytest.mark.parametrize("payloads", [ONE_OF_EACH, pytest.param(PAYLOADS, marks=pytest.mark.slow)])
def test_a_payload_becomes_text_that_no_page_typesets(payloads):
    for payload in payloads:
        html = str(everything(payload))
        page = Page(html)
        assert page.names <= OWN_TAGS
        assert page.misnested == page.comments == []
        for tag, attributes in page.tags:
            assert set(attributes) <= {"style", "class", "scope"} | ({"title"} if tag == "span" else set())
            assert "url(" not in attributes.get("style", "")
        words = re.sub(r"<[^>]*>", "\x00", re.sub(r"title=\"[^\"]*\"", "", html))
        # Delimiters of mathematics count only inside one text node.
        assert not [node for node in words.split("\x00") if re.search(r"\$.|.\$|\\[^\x00]", node)]
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x01-\x08\x1b]", words)
        html.encode()


def test_texts_keep_one_space_where_pieces_meet_and_are_cut():
    assert str(paragraph("a", " and ", "b")).count("a and b") == 1
    assert (text("  two  "), text(None), text("one\ntwo")) == (" two ", "", "one<br>two")
    assert len(text("word " * 100, 50)) <= 50
    turn = Turn.shown("user", "x" * 5_000, 1_000)
    assert f"{5_000 - 999:,} characters omitted" in transcript([turn])


def test_what_could_run_or_load_is_refused():
    for tag in ("script", "style", "iframe", "img onerror", "", "a><script"):
        with pytest.raises(ValueError, match="has no element"):
            element(tag)
    for attribute in ("onclick", "href", "src", "srcdoc", "id"):
        with pytest.raises(ValueError, match="has no attribute"):
            element("p", **{attribute: "x"})
    assert element("p", Markup("<b>x</b>"), "<b>x</b>") == Markup("<p><b>x</b>&lt;b&gt;x&lt;/b&gt;</p>")


def test_bars_begin_at_zero_and_go_up_and_down():
    up, down, flat, none = bars([30.0, -10.0, 0.0, None])
    assert (up, down, flat.bottom, none) == (Bar(25.0, 75.0), Bar(0.0, 25.0), 25.0, Bar(0.0, 0.0))
    assert flat.height > 0
    assert bars([0.5, 1.0], low=0.0, high=1.0) == [Bar(0.0, 50.0), Bar(0.0, 100.0)]
    for values in ([], [0.0, 0.0], [math.nan, math.inf], [-5.0], [1e-9, 1e9], [-1e9, 1.0]):
        assert all(one.bottom >= 0 and one.bottom + one.height <= 100.01 for one in bars(values))
    assert bars_html([], label="x") == ""
    assert bars_html(bars([1.0, None]), label="a <b>").count("<span") == 3
    assert (last_values(["1", "2"]), last_values(["1", "2", "3"], most=2)) == ("1, 2", "… 2, 3")
