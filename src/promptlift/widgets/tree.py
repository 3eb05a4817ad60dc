"""The tree that a widget is drawn from, built once: the front end makes elements of it, a page without scripts gets HTML."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from promptlift.display.static_html import element, text
from promptlift.display.static_html import root as static_root
from promptlift.schema.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from promptlift.display.static_html import Tone
    from promptlift.display.turn import Turn
    from promptlift.widgets.word_diff import DiffLine

__all__ = [
    "Node",
    "Nodes",
    "badge",
    "diff_block",
    "fact",
    "field",
    "fold",
    "h",
    "nodes",
    "pick",
    "quotation",
    "static_html",
    "transcript",
    "with_parts",
]

# Every other attribute is one of data: an argument of an action, or a wish of the widget to the front end.
_HTML: Final = frozenset((
    "alt", "checked", "class", "colspan", "disabled", "draggable", "for", "height", "hidden", "id", "max", "maxlength", "min",
    "name", "open", "placeholder", "role", "rows", "scope", "size", "src", "style", "tabindex", "title", "type", "value", "width",
))  # fmt: skip
_CONTROLS: Final = ("button", "input", "select", "textarea", "label")
_STATIC: Final = ("title", "open", "colspan", "scope")
# On a page of its own: colours for light and dark paper, and nothing that floats or has to be scrolled.
_COLOURS: Final = {
    "ink": "currentColor", "page": "transparent", "card": "rgba(128,128,128,.08)", "line": "rgba(128,128,128,.35)", "soft": "#6b7683",
    "accent": "#2b83ba", "good": "#00896a", "bad": "#c85200"
}  # fmt: skip
_ROLES: Final = {
    one: one.partition(" ")[0] for one in ("user", "assistant", "system", "tool", "tool call", "tool result")
}
# What is no one's word, a system prompt, calls and results of tools, is folded when it is longer.
_ASIDE_CHARS: Final = 160
_DATA: Final = ("{", "[", "<")
_LIVE_ONLY: Final = re.compile(
    r"(?:^|(?<=;))\s*(?:cursor|z-index|max-height|overflow|contain|height: auto)\s*:[^;]*;?"
)
_AT_RULES: Final = re.compile(r"@[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}|/\*.*?\*/", re.DOTALL)
_RULE: Final = re.compile(r"([^{}]+)\{([^{}]*)\}")
_OF_A_CLASS: Final = re.compile(r"\.([\w-]+)")


class Node(NamedTuple):
    """An element: its tag with classes (``div.plw-top``), its attributes, and its children, of which text stays text."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str]


Nodes = list[Node | str]


def h(tag: str, *children: Any, **attributes: Any) -> Node:
    """Return a node.

    Parameters
    ----------
    tag
        Element and classes, such as ``"p.plw-soft"``.
    children
        Nodes, texts, numbers, or lists of these; None, False and empty texts are left out.
    attributes
        Attributes of HTML and ARIA by name; any other is an attribute of data, such as ``action="stop"``. None and, but of
        ARIA, False leave one out.
    """
    written = {"type": "button"} if tag.startswith("button") else {}
    for given, value in attributes.items():
        name = given.rstrip("_").replace("_", "-")
        if name.startswith("aria-") and value is not None:
            written[name] = str(value).lower() if isinstance(value, bool) else str(value)
        elif value is not None and value is not False:
            known = name in _HTML or name.startswith("data-")
            written[name if known else f"data-{name}"] = "" if value is True else str(value)
    return Node(tag, written, list(_flat(children)))


def nodes(*children: Any) -> Nodes:
    """Return nodes and texts as one list, without those that are left out."""
    return list(_flat(children))


def _flat(children: Iterable[Any]) -> Iterable[Node | str]:
    for child in children:
        if isinstance(child, Node):
            yield child
        elif isinstance(child, list | tuple):
            yield from _flat(child)
        elif child is not None and child is not False and child != "":
            yield str(child)


def badge(words: str, tone: Tone = "plain") -> Node:
    """Return a short label; its colour only repeats what its words say."""
    return h(f"b.plw-badge.plw-{tone}", words)


def fact(name: str, value: Any) -> Node:
    """Return a name with its value."""
    return h("span.plw-fact", h("small", name), " ", h("b.plw-foreign", value))


def known(pairs: Iterable[tuple[str, str]]) -> Node:
    """Return a list of names with their values."""
    return h(
        "dl",
        [h("div.plw-known", h("dt", name), h("dd.plw-value.plw-foreign", value)) for name, value in pairs],
    )


def field(label: str, control: Node, tag: str = "span") -> Node:
    """Return a control with its label before it, so that the label's text is its own alone."""
    name = f"plw-{re.sub('[^a-z]', '-', label.lower())}-{control.attributes.get('data-key', '')}"
    control.attributes["id"] = name
    return h(tag, h("label.plw-soft.plw-foreign", label, for_=name), " ", control)


def fold(title: Any, *inside: Any, opened: bool = False, **attributes: Any) -> Node:
    """Return what is shown when a person opens it by its title."""
    return h("details", h("summary.plw-heading", title), inside, open=opened, **attributes)


