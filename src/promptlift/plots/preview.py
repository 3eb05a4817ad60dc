"""A preview that a notebook shows while the rows of the real plot are read."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.figure import Figure

__all__ = ["in_notebook", "shown_while"]


def in_notebook() -> bool:
    """Return whether this code runs in a notebook kernel, where a figure can be shown and removed again."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def shown_while(draw: Callable[[], Figure]) -> Iterator[None]:
    """Show a figure in the notebook while the block runs.

    Parameters
    ----------
    draw
        Returns the figure, which is closed here.
    """
    import matplotlib.pyplot as plt  # noqa: PLC0415  (as everywhere, only when a new figure is wanted)
    from IPython.display import display  # noqa: PLC0415  (only notebooks have it loaded)

    figure = draw()
    handle = display(figure, display_id=True)  # type: ignore[no-untyped-call]
    plt.close(figure)
    try:
        yield
    finally:
        handle.update({"text/plain": ""}, raw=True)
