"""A database with one account and one prompt, and one without tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from promptlift.service import clock
from promptlift.service.store import accounts, conversations, judging, prompts
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables.conversations import ConversationRow
from promptlift.service.store.tables.prompts import PromptRow

if TYPE_CHECKING:
    from promptlift.service.store.database import Database

NOW = 1_769_851_800_000


@dataclass
class Filled:
    """A database and the rows that every test needs."""

    database: Database
    account: str

    def add_prompt(self, prompt_id: str, **changes: Any) -> str:
        values = {
            "id": prompt_id,
            "account_id": self.account,
            "name": "n",
            "content": "c",
            "llm_model": "gpt-4o",
            "description": None,
            "tags": changes.pop("tags", []),
            "temperature": None,
            "max_tokens": None,
            "objective": None,
            "status": "active",
            "created_at": clock.to_datetime(NOW),
            "updated_at": clock.to_datetime(NOW),
            **changes,
        }
        with self.database.write() as connection:
            prompts.add(Rows(connection), PromptRow(**values))
        return prompt_id

    def add_conversations(self, *ids: str, prompt: str = "prm_1", **changes: Any) -> None:
        rows = [
            {
                "id": one,
                "account_id": self.account,
                "prompt_id": prompt,
                "status": "completed",
                "llm_model": None,
                "company_name": None,
                "idempotency_key": None,
                "created_at": NOW,
                "started_at": NOW,
                "ended_at": NOW,
                "message_count": 2,
                "user_turns": 1,
                "response_seconds": None,
                "has_insights": False,
                "judging": "pending",
                "generation": 1,
                "judge_after": NOW,
                "judge_attempts": 0,
                **changes,
            }
            for one in ids
        ]
        contents = [{"conversation_id": one, "content": f"User: {one} \x00 ü".encode()} for one in ids]
        with self.database.write() as connection:
            conversations.add(connection, rows, contents)

    def judge(self, *ids: str, document: str = '{"issues": []}') -> None:
        """Keep insights of conversations, as a worker does."""
        rows = [
            {
                "conversation_id": one,
                "generation": 1,
                "sentiment": "neutral",
                "sentiment_score": 0.25,
                "task_completed": True,
                "basis": "model",
                "document": document,
            }
            for one in ids
        ]
        with self.database.write() as connection:
            values = {"judging": "claimed", "worker": "w"}
            connection.execute(update(ConversationRow).where(ConversationRow.id.in_(ids)).values(values))
            judging.keep(connection, "w", rows)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path) -> str:
    """Address of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'promptlift.db'}"
    url = request.getfixturevalue("postgres_url")
    return url.replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture
def filled(database) -> Filled:
    with database.write() as connection:
        account = accounts.create(connection, name="One", email="one@example.test", plan="free")
    made = Filled(database, account)
    made.add_prompt("prm_1")
    return made
