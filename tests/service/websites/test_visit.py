"""Visits of a website on a real socket: redirects, robots.txt, limits, and addresses that nobody may reach."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from promptlift.service.websites import visit as visits
from promptlift.service.websites.visit import UnreadableWebsite, full_url, visit
from support.website import COMPANY_PAGE, a_website, redirect_to

DENIED = (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /")


def test_a_page_is_read_after_its_robots_txt(net, website):
    page = visit(net, website.url)
    assert (page.url, page.html) == (website.url, COMPANY_PAGE)
    assert website.paths == ["/robots.txt", "/"]
    assert {headers["user-agent"] for _, headers in website.asked} == {"promptlift"}


@pytest.mark.parametrize(
    ("robots", "is_read"),
    [
        ("User-agent: promptlift\nDisallow: /\n", False),
        ("User-agent: *\nDisallow: /private\n", True),
        ("\ufeffuser-AGENT: *  # all\nCrawl-delay: " + "9" * 5_000 + "\n\n Disallow : / # nothing", False),
        ("User-agent: other\nDisallow: /\n\nUser-agent: promptlift\nDisallow: /x", True),
        ("User-agent: *\nDisallow: //[", False),
        ("User-agent: *\n" + f"Disallow: /{'*a' * 900}$\n" * 250, True),
        ("<html>no rules: here</html>", True),
        ((404, {}, "no"), True),
        ((403, {}, "User-agent: *\nDisallow: /"), True),
        ((503, {}, "later"), False),
        (redirect_to("/rules"), False),
    ],
)
def test_robots_txt_decides(net, website, robots, is_read):
    website.pages |= {"/robots.txt": robots, "/rules": DENIED}
    if is_read:
        assert visit(net, website.url).html == COMPANY_PAGE
        return
    with pytest.raises(UnreadableWebsite, match=r"robots\.txt"):
        visit(net, website.url)
    assert "/" not in website.paths


def test_a_redirect_is_followed_and_its_target_asked_for_rules(net, website):
    with a_website() as other:
        website.pages["/"] = redirect_to("/start")
        website.pages["/start"] = redirect_to(other.url, 301)
        assert visit(net, website.url).url == other.url
        assert website.paths == ["/robots.txt", "/", "/start"]
        other.pages["/robots.txt"] = DENIED
        with pytest.raises(UnreadableWebsite, match=r"robots\.txt excludes"):
            visit(net, website.url)


@pytest.mark.parametrize(
    "location",
    [
        "ftp://example.com/",
        "https://user:pw@example.com/",
        "//",
        "http://127.0.0.1:0x50/",
    ],
)
def test_a_redirect_to_no_web_address_is_refused(net, website, location):
    website.pages["/"] = redirect_to(location)
    with pytest.raises(UnreadableWebsite):
        visit(net, website.url)


@pytest.mark.parametrize("behaviour", ["hang", "drip"])
@pytest.mark.parametrize("path", ["/", "/robots.txt"])
@pytest.mark.slow
def test_a_visit_has_one_deadline(net, website, behaviour, path):
    website.pages[path] = getattr(website, behaviour)
    with pytest.raises(UnreadableWebsite, match=r"did not answer within|took too long"):
        visit(net, website.url, seconds=1.0)


def test_redirects_do_not_stretch_the_deadline(net, website, monkeypatch):
    now = iter(range(0, 100, 6))
    monkeypatch.setattr(visits, "time", SimpleNamespace(monotonic=lambda: next(now)))
    website.pages["/"] = redirect_to("/")
    with pytest.raises(UnreadableWebsite, match="took too long"):
        visit(net, website.url)
    monkeypatch.undo()
    with pytest.raises(UnreadableWebsite, match="redirects more than 5 times"):
        visit(net, website.url)


def test_an_endless_page_is_read_as_far_as_the_limit(net, website):
    website.pages["/"] = website.endless
    page = visit(net, website.url)
    assert page.html.startswith("<p>Our mission")
    assert len(page.html) == visits.PAGE_BYTES


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ((404, {}, "no"), "answered 404"),
        ((302, {}, "no location"), "answered 302"),
        ((200, {"Content-Type": "application/pdf"}, "%PDF"), "is not a web page"),
        ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"), "compressed"),
    ],
)
def test_what_is_no_page_is_said(net, website, page, problem):
    website.pages["/"] = page
    with pytest.raises(UnreadableWebsite, match=problem):
        visit(net, website.url)


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("text/html; charset=iso-8859-1", "café".encode("latin-1"), "café"),
        ('text/html; charset="UTF-16"', "café".encode("utf-16"), "café"),
        ("text/html", '<meta charset="windows-1251">Москва'.encode("cp1251"), "Москва"),
        (
            "text/html",
            "<meta http-equiv=x content='text/html; charset=Shift_JIS'>東京".encode("shift_jis"),
            "東京",
        ),
        ("text/html; charset=zip", "café".encode(), "café"),
        ("text/html", b"caf\xe9", "caf\ufffd"),
        # A byte order mark counts for more than what is declared.
        ("text/html", "café".encode("utf-16"), "café"),
        ("text/html; charset=latin-1", "café".encode("utf-8-sig"), "café"),
    ],
)
def test_a_page_is_decoded_as_it_says(net, website, kind, content, text):
    website.pages["/"] = (200, {"Content-Type": kind}, content)
    html = visit(net, website.url).html
    assert text in html
    assert "\ufeff" not in html


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("example.com", "https://example.com"),
        (" www.example.com/about ", "https://www.example.com/about"),
        ("example.com:8443/x", "https://example.com:8443/x"),
        ("http://example.com", "http://example.com"),
        ("HTTPS://example.com", "HTTPS://example.com"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("/etc/passwd", "/etc/passwd"),
    ],
)
def test_a_scheme_may_be_left_out(given, url):
    assert full_url(given) == url
