"""Fallback fonts for scripts that the font of a figure lacks, chosen from the installed ones."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from unicodedata import category

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.text import Text

__all__ = ["MISSING", "covering", "make_readable"]

MISSING = "Characters that no installed font has are drawn as boxes; install a font that has them, such as Noto Sans CJK."
_BOX = "\N{WHITE SQUARE}"
_GENERIC = ("serif", "sans-serif", "sans serif", "cursive", "fantasy", "monospace")
# Legible families for many scripts that systems ship, tried before all others.
_LIKELY = (
    "Noto Sans CJK", "Noto Sans JP", "Noto Sans SC", "Noto Sans KR", "Source Han Sans", "Hiragino Sans",
    "PingFang", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Apple SD Gothic", "WenQuanYi", "Noto Sans",
    "Segoe UI", "Nirmala UI", "Arial Unicode MS", "Droid Sans Fallback", "FreeSans", "Unifont",
)  # fmt: skip
# These draw placeholders instead of characters, or have an encoding of their own for formulas.
_NO_LETTERS = (
    "Last Resort",
    "LastResort",
    "cmb10",
    "cmex",
    "cmmi",
    "cmr10",
    "cmss",
    "cmsy",
    "cmtt",
    "STIXSize",
)


def make_readable(texts: Iterable[Text]) -> bool:
    """Add installed fallback fonts to texts with characters that their font lacks.

    Nothing is downloaded, and texts that can be drawn stay as they are. Characters of no installed font become
    boxes, unless the figure keeps its text as text (SVG with ``svg.fonttype`` "none"): a browser has more fonts.

    Returns
    -------
    bool
        Whether there are characters that no installed font has.
    """
    left = False
    for text in texts:
        content = text.get_text()
        if content.isascii():
            continue
        properties = text.get_fontproperties()
        families = _installed(tuple(properties.get_family()))
        lacking = _lacking(frozenset(content), families, properties.get_weight(), properties.get_style())
        if not lacking:
            continue
        more = covering(lacking)
        if more:
            text.set_fontfamily([*families, *more])
        unknown = lacking - _covered(more, lacking)
        if unknown and mpl.rcParams["svg.fonttype"] != "none":
            left = True
            text.set_text("".join(_BOX if char in unknown else char for char in content))
    return left


def _installed(families: tuple[str, ...]) -> tuple[str, ...]:
    """Return the families that matplotlib will use; for a generic name, the first that is installed."""
    known = {entry.name for entry in font_manager.fontManager.ttflist}
    found = []
    for family in families:
        if family.lower() in _GENERIC:
            setting: Any = f"font.{'sans-serif' if 'sans' in family.lower() else family.lower()}"
            wanted: Any = mpl.rcParams[setting]
            found += [next((name for name in wanted if name in known), "DejaVu Sans")]
        elif family in known:
            found.append(family)
    return tuple(found) or ("DejaVu Sans",)


def _lacking(chars: frozenset[str], families: tuple[str, ...], weight: Any, slant: Any) -> frozenset[str]:
    """Return the characters that none of the families has; whitespace needs none."""
    # Nor do marks of the writing direction, which are not drawn.
    lacking = {char for char in chars if not char.isspace() and category(char) != "Cf"}
    for family in families:
        properties = font_manager.FontProperties(family=family, weight=weight, style=slant)
        lacking -= _known(str(font_manager.findfont(properties)), 0, frozenset(lacking))
    return frozenset(lacking)


@lru_cache(maxsize=512)
def covering(chars: frozenset[str]) -> tuple[str, ...]:
    """Return installed families that together have as many of the characters as possible, likely ones first.

    Parameters
    ----------
    chars
        Characters to draw.

    Returns
    -------
    tuple of str
        Family names, in the order in which to try them.
    """
    left, families = set(chars), []
    for entry in _candidates():
        if not left:
            break
        gained = _known(entry.fname, getattr(entry, "index", 0), frozenset(left))
        if gained:
            families.append(entry.name)
            left -= gained
    return tuple(families)


def _covered(families: tuple[str, ...], chars: frozenset[str]) -> frozenset[str]:
    entries = [entry for entry in _candidates() if entry.name in families]
    found = [_known(entry.fname, getattr(entry, "index", 0), chars) for entry in entries]
    return frozenset().union(*found)


def _candidates() -> list[Any]:
    """Return one upright, regular font of each installed family, likely families first."""
    best: dict[str, Any] = {}
    for entry in font_manager.fontManager.ttflist:
        if entry.name.startswith(_NO_LETTERS):
            continue
        known = best.get(entry.name)
        if known is None or _plainness(entry) < _plainness(known):
            best[entry.name] = entry
    return sorted(best.values(), key=lambda entry: (_rank(entry.name), entry.name))


def _plainness(entry: Any) -> tuple[bool, int]:
    weight = entry.weight if isinstance(entry.weight, int) else 400
    return entry.style != "normal", abs(weight - 400)


def _rank(name: str) -> int:
    return next((place for place, start in enumerate(_LIKELY) if name.startswith(start)), len(_LIKELY))


@lru_cache(maxsize=4096)
def _known(path: str, index: int, chars: frozenset[str]) -> frozenset[str]:
    """Return the characters of ``chars`` that a font file has; none when matplotlib cannot draw with it."""
    try:
        font = FT2Font(path, face_index=index) if index else FT2Font(path)
        found = frozenset(char for char in chars if font.get_char_index(ord(char)))
        if found:
            # Bitmap fonts have characters, but no scalable outlines.
            font.set_size(10, 72)
            font.load_char(ord(next(iter(found))))
    except (OSError, RuntimeError, TypeError, ValueError):
        return frozenset()
    return found
