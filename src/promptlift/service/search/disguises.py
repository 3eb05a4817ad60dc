"""What strangers may have said in disguise: encoded, in letters that look alike, or in pieces.

A model reads through many of these, so an order that stands in one of them must be recognised as a stranger's words too.
Not every disguise can be undone: a cipher of one's own, or other words, cannot.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import html
import re
import unicodedata
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["folded", "readings"]

# Letters of other scripts that look like Latin ones, after casefolding.
_ALIKE: Final = str.maketrans(
    "авекмнорстухіјѕԁһԛԝոցհսɡıȷαβεικνορτυχγ", "abekmhopctyxijsdhqwnghugijabeikvoptuxy"
)
_LEET: Final = str.maketrans("013457@$", "oieastas")
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}[\s:,-]?){8,}")
# One mark between single letters.
_SPACED: Final = re.compile(r"(?<=\b\w)[ .,*_-](?=\w\b)")


def folded(text: str) -> str:
    """Return a text in small letters, without characters that cannot be seen and with letters that look alike made one."""
    seen = "".join(
        letter for letter in unicodedata.normalize("NFKC", text) if unicodedata.category(letter) != "Cf"
    )
    return seen.casefold().translate(_ALIKE)


def readings(messages: Sequence[str]) -> list[str]:
    """Return the texts that somebody's messages of one conversation may be read as.

    They are the messages as they stand, all of them in a row (an order may come in pieces), and what they hold in a
    common encoding.
    """
    whole = [" ".join(messages), "".join(one.strip() for one in messages)]
    plain = list(dict.fromkeys([*messages, *whole]))
    found = [*plain, *_decoded(messages)]
    for text in plain:
        found += [codecs.decode(text, "rot13"), text[::-1], unquote(text), html.unescape(text)]
        small = folded(text)
        found += [_SPACED.sub("", small), small.translate(_LEET)]
    return list(dict.fromkeys(folded(text) for text in found))


def _decoded(messages: Sequence[str]) -> Iterator[str]:
    """Decode what looks like Base64 or hexadecimal, also where it is spread over messages."""
    found = [[*_ENCODED.findall(text), *_HEX.findall(text)] for text in messages]
    spread = "".join(max(tokens, key=len) for tokens in found if tokens)
    for token in (*(token for tokens in found for token in tokens), spread):
        yield from _texts(_bytes_of(token))


def _bytes_of(token: str) -> Iterator[bytes]:
    standard = token.rstrip("=").translate(str.maketrans("-_", "+/"))
    with contextlib.suppress(ValueError):
        yield base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    with contextlib.suppress(ValueError):
        yield bytes.fromhex(re.sub(r"[:,-]", " ", token))


def _texts(found: Iterable[bytes]) -> Iterator[str]:
    for raw in found:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            continue
        if all(letter.isprintable() or letter.isspace() for letter in text):
            yield text
