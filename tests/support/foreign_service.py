"""A small service that speaks the specification and none of our extensions, over a real socket.

It can be told to change its list between two pages, to keep a request rate, and to fail in the ways that services
and networks do.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from support.http_server import HttpServer

if TYPE_CHECKING:
    from support.http_server import Handler

KEY = "sk-foreign-0123456789abcdef"


def hang_up(handler):
    """Close the connection without an answer.

    Closing ``handler.connection`` would not: its files keep the socket open, and the client waits for its time limit.
    """
    handler.close_connection = True


@dataclass
class ForeignService:
    """Set what it should do, then talk to ``base_url``.

    ``fault(method, path, count)`` may return a callable that answers in the service's place: it gets the handler.
    ``before(method, path, count)`` runs before a request is answered, for changes between pages.
    """

    plan: str = "enterprise"
    per_minute: int | None = None
    window: float = 60.0
    retry_after: bool = True
    rate_headers: bool = False
    reset_from: int = 0
    honours: tuple[str, ...] = ()
    oldest_first: bool = False
    page_limit: int = 100
    rows: list[dict[str, Any]] = field(default_factory=list)
    fault: Any = None
    before: Any = None
    answers_200: bool = False
    tags: bool = False
    unchanged: int = 0
    max_conversations: int | None = None
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    refused: int = 0
    keys: dict[str, str] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)
    account_id: str = "acc-1"
    in_flight: int = 0
    most_in_flight: int = 0
    monotonic: Any = time.monotonic
    _window_start: float = -1e9
    _window_count: int = 0
    _next: int = 0

    def __enter__(self):
        self.server = HttpServer(self.handle)
        self.base_url = f"http://127.0.0.1:{self.server.port}/api/v1"
        return self

    def __exit__(self, *_):
        self.server.close()

    # what it holds

    def new_row(self, *, content: str | None = None, insights: bool = True, **fields: Any) -> dict[str, Any]:
        self._next += 1
        number = self._next
        return {
            "id": f"c{number:06d}",
            "promptId": "p1",
            "content": content or json.dumps({"messages": [{"role": "user", "content": f"hello {number}"}]}),
            "status": "completed",
            "llmModel": "gpt-4o",
            "hasInsights": insights,
            "createdAt": f"2026-01-{1 + number // 2000 % 28:02d}T{number // 60 % 24:02d}:{number % 60:02d}:00Z",
            **fields,
        }

    def fill(self, count: int, **fields: Any) -> None:
        for _ in range(count):
            self.insert(**fields)

    def insert(self, **fields: Any) -> dict[str, Any]:
        row = self.new_row(**fields)
        if self.oldest_first:
            self.rows.append(row)
        else:
            self.rows.insert(0, row)
        return row

    def requests(self, method: str, path: str) -> int:
        return sum(1 for m, p, _ in self.seen if m == method and p == path)

    # how it answers

    def handle(self, handler: Handler) -> None:
        parts = urlsplit(handler.path)
        path = parts.path.removeprefix("/api/v1")
        params = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        method = handler.command
        with self.lock:
            self.seen.append((method, path, params))
            count = len(self.seen)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.before is not None:
                with self.lock:
                    self.before(method, path, count)
            fault = self.fault(method, path, count) if self.fault is not None else None
            if fault is not None:
                fault(handler)
                return
            if handler.headers.get("authorization") != f"Bearer {KEY}":
                self.error(handler, 401, "INVALID_API_KEY", "The API key is invalid")
                return
            with self.lock:
                wait = self._over_rate()
            if wait is not None:
                headers = {"Retry-After": str(round(wait + 0.5))} if self.retry_after else {}
                self.send(handler, 429, {"error": {"code": "TOO_MANY", "message": "slow down"}}, headers)
                return
            with self.lock:
                status, answer = self.answer(method, path, params, handler.body)
            headers = self._rate_headers() if self.rate_headers else {}
            if self.tags and method == "GET" and status == 200:
                headers["ETag"] = f'"{hash(json.dumps(answer))}"'
                if handler.headers.get("if-none-match") == headers["ETag"]:
                    self.unchanged += 1
                    status, answer = 304, b""
            self.send(handler, status, answer, headers)
        finally:
            with self.lock:
                self.in_flight -= 1

    def _over_rate(self) -> float | None:
        if self.per_minute is None:
            return None
        now = self.monotonic()
        if now - self._window_start >= self.window:
            self._window_start, self._window_count = now, 0
        if self._window_count >= self.per_minute:
            self.refused += 1
            return self._window_start + self.window - now
        self._window_count += 1
        return None

    def _rate_headers(self) -> dict[str, str]:
        left = (self.per_minute or 0) - self._window_count
        reset = self._window_start + self.window - self.monotonic()
        return {
            "X-RateLimit-Limit": str(self.per_minute),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset": str(max(0, round(reset)) + self.reset_from),
        }

    def answer(self, method, path, params, body):  # noqa: PLR0911
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if path == "/account":
            limits = {"prompts": 5, "optimizationsPerMonth": 10, "conversationsPerMonth": 500}
            plan = {"name": self.plan, "limits": limits}
            return 200, {"id": self.account_id, "name": "n", "email": "e@example.com", "plan": plan}
        if path == "/usage":
            used = {"used": 1, "limit": 5}
            period = {"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"}
            optimizations = {"used": 0, "limit": 10, "running": 0}
            tokens = {"used": 7, "limit": None}
            names = {"prompts": used, "optimizations": optimizations, "conversations": used, "tokens": tokens}
            return 200, {"period": period, **names}
        if parts[0] in ("prompts", "agents") and len(parts) == 1 and method == "GET":
            row = {
                "id": "p1",
                "name": "n",
                "content": "c",
                "llmModel": "m",
                "status": "active",
                "tags": ["a"],
            }
            return self.page([row], params, ())
        if path == "/conversations" and method == "GET":
            rows = [row for row in self.rows if all(_fits(row, name, params) for name in _FILTERS)]
            return self.page(rows, params, self.honours)
        if path == "/conversations" and method == "POST":
            return self.create(json.loads(body))
        if parts[0] == "conversations" and len(parts) >= 2:
            row = next((row for row in self.rows if row["id"] == parts[1]), None)
            if row is None:
                return 404, _error("NOT_FOUND", "Conversation not found")
            if parts[2:] == ["insights"]:
                return 200, {"conversationId": row["id"], **_insights(row)}
            names = ("id", "promptId", "content", "status", "llmModel", "createdAt")
            detail = {name: row[name] for name in names}
            short = {k: _insights(row)[k] for k in ("sentiment", "taskCompleted", "topics", "summary")}
            return 200, {**detail, "insights": short if row["hasInsights"] else None}
        return 404, _error("NOT_FOUND", "Route not found")

    def page(self, rows, params, honours):
        limit = min(int(params.get("limit", 20)), self.page_limit)
        offset = int(params.get("offset", 0))
        names = ("id", "promptId", "status", "hasInsights", "createdAt")
        items = []
        for row in rows[offset : offset + limit]:
            item = {name: row[name] for name in names if name in row} if "hasInsights" in row else dict(row)
            if "includeInsights" in honours and params.get("includeInsights") == "true":
                item["insights"] = _insights(row) if row["hasInsights"] else None
            if "includeContent" in honours and params.get("includeContent") == "true":
                item["content"] = row["content"]
            items.append(item)
        return 200, {"data": items, "pagination": {"total": len(rows), "limit": limit, "offset": offset}}

    def create(self, data):
        link = data.get("promptId") or data.get("agentId")
        if link not in ("p1", "p2"):
            return 404, _error("NOT_FOUND", "Prompt not found")
        if "BAD" in data.get("content", ""):
            return 400, _error("VALIDATION_ERROR", "content cannot be read", {"content": "Invalid"})
        key = data.get("idempotencyKey")
        if key in self.keys:
            row = next(row for row in self.rows if row["id"] == self.keys[key])
            status = 200 if self.answers_200 else 201
        else:
            if self.max_conversations is not None and len(self.rows) >= self.max_conversations:
                details = {
                    "limit": self.max_conversations,
                    "used": len(self.rows),
                    "resetAt": "2026-02-01T00:00:00Z",
                }
                return 429, _error("LIMIT_EXCEEDED", "Monthly conversations used up", details)
            row = self.insert(content=data["content"], promptId=link, status=data.get("status", "completed"))
            status = 201
            if key:
                self.keys[key] = row["id"]
        return status, {name: row[name] for name in ("id", "promptId", "status", "createdAt")}

    def error(self, handler, status, code, message):
        self.send(handler, status, _error(code, message))

    def send(self, handler, status, answer, headers=None):
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        handler.answer(status, raw, {"Content-Type": "application/json", **(headers or {})})


_FILTERS = ("promptId", "agentId", "status", "hasInsights")


def _fits(row: dict[str, Any], name: str, params: dict[str, str]) -> bool:
    if name not in params:
        return True
    value = row["promptId" if name == "agentId" else name]
    return (str(value).lower() if isinstance(value, bool) else value) == params[name]


def _insights(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "sentiment": "positive",
        "sentimentScore": 0.5,
        "taskCompleted": True,
        "topics": ["billing"],
        "summary": f"summary of {row['id']}",
        "issues": [{"title": "slow", "severity": "low", "evidence": None}],
        "createdAt": "2026-01-31T00:00:00Z",
        **row.get("judged", {}),
    }


def _error(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **({"details": details} if details else {})}}
