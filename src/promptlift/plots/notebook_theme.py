"""Figures that follow the light or dark theme of a notebook."""

from __future__ import annotations

import io
import re
import sys
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from promptlift.plots.palette import PALETTE, PALETTE_ON_DARK, SENTIMENT_COLORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

__all__ = ["follow_notebook_theme", "on_dark", "picture", "themed_pictures", "themed_svg"]

_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}(?![0-9a-fA-F])")
# What only a file needs; its style would hold for the whole page.
_NOT_FOR_A_PAGE: Final = re.compile(
    r"\A.*?(?=<svg)|<metadata>.*?</metadata>|<style type=\"text/css\">.*?</style>", re.DOTALL
)
_INLINE: Final = "matplotlib_inline.backend_inline"
_BLACK: Final = "#000000"
# How JupyterLab, VS Code and pages made of notebooks mark a dark theme.
_DARK: Final = ("[data-jp-theme-light='false']", ".vscode-dark", "[data-theme='dark']")


def follow_notebook_theme() -> None:
    """Make the figures of this notebook follow JupyterLab's theme, also when it is changed later.

    Every matplotlib figure is then shown as a drawing with a transparent ground, whose colours the page chooses; black turns white, and
    the colours of the groups become the lighter ones. Where the page cannot show it, the usual picture stays. A figure
    that was drawn in matplotlib's own dark style is shown as it is.

    Raises
    ------
    RuntimeError
        When this is no notebook.

    Examples
    --------
    >>> plots.follow_notebook_theme()  # doctest: +SKIP
    """
    formatter = _formatter()
    if formatter is None:
        raise RuntimeError("There is no notebook here. Call follow_notebook_theme() in a cell of JupyterLab.")
    _load_backend()
    formatter.for_type(Figure, themed_svg)


def _formatter() -> Any:
    """Return how this notebook shows HTML; None where this is no notebook."""
    ipython = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    return None if shell is None else shell.display_formatter.formatters["text/html"]


def _load_backend() -> None:
    """Load the backend of a notebook, which would undo the choice of a formatter when the first figure is drawn."""
    if mpl.get_backend().removeprefix("module://") in ("inline", _INLINE):
        import_module(_INLINE)


def themed_pictures(figure: Figure) -> tuple[str, str] | None:
    """Return a figure as one drawing for light and one for dark pages; None where it does not follow the theme."""
    formatter = _formatter()
    if formatter is None or Figure not in formatter or _is_dark(figure):
        return None
    light = _drawn(figure)
    dark = _COLOR.sub(lambda found: on_dark(found.group().lower()), light)
    # Black letters have no colour of their own in the drawing.
    return light, dark.replace("<svg ", '<svg fill="#ffffff" ', 1)


def picture(draw: Callable[[Axes], Any], words: str, *, height: float) -> str:
    """Return a plot as a part of a page, which chooses its colours; the words are for those who cannot see it."""
    # Whatever style the notebook has.
    with mpl.rc_context():
        mpl.rcdefaults()
        figure = Figure(figsize=(8.0, height), layout="constrained")
        draw(figure.subplots())
        return f'<div role="img" aria-label="{escape(words)}">{themed_svg(figure)}</div>'


def themed_svg(figure: Figure) -> str | None:
    """Return a figure as HTML with one drawing for both themes; None where its own ground is dark."""
    if _is_dark(figure):
        return None
    svg = _NOT_FOR_A_PAGE.sub("", _drawn(figure, bbox_inches="tight"))
    # Black letters have no colour of their own in the drawing.
    used = sorted({_BLACK, *(found.lower() for found in _COLOR.findall(svg))})
    # A name of its own for every colour; figures with the same colours may share a page.
    svg = _COLOR.sub(lambda found: f"var(--promptlift-{found.group().lower()[1:]})", svg)
    light, dark = (_variables(used, choose) for choose in (str, on_dark))
    name = "promptlift-figure"
    chosen = ", ".join(f"{page} .{name}" for page in _DARK)
    drawing = "fill: var(--promptlift-000000); stroke-linejoin: round; max-width: 100%; height: auto"
    style = f".{name} {{{light}}} {chosen} {{{dark}}} .{name} svg {{{drawing}}}"
    return f'<div class="{name}"><style>{style}</style>{svg}</div>'


def _drawn(figure: Figure, **options: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, **options)
    return out.getvalue()


def _is_dark(figure: Figure) -> bool:
    return sum(to_rgb(figure.get_facecolor())) < 1.5


def _variables(colors: list[str], choose: Callable[[str], str]) -> str:
    return " ".join(f"--promptlift-{color[1:]}: {choose(color)};" for color in colors)


def on_dark(color: str) -> str:
    """Return the colour on a dark page: groups and sentiments have theirs, greys are turned round."""
    kept = {to_hex(one) for one in SENTIMENT_COLORS.values()}
    if color in kept:
        return color
    # Without the colours that stay, so that two groups never get the same one.
    light = [to_hex(one) for one in PALETTE if to_hex(one) not in kept]
    dark = [one for one in PALETTE_ON_DARK if to_hex(one) not in kept]
    known = dict(zip(light, dark, strict=True))
    if color in known:
        return known[color]
    red, green, blue = to_rgb(color)
    if max(red, green, blue) - min(red, green, blue) > 0.1:
        return color
    return to_hex((1 - red, 1 - green, 1 - blue))
