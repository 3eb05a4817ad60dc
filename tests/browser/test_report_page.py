"""The HTML report in a real browser: on a phone and on a wide screen, light and dark, without scripts."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from promptlift import report
from support.report_page import clock, conversations

pytestmark = pytest.mark.timeout(240)

NAMES = ["Support assistant v1", "Support assistant v2, which is friendlier and shorter"]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    parts = [conversations(60, prompt_id=name, rate=0.4 + 0.3 * n) for n, name in enumerate(NAMES)]
    return report.write(
        pd.concat(parts, ignore_index=True), NAMES, tmp_path_factory.mktemp("page") / "r.html", clock=clock
    )


@pytest.fixture
def opened(chromium, page_file):
    """Open the page in a browser without scripts or network; returns a function of its width and scheme."""
    contexts = []

    def at(width, scheme="light"):
        context = chromium.new_context(
            java_script_enabled=False,
            offline=True,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
        )
        contexts.append(context)
        page = context.new_page()
        page.goto(page_file.as_uri())
        return page

    yield at
    for context in contexts:
        context.close()


def style_of(locator, name):
    return locator.evaluate("(node, name) => getComputedStyle(node).getPropertyValue(name)", name)


def brightness(color):
    return sum(map(int, re.findall(r"\d+", color)[:3])) / 765


def test_a_phone_shows_everything_without_scrolling_sideways_and_a_wide_screen_has_tables(opened):
    page = opened(400)
    assert page.locator("html").evaluate("node => node.scrollWidth") == 400
    for box in page.locator(".table").all():
        assert box.evaluate("node => node.scrollWidth - node.clientWidth") <= 0
    # Letters of the smallest kind that a figure has are still read.
    heights = [
        text.bounding_box()["height"]
        for text in page.locator(".figure.narrow text").all()
        if text.is_visible()
    ]
    assert min(heights) > 6
    assert page.locator(".figure.wide").first.is_hidden()
    cell = page.locator("#table-issues_by_prompt td").nth(2)
    assert "Support assistant v1" in cell.evaluate("node => getComputedStyle(node, '::before').content")
    page = opened(1280)
    assert page.locator("html").evaluate("node => node.scrollWidth") == 1280
    assert page.locator(".figure.narrow").first.is_hidden()
    assert style_of(page.locator("#table-issues_by_prompt td").nth(2), "display") == "table-cell"
    # An example opens without scripts.
    talk = page.locator(".transcript").first
    lines, turns = talk.locator(".line").first, talk.locator(".turn").first
    assert (lines.is_visible(), turns.is_visible()) == (True, False)
    talk.locator("summary").click()
    assert (lines.is_visible(), turns.is_visible()) == (False, True)


@pytest.mark.parametrize(("width", "kind"), [(400, ".narrow"), (1280, ".wide")])
def test_a_dark_page_has_no_white_rectangle(opened, width, kind):
    page = opened(width, "dark")
    assert brightness(style_of(page.locator("body"), "background-color")) < 0.2
    for figure in page.locator(f".figure{kind}").all():
        assert style_of(figure, "background-color") in ("rgba(0, 0, 0, 0)", "transparent")
        fills = figure.evaluate(
            "node => [...node.querySelectorAll('path')].filter(one => one.getBBox().width > 200 && "
            "one.getBBox().height > 60).map(one => getComputedStyle(one).fill)"
        )
        assert all(fill == "none" or brightness(fill) < 0.3 for fill in fills)
        for text in figure.locator("text").all()[:5]:
            assert brightness(style_of(text, "fill")) > 0.7
