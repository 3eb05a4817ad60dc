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


def laid_out(names, *, period=None):
    parts = []
    for place, name in enumerate(names):
        part = conversations(60, prompt_id=name, rate=0.3 + 0.08 * place)
        part["issues"] = [
            [{**one, "evidence": "I said this twice already and nobody reads it. " * 5} for one in ISSUES]
            for _ in range(len(part))
        ]
        parts.append(part)
    ids = names if len(names) > 1 else names[0]
    table = pd.concat(parts, ignore_index=True)
    made = document_of(table, ids, clock=clock, examples=2, period=period)
    return weasyprint.HTML(string=page(made, paged=True)).render().pages


@pytest.mark.parametrize("prompts", [2, 7])
def test_every_cell_and_figure_is_inside_the_page(prompts):
    period = 14 if prompts < 6 else None
    assert not cut_off(laid_out(LONG[:prompts], period=period))


@pytest.mark.parametrize(("prompts", "period"), [(1, None), (2, 14), (6, None)])
def test_the_first_page_is_not_half_empty(prompts, period):
    first = laid_out(LONG[:prompts], period=period)[0]
    bottom = max(box.position_y + box.height for box in boxes(first, "td", "p", "figure", "li"))
    height = first._page_box.content_box_y() + first._page_box.height
    assert bottom > 0.65 * height
