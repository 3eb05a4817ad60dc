"""Widgets with commands: each runs once, changes are confirmed first, and every failure is explained in the widget."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

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
from promptlift.widgets.fallback import WidgetWithHtml, is_unattended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Command", "CommandWidget", "explain_failure"]

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


@dataclass(frozen=True, slots=True)
class Command:
    """A request of a person. It comes from outside, so every field is checked where it is used."""

    client: str
    number: int
    kind: str
    target: str = ""
    text: str = ""

    @classmethod
    def parse(cls, message: Any) -> Command | None:
        """Read a command from a message of the front end; None when the message is not a command."""
        if not isinstance(message, dict):
            return None
        number = message.get("number")
        texts = [message.get(name, "") for name in ("client", "kind", "target", "text")]
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            return None
        if not all(isinstance(one, str) for one in texts):
            return None
        client, kind, target, text = texts
        return cls(client[:40], number, kind[:40], target[:200], text[:_TEXT_CHARS])


class CommandWidget(WidgetWithHtml):
    """A widget with buttons that change something.

    A click sends a numbered command; a command that arrives twice, bundled or late, runs once. A change to a prompt or
    an optimization needs a second click in a dialog, which carries a token that is valid once. A notebook that is run by
    a program has no commands at all.
    """

    # From Python to the front end.
    _view = traitlets.Dict().tag(sync=True)
    _dialog = traitlets.Dict().tag(sync=True)
    _notice = traitlets.Dict().tag(sync=True)
    _acknowledged = traitlets.Dict().tag(sync=True)
    # From the front end to Python.
    _commands: traitlets.List[Any] = traitlets.List().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        self._pending: tuple[str, Callable[[str], None]] | None = None
        super().__init__(**state)
        self.observe(self._on_commands, "_commands")

    @abstractmethod
    def _handlers(self) -> Mapping[str, Callable[[Command], None]]:
        """Return the handler for each kind of command."""

    def _on_commands(self, change: Mapping[str, Any]) -> None:
        if is_unattended():
            return
        messages = change["new"] if isinstance(change["new"], list) else []
        for command in (Command.parse(one) for one in messages):
            if command is None or command.number <= self._acknowledged.get(command.client, 0):
                continue
            try:
                self._run(command)
            finally:
                self._acknowledged = {**self._acknowledged, command.client: command.number}

    def _run(self, command: Command) -> None:
        if command.kind == "cancel":
            self._close_dialog()
        elif command.kind == "confirm":
            self._run_confirmed(command)
        elif (handler := self._handlers().get(command.kind)) is not None:
            self._try(lambda: handler(command))

    def _confirm_stop(self, act: Callable[[str], None]) -> None:
        """Ask whether to stop an optimization, and why."""
        self._confirm(
            {
                "title": "Stop this optimization?",
                "lines": ["The measurements so far are kept. A stopped optimization cannot be resumed."],
                "field": "Reason",
                "value": "",
                "button": "Stop",
            },
            act,
        )

    def _confirm(self, dialog: dict[str, Any], act: Callable[[str], None]) -> None:
        """Show a dialog whose button calls ``act`` once, with the text that was typed."""
        token = secrets.token_hex(12)
        self._pending = (token, act)
        self._dialog = {**dialog, "token": token}

    def _inform(self, dialog: dict[str, Any]) -> None:
        """Show a dialog without anything to confirm."""
        self._pending = None
        self._dialog = {**dialog, "token": ""}

    def _close_dialog(self) -> None:
        self._pending = None
        self._dialog = {}

    def _run_confirmed(self, command: Command) -> None:
        if self._pending is None or not secrets.compare_digest(
            self._pending[0].encode(), command.target.encode("utf-8", "replace")
        ):
            return
        act = self._pending[1]
        # The token is spent before anything is done.
        self._close_dialog()
        self._try(lambda: act(command.text))

    def _try(self, act: Callable[[], None]) -> None:
        """Call ``act``; a failure is explained in the widget, which stays usable."""
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever happens reaches the person, and the widget stays usable
            self._notify(explain_failure(error), "bad")

    def _notify(self, words: str, tone: str = "good", *, undo: str | None = None) -> None:
        """Show a message, with a button that asks to undo an action when one is named."""
        notice = {"words": one_line(words, _MESSAGE_CHARS), "tone": tone, "undo": undo or ""}
        self._notice = notice if words else {}


def explain_failure(error: BaseException) -> str:
    """Explain what went wrong and what to do next."""
    message = str(error) or type(error).__name__
    if not isinstance(error, PromptliftError):
        return f"Something went wrong: {type(error).__name__}: {message}"
    words = next((words for kind, words in _FAILURES if isinstance(error, kind)), "")
    return f"{words} ({message})" if words else message
