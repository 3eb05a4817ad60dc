"""Read robots.txt as RFC 9309 has it: the longest rule that matches a path decides.

The parser of the standard library knows no wildcards and lets the first rule decide instead of the longest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["AGENT", "ROBOTS_BYTES", "Robots", "read_robots"]

AGENT: Final = "promptlift"
# As much as the RFC asks a reader to read at least.
ROBOTS_BYTES: Final = 500 * 1024
_RULES_MAX: Final = 5_000
_PATTERN_CHARS: Final = 2_000
# Comparing a path with a pattern takes time in proportion to the number of its wildcards.
_WILDCARDS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules for one reader: patterns of paths, and whether each allows them."""

    rules: tuple[tuple[str, bool], ...] = ()

    def allows(self, path: str) -> bool:
        """Whether a path, with its query, may be read."""
        if path == "/robots.txt":
            return True
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rules if _fits(pattern, path)]
        # Of two rules of the same length the one that allows decides.
        return max(fitting)[1] if fitting else True


def read_robots(text: str, agent: str = AGENT) -> Robots:
    r"""Read the rules for a reader: those of its own groups, else those for everybody.

    Examples
    --------
    >>> rules = read_robots("User-agent: *\nDisallow: /private\nAllow: /private/about$")
    >>> [rules.allows(path) for path in ("/", "/private/x", "/private/about")]
    [True, False, True]
    """
    own: list[tuple[str, bool]] = []
    everybody: list[tuple[str, bool]] = []
    groups: list[list[tuple[str, bool]]] = []
    is_named = in_rules = False
    for line in text.removeprefix("\ufeff").splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "user-agent":
            if in_rules:
                groups, in_rules = [], False
            named = re.match(r"[A-Za-z_-]*", value)
            if value == "*":
                groups.append(everybody)
            elif named is not None and named.group().lower() == agent:
                groups.append(own)
                is_named = True
        elif name in ("allow", "disallow"):
            in_rules = True
            if value and len(value) <= _PATTERN_CHARS and value.count("*") <= _WILDCARDS_MAX:
                for group in groups:
                    group.append((value, name == "allow"))
    return Robots(tuple((own if is_named else everybody)[:_RULES_MAX]))


def _fits(pattern: str, path: str) -> bool:
    """Whether a path begins as a pattern says; ``*`` is anything, and a ``$`` at the end is the end of the path."""
    to_end = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    if not others:
        return not to_end or at == len(path)
    last = others[-1]
    if to_end:
        return path.endswith(last) and len(path) - len(last) >= at
    return path.find(last, at) >= 0
