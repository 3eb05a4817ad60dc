"""Databases from before imports marked the prompts that they made: the migration finds those."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

import promptlift.service.store
from promptlift.service.store.database import Database

SENTENCE = "The text of this prompt is not known. It was made by the import of support.jsonl."
TEXTS = {
    "prm_imported": SENTENCE,
    # A variant of it that somebody applied.
    "prm_optimized": f"{SENTENCE}\n\nAlways ask for the order number.",
    "prm_known": "You help customers.",
    "prm_quotes": f"Never say: {SENTENCE}",
    "prm_case": SENTENCE.upper(),
    "prm_short": "The text of this prompt is not known.",
}
UNKNOWN = {"prm_imported", "prm_optimized"}


@pytest.fixture
def before(database_url):
    """A database as it was before the migration, with these prompts, and a way to any version."""
    config = Config()
    folder = Path(promptlift.service.store.__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder))
    opened = Database(database_url)

    def go(move, revision):
        with opened._writer.connect() as connection:
            config.attributes["connection"] = connection
            move(config, revision)

    go(command.upgrade, ScriptDirectory.from_config(config).get_revision("0007").down_revision)
    with opened.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO accounts (id, name, email, plan, settings, created_at) VALUES ('acc_1', 'n', 'e', 'free', '{}', 0)"
        )
        for prompt_id, content in TEXTS.items():
            connection.exec_driver_sql(
                "INSERT INTO prompts (id, account_id, name, content, llm_model, tags, status, created_at, updated_at) "
                f"VALUES ('{prompt_id}', 'acc_1', 'n', '{content}', 'm', '[]', 'active', 0, 0)"
            )
            connection.exec_driver_sql(
                "INSERT INTO prompt_versions (account_id, prompt_id, content, origin, created_at) "
                f"VALUES ('acc_1', '{prompt_id}', '{content}', 'created', 0)"
            )
    yield opened, go
    opened.close()


def unknown(database, table, column):
    with database.read() as connection:
        rows = connection.exec_driver_sql(f"SELECT {column} FROM {table} WHERE NOT content_known")
        return {row[0] for row in rows}


def test_the_prompts_that_imports_made_are_marked_and_no_others(before):
    database, go = before
    go(command.upgrade, "head")
    assert unknown(database, "prompts", "id") == UNKNOWN
    assert unknown(database, "prompt_versions", "prompt_id") == UNKNOWN


def test_the_migration_can_be_taken_back_and_made_again(before):
    database, go = before
    go(command.upgrade, "0007")
    go(command.downgrade, "-1")
    with database.read() as connection:
        assert dict(connection.exec_driver_sql("SELECT id, content FROM prompts").all()) == TEXTS
    go(command.upgrade, "head")
    assert unknown(database, "prompts", "id") == UNKNOWN
