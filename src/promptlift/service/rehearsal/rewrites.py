"""The rewrites that the rehearsal knows: what each adds to a prompt, and the words by which it is known again.

They follow the named strategies that the engine asks for. Each begins with the whole original and adds to it, because
nothing here understands it well enough to change it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.service.llm.hostile_text import storable_line
from promptlift.service.optimizations.variants.checks import problems_of
from promptlift.service.rehearsal.script import SCRIPT
from promptlift.service.rehearsal.words import keywords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from promptlift.service.optimizations.tasks import Failure

__all__ = ["REWRITES", "Rewrite", "rewrite"]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way to rewrite a prompt.

    Attributes
    ----------
    name
        The strategy that it answers.
    mark
        A sentence that every text written this way holds, and hardly any other.
    addition
        What is added, the mark in it.
    why
        For the rationale, a clause.
    """

    name: str
    mark: str
    addition: str
    why: str


REWRITES: Final = tuple(Rewrite(**one) for one in SCRIPT["rewrites"])

_BY_NAME: Final = {one.name: one for one in REWRITES}

_FAILURES: Final = (
    "An answer that was general where a definite one was needed",
    "A question that was asked twice",
)
_WISHES: Final = ("More conversations in which the person gets what they came for",)
_LISTED: Final = 5
_SENTENCE: Final = re.compile(r"(?<=[.!?])[ \t]+")
_PLAIN: Final = re.compile(r"[\w ,.'’\-/%]{3,120}")


def rewrite(
    name: str,
    original: str,
    *,
    failures: Sequence[Failure] = (),
    intent: Mapping[str, Any] | None = None,
    avoid: Sequence[str] = (),
) -> tuple[str, str]:
    """Rewrite a prompt by a strategy.

    Parameters
    ----------
    name
        Name of the strategy; an unknown one is answered by one of the others, always the same.
    original
        The whole prompt.
    failures
        What went wrong in logged conversations.
    intent
        What the owner wants to improve.
    avoid
        Words of logged conversations: sentences with them are not added.

    Returns
    -------
    tuple
        The new text, and a clause that says what was changed.
    """
    chosen = _BY_NAME.get(name) or REWRITES[sum(name.encode()) % len(REWRITES)]
    topic = next(iter(keywords(original)), "this")
    given, general = (
        chosen.addition.replace("{topic}", topic_)
        .replace("{failures}", _listed(prevented))
        .replace("{wishes}", _listed(wishes))
        for topic_, prevented, wishes in (
            (topic, _issues(failures) or _FAILURES, _wishes(intent or {}) or _WISHES),
            ("this", _FAILURES, _WISHES),
        )
    )
    tries = [f"{original}\n\n{_without(one, avoid, chosen.mark)}" for one in (given, general)]
    # The checks of the engine say whether it may be tested; the last form adds fixed sentences and nothing else.
    text = next((one for one in tries if not problems_of(one, original=original, others=())), tries[-1])
    return text, chosen.why


def _without(addition: str, avoid: Sequence[str], mark: str) -> str:
    """Leave sentences that share words with what is to be avoided out of an addition; the one with the mark stays."""
    if not avoid:
        return addition
    held = {run for words in avoid for run in _fives(words)}
    lines = []
    for line in addition.split("\n"):
        sentences = _SENTENCE.split(line)
        kept = [one for one in sentences if mark in one or held.isdisjoint(_fives(one))]
        if not held.isdisjoint(_fives(" ".join(kept))):  # the words go over the end of a sentence
            kept = [one for one in kept if mark in one]
        lines += [" ".join(kept)] if kept else []
    return "\n".join(lines)


def _fives(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return zip(*(words[place:] for place in range(5)), strict=False)


def _listed(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _issues(failures: Sequence[Failure]) -> list[str]:
    """Return the titles of issues; the story of one conversation has no place in a prompt."""
    return _plain([one.text for one in failures if one.count is not None])


def _wishes(intent: Mapping[str, Any]) -> list[str]:
    found: list[Any] = []
    for _, value in sorted(intent.items()):
        found += value if isinstance(value, list | tuple) else [value]
    return _plain([one for one in found if isinstance(one, str)])


def _plain(texts: Sequence[str]) -> list[str]:
    lines = [storable_line(text, 120) for text in texts]
    return [line for line in lines if _PLAIN.fullmatch(line)][:_LISTED]
