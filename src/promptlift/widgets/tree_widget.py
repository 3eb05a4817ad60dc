"""A widget drawn from a tree: what a person does arrives as one message, changes are confirmed first, and every failure is explained."""

from __future__ import annotations

import secrets
import sys
from abc import abstractmethod
from importlib.resources import files
from os import environ
from typing import TYPE_CHECKING, Any, ClassVar, Final

import anywidget
import traitlets

from promptlift.errors import (
    ConnectionFailed,
    InvalidApiKey,
    InvalidState,
    NotFound,
    PromptliftError,
    RateLimited,
)
from promptlift.schema.inert import one_line
from promptlift.widgets.tree import Nodes, h, static_html, with_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.widgets.tree import Node

__all__ = ["Event", "TreeWidget", "explain_failure", "front_end", "is_unattended", "push", "whole"]

Event = dict[str, str]
"""What a person did: the ``action``, its arguments and the named fields around it. It comes from outside, so all of it is checked where it is used."""

_TEXT_CHARS: Final = 10_000
_MESSAGE_CHARS: Final = 900
_FAILURES: Final[tuple[tuple[type[PromptliftError], str], ...]] = (
    (
        InvalidApiKey,
        "The service does not accept the API key; it may have been revoked. Connect with another key and run this cell again.",
    ),
    (ConnectionFailed, "The service cannot be reached. Check the network and press Refresh."),
    (InvalidState, "The service refused this."),
    (NotFound, "It no longer exists."),
    (RateLimited, "Too many requests per minute; wait a moment and try again."),
)


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


