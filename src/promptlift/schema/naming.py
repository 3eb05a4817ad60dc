"""The two naming schemes of the API in one table.

The same resource is a *prompt* in one scheme and an *agent* in the other: the path segment and the link field
differ, everything else is the same. Python and tables use ``prompt_id`` in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

SchemeName = Literal["prompt", "agent"]


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to name the main resource on the wire.

    Attributes
    ----------
    noun
        Name of the resource in messages.
    segment
        Path segment, without a slash.
    link
        JSON field that links another resource to it.
    """

    name: SchemeName
    noun: str
    segment: str
    link: str


SCHEMES: Final[dict[SchemeName, Scheme]] = {
    "prompt": Scheme("prompt", "Prompt", "prompts", "promptId"),
    "agent": Scheme("agent", "Agent", "agents", "agentId"),
}
LINKS: Final = tuple(scheme.link for scheme in SCHEMES.values())


def scheme_of(name: str) -> Scheme:
    """Look a scheme up by name.

    Raises
    ------
    ValueError
        The name is neither ``prompt`` nor ``agent``.
    """
    for scheme in SCHEMES.values():
        if scheme.name == name:
            return scheme
    raise ValueError(f"The naming scheme must be 'prompt' or 'agent', not {name!r}")


def link_of(record: dict[str, Any]) -> Any:
    """Return the link to the prompt or agent in a decoded JSON object; ``None`` if there is none."""
    for link in LINKS:
        if record.get(link) is not None:
            return record[link]
    return None
