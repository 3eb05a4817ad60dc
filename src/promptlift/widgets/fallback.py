"""The base of every widget: an interactive view where a person can act, and static HTML everywhere else."""

from __future__ import annotations

import sys
from abc import abstractmethod
from importlib.resources import files
from os import environ
from typing import TYPE_CHECKING, Any

import anywidget

from promptlift.widgets.tree import h

if TYPE_CHECKING:
    from promptlift.widgets.tree import Node

__all__ = ["WidgetWithFallback", "front_end", "is_unattended"]


def front_end(suffix: str, *names: str) -> str:
    """Return the front-end code of a widget: what all widgets share, then its own.

    Parameters
    ----------
    suffix
        ``"js"`` or ``"css"``.
    names
        Its own files in the folder ``front``, in order.
    """
    folder = files("promptlift.widgets") / "front"
    return "\n".join((folder / f"{name}.{suffix}").read_text(encoding="utf-8") for name in ("tree", *names))


def is_unattended() -> bool:
    """Return whether a program runs the notebook: nbconvert, papermill, nbclient, a documentation build.

    Such programs tell the kernel that no question can be answered. An interactive view would be blank in what they
    write (it needs a script from the network), and it could not be clicked.
    """
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    kernel = getattr(shell, "kernel", None)
    if kernel is None or environ.get("SERVER_SOFTWARE", "").startswith("voila"):
        return False
    return not getattr(kernel, "_allow_stdin", True)


class WidgetWithFallback(anywidget.AnyWidget):
    """A widget that can also be read on a page without scripts.

    Its output carries the interactive view and a static fallback: a front end with a kernel shows the view; an exported
    notebook, GitHub or an e-mail shows the fallback, which is the state at the time the cell ran.

    A subclass implements ``_fallback`` and ``_plain``, sets ``_esm`` and ``_css`` with `front_end`, and changes nothing
    before a person has sent a message.
    """

    @abstractmethod
    def _fallback(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the static fallback by media type, and what is said about it, also by media type."""

    @abstractmethod
    def _plain(self) -> str:
        """Return one line for terminals, without any text from outside."""

    def open(self) -> None:
        """Announce the widget to the front end, if there is one."""
        if not is_unattended():
            super().open()

    def slot(self, otherwise: str, into: str | None = None) -> Node:
        """Return the element that shows this widget inside another.

        Parameters
        ----------
        otherwise
            What is shown where a page cannot do that.
        into
            What gets the focus: a selector.
        """
        reference = f"anywidget:{self.model_id}"
        return h("div", widget=reference, key=reference, otherwise=otherwise, into=into)

    def close(self) -> None:
        """End the interactive view; the static fallback stays."""
        super().close()
        # ipywidgets removes the bundle from a closed widget, but a closed widget can still be displayed.
        self.__dict__.pop("_repr_mimebundle_", None)

    def __repr__(self) -> str:
        return self._plain()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        fallback, about = self._fallback()
        bundle: dict[str, Any] = {"text/plain": self._plain(), **fallback}
        interactive = None if self.comm is None or is_unattended() else super()._repr_mimebundle_(**kwargs)
        if interactive is None:
            return bundle, about
        data, metadata = interactive
        return {**data, **bundle}, {**metadata, **about}
