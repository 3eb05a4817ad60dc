"""What tests of reports share."""

from __future__ import annotations

import pytest

from support.report_numbers import pdf_can_be_written


@pytest.fixture
def needs_pdf() -> None:
    if not pdf_can_be_written():
        pytest.skip("WeasyPrint or Pango is not on this machine")
