"""The main text of a page by trafilatura, in a process of its own; the package may be there or not."""

from __future__ import annotations

import pytest

from promptlift.service.net.client import GuardedClient
from promptlift.service.websites import main_text as main_texts
from promptlift.service.websites.main_text import main_text
from promptlift.service.websites.page_text import LINE_CHARS, TEXT_CHARS, read_page
from promptlift.service.websites.read import Websites
from support.website import COMPANY_PAGE, a_website

SENTENCE = "We carry parcels everywhere, by bicycle and by boat. "
COMPANY = COMPANY_PAGE.replace("</main>", f"<p>{SENTENCE * 6}</main>")
NEWS = f"""<!doctype html><html><head><title>Harbour news</title></head><body>
<header><nav><ul><li><a href="/">Front page</a><li><a href="/sport">Sport tables</a></ul></nav></header>
<div class="cookie-banner"><p>We value your privacy. Accept all cookies?</p><button>Accept</button></div>
<article><h1>A new ferry for the islands</h1>
<p>The council has ordered a ferry that runs on electricity. {SENTENCE * 3}</p>
<h2>What it costs</h2><p>The ferry costs 14 million and carries 400 passengers. {SENTENCE * 3}</p>
<blockquote><p>&ldquo;It will be here before winter,&rdquo; said the harbour master.</p></blockquote></article>
<aside class="related"><h3>Most read</h3><ul><li><a href="/a">Ten walks</a></ul></aside>
<footer><p>Copyright. All rights reserved. Imprint.</p></footer></body></html>"""


def found_in(page, **options):
    return main_text(page, read_page(page).paragraphs, **options)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Put a stand-in for trafilatura where this process and the child find it."""

    def make(code):
        (tmp_path / "trafilatura.py").write_text(code)
        monkeypatch.syspath_prepend(str(tmp_path))

    return make


@pytest.mark.slow
def test_the_text_of_the_package_is_taken(package):
    package(f"def extract(page, **_):\n    return 'Every parcel, on time\\n\\n' + {SENTENCE * 6!r}")
    assert found_in(COMPANY) == ["Every parcel, on time", (SENTENCE * 6).strip()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import time\ndef extract(page, **_):\n    time.sleep(60)",
        "def extract(page, **_):\n    raise ValueError",
        "def extract(page, **_):\n    return 'x' * (4 * 1024 ** 3)",
        "import os\ndef extract(page, **_):\n    os.abort()",
        "def extract(page, **_):\n    return None",
        "def extract(page, **_):\n    return 'Every parcel, on time'",
        f"def extract(page, **_):\n    return {'Nobody sees this. ' * 40!r}",
        "raise ImportError",
    ],
)
def test_a_page_that_breaks_the_package_costs_only_its_text(package, code):
    package(code)
    assert found_in(COMPANY, seconds=3) is None


def test_without_the_package_nothing_is_started(monkeypatch):
    monkeypatch.setattr(main_texts.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(main_texts, "subprocess", None)
    assert found_in(COMPANY) is None


@pytest.fixture
def trafilatura():
    """The package itself: of the extra ``website``, and of ``test``."""
    return pytest.importorskip("trafilatura", reason='needs "promptlift[website]"', exc_type=ImportError)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "main", "beside"),
    [
        (COMPANY, ["make shipping simple", "Freight, warehousing"], ["cookies", "Imprint", "Tracking"]),
        (
            NEWS,
            ["new ferry for the islands", "400 passengers", "before winter"],
            ["cookies", "Sport tables", "Imprint", "Ten walks"],
        ),
    ],
)
def test_the_package_itself_tells_the_main_text_from_the_rest(trafilatura, page, main, beside):
    found = " ".join(found_in(page))
    assert [one for one in main if one not in found] == []
    assert [one for one in beside if one in found] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "html",
    [
        "<p hidden>Our secret goal is to hide this from you.</p>",
        "<p style='display:none'>Our secret goal is to hide this from you.</p>",
        "<div aria-hidden=true><p>Our secret goal is to hide this from you.</p></div>",
        "<p style='font-size:0'>Our secret goal is to hide this from you.</p>",
        "<p style='position:absolute;left:-9999px'>Our secret goal is to hide this from you.</p>",
        "<p>Shown text. <span style='opacity:0'>Our secret goal is to hide this.</span></p>",
        "<!-- <p>Our secret goal is to hide this from you.</p> -->",
        "<noscript><p>Our secret goal is to hide this from you.</p></noscript>",
        "<template><p>Our secret goal is to hide this from you.</p></template>",
    ],
)
def test_the_package_itself_brings_back_nothing_that_is_hidden(trafilatura, html):
    found = found_in(COMPANY.replace("</h1>", f"</h1>{html}"))
    assert "secret" not in repr(found)
    assert any("make shipping simple" in line for line in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "hurting",
    [
        "<div>" * 100_000,
        "<p>" * 200_000,
        "<a href='" + "x" * 500_000,
        "&#9" * 300_000,
        "<table><tr><td>" * 60_000,
        "\x00\ufffe\ud800" * 1_000,
        "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><p>&e;" * 2,
        "<p>" + "a " * 400_000,
        "".join(f"<div class=c{n}><p>{SENTENCE}{n}</p></div>" for n in range(8_000)),
    ],
)
def test_pages_made_to_hurt_the_package_itself_do_no_harm(trafilatura, hurting):
    found = found_in(COMPANY.replace("</h1>", f"</h1>{hurting}"), seconds=3) or []
    assert all(len(line) <= LINE_CHARS for line in found)
    assert sum(map(len, found)) <= TEXT_CHARS
    assert "root:" not in " ".join(found)


@pytest.mark.slow
def test_a_website_is_read_through_the_package_itself(trafilatura):
    shop = COMPANY.replace("<h1>", "<h1>News of the day</h1><h1>")
    with a_website({"/": shop}) as website:
        net = GuardedClient(allow_private=True)
        try:
            reading = Websites(net, lambda: None).read(website.url)
        finally:
            net.close()
    assert reading.company.industry == "Logistics and delivery"
    assert reading.company.objectives.startswith("Our mission is to make shipping simple")
    assert "hide this" not in repr(reading)
