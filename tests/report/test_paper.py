"""A report on paper: everything is inside the page, and the first page is used."""

from __future__ import annotations

import pandas as pd
import pytest
import weasyprint

from promptlift.report.renderers.html import page
from support.report_numbers import document_of
from support.report_page import boxes, clock, conversations, cut_off

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_pdf")]

CITIES = ("Amsterdam", "Berlin", "Copenhagen", "Dublin", "Edinburgh", "Florence", "Geneva")
LONG = [f"A customer support assistant for the shop in {city}, second text, friendly" for city in CITIES]
ISSUES = [
    {"title": "The answer repeated a policy that the user had quoted before " * 2, "severity": "high"},
    {"title": "Donaudampfschifffahrtsgesellschaftskapitaensmuetze" * 2, "severity": "medium"},
]


@pytest.mark.parametrize("prompts", [1, 2, 7])
def test_every_cell_and_figure_is_inside_the_page_and_the_first_one_is_not_half_empty(prompts):
    parts = []
    for place, name in enumerate(LONG[:prompts]):
        part = conversations(60, prompt_id=name, rate=0.3 + 0.08 * place)
        part["issues"] = [
            [{**one, "evidence": "I said this twice already and nobody reads it. " * 5} for one in ISSUES]
            for _ in range(len(part))
        ]
        parts.append(part)
    table, ids = pd.concat(parts, ignore_index=True), LONG[:prompts] if prompts > 1 else LONG[0]
    made = document_of(table, ids, clock=clock, examples=2, period=14 if prompts == 2 else None)
    pages = weasyprint.HTML(string=page(made, paged=True)).render().pages
    assert not cut_off(pages)
    bottom = max(box.position_y + box.height for box in boxes(pages[0], "td", "p", "figure", "li"))
    assert bottom > 0.65 * (pages[0]._page_box.content_box_y() + pages[0]._page_box.height)
