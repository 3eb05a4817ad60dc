"""Whether the public package GEPA is there."""

from __future__ import annotations

from importlib.util import find_spec

from promptlift.errors import MissingExtra

__all__ = ["check_installed"]


def check_installed() -> None:
    """Check that the package can be imported.

    Raises
    ------
    MissingExtra
        It is not installed; the message says how to install it.
    """
    if find_spec("gepa") is None:
        raise MissingExtra('The engine "gepa"', "gepa")
