"""Check whether a text from a model may be tested as a variant of a prompt; each check describes the problem.

- **Not empty**, storable (no NUL, no half of a surrogate pair), and **not the original**: compared ignoring
  white space and case.
- **No near copy** of another variant: the two differ in at least ``COPY_SHARE`` of what either changes in
  the original, counted in runs of three words.
- **Length**: at most ``LONGEST_TIMES`` times the original or ``LONGER_CHARS`` characters more, whichever is
  larger, and the API's limit for prompts; at least a ``SHORTEST_PART``-th of an original of ``LONG_CHARS`` or
  more, because a text that lost most of its length lost rules that no check can name.
- **Placeholders** (``{{x}}``, ``{x}``, ``${x}``, ``$x``, ``%s``, ``%(x)s``, ``{% … %}``, ``<NAME>``,
  ``[NAME]``): exactly those of the original, any number of times. New markup is not a placeholder: ``<NAME>``
  with a ``</NAME>``, a new ``[NAME]`` alone on its line.
- **Constraints**: see ``constraints``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

from promptlift.schema import limits
from promptlift.service.insights.exclusions import EMAIL
from promptlift.service.llm.hostile_text import storable_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COPY_SHARE: Final = 0.3
LONGEST_TIMES: Final = 3
LONGER_CHARS: Final = 6_000
LONG_CHARS: Final = 400
SHORTEST_PART: Final = 5
LISTED: Final = 6
LISTED_CHARS: Final = 200

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
    """Describe the problems of a variant; empty if it may be tested.

    Parameters
    ----------
    text
        The variant.
    original
        The text under test.
    others
        Variants already accepted.
    mark
        The mark around the data of the request; a variant that repeats it was manipulated.
    """
    if not text.strip():
        return ("It is empty.",)
    if not any(character.isalpha() for character in text):
        return ("It has no words.",)
    problems = []
    if storable_text(text) != text:
        problems.append("It contains a NUL character or half of a surrogate pair, which cannot be stored.")
    if mark and mark in text:
        problems.append("It repeats the mark around the data.")
    if same_text(text, original):
        return (*problems, "It is the original text.")
    size, before, most = len(text.strip()), len(original.strip()), longest_chars(original)
    least = before // SHORTEST_PART if before >= LONG_CHARS else 1
    if size > most:
        problems.append(f"It is too long: {size} characters, at most {most} are allowed.")
    elif len(text.encode("utf-8", "replace")) > limits.PROMPT_CONTENT_BYTES:
        problems.append(f"It is too long: a prompt has at most {limits.PROMPT_CONTENT_BYTES} bytes.")
    elif size < least:
        problems.append(f"It is too short: {size} characters, at least {least} are needed.")
    else:
        problems += problems_of_wording(text, original)
        if any(_near_copy(text, other, original) for other in others):
            problems.append("It is nearly the same as another variant: change something else.")
    return tuple(problems)


def same_text(one: str, other: str) -> bool:
    """Return whether two texts differ at most in white space and case."""
    return one.casefold().split() == other.casefold().split()


def placeholders(text: str) -> frozenset[str]:
    """Return the placeholders of a text, verbatim."""
    closed = set(_CLOSING.findall(text))
    return frozenset(
        found for found in _PLACEHOLDERS.findall(text) if not (found[0] == "<" and found[1:-1] in closed)
    )


def longest_chars(original: str) -> int:
    """Return the maximum length of a variant, apart from the API's own limit."""
    return max(LONGEST_TIMES * len(original), len(original) + LONGER_CHARS)


def missing_variables(text: str, original: str) -> list[str]:
    """Return the template variables of the original that a text lacks; ``<NAME>`` and ``[NAME]`` may be plain words."""
    return sorted(one for one in placeholders(original) - placeholders(text) if one[0] not in "<[")


def problems_of_wording(text: str, original: str) -> list[str]:
    """Describe the placeholders and constraints of the original that a text lost or added."""
    wanted, found = placeholders(original), placeholders(text)
    problems = []
    if missing := sorted(wanted - found):
        problems.append(f"These placeholders of the original are missing: {listed(missing)}.")
    if added := sorted(found - wanted - frozenset(_HEADING.findall(text))):
        problems.append(
            f"These placeholders are not in the original, so nothing would fill them: {listed(added)}."
        )
    return [*problems, *lost_constraints(text, original)]


