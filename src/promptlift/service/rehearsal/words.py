"""Guess the subject of a text from its words alone."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["keywords"]

_READ_CHARS: Final = 8_000
_KEPT: Final = 12
_WORD: Final = re.compile(r"[^\W\d_][^\W\d_'’-]{3,24}")
# What stands in braces or brackets is filled later, and an address is no subject.
_NO_WORDS: Final = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|\$?\{[^{}]*\}|<[^<>]*>|\[[A-Z_ -]+\]|https?://\S+|\S+@\S+"
)
_COMMON_WORDS: Final = """
    able about above accurate across after again agent agents ahead allow allowed almost alone along already also although
    always among anger another answer answered answering answers anybody anyone anything appropriate around asked asking
    asks assist assistant assistants avoid away back based basically because become been before begin behind being below
    best better between both brief briefly calm calmly came cannot careful carefully case cases certain chat check clear
    clearly come comes common complete completely concise confirm confirmed contain conversation conversations correct
    correctly could customer customers dear decide decline describe detail detailed details different directly does
    doing done down during each early easy either else empathetic end ensure even every everybody everyone everything
    exactly example examples explain explicit expert facts false feel fine first follow following format found friendly
    from full further general gets give given gives goes going good great have having hello help helpful helping helps here
    honest however ideal important include including inform information instead instruction instructions into invent
    issue issues itself just keep keeps kind kindly know known language last later least less like likely list little long
    look made make makes making many matter maybe mean means mention message messages might mine missing more most much must
    name named necessary need needed needs never next nice none nothing number objective offer often once only open order
    other others otherwise over part patient people perhaps person phrase plain please plus point polite politely possible
    precise problem problems professional proper properly provide provided provides question questions quick quickly
    quite rather read really reason refer regarding relevant reply request requests respond response responses result
    right role rule rules said same says second see seem sentence sentences several shall short should simple simply
    since situation some somebody someone something soon sorry specific start stay step steps still stop style such
    suggest support sure take takes talk task tasks team tell tells than thank thanks that their them then there these they
    thing things think this those though three through time times today together told tone topic toward towards tried
    true trying under understand unless until upon urgent used useful user user's users uses using usual usually very want
    wanted wants warm well went were what when where whether which while whole whom whose will wish with within without
    word words work works would wrong your yours yourself
    answers anymore available bring call calls cancel change changed check company contact date days email found friday
    happy hear hours hold holds june july month monday months november october september august april march february
    january december saturday sunday thursday tuesday wednesday waiting week weeks year years yesterday sent settled sure
    mistake month online shop store website platform business reference number mother exception second start cost pending
    happened happening nothing understand something somebody still getting trying
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())

# Adverbs, participles and adjectives, as far as an ending tells.
_NO_NOUN: Final = ("ly", "ed", "ful", "able", "ible", "ous", "ive", "ize", "ise", "ify")


@lru_cache(maxsize=4096)
def keywords(text: str, *, more: str = "") -> tuple[str, ...]:
    """Return up to twelve words that a text seems to be about, the most frequent first.

    Parameters
    ----------
    more
        A text whose words count three times, such as an objective.
    """
    counted: Counter[str] = Counter()
    for part, weight in ((more, 3), (text, 1)):
        counted.update({word: weight * count for word, count in _counted(part[:_READ_CHARS]).items()})
    return tuple(word for word, _ in counted.most_common(_KEPT))


def _counted(text: str) -> Counter[str]:
    words = _WORD.findall(_NO_WORDS.sub(" ", text))
    # Names are no subjects; where everything is written large, nothing tells a name.
    return _bare(word for word in words if word[0].islower()) or _bare(words)


def _bare(words: Iterable[str]) -> Counter[str]:
    found = (word.lower().strip("'’-").removesuffix("'s").removesuffix("’s") for word in words)
    return Counter(
        word for word in found if word not in _COMMON and len(word) > 3 and not word.endswith(_NO_NOUN)
    )