class TreeWidget(anywidget.AnyWidget):
    """A widget whose interactive view and static fallback are drawn from one tree.

    Its output carries both: a front end with a kernel shows the view; an exported notebook, GitHub or an e-mail shows the
    fallback, which is the state at the time the cell ran. A subclass sets ``_esm`` and ``_css`` with `front_end`.

    The front end sends an event for each action; whatever it changes is drawn again, and only parts that are different are
    sent. A change to a prompt or an optimization needs a second click in a dialog, which carries a token that is valid
    once. A notebook that is run by a program has no events at all.
    """

    _tree = traitlets.Any(()).tag(sync=True)
    _parts: Any = traitlets.Any(()).tag(sync=True)
    _name = traitlets.Unicode().tag(sync=True)

    # Parts of the tree that are sent on their own.
    PARTS: ClassVar[Sequence[str]] = ()
    CLASS: ClassVar[str]

    _closed = False

    def __init__(self) -> None:
        self._pending: tuple[str, Callable[[str], None]] | None = None
        self._dialog: Node | None = None
        self._notice: Node | None = None
        self.add_traits(**{name: traitlets.Any(()).tag(sync=True) for name in self.PARTS})
        super().__init__(**self._draw(), _parts=self.PARTS, _name=self.CLASS)
        self.on_msg(self._on_event)

    @abstractmethod
    def _draw(self) -> dict[str, Nodes]:
        """Return the tree, and each of its parts, by the name of the trait."""

    def _still(self) -> Nodes:
        """Return the tree of a page without scripts: what is shown, of which the renderer leaves out the controls."""
        drawn = self._draw()
        return with_parts(drawn["_tree"], drawn)

    @abstractmethod
    def _actions(self) -> Mapping[str, Callable[[Event], None]]:
        """Return what each action does."""

    @abstractmethod
    def _plain(self) -> str:
        """Return one line for terminals, without any text from outside."""

    # The output of a cell.

    def _fallback(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the static fallback by media type, and what is said about it, also by media type."""
        return {"text/html": self._repr_html_()}, {}

    def _repr_html_(self) -> str:
        return str(static_html(self._still()))

    def __repr__(self) -> str:
        return self._plain()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        fallback, about = self._fallback()
        bundle: dict[str, Any] = {"text/plain": self._plain(), **fallback}
        self._announce()
        interactive = None if self.comm is None else super()._repr_mimebundle_(**kwargs)
        data, metadata = interactive or ({}, {})
        return {**data, **bundle}, {**metadata, **about}

    def open(self) -> None:
        """Do nothing: a front end loads a model for each widget that it knows, and logs an error when it is closed unseen."""

    def _announce(self) -> None:
        """Announce the widget to the front end, if there is one, because it is about to be shown."""
        if not self._closed and not is_unattended():
            super().open()

    def close(self) -> None:
        """End the interactive view; the static fallback stays."""
        self._closed = True
        super().close()
        # ipywidgets removes the bundle from a closed widget, but a closed widget can still be displayed.
        self.__dict__.pop("_repr_mimebundle_", None)

    def slot(self, otherwise: str, into: str | None = None) -> Node:
        """Return the element that shows this widget inside another.

        Parameters
        ----------
        otherwise
            What is shown where a page cannot do that.
        into
            What gets the focus: a selector.
        """
        self._announce()
        reference = f"anywidget:{self.model_id}"
        return h("div", widget=reference, key=reference, otherwise=otherwise, into=into)

    # Events.

    def _show(self) -> None:
        """Draw again; what is as before is not sent."""
        with self.hold_sync():
            for name, nodes in self._draw().items():
                setattr(self, name, nodes)

    def _on_event(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if is_unattended() or not isinstance(message, dict):
            return
        event = {str(name): one[:_TEXT_CHARS] for name, one in message.items() if isinstance(one, str)}
        actions = {**self._actions(), "cancel": lambda _: self._close_dialog(), "confirm": self._confirmed}
        act = actions.get(event.get("action", ""))
        try:
            if act is not None:
                act(event)
        except Exception as error:  # noqa: BLE001 - whatever happens reaches the person, and the widget stays usable
            self._notify(explain_failure(error), "bad")
        self._show()
        self.send({"done": event.get("id", "")})

    # Confirmation and messages.

    def _confirm(
        self, title: str, *body: Any, act: Callable[[str], None], button: str, label: str, value: str = ""
    ) -> None:
        """Show a dialog whose button calls ``act`` once, with the text that was typed."""
        token = secrets.token_hex(12)
        self._pending = (token, act)
        about = {"aria_label": label, "placeholder": label}
        typed = h("textarea", rows=2, maxlength=_TEXT_CHARS, name="text", value=value, **about)
        confirm = h("button.plw-confirm", button, action="confirm", token=token, once=True, guard=True)
        self._open_dialog(title, *body, typed, buttons=[confirm])

    def _confirm_stop(self, act: Callable[[str], None]) -> None:
        """Ask whether to stop an optimization, and why."""
        kept = h("p", "The measurements so far are kept. A stopped optimization cannot be resumed.")
        self._confirm("Stop this optimization?", kept, act=act, button="Stop", label="Reason")

    def _open_dialog(self, title: str, *body: Any, buttons: Sequence[Node]) -> None:
        """Show a dialog with some buttons, and one that closes it."""
        words = "Cancel" if self._pending else "Close"
        away = h("button.plw-cancel", words, action="cancel", keys="Escape", focus=True)
        inside = h(
            "div.plw-dialog",
            h("div.plw-dialog-title.plw-foreign", title),
            body,
            h("div.plw-buttons", away, buttons),
            role="dialog",
            aria_modal="true",
            aria_label=title,
            form=True,
        )
        self._dialog = h("div.plw-layer", inside, keyboard=True, key=secrets.token_hex(6), live=True)

    def _close_dialog(self) -> None:
        self._pending = self._dialog = None

    def _confirmed(self, event: Event) -> None:
        token, act = self._pending or ("", None)
        given = event.get("token", "").encode("utf-8", "replace")
        if act is None or not secrets.compare_digest(token.encode(), given):
            return
        # The token is spent before anything is done.
        self._close_dialog()
        act(event.get("text", ""))

    def _notify(self, words: str, tone: str = "good", *, undo: str | None = None) -> None:
        """Show a message, with a button that asks to undo an action when one is named; none without words."""
        back = undo and h("button.plw-undo", "Undo …", action="undo", of=undo, once=True)
        shown = f"div.plw-notice{'.plw-success' if tone == 'good' else ''}"
        words = one_line(words, _MESSAGE_CHARS)
        # Whoever has just applied a variant sees what was done, and the way back.
        reveal = {"reveal": True, "key": undo} if undo else {}
        self._notice = h(shown, words, back and [" ", back], role="alert", **reveal) if words else None


def push(words: Any, action: str, classes: str = "", **arguments: Any) -> Node:
    """Return a button that a double click presses once."""
    return h(f"button{classes}", words, action=action, once=True, **arguments)


def whole(words: str | None) -> int | None:
    """Return the whole number that a text of an event is; None when it is none."""
    return int(words) if words and words.isascii() and words.isdecimal() and len(words) < 10 else None


def explain_failure(error: BaseException) -> str:
    """Explain what went wrong and what to do next."""
    message = str(error) or type(error).__name__
    if not isinstance(error, PromptliftError):
        return f"Something went wrong: {type(error).__name__}: {message}"
    words = next((words for kind, words in _FAILURES if isinstance(error, kind)), "")
    return f"{words} ({message})" if words else message
