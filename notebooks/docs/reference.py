"""The pages of the API reference, written from what the package exports, so that no public name is left out.

``build.py`` writes them before a build and asks afterwards whether the site has every name.
"""

# ruff: noqa: INP001  no package
from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click
import typer

import promptlift
from promptlift.cli.commands import app
from promptlift.frames.layouts import call_of, describe_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MEMBERS: Final = """\
   :members:
   :inherited-members: BaseModel, Exception, dict, str, object, Protocol, tuple, VBox, DOMWidget, Widget, HasTraits
"""
TEMPLATES: Final = {
    "class.rst": """\
{{ objname | escape | underline }}

.. currentmodule:: {{ module }}

.. autoclass:: {{ objname }}
"""
    + _MEMBERS,
    "base.rst": """\
{{ objname | escape | underline }}

.. currentmodule:: {{ module }}

.. auto{{ objtype }}:: {{ objname }}
""",
}


@dataclass(frozen=True)
class Room:
    """A part of the package with a page of its own.

    Attributes
    ----------
    module
        Its name behind ``promptlift``; empty for the package itself.
    title
        What it is for, in a few words.
    """

    module: str
    title: str

    @property
    def name(self) -> str:
        """Name to import."""
        return f"promptlift.{self.module}" if self.module else "promptlift"

    @property
    def page(self) -> str:
        """Name of its page."""
        return self.module.replace(".", "-") or "promptlift"


ROOMS: Final = (
    Room("", "What you start with"),
    Room("workspace", "The workspace: tables, logging, optimizing, applying"),
    Room("analysis", "The numbers"),
    Room("plots", "The pictures"),
    Room("widgets", "The widgets"),
    Room("report", "Reports"),
    Room("transcripts", "Conversations from other tools"),
    Room("local", "The embedded service"),
    Room("snapshot", "Snapshots: folders of Parquet files"),
    Room("samples", "The sample conversations"),
    Room("stats", "Statistics"),
    Room("events", "Receiving webhooks"),
    Room("errors", "Errors"),
    Room("client", "Every endpoint, typed"),
    Room("frames", "Columns of the tables"),
    Room("schema", "Types of the API"),
)
# Rooms whose modules are their interface: they have no names of their own.
_OPEN_ROOMS: Final = ("schema",)
# Rooms that export what most people call; the rest is imported from its module.
_ROOMS_WITH_MORE: Final = ("stats",)
# Characters of a value that fits on a page.
LONG_VALUE: Final = 120
# Modules, not names: each has a page.
_PAGES: Final = {room.module for room in ROOMS if room.module}


def public_names(room: Room) -> list[str]:
    """Full names of what a room exports: its ``__all__``, and of open rooms every public class and function."""
    module = importlib.import_module(room.name)
    if room.module in _OPEN_ROOMS:
        return [name for part in _parts(room.name) for name in _own_names(part)]
    elsewhere = {id(getattr(promptlift, name)) for name in promptlift.__all__} if room.module else set()
    names = [
        f"{room.name}.{name}"
        for name in sorted(module.__all__, key=str.lower)
        if not (name.startswith("__") or _is_page(room, name) or id(getattr(module, name)) in elsewhere)
    ]
    return names + (_groups() if room.module == "client" else []) + _more_names(room)


def _more_names(room: Room) -> list[str]:
    """Full names of public classes and functions that a room does not export, but its modules have."""
    if room.module not in _ROOMS_WITH_MORE:
        return []
    exported = importlib.import_module(room.name).__all__
    names = [name for part in _parts(room.name) for name in _own_names(part)]
    return [name for name in names if name.rpartition(".")[2] not in exported]


def _groups() -> list[str]:
    """Classes that the attributes of a client belong to: the endpoints of one resource each."""
    group = importlib.import_module("promptlift.client.api.group").Group
    found = [name for module in _parts("promptlift.client.api") for name in _own_names(module)]
    return [name for name in found if _is_group(name, group)]


def _is_group(name: str, group: type) -> bool:
    module, _, own = name.rpartition(".")
    value = getattr(importlib.import_module(module), own)
    return inspect.isclass(value) and issubclass(value, group) and value is not group


def _is_page(room: Room, name: str) -> bool:
    """Whether a name of the package is a room, or a module of one, with a page of its own."""
    return not room.module and name in _PAGES


def _parts(package: str) -> Iterator[str]:
    """Modules of a room, by name; a room that is one module is its own."""
    found = importlib.import_module(package)
    folder = getattr(found, "__path__", None)
    if folder is None:
        yield package
        return
    yield from sorted(f"{package}.{part.name}" for part in pkgutil.iter_modules(folder))


def _own_names(module_name: str) -> list[str]:
    """Public classes and functions that a module defines itself."""
    module = importlib.import_module(module_name)
    return [
        f"{module_name}.{name}"
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module_name
        and name.isidentifier()  # pydantic keeps models of generic ones in the module
    ]


def every_public_name() -> set[str]:
    """Full names of everything that the reference must have."""
    return {name for room in ROOMS for name in public_names(room)}


