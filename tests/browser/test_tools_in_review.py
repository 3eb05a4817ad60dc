"""Calls of tools in the simulated conversations of a review, in JupyterLab: shown as text, and nothing of them runs."""

from __future__ import annotations

import json

import pytest

from support.reviewed_world import ReviewedWorld

pytestmark = pytest.mark.timeout(280)

EVIL = "<img src=x onerror=\"document.title='owned'\"> $\\frac{1}{2}$ **bold**"
CELL = """
import promptlift
from promptlift import widgets
lift = promptlift.connect({!r}, {!r}, progress=False)
widgets.VariantReview(lift, {!r})
"""


def messages():
    call = json.dumps({"id": 4711, "note": EVIL}, ensure_ascii=False)
    return [
        {"role": "assistant", "content": "Let me look."},
        {"role": "assistant", "content": f"[tool call] find_parcel({call})"},
        {
            "role": "system",
            "content": f'[tool result] {{"status": "Lyon", "note": "{EVIL}"}}',
            "toolResult": "replayed",
        },
        {"role": "assistant", "content": '[tool call] next_van({"from": "Lyon"})'},
        {"role": "system", "content": "[tool result] Error: timeout", "toolResult": "likeness"},
        {"role": "assistant", "content": "[tool call] guess({})"},
        {
            "role": "system",
            "content": "[tool result] Error: there is no tool named guess.",
            "toolResult": "unknown",
        },
        {"role": "assistant", "content": "It is in Lyon."},
    ]


def test_calls_and_results_are_shown_as_text_with_how_they_came_about(lab):
    world = ReviewedWorld.beside(lab.service.data)
    try:
        optimization_id = world.optimization()
        world.talk(optimization_id, ["Where is parcel 4711?"], after=messages())
    finally:
        world.database.close()
    code = CELL.format(lab.service.base_url, world.key, optimization_id)
    notebook = lab.open([code], name="tools-review.ipynb")
    notebook.run_all()
    box = notebook.page.locator(".plw-review")
    box.locator(".plw-pair").first.click()
    side = box.locator(".plw-side").last
    side.locator(".plw-turn").nth(8).wait_for()
    calls = side.locator('.plw-turn[data-role="tool call"]')
    results = side.locator('.plw-turn[data-role="tool result"]')
    assert (calls.count(), results.count()) == (3, 3)
    assert calls.first.locator(".plw-foreign").inner_text().split("\n")[:2] == ["find_parcel", "  id: 4711"]
    heads = [results.nth(at).locator(".plw-who").inner_text() for at in range(3)]
    assert heads == [
        "tool result · replayed from a logged conversation",
        "tool result · played in the likeness of logged calls",
        "tool result · the agent has no such tool",
    ]
    # Nothing of what tools are given and give runs or is typeset.
    assert side.locator("img, strong, em, .MathJax, mjx-container, .katex").count() == 0
    assert "onerror" in calls.first.locator(".plw-foreign").inner_text()
    assert "$\\frac{1}{2}$ **bold**" in results.first.locator(".plw-foreign").inner_text()
    box.locator(".plw-examples").scroll_into_view_if_needed()
    side.locator(".plw-turn").first.scroll_into_view_if_needed()
    notebook.screenshot("review-tools")
    assert notebook.page.title() != "owned"
    assert notebook.problems() == []
