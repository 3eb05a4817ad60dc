"""The words of a page: what people see of it, and nothing that is hidden from them."""

import pytest

from promptlift.service.websites.visit import TEXT_CHARS, read_page
from support.website import COMPANY_PAGE


def test_the_shown_words_of_a_page_are_read():
    page = read_page(COMPANY_PAGE)
    assert page.title == "Northwind Parcels | Delivery & shipping"
    assert page.descriptions == ["Northwind Parcels brings parcels from online shops to 4 million homes."]
    assert page.paragraphs[1].startswith("Our mission is to make shipping simple")
    assert page.paragraphs[-1].endswith("one hand — ours.")
    assert len(page.paragraphs) == 4


@pytest.mark.parametrize(
    "html",
    [
        "<SCRIPT>if (a<b) 'secret </scrip'</SCRIPT >",
        "<style>secret</style>",
        "<!-- <p>secret</p> > secret -->",
        "<noscript><p>secret</p></noscript>",
        "<template><p>secret</p></template>",
        "<p hidden=''>secret</p>",
        "<div aria-hidden=true><div>x</div>secret</div>",
        '<p style="DISPLAY : NONE">secret</p>',
        "<p style='display&colon;none'>secret</p>",
        "<p style='visibility:hidden'>secret</p>",
        "<span style='font-size:0'>secret</span>",
        "<span style='opacity:0'>secret</span>",
        "<span style='position:absolute;left:-9999px'>secret</span>",
        "<img alt='secret'>",
        "<textarea>secret</textarea>",
        "<svg><text>secret</text></svg>",
        "<div hidden><script>'</div>'</script>secret</div>",
        "<title>x</title><meta name=author content=secret>",
    ],
)
def test_what_is_not_shown_is_not_read(html):
    page = read_page(f"<p>before</p>{html}<p>after</p>")
    assert "secret" not in repr(page)
    assert page.paragraphs[0] == "before"
    assert page.paragraphs[-1] == "after"


def test_visible_text_with_odd_markup_is_read():
    page = read_page(
        "<p>1 < 2 &amp; <b>bold</b>face <x-y>own</x-y> <p style='overflow: hidden'>shown<br>line</p>\x00"
    )
    assert " ".join(page.paragraphs) == "1 < 2 & boldface own shown line"


@pytest.mark.parametrize(
    "unit",
    ["<", "<!--", "<a b='", "<script>", "&#9", "<div hidden>"],
)
@pytest.mark.slow
def test_a_page_made_to_take_hours_is_read(unit):
    # html.parser takes 25 seconds to close 64 KB of some of these, and 250 times as long for this much: the time-out of
    # the test ends it.
    page = read_page("<p>hello</p>" + unit * (1_000_000 // len(unit)))
    assert page.paragraphs[0] == "hello"
    assert sum(map(len, page.paragraphs)) <= 2 * TEXT_CHARS
