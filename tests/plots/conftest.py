"""Every test draws without a screen and must leave matplotlib's settings alone."""

from __future__ import annotations

import matplotlib as mpl
import pytest

mpl.use("agg")


@pytest.fixture(autouse=True)
def settings_stay():
    before = dict(dict.items(mpl.rcParams))  # reading them one by one takes as long as a small test
    yield
    assert dict(dict.items(mpl.rcParams)) == before
