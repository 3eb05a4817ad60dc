"""Serve conversations as a service of the specification does that has none of our extensions: one request an item.

A script of its own process: ``serve_items.py COUNT DELAY_MS``. It prints its port and answers every request that many
milliseconds after it came, from answers made beforehand, so that the reader's own time is what is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import uvloop

COUNT, DELAY = int(sys.argv[1]), float(sys.argv[2]) / 1000
ROOT = "/api/v1"
TEXT = "Where is my order? It was to arrive today, and the parcel service knows nothing of it. "


def answer(document: Any, status: str = "200 OK") -> bytes:
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def listed(number: int) -> dict[str, Any]:
    at = f"2026-01-{1 + number // 2000 % 28:02d}T{number // 60 % 24:02d}:{number % 60:02d}:00Z"
    return {
        "id": f"c{number:06d}",
        "promptId": "p1",
        "status": "completed",
        "hasInsights": True,
        "createdAt": at,
    }


def insights(number: int) -> dict[str, Any]:
    return {
        "conversationId": f"c{number:06d}",
        "sentiment": ("positive", "neutral", "negative")[number % 3],
        "sentimentScore": number % 100 / 100,
        "taskCompleted": number % 2 == 0,
        "topics": ["billing", "delivery"],
        "summary": f"Summary {number}: {TEXT}",
        "issues": [{"title": "slow", "severity": "low", "evidence": TEXT}],
        "createdAt": "2026-01-31T00:00:00Z",
    }


def content(number: int) -> str:
    turns = [{"role": ("user", "assistant")[turn % 2], "content": TEXT * 4} for turn in range(10)]
    return json.dumps({"messages": turns, "metadata": {"number": number}})


PROMPT = {
    "id": "p1",
    "name": "Support",
    "content": "Help.",
    "llmModel": "gpt-4o",
    "status": "active",
    "tags": [],
}
ROWS = [listed(number) for number in range(COUNT)]
ANSWERS = {f"{ROOT}/prompts/p1": answer(PROMPT)}
for one in range(COUNT):
    place = f"{ROOT}/conversations/c{one:06d}"
    ANSWERS[f"{place}/insights"] = answer(insights(one))
    short = {name: insights(one)[name] for name in ("sentiment", "taskCompleted", "topics", "summary")}
    ANSWERS[place] = answer({**ROWS[one], "content": content(one), "insights": short})
MISSING = answer({"error": {"code": "NOT_FOUND", "message": "Route not found"}}, "404 Not Found")


def page(query: str, rows: list[dict[str, Any]]) -> bytes:
    asked = {name: values[-1] for name, values in parse_qs(query).items()}
    limit, offset = min(int(asked.get("limit", 20)), 100), int(asked.get("offset", 0))
    pagination = {"total": len(rows), "limit": limit, "offset": offset}
    return answer({"data": rows[offset : offset + limit], "pagination": pagination})


def answer_to(target: str) -> bytes:
    if target in ANSWERS:
        return ANSWERS[target]
    parts = urlsplit(target)
    if parts.path == f"{ROOT}/conversations":
        return page(parts.query, ROWS)
    if parts.path == f"{ROOT}/prompts":
        return page(parts.query, [PROMPT])
    if parts.path == f"{ROOT}/account":
        plan = {"name": "enterprise", "limits": {}}
        return answer({"id": "acc", "name": "n", "email": "e@example.com", "plan": plan})
    return MISSING


class Exchange(asyncio.Protocol):
    """One connection; requests have no body."""

    def connection_made(self, transport: Any) -> None:
        self.transport, self.rest = transport, b""

    def data_received(self, data: bytes) -> None:
        *heads, self.rest = (self.rest + data).split(b"\r\n\r\n")
        for head in heads:
            reply = answer_to(head.split(b" ", 2)[1].decode())
            if DELAY:
                asyncio.get_running_loop().call_later(DELAY, self.transport.write, reply)
            else:
                self.transport.write(reply)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Exchange, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


uvloop.run(main())
