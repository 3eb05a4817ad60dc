"""Find by rule what a rewrite of a prompt must keep, and describe it in words.

- **Addresses** (``https://…``, ``www.…``) and **e-mail addresses**: each stands in the variant as it stands in the
  original.
- **Numbers with a unit or currency** (``30 days``, ``20 %``, ``$5,000``): the number stands somewhere in the variant;
  the unit may be written otherwise (``30-day``).
- **Quoted strings** in double quotes or backticks, of 3 to 200 characters in one line: they stand in the variant,
  without regard to case, white space and the kind of quotes.
- **Rules**: sentences and lines with *never, must, do not, only, always* and their like outside of a condition. A rule
  is kept when one sentence of the variant, or two that follow each other, has at least ``RULE_SHARE`` of its content
  words, compared by ``STEM_LETTERS`` letters of their stems; a rule that forbids needs a word that forbids there too. So a rule may be
  shortened, merged and put otherwise, but not dropped or turned round. Of the rules that only demand, one in
  ``DEMANDS_A_MISS`` may be missed, because a long prompt has sentences with *only* or *always* that say nothing. English
  only: in other languages no rule is recognised, and the other checks hold.

Of each kind the first ``MOST`` are looked for, so that no text costs much time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["RULE_SHARE", "Constraints", "find_constraints", "lost_constraints"]

RULE_SHARE: Final = 0.5
STEM_LETTERS: Final = 5
DEMANDS_A_MISS: Final = 10
MOST: Final = 200
QUOTED_CHARS: Final = range(3, 201)
TOLD: Final = 6
TOLD_CHARS: Final = 200

_ADDRESS: Final = re.compile(r"(?:https?://|\bwww\.)[^\s<>\"'`\])}]+", re.IGNORECASE)
_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
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
# What holds on a condition follows from the rest: “when you do not know, ask” forbids nothing.
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
    """The constraints that an original states.

    Attributes
    ----------
    literals
        Addresses and e-mail addresses.
    quantities
        Numbers with their units, as written.
    quoted
        Contents of quotation marks.
    rules
        Sentences that forbid or demand.
    """

    literals: tuple[str, ...]
    quantities: tuple[str, ...]
    quoted: tuple[str, ...]
    rules: tuple[str, ...]


def find_constraints(original: str) -> Constraints:
    """Find what a rewrite must keep, in the order of the text, once each, at most ``MOST`` of a kind."""
    addresses = [found.rstrip(".,;:!?") for found in _ADDRESS.findall(original)]
    return Constraints(
        literals=_once((*addresses, *_EMAIL.findall(original))),
        quantities=_once(found.group().strip() for found in _QUANTITY.finditer(original)),
        quoted=_once(_quoted(original)),
        rules=_once(sentence for sentence in _sentences(original) if _is_rule(sentence) and _stems(sentence)),
    )


def lost_constraints(text: str, original: str) -> list[str]:
    """Describe the constraints of the original that a variant has lost."""
    wanted = find_constraints(original)
    numbers = _numbers(text)
    loose = _loose(text)
    lost = (
        ("These addresses are missing", [one for one in wanted.literals if one not in text]),
        ("These numbers are missing", [one for one in wanted.quantities if not _numbers(one) <= numbers]),
        ("These quoted texts are missing", [one for one in wanted.quoted if _loose(one) not in loose]),
        ("These rules are missing or turned round", _lost_rules(wanted.rules, _windows(text))),
    )
    return [f"{words}: {_told(missing)}." for words, missing in lost if missing]


def _quoted(text: str) -> Iterable[str]:
    for line in text.splitlines():
        parts = line.split('"')
        # With an odd number of marks it is not clear which of them open.
        found = parts[1::2] if len(parts) % 2 else []
        found += ["".join(groups) for groups in _QUOTED.findall(line)]
        yield from (one.strip() for one in found if len(one.strip()) in QUOTED_CHARS)


def _sentences(text: str) -> list[str]:
    parts = (part.strip(" \t\r-*•#>") for part in _SENTENCE_END.split(text))
    return [part for part in parts if part]


def _windows(text: str) -> list[tuple[frozenset[str], str]]:
    sentences = _sentences(text)
    pairs = [*sentences, *(f"{one} {two}" for one, two in pairwise(sentences))]
    return [(frozenset(_stems(part)), part.replace("’", "'")) for part in pairs]


def _is_rule(sentence: str) -> bool:
    return _RULE_WORD.search(_unconditional(sentence)) is not None


def _forbids(rule: str) -> bool:
    return _FORBIDS.search(_unconditional(rule)) is not None


def _unconditional(sentence: str) -> str:
    return _CONDITION.sub("", sentence.replace("’", "'"))


def _lost_rules(rules: Sequence[str], windows: Sequence[tuple[frozenset[str], str]]) -> list[str]:
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


def _told(found: Sequence[str]) -> str:
    more = f" and {len(found) - TOLD} more" if len(found) > TOLD else ""
    return "; ".join(f"“{one[:TOLD_CHARS]}”" for one in found[:TOLD]) + more
