"""The real conversations, logged in a service: a prompt for each that they were held with, and never the truth."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.service_process import wait_until
from support.shared_data import CONVERSATION_FILES, SHARED, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.workspace import Workspace

# Fields that a service may know; never the truth that was measured.
MESSAGE_FIELDS = ("role", "content", "timestamp", "model", "tokens")


def _content(row: dict[str, Any]) -> str:
    messages = [
        {name: m[name] for name in MESSAGE_FIELDS if m.get(name) is not None} for m in row["messages"]
    ]
    metadata = {name: row["metadata"][name] for name in ("channel", "language") if row["metadata"].get(name)}
    return json.dumps(
        {"messages": messages, "metadata": {**metadata, "sourceId": row["sourceId"]}}, ensure_ascii=False
    )


def log_everything(
    lift: Workspace, *, files: Sequence[str] = CONVERSATION_FILES
) -> dict[str, dict[str, dict[str, Any]]]:
    """Log the real conversations, a prompt for each that they were held with; gives them by prompt and source id."""
    prompts = json.loads((SHARED / "prompts.json").read_text(encoding="utf-8"))
    logged: dict[str, dict[str, dict[str, Any]]] = {}
    ids: dict[str, str] = {}
    for name in files:
        rows = load(name)
        for reference in sorted({row["promptRef"] for row in rows} - set(ids)):
            prompt = prompts[reference]
            made = lift.client.prompts.create(
                name=prompt["name"], content=prompt["content"], llm_model="gpt-4o", tags=["real"]
            )
            ids[reference] = made.id
        for reference, prompt_id in ids.items():
            mine = [row for row in rows if row["promptRef"] == reference]
            records = [
                {
                    "content": _content(row),
                    "status": row["status"],
                    "llm_model": row["llmModel"],
                    "idempotency_key": f"{prompt_id} {row['sourceId']}",
                }
                for row in mine
            ]
            result = lift.log(records, prompt_id=prompt_id)
            assert (result.logged, result.failed) == (len(mine), []), str(result)
            logged.setdefault(prompt_id, {}).update({row["sourceId"]: row for row in mine})
    return logged


def wait_for_insights(lift: Workspace) -> None:
    """Wait until every conversation has been judged."""

    def all_judged() -> bool:
        return lift.client.conversations.list(has_insights=False, limit=1).pagination.total == 0

    wait_until(all_judged, what="all conversations judged", seconds=300)
