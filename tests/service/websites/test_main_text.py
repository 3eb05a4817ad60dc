"""The main text of a page by trafilatura, in a process of its own; the package may be there or not."""

from __future__ import annotations

import importlib.util

import pytest

from promptlift.service.websites import main_text as main_texts
from promptlift.service.websites.main_text import main_text
from support.website import COMPANY_PAGE


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Put a stand-in for trafilatura where this process and the child find it."""

    def make(code):
        (tmp_path / "trafilatura.py").write_text(code)
        monkeypatch.syspath_prepend(str(tmp_path))

    return make


def test_the_text_of_the_package_is_taken(package):
    package(
        "def extract(page, **_):\n    return 'Heading\\n\\n' + 'A long paragraph. ' * 50 + page[-9:].strip()"
    )
    found = main_text(COMPANY_PAGE)
    assert found[0] == "Heading"
    assert found[1].endswith("</html>")


@pytest.mark.parametrize(
    "code",
    [
        "import time\ndef extract(page, **_):\n    time.sleep(60)",
        "def extract(page, **_):\n    raise ValueError",
        "def extract(page, **_):\n    return 'x' * (4 * 1024 ** 3)",
        "import os\ndef extract(page, **_):\n    os.abort()",
        "def extract(page, **_):\n    return None",
        "def extract(page, **_):\n    return 'Accept cookies?'",
        "raise ImportError",
    ],
)
def test_a_page_that_breaks_the_package_costs_only_its_text(package, code):
    package(code)
    assert main_text(COMPANY_PAGE, seconds=3) is None


def test_without_the_package_nothing_is_started(monkeypatch):
    monkeypatch.setattr(main_texts.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(main_texts, "subprocess", None)
    assert main_text(COMPANY_PAGE) is None


@pytest.mark.skipif(importlib.util.find_spec("trafilatura") is None, reason='needs "promptlift[website]"')
def test_the_package_itself_finds_the_text():
    found = main_text(COMPANY_PAGE.replace("</main>", "<p>We carry parcels everywhere.</p>" * 10 + "</main>"))
    assert any("make shipping simple" in line for line in found)