def with_parts(tree: Nodes, parts: Mapping[str, Nodes]) -> Nodes:
    """Return a tree with its parts in their places, in place of their names."""
    return [node if isinstance(node, str) else _filled(node, parts) for node in tree]


def _filled(node: Node, parts: Mapping[str, Nodes]) -> Node:
    inside = parts.get(node.attributes.get("data-part", ""), node.children)
    return node._replace(children=with_parts(inside, parts))


def pick(name: str, choices: Iterable[tuple[Any, str]], value: Any, **attributes: Any) -> Node:
    """Return a choice of one of several values, each with its words."""
    options = [h("option", words, value=one) for one, words in choices]
    return h("select", options, name=name, value=value, **attributes)


def transcript(turns: Iterable[Turn], marks: Callable[[str], Nodes] | None = None) -> Nodes:
    """Return the messages of a conversation, each with its role.

    Parameters
    ----------
    turns
        In order.
    marks
        Returns the parts of a text with what a search found in it, if it did.
    """
    return [_message(turn, (marks and marks(turn.content)) or []) for turn in turns]


def _message(turn: Turn, marked: Nodes) -> Node:
    who = h("div.plw-soft.plw-who", h("b", turn.role), turn.detail and f" · {turn.detail}")
    words = h("div.plw-foreign", marked or turn.content or "(empty message)")
    aside = turn.role == "system" or turn.role.startswith("tool")
    if aside and len(turn.content) > _ASIDE_CHARS:
        # What a search found in it is to be seen.
        words = fold(one_line(turn.content, _ASIDE_CHARS), words, opened=bool(marked))
    cut = turn.cut > 0 and h("div.plw-bad", f"{turn.cut:,} characters omitted")
    return h(f"div.plw-turn.plw-from-{_ROLES.get(turn.role, 'other')}", who, words, cut)


def quotation(words: str, source: str) -> Node:
    """Return what somebody said, with its source; the data of a tool are folded."""
    said: Any = h("span.plw-foreign", f"“{words}” ")
    if words.startswith(_DATA):
        said = fold("Data of a tool", h("span.plw-foreign", words))
    return h("blockquote", words and said, h("span.plw-soft.plw-foreign", source))


def diff_block(lines: Sequence[DiffLine]) -> Node | None:
    """Return a diff: a sign before every line, removed words struck through, added words underlined."""
    names = {"-": ("−", "removed"), "+": ("+", "added"), "…": ("…", "same")}
    shown = []
    for mark, parts in lines:
        sign, kind = names.get(mark, ("\u00a0", "same"))
        words = [
            part if what == "same" else h("del" if what == "removed" else "ins", part) for what, part in parts
        ]
        shown.append(
            h(f"div.plw-line.plw-line-{kind}", h("code.plw-sign", sign), h("span.plw-foreign", words))
        )
    return h("div.plw-diff", shown) if shown else None


# A page without scripts.


def static_html(*nodes: Any) -> Markup:
    """Return nodes as HTML that runs nothing and needs no style sheet; controls are left out, or the element that ``still`` names is put in their place."""
    return static_root(*map(_html, _flat(nodes)))


def _html(node: Node | str) -> Markup:
    if isinstance(node, str):
        indent = len(node) - len(node.lstrip(" "))
        return Markup("&nbsp;") * (indent - 1) + text(node)
    tag, *classes = node.tag.split(".")
    tag = node.attributes.get("data-still", "") if tag in _CONTROLS else tag
    if not tag or {"hidden", "data-live"} & node.attributes.keys():
        return Markup("")
    inner: list[Markup] = []
    for before, child in zip([None, *node.children], node.children, strict=False):
        # Without styles, elements next to each other would be one word.
        inner += [Markup(" ")] if isinstance(before, Node) and isinstance(child, Node) else []
        inner.append(_html(child))
    styles = [
        "margin:.4em 0" if tag == "p" else "",
        *(_styles().get(name, "") for name in classes),
        node.attributes.get("style", ""),
    ]
    given = {name: node.attributes[name] for name in _STATIC if name in node.attributes}
    if "open" in given:
        given["open"] = True  # type: ignore[assignment]
    return element(tag, *inner, style=";".join(filter(None, styles)) or None, **given)


@cache
def _styles() -> dict[str, str]:
    """Return the declarations of each class that a rule of the style sheets is about, with colours in place of variables."""
    found: dict[str, str] = {}
    for sheet in sorted((files("promptlift.widgets") / "front").iterdir(), key=lambda one: one.name):
        if sheet.name.endswith(".css"):
            rules = _AT_RULES.sub("", sheet.read_text(encoding="utf-8"))
            for selectors, written in _RULE.findall(rules):
                declared = re.sub(r"var\(--(\w+)\)", lambda one: _COLOURS.get(one[1], one[0]), written)
                declared = re.sub(r"\s*([:;,])\s*", r"\1", _LIVE_ONLY.sub("", " ".join(declared.split())))
                for name in selectors.split(","):
                    if known := _OF_A_CLASS.fullmatch(name.strip()):
                        before = found.get(known[1])
                        found[known[1]] = ";".join(filter(None, (before, declared.strip("; "))))
    return found
