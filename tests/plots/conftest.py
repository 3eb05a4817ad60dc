"""Every test draws without a screen, closes its figures, and must leave matplotlib's settings alone."""

from __future__ import annotations

import matplotlib as mpl
import pytest

mpl.use("agg")


@pytest.fixture(autouse=True)
def settings_stay_and_figures_close():
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == before
