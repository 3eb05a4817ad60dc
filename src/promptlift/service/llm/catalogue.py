"""Which model names a prompt may be bound to."""

from __future__ import annotations

import re
from difflib import get_close_matches
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Container

# Common names of chat models, one a line. What an endpoint lists and PROMPTLIFT_MODELS come on top.
CATALOGUE: Final = frozenset(
    resources.files(__package__).joinpath("catalogue.txt").read_text(encoding="utf-8").split()
)

# An endpoint may list thousands of names; near ones are looked for among this many of them.
_COMPARED: Final = 1_000


# What providers add to a name for one state of a model: a date, or a number of three digits.
_SNAPSHOT: Final = re.compile(
    r"(?:[-@](?:\d{4}-\d\d-\d\d|20\d{6}|[01]\d[0-3]\d|0\d\d)|-preview-[01]\d-[0-3]\d)$"
)


def is_known(name: str, extra: Container[str] = ()) -> bool:
    """Whether a model name is valid: in the catalogue, or among the extra names; a dated snapshot like its model."""
    return any(one in CATALOGUE or one in extra for one in (name, _SNAPSHOT.sub("", name)))


def problem_of(name: str, extra: Collection[str] = (), doubt: str | None = None) -> str | None:
    """Return what is wrong with a model name, with near names; ``None`` when it is valid.

    Parameters
    ----------
    name
        Model name of a prompt.
    extra
        Names that are valid beside the catalogue.
    doubt
        Why more names may be valid than are known here, as a clause: the endpoint's list could not be read.
    """
    if is_known(name, extra):
        return None
    compared = [*CATALOGUE, *sorted(extra)[:_COMPARED]]
    near = get_close_matches(name.lower(), compared, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "GET /openapi.json names the catalogue;"
    unread = (
        f"The models of the language model endpoint could not be read just now ({doubt}); if it serves this one, try "
        "again in a few seconds. "
        if doubt
        else ""
    )
    return f"Unknown model name; {hint} {unread}PROMPTLIFT_MODELS adds names of your own"
