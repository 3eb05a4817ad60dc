"""A page as a browser's parser sees it: tags, attributes, text; and conversations to report on."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from functools import cache
from html.parser import HTMLParser

import pandas as pd

NOW = datetime(2026, 3, 10, 9, 30, tzinfo=UTC)
_VOID = {"meta", "br", "hr", "img", "input", "link", "source", "base", "embed", "area", "col", "wbr"}


def clock() -> datetime:
    return NOW


class Page(HTMLParser):
    """Every tag with its attributes, the text by tag, and whether tags close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = text
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.open: list[str] = []
        self.misnested: list[str] = []
        self.pieces: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.misnested.append(tag)

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        self.pieces.append((self.open[-1] if self.open else "", data))

    @property
    def text(self) -> str:
        """Everything that is shown, pictures included."""
        return " ".join(" ".join(data for tag, data in self.pieces if tag != "style").split())

    @property
    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}


def boxes(sheet, *names):
    """The boxes of these tags on a page that WeasyPrint laid out."""
    return [box for box in sheet._page_box.descendants() if box.element_tag in names]


def cut_off(pages):
    """The texts and pictures that reach over the right margin of a page."""
    return [
        box.element
        for sheet in pages
        for box in boxes(sheet, "td", "th", "figure", "p", "li")
        if box.position_x + box.width > sheet._page_box.content_box_x() + sheet._page_box.width + 0.5
    ]


def read_page(path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def conversations(
    n: int = 60, *, prompt_id: str = "p1", rate: float = 0.7, content: bool = True
) -> pd.DataFrame:
    """Make a table as ``lift.conversations(insights=True)`` gives it, the same one every time."""
    table = _conversations(n, prompt_id, rate).copy()
    return table if content else table.drop(columns="content")


@cache
def _conversations(n: int, prompt_id: str, rate: float) -> pd.DataFrame:
    rows = []
    for number in range(n):
        name = f"{prompt_id}-c{number:05d}"
        draw = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 16**8
        done = draw < rate
        started = NOW - timedelta(days=1 + number % 30, minutes=number)
        rows.append(
            {
                "conversation_id": name,
                "prompt_id": prompt_id,
                "status": "in_progress" if number % 20 == 19 else "completed",
                "has_insights": True,
                "created_at": started,
                "started_at": started,
                "llm_model": "gpt-4o-mini",
                "company_name": None,
                "content": f"User: Question {number} of {name}\nAssistant: Answer {number}\nUser: {'Thanks' if done else 'No'}",
                "sentiment": "positive" if done else "negative",
                "sentiment_score": 0.5 if done else -0.25,
                "task_completed": done,
                "topics": ["order"],
                "summary": "A question.",
                "issues": []
                if done
                else [
                    {"title": f"Problem {number % 3}", "severity": "high", "evidence": f"No, said {number}"}
                ],
                "insights_at": started,
                "analyser": None,
                "basis": "outcome",
            }
        )
    columns = (
        "conversation_id prompt_id status has_insights created_at started_at llm_model company_name content "
    )
    columns += "sentiment sentiment_score task_completed topics summary issues insights_at analyser basis"
    table = pd.DataFrame(rows, columns=columns.split())
    table["status"] = pd.Categorical(table["status"], ["completed", "abandoned", "in_progress"])
    table["sentiment"] = pd.Categorical(table["sentiment"], ["negative", "neutral", "positive"])
    for name in ("task_completed", "has_insights"):
        table[name] = table[name].astype("boolean")
    for name in ("created_at", "started_at", "insights_at"):
        table[name] = pd.to_datetime(table[name], utc=True).astype("datetime64[us, UTC]")
    table["sentiment_score"] = table["sentiment_score"].astype("float64")
    for name in (
        "conversation_id",
        "prompt_id",
        "llm_model",
        "company_name",
        "content",
        "summary",
        "analyser",
        "basis",
    ):
        table[name] = table[name].astype("str")
    table.attrs["promptlift"] = {
        "table": "conversations",
        "rows": n,
        "total": n,
        "complete": True,
        "analyser": None,
        "basis": "outcome" if n else None,
        "fetched_at": "2026-03-10T09:00:00+00:00",
        "deleted_meanwhile": 0,
        "warnings": {},
    }
    return table
