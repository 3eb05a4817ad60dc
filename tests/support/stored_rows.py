"""Rows of prompts, conversations and insights as the service stores them."""

from __future__ import annotations

from typing import Any

from promptlift.service import clock
from promptlift.service.store.tables.prompts import PromptRow


def prompt_row(prompt_id: str, account: str, now: int, /, **changes: Any) -> PromptRow:
    """Make a prompt."""
    values = {
        "name": "Support",
        "content": "You help.",
        "llm_model": "gpt-4o",
        "tags": [],
        "status": "active",
        "created_at": clock.to_datetime(now),
        "updated_at": clock.to_datetime(now),
    }
    return PromptRow(id=prompt_id, account_id=account, **{**values, **changes})


def conversation_row(
    conversation_id: str, account: str, prompt_id: str, started_at: int, /, **changes: Any
) -> dict[str, Any]:
    """Make a conversation of two messages that waits for its insights."""
    return {
        "id": conversation_id,
        "account_id": account,
        "prompt_id": prompt_id,
        "status": "completed",
        "llm_model": None,
        "company_name": None,
        "idempotency_key": None,
        "created_at": started_at,
        "started_at": started_at,
        "ended_at": started_at,
        "message_count": 2,
        "user_turns": 1,
        "response_seconds": None,
        "has_insights": False,
        "judging": "pending",
        "generation": 1,
        "judge_after": started_at,
        "judge_attempts": 0,
        **changes,
    }


def insights_row(conversation_id: str, document: str, /, **changes: Any) -> dict[str, Any]:
    """Make the insights of a conversation that completed its task."""
    return {
        "conversation_id": conversation_id,
        "generation": 1,
        "sentiment": "neutral",
        "sentiment_score": 0.25,
        "task_completed": True,
        "basis": "model",
        "document": document,
        **changes,
    }
