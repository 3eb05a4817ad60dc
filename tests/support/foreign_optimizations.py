"""The foreign service with optimizations: the specification's endpoints and nothing of ours, in the ways services differ.

Import it where a conftest has loaded ``foreign_service``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from support.foreign_service import ForeignService

LISTED = ("id", "promptId", "status", "mode", "createdAt", "completedAt")
RESULTS = {"winnerSelected": True, "winningVariantId": "va", "lift": 12.5, "confidence": 0.92}
VARIANTS = [
    {
        "id": "v0",
        "name": "Control",
        "isOriginal": True,
        "content": "old",
        "metrics": {"taskCompletion": 72.0, "sentiment": 0.1, "quality": 70},
    },
    {
        "id": "va",
        "name": "Short",
        "isOriginal": False,
        "content": "new",
        "metrics": {"taskCompletion": 81.0, "sentiment": 0.2, "quality": 72},
        "lift": 12.5,
        "isWinner": True,
    },
    {
        "id": "vb",
        "name": "Long",
        "isOriginal": False,
        "content": "newer",
        "metrics": {"taskCompletion": 70.0, "sentiment": 0.0, "quality": 69},
        "lift": -2.8,
    },
]


@dataclass
class OptimizationService(ForeignService):
    """``optimizations`` is the list, newest first. Everything else says how the service treats a request.

    Attributes
    ----------
    most
        Rows of one answer at most, given without a word; ``None`` gives all that are asked for.
    largest
        A larger ``limit`` is refused.
    strict
        Parameters that the specification does not have are refused.
    pages
        Whether it has ``offset`` and ``pagination``, as ours does.
    states
        What successive looks at an optimization add to it; the last one stays.
    """

    prompt_ids: tuple[str, ...] = ("p1", "p2")
    optimizations: list[dict[str, Any]] = field(default_factory=list)
    most: int | None = None
    largest: int | None = None
    strict: bool = False
    pages: bool = False
    lists_results: bool = False
    variants: list[dict[str, Any]] = field(default_factory=lambda: [dict(one) for one in VARIANTS])
    states: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[tuple[str, Any]] = field(default_factory=list)

    def add(self, count: int = 1, **fields: Any) -> None:
        """Add optimizations, the newest first in the list."""
        for _ in range(count):
            number = len(self.optimizations) + 1
            row = {
                "id": f"o{number:05d}",
                "promptId": "p1",
                "status": "completed",
                "mode": "validation",
                "variantCount": 2,
                "createdAt": f"2026-01-{1 + number // 1440:02d}T{number // 60 % 24:02d}:{number % 60:02d}:00Z",
                "completedAt": None,
                **fields,
            }
            if row["status"] == "completed":
                row.setdefault("results", RESULTS)
            self.optimizations.insert(0, row)

    def answer(self, method, path, params, body):
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[0] in ("prompts", "agents") and len(parts) == 1:
            rows = [{"id": one, "name": one, "content": "c", "status": "active"} for one in self.prompt_ids]
            return self.page(rows, params, ())
        if parts[0] in ("prompts", "agents") and len(parts) == 2 and parts[1] in self.prompt_ids:
            return 200, {"id": parts[1], "name": parts[1], "content": "c", "status": "active"}
        if parts[0] != "optimizations":
            return super().answer(method, path, params, body)
        if method == "POST":
            self.bodies.append((path, json.loads(body or b"null")))
        if len(parts) == 1:
            return self.begin(json.loads(body)) if method == "POST" else self.listed(params)
        row = next((row for row in self.optimizations if row["id"] == parts[1]), None)
        if row is None:
            return 404, _error("NOT_FOUND", "Optimization not found")
        return self.one(method, row, parts[2:], json.loads(body or b"null") or {})

    def one(self, method, row, rest, body):
        if not rest:
            if self.states:
                row |= self.states.pop(0) if len(self.states) > 1 else self.states[0]
            return 200, row
        if rest == ["variants"]:
            return 200, {"data": self.variants}
        if rest == ["stop"] and method == "POST":
            row["status"] = "stopped"
            return 200, {"success": True, "status": "stopped"}
        if rest == ["apply"] and method == "POST":
            if row["status"] != "completed":
                return 409, _error("INVALID_STATE", "Optimization is not complete")
            applied = body.get("variantId") or row["results"]["winningVariantId"]
            answer = {"success": True, "promptId": row["promptId"], "appliedVariantId": applied}
            return 200, {**answer, "message": "applied"}
        return 404, _error("NOT_FOUND", "Route not found")

    def begin(self, body):
        link = body.get("promptId") or body.get("agentId")
        if link not in self.prompt_ids:
            return 404, _error("NOT_FOUND", "Prompt not found")
        fields = {"mode": body.get("mode", "exploratory"), "variantCount": body.get("variantCount", 3)}
        self.add(1, promptId=link, status="running", **fields)
        names = ("id", "promptId", "status", "mode", "variantCount", "createdAt")
        return 201, {name: self.optimizations[0][name] for name in names}

    def listed(self, params):
        known = {"promptId", "agentId", "status", "limit"} | ({"offset"} if self.pages else set())
        if self.strict and set(params) - known:
            return 400, _error("VALIDATION_ERROR", "Unknown parameter")
        limit = int(params.get("limit", 10))
        if self.largest is not None and limit > self.largest:
            return 400, _error("VALIDATION_ERROR", "limit is too large", {"limit": "too large"})
        limit = limit if self.most is None else min(limit, self.most)
        wanted = [row for row in self.optimizations if _fits(row, params)]
        offset = int(params.get("offset", 0)) if self.pages else 0
        names = (*LISTED, "results") if self.lists_results else LISTED
        items = [
            {name: row[name] for name in names if name in row} for row in wanted[offset : offset + limit]
        ]
        if self.pages:
            return 200, {
                "data": items,
                "pagination": {"total": len(wanted), "limit": limit, "offset": offset},
            }
        return 200, {"data": items}


def _fits(row: dict[str, Any], params: dict[str, str]) -> bool:
    link = params.get("promptId") or params.get("agentId")
    return link in (None, row["promptId"]) and params.get("status") in (None, row["status"])


def _error(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **({"details": details} if details else {})}}
