"""The front end of a widget: it reads the tree that the browser gets, and sends the messages that the browser sends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Element:
    """An element of the tree that the browser gets."""

    def __init__(self, node: Any, state: dict[str, Any]) -> None:
        (tag, self.attributes, children) = node
        self.tag, *self.classes = tag.split(".")
        part = self.attributes.get("data-part")
        self.children = [
            one if isinstance(one, str) else Element(one, state)
            for one in (state[part] if part else children)
        ]

    def __iter__(self) -> Iterator[Element]:
        """Walk through it and all that is in it, in order."""
        yield self
        for one in self.children:
            if isinstance(one, Element):
                yield from one

    def __getitem__(self, name: str) -> str | None:
        """Return an attribute, or an attribute of data."""
        return self.attributes.get(name, self.attributes.get(f"data-{name}"))

    def __contains__(self, words: str) -> bool:
        """Return whether a text is in it."""
        return words in self.text

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(one if isinstance(one, str) else one.text for one in self.children)

    def all(self, name: str = "", /, **data: Any) -> list[Element]:
        """Return the elements in it of a tag or class (``.plw-turn``) with these attributes."""
        return [
            one
            for one in self
            if (not name or (name[1:] in one.classes if name[0] == "." else name == one.tag))
            and all(one[key.replace("_", "-")] == str(value) for key, value in data.items())
        ]

    def one(self, name: str = "", /, **data: Any) -> Element:
        """Return the only such element."""
        (found,) = self.all(name, **data)
        return found

    def texts(self, name: str = "", /, **data: Any) -> list[str]:
        """Return the texts of such elements."""
        return [one.text for one in self.all(name, **data)]


class TreeFrontEnd:
    """One view of a widget that is drawn from a tree: it reads what is shown and presses what can be pressed."""

    def __init__(self, widget: Any) -> None:
        self.widget = widget

    @property
    def root(self) -> Element:
        """The tree, as JSON carries it to the browser."""
        state = json.loads(self.everything())
        return Element(["div", {}, state["_tree"]], state)

    def everything(self) -> str:
        """Return all that the browser gets, without the code of the front end."""
        state = self.widget.get_state()
        return json.dumps({name: state[name] for name in state if name not in ("_esm", "_css", "layout")})

    def receive(self, message: Any) -> None:
        """Let the widget receive a message as it is, whatever it contains."""
        self.widget._handle_custom_msg(message, [])

    def send(self, action: str, **event: Any) -> None:
        """Send an event that no element has to offer."""
        self.receive({"action": action, "id": "view-1", **event})

    def press(self, action: str, **given: Any) -> None:
        """Press an element with an action; given are its attributes of data, and values that are typed in its form first."""
        root = self.root
        forms = [one for one in root if "data-form" in one.attributes]
        named = {one["name"] for one in root if one["name"]}
        element = root.all(action=action, **{name: one for name, one in given.items() if name not in named})[
            -1
        ]
        assert "disabled" not in element.attributes
        inside = [one for form in forms if any(one is element for one in form) for one in form if one["name"]]
        typed = {one["name"]: one["value"] or "" for one in inside or [element] if one["name"]}
        data = {key[5:]: one for key, one in element.attributes.items() if key.startswith("data-")}
        self.receive(
            {**data, **typed, **{name: one for name, one in given.items() if name in named}, "id": "view-1"}
        )

    def confirm(self, text: str | None = None) -> None:
        """Press the button of the dialog that is shown."""
        self.press("confirm", **({} if text is None else {"text": text}))

    @property
    def dialog(self) -> Element | None:
        return next(iter(self.root.all(".plw-dialog")), None)

    @property
    def notice(self) -> str:
        return "".join(self.root.texts(".plw-notice"))

    @property
    def html(self) -> str:
        """The static fallback."""
        return self.widget._repr_html_()


class ReviewFrontEnd(TreeFrontEnd):
    """The front end of a review."""

    def click(self, action: str, variant: str = "", **event: Any) -> Element | None:
        """Send an event about a variant, and return the dialog that is shown then."""
        self.send(action, variant=variant, **event)
        return self.dialog

    def texts(self) -> list[list[str]]:
        """The texts that the dialog compares, each with its name."""
        assert self.dialog is not None
        return [[one.one("summary").text, one.one(".plw-whole").text] for one in self.dialog.all("details")]

    def card(self, variant: str | None = None) -> Element:
        """Choose a variant, by default the winner, and return its card."""
        self.send("choose", variant=variant or self._winner())
        return self.root.one(".plw-card")

    def _winner(self) -> str:
        (row,) = [one for one in self.root.all(".plw-variant") if "plw-won" in one.classes]
        return str(row["variant"])

    def decided(self, variant: str) -> tuple[list[str | None], str | None]:
        """Return the verdict that is pressed on a card, and the note in its field."""
        card = self.card(variant)
        return [one["verdict"] for one in card.all(action="verdict", aria_pressed="true")], card.one(
            "textarea"
        )["value"]

    def options(self, name: str) -> list[str]:
        """What the pairs can be filtered by."""
        return self.root.one("select", name=name).texts("option")

    def undos(self) -> list[str | None]:
        """Each action on the prompt: its id where it can be undone, else None."""
        return [
            one.all(".plw-undo")[0]["of"] if one.all(".plw-undo") else None
            for one in self.root.all(".plw-action")
        ]

    @property
    def found(self) -> str:
        """How many pairs are listed."""
        (words,) = [one.text for one in self.root.all(role="status") if "pairs" in one.text]
        return words


class BrowserFrontEnd(TreeFrontEnd):
    """The front end of a conversation browser."""

    def search(self, **fields: Any) -> int | None:
        """Search with these values of fields, and return the place of the conversation that is shown."""
        self.send("search", **{name: str(value) for name, value in fields.items()})
        return self.place

    def go(self, action: str, **event: Any) -> int | None:
        """Move, and return the place of the conversation that is shown."""
        self.send(action, **{name: str(value) for name, value in event.items()})
        return self.place

    def label(self, place: int, field: str, value: str) -> None:
        """Press the button of a value, which removes it where it is pressed already."""
        self.go("open", place=place)
        self.press("label", place=place, field=field, value=value)

    def note(self, place: int, words: str) -> None:
        """Write a note."""
        self.go("open", place=place)
        self.press("note", note=words)

    def row(self, place: int) -> Element:
        """A conversation in the list."""
        return self.root.one(".plw-row", place=place)

    @property
    def place(self) -> int | None:
        """The place of the conversation that is shown."""
        shown = self.root.all(".plw-conversation")
        return int(shown[0]["place"] or 0) if shown else None

    @property
    def places(self) -> list[int]:
        """Places of the conversations in the list."""
        return [int(row["place"] or 0) for row in self.root.all(".plw-row")]

    @property
    def found(self) -> str:
        """How many conversations were found."""
        return self.root.one(".plw-found").text

    @property
    def progress(self) -> str:
        """How many are labelled, and what is said of them."""
        return self.root.one(".plw-progress").text

    @property
    def facts(self) -> dict[str, str]:
        """What is known of the conversation that is shown."""
        return {one.text: two.text for one, two in zip(self.root.all("dt"), self.root.all("dd"), strict=True)}

    def options(self, name: str) -> dict[str, str]:
        """The values of a field by their words."""
        return {one.text: one["value"] or "" for one in self.root.one("select", name=name).all("option")}
