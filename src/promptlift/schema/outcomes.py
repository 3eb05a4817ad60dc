"""The outcome of a conversation in its log: a rule over the metadata, such as ``score.reward >= 1``."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.metadata import SCORE_PREFIX, key_of_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["OutcomeRule", "parse_rule", "truth_of"]

_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_RULE: Final = re.compile(
    r"\s*(?P<name>.+?)\s*(?:(?P<sign>>=|<=|==|!=|=|>|<)\s*(?P<value>.+?))?\s*\Z", re.DOTALL
)
_TRUTHS: Final = {
    **dict.fromkeys(("true", "yes", "y", "pass", "passed", "success", "resolved", "solved", "correct", "good", "1"), True),
    **dict.fromkeys(("false", "no", "n", "fail", "failed", "failure", "unresolved", "unsolved", "incorrect", "bad", "0"), False),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OutcomeRule:
    """The rule by which metadata make a conversation a success.

    Attributes
    ----------
    name
        Key of the metadata.
    sign, value
        Comparison of the value; ``sign`` is empty if the value itself is true or false.
    """

    name: str
    sign: str = ""
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {self.value}".strip()

    def verdict(self, metadata: Mapping[str, Any]) -> bool | None:
        """Return whether a conversation succeeded; ``None`` if its metadata do not tell."""
        found = metadata.get(self.name, metadata.get(f"{SCORE_PREFIX}{self.name}"))
        if found is None or found == "":
            return None
        if not self.sign:
            return truth_of(found)
        if self.sign in _ORDERS:
            number = _number(found)
            return None if number is None else _ORDERS[self.sign](number, float(self.value))
        equal = str(found).strip().casefold() == self.value.casefold()
        numbers = _number(found), _number(self.value)
        if None not in numbers and not isinstance(found, bool):
            equal = numbers[0] == numbers[1]
        return equal is (self.sign != "!=")


def parse_rule(text: str) -> OutcomeRule:
    """Read the rule of an outcome.

    >>> parse_rule("score.reward >= 1").verdict({"score.reward": 0.5})
    False
    >>> parse_rule("resolved").verdict({"resolved": "True"})
    True

    Raises
    ------
    ValueError
        The rule is invalid; the message explains the syntax.
    """
    found = _RULE.match(text)
    if found is None:
        raise ValueError(
            "an outcome is a name of the metadata, such as resolved, or a comparison: score.reward >= 1"
        )
    name, sign, value = found["name"], found["sign"] or "", (found["value"] or "").strip("'\"")
    if sign in _ORDERS and _number(value) is None:
        raise ValueError(
            f"{sign} compares with a number, which {value!r} is not; write a rule such as score.reward >= 1"
        )
    return OutcomeRule(key_of_column(name), "=" if sign == "==" else sign, value)


def truth_of(value: Any) -> bool | None:
    """Return a value as true or false, ``None`` if it is neither."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return {0.0: False, 1.0: True}.get(float(value))
    return _TRUTHS.get(str(value).strip().casefold())


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
