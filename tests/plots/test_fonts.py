"""Scripts that the figure's font lacks are drawn with fonts that are installed, or said to be missing."""

from __future__ import annotations

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

from promptlift import plots
from promptlift.plots import fonts
from support.drawn import said
from support.synthetic_tables import conversations

JAPANESE = "日本語"
FAMILY = "Tiny Test Sans"
NO_FONT = "𐎀"  # Ugaritic: in no font of a test machine


def square(size):
    pen = TTGlyphPen(None)
    pen.moveTo((50, 0))
    pen.lineTo((50, size))
    pen.lineTo((size, size))
    pen.lineTo((size, 0))
    pen.closePath()
    return pen.glyph()


@pytest.fixture
def japanese_font(tmp_path):
    """A font with three characters, known to matplotlib for the time of a test."""
    names = [".notdef", *(f"uni{ord(char):04X}" for char in JAPANESE)]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(char): name for char, name in zip(JAPANESE, names[1:], strict=True)})
    builder.setupGlyf({name: square(300 + 200 * place) for place, name in enumerate(names)})
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 50)))
    builder.setupHorizontalHeader(ascent=880, descent=-120)
    builder.setupNameTable({"familyName": FAMILY, "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=880, usWeightClass=400)
    builder.setupPost()
    path = tmp_path / "tiny.ttf"
    builder.save(path)
    known = list(font_manager.fontManager.ttflist)
    # The machine may have another font with these characters.
    font_manager.fontManager.ttflist[:] = [font for font in known if font.name.startswith("DejaVu")]
    font_manager.fontManager.addfont(path)
    fonts.covering.cache_clear()
    yield FAMILY
    font_manager.fontManager.ttflist[:] = known
    fonts.covering.cache_clear()
    font_manager.fontManager._findfont_cached.cache_clear()


def legend_texts(ax):
    return list(ax.get_legend().get_texts())


def test_a_name_in_another_script_gets_an_installed_font_behind_its_own(japanese_font):
    ax = plots.sentiment_distribution(conversations(60, prompts=[JAPANESE, "plain"]), by="prompt_id")
    plain, foreign = sorted(legend_texts(ax), key=lambda text: JAPANESE in text.get_text())
    assert foreign.get_text().startswith(JAPANESE)
    assert foreign.get_fontfamily() == ["DejaVu Sans", japanese_font]
    assert plain.get_fontfamily() == ["sans-serif"]
    ax.figure.canvas.draw()  # which warns of no missing glyph
    assert fonts.MISSING not in said(ax)


def test_characters_of_no_font_are_boxes_and_a_note_says_why():
    name = f"{NO_FONT * 3} shop"
    ax = plots.sentiment_distribution(conversations(60, prompts=[name, "plain"]), by="prompt_id")
    assert fonts.MISSING in said(ax)
    assert any(text.get_text().startswith("□□□ shop") for text in legend_texts(ax))
