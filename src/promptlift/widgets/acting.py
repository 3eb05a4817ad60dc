"""Widgets that act: a wish is carried out once, after a confirmation, and every failure is said in words."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from dataclasses import dataclass
from importlib.resources import files
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
from promptlift.widgets.twin import TwinWidget, nobody_can_act

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ActingWidget", "Wish", "acting_front", "words_for_failure"]

_TEXT_CHARS: Final = 10_000
_MESSAGE_CHARS: Final = 900
_FAILURES: Final[tuple[tuple[type[PromptliftError], str], ...]] = (
    (
        InvalidApiKey,
        "The service does not accept the API key: it may have been revoked. Connect with another key and run this cell again.",
    ),
    (ConnectionFailed, "The service cannot be reached. Look at the network and press Refresh."),
    (InvalidState, "The service refused this."),
    (NotFound, "It is not there any more."),
    (RateLimited, "Too many requests a minute; wait a little and try again."),
)


def acting_front(name: str, suffix: str) -> str:
    """Give the code of the front end of a widget that acts: what all share, what those that act share, its own."""
    folder = files("promptlift.widgets") / "front"
    return "\n".join(
        (folder / f"{part}.{suffix}").read_text(encoding="utf-8") for part in ("shared", "acting", name)
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """Something that a person asked for. Everything in it is checked where it is used: it comes from outside."""

    client: str
    number: int
    kind: str
    target: str = ""
    text: str = ""

    @classmethod
    def read(cls, given: Any) -> Wish | None:
        """Read a wish; None when it is none."""
        if not isinstance(given, dict):
            return None
        number = given.get("number")
        texts = [given.get(name, "") for name in ("client", "kind", "target", "text")]
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            return None
        if not all(isinstance(one, str) for one in texts):
            return None
        client, kind, target, text = texts
        return cls(client[:40], number, kind[:40], target[:200], text[:_TEXT_CHARS])


class ActingWidget(TwinWidget):
    """A widget with buttons that change something.

    A click is a wish with a number: the same wish that comes twice, bundled or late, is carried out once. What changes a
    prompt or an optimization needs a second click in a dialog, which knows a token that is good for one use. A notebook
    that a program runs has no wishes at all.
    """

    # From Python to the front end.
    _view = traitlets.Dict().tag(sync=True)
    _dialog = traitlets.Dict().tag(sync=True)
    _notice = traitlets.Dict().tag(sync=True)
    _answered = traitlets.Dict().tag(sync=True)
    # From the front end to Python.
    _wishes: traitlets.List[Any] = traitlets.List().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        self._confirm: tuple[str, Callable[[str], None]] | None = None
        super().__init__(**state)
        self.observe(self._on_wishes, "_wishes")

    @abstractmethod
    def _handlers(self) -> Mapping[str, Callable[[Wish], None]]:
        """Give what is done for each kind of wish."""

    def _on_wishes(self, change: Mapping[str, Any]) -> None:
        if nobody_can_act():
            return
        given = change["new"] if isinstance(change["new"], list) else []
        for wish in (Wish.read(one) for one in given):
            if wish is None or wish.number <= self._answered.get(wish.client, 0):
                continue
            try:
                self._carry_out(wish)
            finally:
                self._answered = {**self._answered, wish.client: wish.number}

    def _carry_out(self, wish: Wish) -> None:
        if wish.kind == "cancel":
            self._close_dialog()
        elif wish.kind == "confirm":
            self._confirmed(wish)
        elif (handler := self._handlers().get(wish.kind)) is not None:
            self._try(lambda: handler(wish))

    def _ask_before_stop(self, act: Callable[[str], None]) -> None:
        """Ask whether an optimization shall be stopped, and why."""
        self._ask(
            {
                "title": "Stop this optimization?",
                "lines": ["What was measured stays. A stopped optimization cannot go on."],
                "field": "Reason",
                "value": "",
                "button": "Stop",
            },
            act,
        )

    def _ask(self, dialog: dict[str, Any], act: Callable[[str], None]) -> None:
        """Show a dialog; its button carries out ``act`` once, with the text that was typed in it."""
        token = secrets.token_hex(12)
        self._confirm = (token, act)
        self._dialog = {**dialog, "token": token}

    def _tell(self, dialog: dict[str, Any]) -> None:
        """Show a dialog that has nothing to confirm."""
        self._confirm = None
        self._dialog = {**dialog, "token": ""}

    def _close_dialog(self) -> None:
        self._confirm = None
        self._dialog = {}

    def _confirmed(self, wish: Wish) -> None:
        if self._confirm is None or not secrets.compare_digest(
            self._confirm[0].encode(), wish.target.encode("utf-8", "replace")
        ):
            return
        act = self._confirm[1]
        # The token is spent before anything is done.
        self._close_dialog()
        self._try(lambda: act(wish.text))

    def _try(self, act: Callable[[], None]) -> None:
        """Do something; a failure is said in words, and the widget goes on."""
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever happens reaches the person, and the widget stays usable
            self._say(words_for_failure(error), "bad")

    def _say(self, words: str, tone: str = "good") -> None:
        self._notice = {"words": one_line(words, _MESSAGE_CHARS), "tone": tone} if words else {}


def words_for_failure(error: BaseException) -> str:
    """Say what went wrong and what to do next."""
    said = str(error) or type(error).__name__
    if not isinstance(error, PromptliftError):
        return f"Something went wrong: {type(error).__name__}: {said}"
    words = next((words for kind, words in _FAILURES if isinstance(error, kind)), "")
    return f"{words} ({said})" if words else said
