"""The tree of a widget: text stays text for both renderers, and a page without scripts needs neither styles nor controls."""

from __future__ import annotations

import re

import pytest

from promptlift.display.turn import Turn
from promptlift.widgets.tree import (
    badge,
    diff_block,
    fact,
    field,
    h,
    known,
    pick,
    quotation,
    static_html,
    transcript,
)
from promptlift.widgets.word_diff import DiffLine
from support.hostile import ONE_OF_EACH, PAYLOADS
from support.report_page import Page

OWN_TAGS = {
    "b",
    "br",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "ins",
    "mark",
    "p",
    "small",
    "span",
    "summary",
}


def everything(payload):
    """Every part with the payload in every place that takes text."""
    diff = [
        DiffLine(" ", (("same", payload),)),
        DiffLine("-", (("removed", payload), ("same", " kept"))),
        DiffLine("+", (("added", payload),)),
        DiffLine("…", ()),
    ]
    turns = [Turn(payload, payload, detail=payload), Turn("user", payload)]
    return [
        h("p.plw-soft", payload, " and ", payload),
        badge(payload, "good"),
        fact(payload, payload),
        known([(payload, payload)]),
        h("details", h("summary", payload), payload, open=True, key=payload, variant=payload),
        transcript(turns, lambda text: [h("mark", text), text]),
        diff_block(diff),
        field(payload, pick("name", [(payload, payload)], payload, key=payload)),
        h("span", payload, title=payload, aria_label=payload),
    ]


@pytest.mark.parametrize("payloads", [ONE_OF_EACH, pytest.param(PAYLOADS, marks=pytest.mark.slow)])
def test_a_payload_becomes_text_that_no_page_typesets(payloads):
    for payload in payloads:
        html = str(static_html(everything(payload)))
        page = Page(html)
        assert page.names <= OWN_TAGS
        assert page.misnested == page.comments == []
        for tag, attributes in page.tags:
            assert set(attributes) <= {"style", "class", "open"} | ({"title"} if tag == "span" else set())
            assert "url(" not in attributes.get("style", "")
            assert attributes.get("class", "promptlift-static ").startswith("promptlift-static ")
        words = re.sub(r"<[^>]*>", "\x00", re.sub(r"title=\"[^\"]*\"", "", html))
        # Delimiters of mathematics count only inside one text node.
        assert not [node for node in words.split("\x00") if re.search(r"\$.|.\$|\\[^\x00]", node)]
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x01-\x08\x1b]", words)
        html.encode()


def test_no_attribute_runs_anything():
    node = h("p", onclick="x", href="y", srcdoc="z", formaction="a")
    assert {*node.attributes} == {"data-onclick", "data-href", "data-srcdoc", "data-formaction"}
    assert str(static_html(h("p", "x", onclick="x"))).endswith('<p style="margin:.4em 0">x</p></div>')
    for tag in ("script", "iframe", "style", "p onclick=x"):
        with pytest.raises(ValueError, match="has no element"):
            static_html(h(tag))


def test_a_page_without_scripts_has_no_controls_and_its_styles_in_it():
    buttons = (h("button", "Stop", action="stop"), h("button", "Name", still="b"))
    shown = str(static_html(h("p", *buttons, badge("kept", "good"))))
    assert "Stop" not in shown
    assert "<b>Name</b> <b style=" in shown
    assert "color:#00896a" in shown
    assert "var(" not in shown


def test_the_meaning_of_a_diff_is_in_words_and_signs_without_styles():
    block = diff_block(
        [
            DiffLine("-", (("same", "Say "), ("removed", "hello"), ("same", " first."))),
            DiffLine("+", (("same", "Say "), ("added", "good day"), ("same", " first."))),
            DiffLine("…", (("same", "12 lines"),)),
            DiffLine("+", (("same", "    indented"), ("added", "  two"))),
        ]
    )
    bare = re.sub(r' style="[^"]*"', "", str(static_html(block)))
    assert "<code>−</code> <span>Say <del>hello</del> first.</span>" in bare
    assert "<code>+</code> <span>Say <ins>good day</ins> first.</span>" in bare
    assert "<code>…</code>" in bare
    # Spaces stay.
    assert "&nbsp;&nbsp;&nbsp; indented" in bare
    assert "&nbsp; two" in bare


def test_what_tools_said_at_length_is_folded():
    data = '{"status": "' + "shipped " * 40 + '"}'
    shown, short, asked, quoted = (
        str(static_html(one))
        for one in (
            transcript([Turn("tool result", data)]),
            transcript([Turn("tool result", '{"status": "shipped"}')]),
            transcript([Turn("user", data)]),
            quotation(data, "conv_1"),
        )
    )
    assert [one.count("<details>") for one in (shown, short, asked, quoted)] == [1, 0, 0, 1]
    assert "<details open>" in str(static_html(transcript([Turn("tool result", data)], lambda _: ["found"])))
    assert "“Where is it?” " in str(static_html(quotation("Where is it?", "conv_1")))


def test_all_that_is_omitted_from_a_message_is_counted():
    turn = Turn.shown("user", "x" * 5_000, 1_000)
    assert turn.cut == 4_001
    assert "4,001 characters omitted" in static_html(transcript([turn]))
