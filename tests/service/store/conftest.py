"""A database with one account and one prompt, and one without tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from promptlift.service.store import accounts, conversations, judging, prompts
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables.conversations import ConversationRow
from support.stored_rows import conversation_row, insights_row, prompt_row

if TYPE_CHECKING:
    from promptlift.service.store.database import Database

NOW = 1_769_851_800_000


@dataclass
class Filled:
    """A database and the rows that every test needs."""

    database: Database
    account: str

    def add_prompt(self, prompt_id: str, **changes: Any) -> str:
        with self.database.write() as connection:
            prompts.add(Rows(connection), prompt_row(prompt_id, self.account, NOW, **changes))
        return prompt_id

    def add_conversations(self, *ids: str, prompt: str = "prm_1", **changes: Any) -> None:
        rows = [conversation_row(one, self.account, prompt, NOW, **changes) for one in ids]
        contents = {one: f"User: {one} \x00 ü".encode() for one in ids}
        with self.database.write() as connection:
            conversations.add(connection, rows, contents)

    def judge(self, *ids: str, document: str = '{"issues": []}') -> None:
        """Keep insights of conversations, as a worker does."""
        rows = [insights_row(one, document) for one in ids]
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
