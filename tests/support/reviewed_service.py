"""The foreign service with prompts whose text can be read, changed and applied to: nothing of ours, as before.

Import it where a conftest has loaded ``foreign_service``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import unquote

from support.foreign_optimizations import OptimizationService


@dataclass
class ReviewedService(OptimizationService):
    """``texts`` are the live texts of its prompts."""

    texts: dict[str, str] = field(default_factory=lambda: {"p1": "old"})

    def answer(self, method, path, params, body):
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[0] == "prompts" and len(parts) == 2 and parts[1] in self.texts:
            if method == "PATCH":
                self.texts[parts[1]] = json.loads(body)["content"]
            text = self.texts[parts[1]]
            return 200, {
                "id": parts[1],
                "name": "Support",
                "content": text,
                "status": "active",
                "updatedAt": "2026-01-01T00:00:00Z",
            }
        status, answer = super().answer(method, path, params, body)
        if parts[-1] == "apply" and status == 200:
            applied = answer["appliedVariantId"]
            self.texts[answer["promptId"]] = next(
                one["content"] for one in self.variants if one["id"] == applied
            )
        return status, answer
