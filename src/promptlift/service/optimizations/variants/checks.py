"""Whether a text that a model wrote may be tested as a variant of a prompt: each check says what is wrong.

- **Not empty**, storable (no NUL, no half of a surrogate pair), and **not the original**: not the same without regard
  to white space and case.
- **No near copy** of another variant: what the two differ in is at least ``COPY_SHARE`` of what either changes in the
  original, counted in runs of three words.
- **Length**: at most ``LONGEST_TIMES`` times the original or ``LONGER_CHARS`` characters more, whichever is larger, and
  what the API takes as a prompt; at least a ``SHORTEST_PART``-th of an original of ``LONG_CHARS`` or more, because a
  text that lost most of itself lost rules that no check can name.
- **Placeholders** (``{{x}}``, ``{x}``, ``${x}``, ``$x``, ``%s``, ``%(x)s``, ``{% … %}``, ``<NAME>``, ``[NAME]``): exactly
  those of the original, to the character, as often as one likes. New markup is none: ``<NAME>`` with a ``</NAME>``, a
  new ``[NAME]`` alone on its line.
- **Constraints**: see ``constraints``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptlift.schema import limits
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.optimizations.variants.constraints import lost_constraints

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "COPY_SHARE",
    "LONGER_CHARS",
    "LONGEST_TIMES",
    "LONG_CHARS",
    "SHORTEST_PART",
    "longest_chars",
    "missing_variables",
    "placeholders",
    "problems_of",
    "problems_of_wording",
    "same_text",
    "shortest_chars",
]

COPY_SHARE: Final = 0.3
LONGEST_TIMES: Final = 3
LONGER_CHARS: Final = 6_000
LONG_CHARS: Final = 400
SHORTEST_PART: Final = 5
LISTED: Final = 6
LISTED_CHARS: Final = 160

_PLACEHOLDERS: Final = re.compile(
    r"""
      \{\{[^{}\n]{1,100}\}\}                               # {{x}}
    | \{%[^{}%\n]{1,100}%\}                                # {% if x %}
    | \$\{[^{}\n]{1,100}\}                                 # ${x}
    | \{[A-Za-z_][\w.\-\[\] ]{0,60}(?:![rsa])?(?::[\w.,<>^+%-]{0,20})?\}   # {x}, {x:.2f}
    | \$[A-Za-z_]\w{0,60}                                  # $x
    | %\(\w{1,60}\)[sdfr]                                  # %(x)s
    | (?<![\d%])%[sdfr](?!\w)                              # %s
    | <[A-Z][A-Z0-9_ -]{0,60}>                             # <NAME>
    | \[[A-Z][A-Z0-9_ -]{1,60}\](?![(\]])                  # [NAME], not the text of a link
    """,
    re.VERBOSE,
)
_CLOSING: Final = re.compile(r"</([A-Z][A-Z0-9_ -]{0,60})>")
_HEADING: Final = re.compile(r"^[ \t#*_>-]*(\[[A-Z][A-Z0-9_ -]{1,60}\])[ \t:*_]*$", re.MULTILINE)


def problems_of(
    text: str, *, original: str, others: Sequence[str], mark: str | None = None
) -> tuple[str, ...]:
    """Describe what is wrong with a variant; nothing when it may be tested.

    Parameters
    ----------
    text
        The variant.
    original
        The text under test.
    others
        Variants that are accepted already.
    mark
        What stood around the data of the request; a variant that repeats it was led astray.
    """
    if not text.strip():
        return ("It is empty.",)
    if not any(character.isalpha() for character in text):
        return ("It has no words.",)
    problems = []
    if storable_text(text) != text:
        problems.append("It holds a NUL character or half of a surrogate pair, which cannot be stored.")
    if mark and mark in text:
        problems.append("It repeats the mark around the data.")
    if same_text(text, original):
        return (*problems, "It is the original text.")
    wrong_length = _length(text, original)
    if wrong_length:
        return (*problems, *wrong_length)
    problems += problems_of_wording(text, original)
    if any(_near_copy(text, other, original) for other in others):
        problems.append("It is nearly the same as another variant: change something else.")
    return tuple(problems)


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ in white space and case at most."""
    return one.casefold().split() == other.casefold().split()


def placeholders(text: str) -> frozenset[str]:
    """Return the placeholders of a text, to the character."""
    closed = set(_CLOSING.findall(text))
    return frozenset(
        found for found in _PLACEHOLDERS.findall(text) if not (found[0] == "<" and found[1:-1] in closed)
    )


def longest_chars(original: str) -> int:
    """Return the greatest length of a variant, before the API's own limit."""
    return max(LONGEST_TIMES * len(original), len(original) + LONGER_CHARS)


def shortest_chars(original: str) -> int:
    """Return the least length of a variant."""
    size = len(original.strip())
    return size // SHORTEST_PART if size >= LONG_CHARS else 1


def _length(text: str, original: str) -> list[str]:
    size = len(text.strip())
    if size > longest_chars(original):
        return [f"It is too long: {size} characters, at most {longest_chars(original)} are allowed."]
    if len(text.encode("utf-8", "replace")) > limits.PROMPT_CONTENT_BYTES:
        return [f"It is too long: a prompt has at most {limits.PROMPT_CONTENT_BYTES} bytes."]
    if size < shortest_chars(original):
        return [f"It is too short: {size} characters, at least {shortest_chars(original)} are needed."]
    return []


def missing_variables(text: str, original: str) -> list[str]:
    """Return the template variables of the original that a text lacks; ``<NAME>`` and ``[NAME]`` may be mere words."""
    return sorted(one for one in placeholders(original) - placeholders(text) if one[0] not in "<[")


def problems_of_wording(text: str, original: str) -> list[str]:
    """Describe what of the original's placeholders and constraints a text lost or added."""
    return [*_placeholders(text, original), *lost_constraints(text, original)]


def _placeholders(text: str, original: str) -> list[str]:
    wanted, found = placeholders(original), placeholders(text)
    problems = []
    missing = sorted(wanted - found)
    if missing:
        problems.append(f"These placeholders of the original are missing: {_listed(missing)}.")
    added = sorted(found - wanted - frozenset(_HEADING.findall(text)))
    if added:
        problems.append(
            f"These placeholders are not in the original, so nothing would fill them: {_listed(added)}."
        )
    return problems


def _near_copy(one: str, other: str, original: str) -> bool:
    if same_text(one, other):
        return True
    base, first, second = _runs(original), _runs(one), _runs(other)
    changed = len((first ^ base) | (second ^ base))
    return len(first ^ second) < COPY_SHARE * changed


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return (
        frozenset(zip(words, words[1:], words[2:], strict=False))
        if len(words) > 3
        else frozenset([tuple(words)])
    )


def _listed(found: Sequence[str]) -> str:
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return ", ".join(one[:LISTED_CHARS] for one in found[:LISTED]) + more
