"""The front end of a widget: it sends the messages that the browser sends, and reads the state that the browser gets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.widgets.fallback import WidgetWithHtml


class FrontEnd:
    """One view of a widget. Messages go through ``set_state``, which handles those of a real front end too."""

    def __init__(self, widget: WidgetWithHtml, client: str = "view-1") -> None:
        self.widget = widget
        self.client = client
        self._sent = 0

    def receive(self, messages: Any) -> None:
        """Let the widget receive a list of commands as it is, whatever it contains."""
        self.widget.set_state({"_commands": messages})

    def command(
        self, *, number: int | None = None, client: str | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Return a command as the browser numbers it: the next one, or one with the given number."""
        if number is None:
            self._sent += 1
        return {"client": client or self.client, "number": number or self._sent, **fields}

    def send(self, **fields: Any) -> None:
        """Send the next command, together with those that the widget has not acknowledged yet."""
        acknowledged = self.state("_acknowledged")
        waiting = [
            one for one in self.state("_commands") if one["number"] > acknowledged.get(one["client"], 0)
        ]
        self.receive([*waiting, self.command(**fields)])

    def state(self, name: str) -> Any:
        """Return one synchronised value, as JSON carries it to the browser."""
        return json.loads(json.dumps(self.widget.get_state(name)[name]))

    def everything(self) -> str:
        """Return all that the browser gets, without the code of the front end."""
        state = self.widget.get_state()
        return json.dumps({name: state[name] for name in state if name not in ("_esm", "_css", "layout")})

    @property
    def view(self) -> dict[str, Any]:
        return self.state("_view")

    @property
    def acknowledged(self) -> dict[str, int]:
        return self.state("_acknowledged")

    @property
    def html(self) -> str:
        """The static fallback."""
        return self.widget._repr_html_()


class CommandFrontEnd(FrontEnd):
    """A front end with buttons and dialogs: that of a review or a monitor."""

    def click(self, kind: str, target: str = "", text: str = "") -> dict[str, Any]:
        """Send a command and return the dialog that is shown then."""
        self.send(kind=kind, target=target, text=text)
        return self.dialog

    def confirm(self, text: str = "", *, token: str | None = None) -> dict[str, Any]:
        """Press the button of the dialog that is shown."""
        return self.click("confirm", self.dialog["token"] if token is None else token, text)

    @property
    def dialog(self) -> dict[str, Any]:
        return self.state("_dialog")

    @property
    def notice(self) -> str:
        return self.state("_notice").get("words", "")

    @property
    def reviews(self) -> dict[str, list[str]]:
        """Verdict and note of each variant."""
        return self.state("_reviews")

    @property
    def examples(self) -> dict[str, Any]:
        return self.state("_examples")

    def badges(self) -> Iterator[str]:
        """The badges of all cards."""
        for card in self.view["cards"]:
            yield from (words for words, _ in card["badges"])


class BrowserFrontEnd(FrontEnd):
    """The front end of a conversation browser."""

    _queries = 0

    def query(self, move: str = "first", place: int = 0, page: int = 0, **filters: Any) -> int | None:
        """Ask for conversations and return the place of the one that is shown."""
        self._queries += 1
        query = {
            "number": self._queries,
            "client": self.client,
            "move": move,
            "place": place,
            "page": page,
            **filters,
        }
        self.receive_query(query)
        assert self.opened["number"] == self._queries
        return self.opened["place"]

    def receive_query(self, message: Any) -> None:
        """Let the widget receive a query as it is, whatever it contains."""
        self.widget.set_state({"_query": message})

    def label(self, place: int, field: str, value: Any) -> None:
        """Label a conversation."""
        self.send(place=place, field=field, value=value)

    @property
    def places(self) -> list[int]:
        """Places of the conversations in the list."""
        return [row["place"] for row in self.view["rows"]]

    @property
    def opened(self) -> dict[str, Any]:
        return self.state("_opened")

    @property
    def about(self) -> dict[str, Any]:
        return self.state("_about")

    @property
    def labels(self) -> dict[str, Any]:
        """The labels of the conversations that are shown, how many there are in all, and a notice."""
        return self.state("_label_state")
