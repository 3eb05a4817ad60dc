"""What tests of reports share."""

from __future__ import annotations

import pickle
from functools import cache

import pytest

from promptlift.report import drawings
from support.report_numbers import pdf_can_be_written

_paint = drawings._paint


@cache
def _drawn(name, plot, table, *sizes):
    return _paint(name, plot, pickle.loads(table), *sizes)


@pytest.fixture
def draws() -> None:
    """For quick tests of the pictures in a report; others have blank ones."""


@pytest.fixture
def draws_anew() -> None:
    """For tests of what else a drawing depends on than its numbers."""


@pytest.fixture(autouse=True)
def _drawn_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw a picture of the same numbers once for all tests that look at it: it takes most of the time of a page."""
    if "draws_anew" in request.fixturenames:
        return
    if "draws" in request.fixturenames or request.node.get_closest_marker("slow") is not None:
        monkeypatch.setattr(
            drawings,
            "_paint",
            lambda name, plot, table, *sizes: _drawn(name, plot, pickle.dumps(table), *sizes),
        )
    else:
        monkeypatch.setattr(drawings, "_paint", lambda *_drawn: "<svg></svg>")


@pytest.fixture
def needs_pdf() -> None:
    if not pdf_can_be_written():
        pytest.skip("WeasyPrint or Pango is not on this machine")
