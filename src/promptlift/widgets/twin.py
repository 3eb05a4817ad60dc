"""What every widget is: a live view where somebody can act, and a static twin everywhere."""

from __future__ import annotations

import sys
from abc import abstractmethod
from importlib.resources import files
from os import environ
from typing import TYPE_CHECKING, Any

import anywidget

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["TwinWidget", "front", "nobody_can_act"]


def front(name: str, suffix: str) -> str:
    """Give the code of a widget's front end: the parts that all share, then its own.

    Parameters
    ----------
    name
        Name of its files in the folder ``front``.
    suffix
        ``"js"`` or ``"css"``.
    """
    folder = files("promptlift.widgets") / "front"
    return "\n".join((folder / f"{part}.{suffix}").read_text(encoding="utf-8") for part in ("shared", name))


def nobody_can_act() -> bool:
    """Tell whether a notebook is run by a program: nbconvert, papermill, nbclient, a documentation build.

    Such programs tell the kernel that nobody will answer a question. There a live view would be blank in what they write
    (it needs a script from the network), and nobody could click in it.
    """
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    kernel = getattr(shell, "kernel", None)
    if kernel is None or environ.get("SERVER_SOFTWARE", "").startswith("voila"):
        return False
    return not getattr(kernel, "_allow_stdin", True)


class TwinWidget(anywidget.AnyWidget):
    """A widget that also stands in a page without scripts.

    Its output carries the live view and ``text/html``: a front end with a kernel takes the view, and an exported
    notebook, GitHub or a mail takes the HTML. The HTML shows the state of the moment when the cell ran.

    A subclass gives ``_static`` and ``_plain``, sets ``_esm`` and ``_css`` with `front`, and calls nothing that acts
    before a message of a person has come.
    """

    @abstractmethod
    def _static(self) -> Markup:
        """Give the static twin, made with `promptlift.widgets.static`."""

    @abstractmethod
    def _plain(self) -> str:
        """Give one line for terminals, without any text from outside."""

    def open(self) -> None:
        """Tell the front end about the widget, unless nobody is there."""
        if not nobody_can_act():
            super().open()

    def close(self) -> None:
        """End the live view; the static twin stays."""
        super().close()
        # ipywidgets takes the bundle away from a closed widget, and a closed one can still be printed.
        self.__dict__.pop("_repr_mimebundle_", None)

    def __repr__(self) -> str:
        return self._plain()

    def _repr_html_(self) -> str:
        return str(self._static())

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle: dict[str, Any] = {"text/plain": self._plain(), "text/html": str(self._static())}
        live = None if self.comm is None or nobody_can_act() else super()._repr_mimebundle_(**kwargs)
        if live is None:
            return bundle, {}
        data, metadata = live
        return {**data, **bundle}, metadata
