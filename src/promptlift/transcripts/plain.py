"""Plain text with role labels, one conversation per file.

Lines without a label belong to the previous message. Labels must be written like the first one: in a file
with ``User:`` and ``Assistant:`` a line ``user: x`` is text. A line ``Agent: x`` is refused there, as by the
service, because its speaker is ambiguous.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from promptlift.schema.boundary import Unreadable
from promptlift.schema.limits import MESSAGES
from promptlift.schema.transcript import LABEL_PAIRS
from promptlift.transcripts.collector import TOO_MANY, ParsedConversation, ParsedMessage
from promptlift.transcripts.sources import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.schema.transcript import Role
    from promptlift.transcripts.collector import Collector

__all__ = ["PAIRS", "looks_plain", "read_plain", "split_messages"]

PAIRS: Final = ", ".join(f"{user}/{assistant}" for user, assistant in LABEL_PAIRS)
_CASES: Final[tuple[Callable[[str], str], ...]] = (str, str.lower, str.upper)
# A label to those allowed in the same file: its pair, written the same way ("User", "user" or "USER").
_TOGETHER: Final[dict[str, set[str]]] = {}
for _pair in LABEL_PAIRS:
    for _case in _CASES:
        for _label in _pair:
            _TOGETHER.setdefault(_case(_label), set()).update(map(_case, _pair))
# A label to those of the other pairs, written the same way.
_OTHER_PAIRS: Final[dict[str, set[str]]] = {label: set() for label in _TOGETHER}
for _case in _CASES:
    _written = {_case(_label) for _pair in LABEL_PAIRS for _label in _pair}
    for _label in _written:
        _OTHER_PAIRS[_label] |= _written - _TOGETHER[_label]
_NAME_OF_PAIR: Final = {label.lower(): "/".join(pair) for pair in LABEL_PAIRS for label in pair}
_USERS: Final = frozenset(user.lower() for user, _ in LABEL_PAIRS)
_LABEL: Final = re.compile(rf"({'|'.join(_TOGETHER)})[ \t]*:[ \t]?")


def looks_plain(head: str) -> bool:
    """Return whether a text is a labelled conversation: it starts with a label, or contains both labels of a pair."""
    found: set[str] = set()
    for number, line in enumerate(row for row in _lines(head) if row.strip()):
        match = _LABEL.match(line)
        if match is None:
            continue
        found.add(match.group(1))
        if number == 0:
            return True
    return any(
        {user.lower(), assistant.lower()} <= {label.lower() for label in found}
        for user, assistant in LABEL_PAIRS
    )


def read_plain(text: str, collector: Collector) -> None:
    """Read one file as one conversation."""
    collector.add_each(
        [Record(1, text)], lambda record, _: ParsedConversation(split_messages(record.value, collector), 1)
    )


def split_messages(text: str, collector: Collector) -> list[ParsedMessage]:
    """Split labelled text into messages.

    Raises
    ------
    Unreadable
        If no line has a label, or one has a label of a different pair than the first.
    """
    turns: list[tuple[Role, list[str]]] = []
    apart = True  # whether there is a blank line before every label
    blank = False
    first = ""
    labels: set[str] = set()
    before: list[tuple[int, str]] = []
    joined = 0
    for number, row in enumerate(_lines(text), start=1):
        match = _LABEL.match(row)
        if match and (not labels or match.group(1) in labels):
            first = first or match.group(1)
            labels = labels or _TOGETHER[first]
            role: Role = "user" if match.group(1).lower() in _USERS else "assistant"
            apart &= blank or not turns
            if len(turns) == MESSAGES:
                raise Unreadable(TOO_MANY)
            turns.append((role, [row[match.end() :]]))
        elif match and match.group(1) in _OTHER_PAIRS[first]:
            raise Unreadable(
                f"line {number}: the label {match.group(1)} is not of the pair {_NAME_OF_PAIR[first.lower()]}, "
                "which the previous lines have; use one pair in a file"
            )
        elif turns:
            turns[-1][1].append(row)
            joined += bool(row.strip())
        elif row.strip():
            before.append((number, row.strip()))
        blank = not row.strip()
    if not turns:
        raise Unreadable(f"no line starts with a role label; use one of the pairs {PAIRS}")
    if before:
        more = f" and {len(before) - 1} more lines" if len(before) > 1 else ""
        collector.problem(
            before[0][0],
            f"text before the first label is left out ({before[0][1][:40]!r}{more}); "
            f"every message starts with a label of one of the pairs {PAIRS}",
        )
    collector.tally("Lines without a label, added to the previous message: {}.", joined)
    last = len(turns) - 1
    return [ParsedMessage(role, _text(rows, apart or at == last)) for at, (role, rows) in enumerate(turns)]


def _text(rows: list[str], trimmed: bool) -> str:  # noqa: FBT001 - one caller
    """Join the lines of a message, without blank lines at its end that only separate messages."""
    while trimmed and len(rows) > 1 and not rows[-1].strip():
        rows.pop()
    return "\n".join(rows)


def _lines(text: str) -> list[str]:
    if "\n" not in text:
        return text.split("\r")
    return [row.removesuffix("\r") for row in text.split("\n")]