def _near_copy(one: str, other: str, original: str) -> bool:
    base, first, second = _runs(original), _runs(one), _runs(other)
    changed = len((first ^ base) | (second ^ base))
    return same_text(one, other) or len(first ^ second) < COPY_SHARE * changed


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return (
        frozenset(zip(words, words[1:], words[2:], strict=False))
        if len(words) > 3
        else frozenset([tuple(words)])
    )


def listed(found: Sequence[str], between: str = ", ") -> str:
    """List the first few items, and the number of further ones."""
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return between.join(one[:LISTED_CHARS] for one in found[:LISTED]) + more


RULE_SHARE: Final = 0.5
STEM_LETTERS: Final = 5
DEMANDS_A_MISS: Final = 10
MOST: Final = 200
QUOTED_CHARS: Final = range(3, 201)

_ADDRESS: Final = re.compile(r"(?:https?://|\bwww\.)[^\s<>\"'`\])}]+", re.IGNORECASE)
_UNITS: Final = (
    "%|percent|points?|seconds?|secs?|minutes?|mins?|hours?|hrs?|(?:business |working |calendar )?days?|weeks?|months?|"
    "quarters?|years?|words?|sentences?|paragraphs?|characters?|chars?|lines?|bullets?|items?|options?|questions?|"
    "steps?|times?|tokens?|messages?|turns?|attempts?|people|persons?|guests?|passengers?|bags?|nights?|km|miles?|"
    "metres?|meters?|cm|mm|kg|kilograms?|grams?|lbs?|pounds?|kb|mb|gb|tb|mph|euros?|dollars?|cents?|usd|eur|gbp|chf|"
    "°c|°f|degrees?"
)
_QUANTITY: Final = re.compile(
    rf"(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF|JPY) ?) ?(\d[\d,.]*)|(?<![\w.,])(\d[\d,.]*)[ -]?(?:{_UNITS}|[€£¥])(?!\w)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d[\d,.]*")
_QUOTED: Final = re.compile(r"“([^“”\n]+)”|`([^`\n]+)`")

_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
# Conditional parts do not make a sentence a rule: “when you do not know, ask” forbids nothing.
_CONDITION: Final = re.compile(
    r"\b(?:if|when|whenever|where|wherever|while|unless|until|in case|as long as|because|since)\b(?! possible)[^,;:.!?]*",
    re.IGNORECASE,
)
_RULE_WORD: Final = re.compile(
    r"\b(?:never|must|mustn't|do not|don't|should not|shouldn't|may not|can ?not|can't|shall|won't|only|always|"
    r"not allowed|under no circumstances|no matter|forbidden|prohibited|required to)\b",
    re.IGNORECASE,
)
_FORBIDS: Final = re.compile(
    r"\b(?:never|not|\w+n't|cannot|no circumstances|forbidden|prohibited)\b", re.IGNORECASE
)
_FORBIDS_TOO: Final = re.compile(
    r"\b(?:never|not|no|nor|none|nothing|without|cannot|\w+n't|avoid\w*|refus\w+|declin\w+|reject\w*|refrain\w*|"
    r"forbid\w*|forbidden|prohibit\w*|exclud\w+|except|unless|only|stop\w*|prevent\w*|confidential|secret|private|"
    r"off[- ]limits|instead of|rather than)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{3,}|\d+")