def write_pages(source: Path) -> None:
    """Write the pages of the reference and the templates of autosummary.

    Parameters
    ----------
    source
        Folder of the sources of the site.
    """
    (source / "_templates" / "autosummary").mkdir(parents=True, exist_ok=True)
    for name, text in TEMPLATES.items():
        (source / "_templates" / "autosummary" / name).write_text(text, encoding="utf-8")
    folder = source / "api"
    folder.mkdir(exist_ok=True)
    pages = [*(room.page for room in ROOMS), "../columns", "../cli", "../contributing"]
    listed = "\n".join(f"   {page}" for page in pages)
    (folder / "index.rst").write_text(
        f"{_heading('Reference')}\n"
        "Every public name, by what it is for, with its parameters, columns, units and errors. The settings are listed in "
        ":doc:`../running`, the HTTP API at ``/openapi.json`` of a running service.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{listed}\n",
        encoding="utf-8",
    )
    for room in ROOMS:
        (folder / f"{room.page}.rst").write_text(_page(room), encoding="utf-8")
        for module, own in _by_module(room):
            (folder / f"{module}.rst").write_text(_module_page(module, own), encoding="utf-8")
    (source / "columns.rst").write_text(columns_page(), encoding="utf-8")
    (source / "cli.md").write_text("\n".join(_commands()), encoding="utf-8")


def _commands() -> Iterator[str]:
    """Write the page of the command line: the help text of every command."""
    yield "# Command line\n\nEvery setting is also an environment variable, see {doc}`running`.\n"
    root = typer.main.get_command(app)
    shown: list[tuple[str, click.Command]] = [("promptlift", root)]
    for path, command in shown:
        context = click.Context(command, info_name=path, terminal_width=100)
        yield f"## {path}\n\n```text\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            shown += [
                (f"{path} {name}", child) for name, child in command.commands.items() if not child.hidden
            ]


def columns_page() -> str:
    """Write the page of every column of every table, with its dtype, unit and meaning."""
    parts = [
        _heading("Columns and units"),
        (
            "Every table that a method of the workspace returns has these columns, in this order and with these dtypes, "
            "also when it is empty. Some are there only when they are asked for: ``content=True``, ``insights=True``. "
            "The table of conversations has last a column ``metadata.KEY`` for each key of the metadata, sorted: ``Int64``, "
            "``Float64`` or ``boolean`` where all its values are of that type, else ``str``. "
            "The same list as a table: ``promptlift.frames.describe_columns()``.\n"
        ),
    ]
    for table, rows in describe_columns().groupby("table", sort=False):
        parts += [_heading(str(table), "-"), f"``{call_of(str(table))}``\n"]
        parts.append(".. list-table::\n   :header-rows: 1\n")
        header = ("Column", "dtype", "Unit", "Meaning")
        cells = [
            (f"``{row.column}``", f"``{row.dtype}``", row.unit, row.meaning)
            for row in rows.itertuples(index=False)
        ]
        for row in (header, *cells):
            parts.append("\n".join(f"   {'*' if not at else ' '} - {cell}" for at, cell in enumerate(row)))
        parts.append("")
    return "\n".join(parts)


def _page(room: Room) -> str:
    """Write the page of a room: what its module says about itself, and its names."""
    about = inspect.getdoc(importlib.import_module(room.name)) or ""
    names = public_names(room)
    parts = [_heading(room.title), f"``{room.name}``\n", about, ""]
    if room.module not in _OPEN_ROOMS:
        own = [name for name in names if name not in _more_names(room)]
        constants = [name for name in own if _is_constant(name)]
        parts.append(_summary([name for name in own if name not in constants]))
        if constants:
            parts += [_heading("Constants", "-"), *(_constant(room, name) for name in constants)]
    listed = [f"   {module}" for module, _ in _by_module(room)]
    if listed:
        parts.append("\n".join([_heading("Modules", "-"), ".. toctree::\n   :maxdepth: 1\n", *listed, ""]))
    return "\n".join(parts)


def _by_module(room: Room) -> Iterator[tuple[str, list[str]]]:
    """Return the names that a room does not export, by their modules: each module has a page."""
    names = public_names(room) if room.module in _OPEN_ROOMS else _more_names(room)
    for module in _parts(room.name):
        own = [name for name in names if name.rpartition(".")[0] == module]
        if own:
            yield module, own


def _module_page(module: str, names: list[str]) -> str:
    """Return the page of a module: every name of it, one below the other."""
    about = (inspect.getdoc(importlib.import_module(module)) or "").partition("\n")[0]
    parts = [_heading(module), about, ""]
    for name in names:
        own = name.rpartition(".")[2]
        is_class = inspect.isclass(getattr(importlib.import_module(module), own))
        parts.append(f".. auto{'class' if is_class else 'function'}:: {name}\n{_MEMBERS if is_class else ''}")
    return "\n".join(parts)


def _is_constant(name: str) -> bool:
    return name.rpartition(".")[2].isupper()


def _constant(room: Room, name: str) -> str:
    """Return the entry of a constant: its value and the comment above it in the source."""
    module, _, own = name.rpartition(".")
    value = getattr(importlib.import_module(module), own)
    shown = repr(value)
    said = " ".join(
        line.strip().removeprefix("#").strip() for part in _parts(room.name) for line in _comment(part, own)
    )
    text = f".. py:data:: {name}\n   :type: {type(value).__name__}\n"
    if len(shown) < LONG_VALUE:
        text += f"   :value: {shown}\n"
    elif isinstance(value, dict):
        said += "\n\n   Keys: " + ", ".join(f"``{key}``" for key in value)
    return f"{text}\n   {said.strip()}\n"


def _comment(module_name: str, constant: str) -> list[str]:
    """Lines of the comment above the assignment of a constant."""
    lines = inspect.getsource(importlib.import_module(module_name)).splitlines()
    at = next((at for at, line in enumerate(lines) if re.match(rf"{constant}\b[^=]*=", line)), 0)
    first = at
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return lines[first:at]


def _heading(text: str, mark: str = "=") -> str:
    return f"{text}\n{mark * len(text)}\n"


def _summary(names: list[str]) -> str:
    listed = "\n".join(f"   {name}" for name in names)
    return f".. autosummary::\n   :toctree: generated\n\n{listed}\n"
