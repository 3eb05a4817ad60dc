"""Check what the demo wrote and printed: ``check_demo.py DIR OUTPUT``. The first failure ends it."""

# ruff: noqa: INP001, T201, D102  a script that prints
from __future__ import annotations

import re
import struct
import sys
from html.parser import HTMLParser
from pathlib import Path

# Attributes that make a browser load something. A link that a reader may click is no load.
LOADING = {"src", "srcset", "data", "poster", "background", "action", "xlink:href"}


class Loads(HTMLParser):
    """Everything that the page would fetch, and its visible words."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            loads = name in LOADING or (name == "href" and tag not in {"a", "area"})
            if loads and value and not value.startswith(("#", "data:")):
                self.found.append(f"<{tag} {name}={value[:80]}>")
            if name == "style" and value:
                self.found += remote_styles(value)


def remote_styles(css: str) -> list[str]:
    """Parts of a style sheet that load something."""
    return re.findall(r"@import[^;]+|url\(\s*['\"]?(?!#|data:|['\"])[^)]+\)", css)


def need(holds: object, what: str) -> None:
    """End with a message unless `holds`."""
    if not holds:
        raise SystemExit(f"demo: {what}")


def check(folder: Path, output: str) -> None:
    """Check the report, the picture and the printed summary."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    loads = Loads()
    loads.feed(page)
    need(not loads.found, f"report.html loads {loads.found[:5]}")
    styles = [
        part
        for css in re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL)
        for part in remote_styles(css)
    ]
    need(not styles, f"report.html has styles that load {styles[:5]}")
    need({"svg", "table"} <= loads.tags, f"report.html has no figure or no table, only {sorted(loads.tags)}")
    need(20_000 < len(page) < 3_000_000, f"report.html has {len(page)} characters")
    picture = (folder / "overview.png").read_bytes()
    need(picture.startswith(b"\x89PNG\r\n\x1a\n"), "overview.png is no PNG")
    width, height = struct.unpack(">II", picture[16:24])
    need(width >= 800 and height >= 500 and len(picture) > 20_000, f"overview.png is {width} x {height}")
    need(re.search(r"\d+(\.\d+)? ?%", output), "the output has no summary with rates")
    for name in ("report.html", "overview.png"):
        need(name in output, f"the output does not say where {name} is")
    print(f"demo: report.html of {len(page)} characters and overview.png of {width} x {height} are sound")


if __name__ == "__main__":
    check(Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8"))
