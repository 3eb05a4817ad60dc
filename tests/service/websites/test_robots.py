"""The rules of robots.txt, as in RFC 9309."""

import pytest

from promptlift.service.websites.robots import read_robots


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/", True),
        ("User-agent: *\nDisallow:", "/", True),
        ("User-agent: *\nDisallow: /", "/", False),
        ("user-AGENT : *  # all\n disallow : / # nothing", "/", False),
        ("User-agent: other\nDisallow: /", "/", True),
        ("User-agent: promptlift\nDisallow: /", "/", False),
        ("User-agent: PromptLift/1.0\nDisallow: /", "/", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: promptlift\nDisallow: /x", "/", True),
        ("User-agent: promptlift\nAllow: /\nUser-agent: *\nDisallow: /", "/", True),
        ("User-agent: other\nUser-agent: promptlift\nDisallow: /", "/", False),
        (
            "User-agent: promptlift\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: promptlift\nDisallow: /b",
            "/b",
            False,
        ),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.php", "/x/y.php?z", False),
        ("User-agent: *\nDisallow: /*.php$", "/x/y.php?z", True),
        ("User-agent: *\nDisallow: /*.php$", "/x/y.php", False),
        ("User-agent: *\nDisallow: /$", "/", False),
        ("User-agent: *\nDisallow: /$", "/x", True),
        ("User-agent: *\nDisallow: /*?", "/?q=1", False),
        ("User-agent: *\nDisallow: /a*b*c", "/a-c-b", True),
        ("User-agent: *\nDisallow: /a*b*c", "/a-b-c", False),
        ("\ufeffUser-agent: *\nDisallow: /", "/x", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("Disallow: /", "/", True),
        ("<html>no rules: here</html>", "/", True),
        ("Sitemap: https://x.test/s.xml\nUser-agent: *\nCrawl-delay: 9\nDisallow: /", "/", False),
    ],
)
def test_a_path_is_allowed_or_not(text, path, allowed):
    assert read_robots(text).allows(path) is allowed


def test_rules_made_to_take_long_are_read_in_no_time():
    hostile = "User-agent: *\n" + f"Disallow: /{'*a' * 900}$\n" * 5_000
    assert read_robots(hostile).allows("/" + "a" * 2_000)
