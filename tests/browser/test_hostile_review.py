"""Hostile text in a review: as names of prompt and variants, texts, notes, personas and transcripts. Nothing of it runs."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.widgets import VariantReview
from support.deployed import ORIGINAL
from support.hostile import ENCODABLE
from support.reviewed_world import ReviewedWorld

pytestmark = pytest.mark.timeout(280)

TEXTS = [one for one in ENCODABLE if "\x00" not in one and one.strip()]
OWN_TAGS = {
    *("DIV", "SPAN", "SECTION", "BUTTON", "TEXTAREA", "SELECT", "OPTION", "DETAILS", "SUMMARY", "P", "B", "SMALL"),
    *("DL", "DT", "DD", "INS", "DEL", "CODE", "LABEL", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"),
}  # fmt: skip
MEASURE = """
root => {
    const box = root.getBoundingClientRect(), parent = root.parentElement.getBoundingClientRect();
    return {
        wide: box.width <= parent.width + 1,
        tags: [...new Set([...root.querySelectorAll('*')].map(one => one.tagName))],
        handlers: [...root.querySelectorAll('*')].filter(one => [...one.attributes].some(a => a.name.startsWith('on'))).length,
        scrolls: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    };
}
"""


@pytest.fixture
def world(service):
    made = ReviewedWorld.beside(service.data)
    yield made
    made.database.close()


def hostile_optimization(world):
    """Every payload is a variant's name and text, a persona, a scenario and a transcript."""
    optimization_id = world.optimization(texts=("You help.", *TEXTS))
    world.rename(optimization_id, [TEXTS[0], *TEXTS])
    world.talk(optimization_id, TEXTS)
    return optimization_id


def test_nothing_runs_in_the_interactive_review_or_its_dialog(lab, world):
    optimization_id = hostile_optimization(world)
    with promptlift.connect(world_url(lab), world.key, progress=False) as lift:
        for number, text in enumerate(TEXTS[:60]):
            lift.optimizations[optimization_id].mark(
                world.variant(optimization_id, number + 1), note=text[:10_000]
            )
    code = f"""
import promptlift
from promptlift import widgets
lift = promptlift.connect({world_url(lab)!r}, {world.key!r}, progress=False)
review = widgets.VariantReview(lift, {optimization_id!r})
review
"""
    notebook = lab.open([code], name="hostile-review.ipynb")
    page = notebook.page
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    notebook.run_all()
    box = page.locator(".plw-review")
    box.locator(".plw-variant").nth(len(TEXTS)).wait_for(state="attached")
    box.locator(".plw-pair").first.click()
    box.locator(".plw-opened-pair").wait_for()
    assert box.locator(".plw-variant").count() == len(TEXTS) + 1
    for place in (3, 11, 40, len(TEXTS) - 1):
        box.locator(".plw-variant .plw-verdict").nth(place).click()
        box.locator(".plw-apply").click()
        box.locator(".plw-dialog").wait_for()
        found = box.evaluate(MEASURE)
        assert set(found["tags"]) <= OWN_TAGS
        assert found["handlers"] == 0
        assert found["wide"], place
        assert not found["scrolls"], place
        notebook.screenshot(f"hostile-review-{place}")
        box.get_by_role("button", name="Cancel").click()
        box.locator(".plw-dialog").wait_for(state="hidden")
    assert "owned" not in page.title()
    assert not [url for url in asked if "evil" in url]
    assert notebook.problems() == []
    assert world.text == ORIGINAL


def test_nothing_runs_in_the_fallback_with_scripts_on(chromium, service, world, tmp_path):
    optimization_id = hostile_optimization(world)
    with promptlift.connect(service.base_url, world.key, progress=False) as lift:
        for number, text in enumerate(TEXTS):
            lift.optimizations[optimization_id].mark(
                world.variant(optimization_id, number + 1), verdict="keep", note=text[:10_000]
            )
        html = VariantReview(lift, optimization_id)._repr_html_()
    target = tmp_path / "page.html"
    target.write_text(
        f"<!doctype html><meta charset=utf-8><title>honest</title><body>{html}<p id=after>after</p>"
    )
    page = chromium.new_page(viewport={"width": 1000, "height": 900})
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(target.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert page.title() == "honest"
    assert len(asked) == 1
    fallback = page.locator(".promptlift-static")
    assert fallback.locator("a, script, img, iframe, svg, math, style, input, form").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate(
        "() => document.querySelector('body > #after').getBoundingClientRect().top"
        " >= document.querySelector('.promptlift-static').getBoundingClientRect().bottom"
    )
    page.close()


def world_url(lab):
    return lab.service.base_url
