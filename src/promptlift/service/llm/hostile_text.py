"""Untrusted texts: set apart as data on the way to a model, made storable on the way back.

Data is JSON, one record per line, between the lines ``BEGIN mark`` and ``END mark``. The mark is a hash of
the seed and of everything in between, so equal requests are byte-identical, and no text can contain it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.inert import shorten_middle

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_SPACES: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\s]+")
# Short phrases like "I see" occur in every conversation.
_LEAST_QUOTED: Final = 6
_THOUGHTS: Final = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DataBlock:
    """Records set apart from instructions.

    Attributes
    ----------
    mark
        The mark in the lines around the records.
    text
        The block with both lines.
    """

    mark: str
    text: str


def data_block(records: Iterable[Mapping[str, Any]], *, seed: int) -> DataBlock:
    """Enclose records, one JSON object per line, in lines with a mark that none of them contains."""
    return block_of_lines([json_line(record) for record in records], seed=seed)


def block_of_lines(lines: Sequence[str], *, seed: int) -> DataBlock:
    """Enclose lines of JSON in lines with a mark that none of them contains."""
    body = "\n".join(lines)
    round_ = 0
    while True:
        said = f"{seed}:{round_}:{body}".encode("utf-8", "replace")
        mark = hashlib.sha256(said).hexdigest()[:32]
        if mark not in body:
            return DataBlock(mark, f"BEGIN {mark}\n{body}\nEND {mark}")
        round_ += 1


def data_messages(
    rules: str, records: Iterable[Mapping[str, Any]], ask: str, *, seed: int, **facts: object
) -> tuple[list[dict[str, str]], str]:
    """Build a request with data: the rules as system message, then the records and the question.

    Parameters
    ----------
    rules
        The rules, with ``{mark}`` and the names of ``facts`` in braces.

    Returns
    -------
    tuple
        The two messages, and the mark around the records.
    """
    block = data_block(records, seed=seed)
    messages = [
        {"role": "system", "content": rules.format(mark=block.mark, **facts)},
        {"role": "user", "content": f"{block.text}\n\n{ask}"},
    ]
    return messages, block.mark


def refuse_mark(mark: str, *texts: str) -> None:
    """Raise ``ValueError`` for texts of an answer that repeat the mark: they may be copied from the data."""
    if any(mark in text for text in texts):
        raise ValueError("the answer repeats the mark around the data")


def storable_text(text: str, limit: int | None = None) -> str:
    """Remove characters that databases cannot store (NUL, halves of surrogate pairs), and shorten in the middle."""
    kept = _UNSTORABLE.sub("", text)
    return kept if limit is None else shorten_middle(kept, limit)


def storable_line(text: str, limit: int | None = None) -> str:
    """Return a text as one line without control characters, shortened in the middle."""
    return storable_text(_SPACES.sub(" ", text).strip(), limit)


def quotation_from(said: str, quote: str | None, limit: int) -> str | None:
    """Return a model's quotation from a text as one line; ``None`` if it is not in the text, or too short to show anything."""
    line = storable_line(quote or "").strip("\"'“”‘’ ")
    if len(line) < _LEAST_QUOTED or line.casefold() not in storable_line(said).casefold():
        return None
    # No mark of omission: a quotation is verbatim.
    return line if len(line) <= limit else line[: limit + 1].rpartition(" ")[0] or line[:limit]


def plain_answer(text: str) -> str:
    """Return a model's answer without preceding thoughts, storable and stripped."""
    return storable_text(_THOUGHTS.sub("", text)).strip()


def json_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON."""
    text = json.dumps(record, ensure_ascii=False)
    # Line breaks that JSON does not escape.
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
