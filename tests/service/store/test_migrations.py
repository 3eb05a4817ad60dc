"""The migrations make exactly the tables that the code uses."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, inspect, select

from promptlift.errors import ConfigError, ServiceStartError
from promptlift.service.store import accounts
from promptlift.service.store import database as database_module
from promptlift.service.store.database import Database, newest_version
from promptlift.service.store.tables import conversations, metadata, singleton_jobs


def test_migrations_make_the_tables_of_the_code(database):
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_every_constraint_has_the_name_of_the_code(database):
    with database.read() as connection:
        there = inspect(connection)
        for table in metadata.sorted_tables:
            assert there.get_pk_constraint(table.name)["name"] == table.primary_key.name
            found = {key["name"] for key in there.get_foreign_keys(table.name)}
            assert found == {key.name for key in table.foreign_key_constraints}
            indexes = {index["name"] for index in there.get_indexes(table.name)}
            assert {index.name for index in table.indexes} <= indexes


def test_migrating_again_changes_nothing(filled):
    before = everything(filled.database)
    assert before["accounts"]
    assert before["prompts"]
    filled.database.migrate()
    filled.database.migrate()
    assert everything(filled.database) == before
    test_migrations_make_the_tables_of_the_code(filled.database)


def everything(database):
    """Every row of every table, that of the version included."""
    with database.read() as connection:
        return {
            name: sorted(map(repr, connection.exec_driver_sql(f'SELECT * FROM "{name}"')))
            for name in inspect(connection).get_table_names()
        }


def test_the_newest_migration_is_the_one_with_the_highest_number(database):
    """A database that is up to date is recognised by that number, without Alembic."""
    config = Config()
    config.set_main_option("script_location", str(Path(database_module.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == newest_version()
    assert database.version() == newest_version()


def test_the_prefixes_of_keys_are_shortened(filled):
    """Ten characters of a key were kept in the clear once."""
    shorter = import_module("promptlift.service.store.migrations.versions.0009_shorter_key_prefixes")
    with filled.database.write() as connection:
        accounts.add_key(connection, filled.account, "plk_" + "k" * 43, name="mine")
        connection.exec_driver_sql("UPDATE api_keys SET prefix = 'plk_abcdef'")
        with Operations.context(MigrationContext.configure(connection)):
            shorter.upgrade()
        assert {row.prefix for row in accounts.keys(connection)} == {"plk_abcd"}


def test_a_database_of_the_job_engine_of_before_is_upgraded_and_its_tables_are_dropped(database_url):
    """What a process of before was working on waits again; conversations and optimizations are kept."""
    opened = Database(database_url)
    config = Config()
    config.set_main_option("script_location", str(Path(database_module.__file__).parent / "migrations"))
    schema = "" if opened.is_sqlite else "dbos."
    with opened._writer.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0009")
    old = MetaData()
    with opened.write() as connection:
        old.reflect(connection)
        add_conversation(connection, old)
        if not opened.is_sqlite:
            connection.exec_driver_sql("CREATE SCHEMA dbos")
        connection.exec_driver_sql(f"CREATE TABLE {schema}workflow_status (workflow_uuid TEXT PRIMARY KEY)")
        connection.exec_driver_sql(
            f"CREATE TABLE {schema}operation_outputs (id TEXT REFERENCES {schema}workflow_status)"
        )
        connection.exec_driver_sql(f"CREATE TABLE {schema}dbos_migrations (version BIGINT)")
        connection.exec_driver_sql(f"INSERT INTO {schema}workflow_status VALUES ('job')")
        connection.exec_driver_sql(f"INSERT INTO {schema}operation_outputs VALUES ('job')")
    opened.migrate()
    test_migrations_make_the_tables_of_the_code(opened)
    with opened.read() as connection:
        there = inspect(connection)
        assert set(there.get_table_names()) == {*metadata.tables, "alembic_version"}
        assert "dbos" not in there.get_schema_names()
        row = connection.execute(select(conversations)).one()
        assert (row.id, row.judging, row.worker) == ("c1", "pending", None)
        assert set(connection.scalars(select(singleton_jobs.c.id))) == {"watch_deployments", "clean_up"}
    opened.close()


def add_conversation(connection, old):
    """Add a conversation that a job of before had claimed, with whatever the tables of then want."""

    def add(name, **values):
        table = old.tables[name]
        for column in table.c:
            if column.nullable or column.name in values or column.name == "seq" or column.server_default:
                continue
            kind = column.type.python_type
            values[column.name] = False if kind is bool else kind(0) if kind in (int, float) else "x"
        connection.execute(table.insert().values(values))

    add("accounts", id="a1")
    add("prompts", id="p1", account_id="a1")
    add(
        "conversations",
        id="c1",
        account_id="a1",
        prompt_id="p1",
        status="completed",
        judging="claimed",
        claimed_by="job",
    )


@pytest.mark.slow
def test_processes_that_start_at_once_on_a_new_database_all_get_it(database_url):
    code = (
        "import sys; from promptlift.service.store.database import Database; Database(sys.argv[1]).migrate()"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, database_url], stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    ended = [process.communicate(timeout=60)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], ended


def test_a_database_of_a_newer_version_is_left_alone_and_the_message_says_update(database_url):
    opened = Database(database_url)
    opened.migrate()
    with opened.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    try:
        with pytest.raises(ServiceStartError, match=r"made by a newer promptlift .*: update promptlift"):
            opened.migrate()
    finally:
        opened.close()


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    file = tmp_path / "promptlift.db"
    file.write_bytes(b"not a database at all, but long enough to have a header " * 20)
    before = file.read_bytes()
    opened = Database(f"sqlite:///{file}")
    with pytest.raises(ServiceStartError, match=r"promptlift\.db cannot be opened: file is not a database"):
        opened.migrate()
    opened.close()
    assert file.read_bytes() == before


def test_a_database_in_a_folder_that_is_not_there_says_where(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'none' / 'promptlift.db'}")
    with pytest.raises(ServiceStartError, match=r"none/promptlift\.db cannot be opened: unable to open"):
        opened.migrate()
    opened.close()


def test_a_server_that_is_not_there_is_told_without_the_password():
    opened = Database("postgresql+psycopg://me:s3cret@127.0.0.1:1/none")
    with pytest.raises(ServiceStartError, match="cannot be opened") as caught:
        opened.migrate()
    opened.close()
    assert "s3cret" not in str(caught.value)
    assert "***" in str(caught.value)


@pytest.mark.parametrize("url", ["", "promptlift.db", "not an address"])
def test_what_is_no_address_is_told_with_examples(url):
    with pytest.raises(ConfigError, match="use sqlite:///FILE or postgresql://HOST/NAME"):
        Database(url)


def test_sqlite_is_in_wal_mode_with_foreign_keys(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'promptlift.db'}")
    opened.migrate()
    with opened.write() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1
    opened.close()
    plain = sqlite3.connect(tmp_path / "promptlift.db")
    assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    plain.close()


def test_postgresql_starts_no_workers_for_queries_that_take_less_than_starting_them(database):
    if database.is_sqlite:
        pytest.skip("SQLite has no workers")
    for way_in in (database.read, database.write, database.read):
        with way_in() as connection:
            assert connection.exec_driver_sql("SHOW max_parallel_workers_per_gather").scalar() == "0"
