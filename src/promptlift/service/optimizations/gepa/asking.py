"""Whether GEPA may be asked for: it is installed, and nothing of the request goes against it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from promptlift.errors import MissingExtra
from promptlift.service.errors import invalid

if TYPE_CHECKING:
    from promptlift.schema.optimizations import OptimizationCreate

__all__ = ["check_installed", "settings_of"]


def check_installed() -> None:
    """Check that the package can be imported.

    Raises
    ------
    MissingExtra
        It is not installed; the message says how to install it.
    """
    if find_spec("gepa") is None:
        raise MissingExtra('The engine "gepa"', "gepa")


def settings_of(body: OptimizationCreate) -> dict[str, Any]:
    """Return the settings of an optimization for which GEPA was asked.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` when the package is not installed, or the request wants no search.
    """
    if body.search == "off" or body.candidates is not None:
        name = "search" if body.search == "off" else "candidates"
        raise invalid({name: "must be left out: the engine gepa is a search, and writes the candidates"})
    try:
        check_installed()
    except MissingExtra as error:
        raise invalid({"engine": str(error)}, f"{error} where the service runs") from None
    return {"search": "on", "engine": "gepa"}