_SUFFIX: Final = re.compile(r"(?<=\w{3})(?:ings?|ed|es|s|ly|e)\Z")
_FUNCTION_WORDS: Final = frozenset(
    _WORD.findall(
        "the and for are but not you your yours they them their this that these those with from into onto about over "
        "under have has had was were will would shall should can could may might must never always only any all every "
        "each some when where which while who whom whose what why how than then there here also just very more most "
        "such other its his her him she does did doing don been being our out off per via use using used make sure "
        "please ever even unless until before after because allowed required circumstances matter cannot mustn"
    )
)


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints in an original.

    Attributes
    ----------
    addresses
        Web and e-mail addresses.
    numbers
        Numbers with their units, as written.
    quoted
        Contents of quotation marks.
    rules
        Sentences that forbid or demand.
    """

    addresses: tuple[str, ...]
    numbers: tuple[str, ...]
    quoted: tuple[str, ...]
    rules: tuple[str, ...]


def find_constraints(original: str) -> Constraints:
    """Find what a rewrite must keep, in the order of the text, without duplicates, at most ``MOST`` of a kind."""
    addresses = [found.rstrip(".,;:!?") for found in _ADDRESS.findall(original)]
    return Constraints(
        addresses=_once((*addresses, *EMAIL.findall(original))),
        numbers=_once(found.group().strip() for found in _QUANTITY.finditer(original)),
        quoted=_once(_quoted(original)),
        rules=_once(
            sentence
            for sentence in _sentences(original)
            if _RULE_WORD.search(_unconditional(sentence)) and _stems(sentence)
        ),
    )


def lost_constraints(text: str, original: str) -> list[str]:
    """Describe the constraints of the original that a variant has lost."""
    wanted = find_constraints(original)
    numbers = _numbers(text)
    loose = _loose(text)
    lost = (
        ("These addresses are missing", [one for one in wanted.addresses if one not in text]),
        ("These numbers are missing", [one for one in wanted.numbers if not _numbers(one) <= numbers]),
        ("These quoted texts are missing", [one for one in wanted.quoted if _loose(one) not in loose]),
        ("These rules are missing or reversed", _lost_rules(wanted.rules, text)),
    )
    return [
        f"{words}: {listed([f'“{one}”' for one in missing], '; ')}." for words, missing in lost if missing
    ]


def _quoted(text: str) -> Iterable[str]:
    for line in text.splitlines():
        parts = line.split('"')
        # With an odd number of marks it is unclear which of them are opening marks.
        found = parts[1::2] if len(parts) % 2 else []
        found += ["".join(groups) for groups in _QUOTED.findall(line)]
        yield from (one.strip() for one in found if len(one.strip()) in QUOTED_CHARS)


def _sentences(text: str) -> list[str]:
    parts = (part.strip(" \t\r-*•#>") for part in _SENTENCE_END.split(text))
    return [part for part in parts if part]


def _forbids(rule: str) -> bool:
    return _FORBIDS.search(_unconditional(rule)) is not None


def _unconditional(sentence: str) -> str:
    return _CONDITION.sub("", sentence.replace("’", "'"))


def _lost_rules(rules: Sequence[str], text: str) -> list[str]:
    sentences = _sentences(text)
    parts = [*sentences, *(f"{one} {two}" for one, two in pairwise(sentences))]
    windows = [(frozenset(_stems(part)), part.replace("’", "'")) for part in parts]
    lost = [rule for rule in rules if not _kept(rule, windows)]
    forbidding = [rule for rule in lost if _forbids(rule)]
    demands = sum(not _forbids(rule) for rule in rules)
    return forbidding if len(lost) - len(forbidding) <= demands // DEMANDS_A_MISS else lost


def _kept(rule: str, windows: Sequence[tuple[frozenset[str], str]]) -> bool:
    stems = frozenset(_stems(rule))
    needed = RULE_SHARE * len(stems)
    forbids = _forbids(rule)
    return any(
        len(stems & found) >= needed and (not forbids or _FORBIDS_TOO.search(part)) for found, part in windows
    )


def _stems(text: str) -> list[str]:
    words = _WORD.findall(text.casefold())
    return [_SUFFIX.sub("", word)[:STEM_LETTERS] for word in words if word not in _FUNCTION_WORDS]


def _numbers(text: str) -> set[str]:
    return {found.rstrip(".,").replace(",", "") for found in _NUMBER.findall(text)}


def _loose(text: str) -> str:
    plain = text.replace("“", '"').replace("”", '"').replace("’", "'").replace("‘", "'")
    return " ".join(plain.casefold().split())


def _once(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(found), MOST))
