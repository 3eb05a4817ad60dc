"""New databases and upgraded ones have exactly the tables that the code uses."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from promptlift.errors import ConfigError, ServiceStartError
from promptlift.service.store import schema
from promptlift.service.store.database import Database
from promptlift.service.store.schema import newest_version
from promptlift.service.store.tables import metadata
from support.databases import migrate


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
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == newest_version()
    assert database.version() == newest_version()


def test_a_new_database_has_the_rows_that_come_with_the_tables(database):
    rows = {name: count for name, count in counted(database).items() if count}
    assert rows == {"alembic_version": 1, "singleton_jobs": 3}


def counted(database):
    """How many rows each table has."""
    return {name: len(rows) for name, rows in everything(database).items()}


def test_tables_of_another_program_are_left_alone(database_url):
    opened = Database(database_url)
    with opened.write() as connection:
        connection.exec_driver_sql("CREATE TABLE prompts (mine TEXT)")
        connection.exec_driver_sql("INSERT INTO prompts VALUES ('kept')")
    with pytest.raises(ServiceStartError, match=r"prompts.*already exists"), opened:
        opened.migrate()
    assert everything(opened) == {"prompts": ["('kept',)"]}
    opened.close()


@pytest.mark.slow
def test_processes_that_start_at_once_on_a_new_database_all_get_it(database_url):
    forked = multiprocessing.get_context("fork")
    started = [forked.Process(target=migrate, args=(database_url,)) for _ in range(3)]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0, 0, 0]


def test_a_database_of_another_version_is_left_alone_and_the_message_says_what_to_do(database_url):
    opened = Database(database_url)
    opened.migrate()
    with opened.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    try:
        with pytest.raises(
            ServiceStartError, match=r"another version of promptlift: .* version 9999, .* up to 0001. Upgrade"
        ):
            opened.migrate()
    finally:
        opened.close()


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    file = tmp_path / "promptlift.db"
    file.write_bytes(b"not a database at all, but long enough to have a header " * 20)
    before = file.read_bytes()
    with (
        pytest.raises(ServiceStartError, match=r"promptlift\.db cannot be used: file is not a database"),
        Database(f"sqlite:///{file}") as opened,
    ):
        opened.migrate()
    assert file.read_bytes() == before


def test_a_database_in_a_folder_that_is_not_there_says_where(tmp_path):
    with (
        pytest.raises(ServiceStartError, match=r"none/promptlift\.db cannot be used: unable to open"),
        Database(f"sqlite:///{tmp_path / 'none' / 'promptlift.db'}") as opened,
    ):
        opened.migrate()


def test_a_server_that_is_not_there_is_told_without_the_password():
    with (
        pytest.raises(ServiceStartError, match=r"cannot be used: .* Check the address") as caught,
        Database("postgresql+psycopg://me:s3cret@127.0.0.1:1/none") as opened,
    ):
        opened.migrate()
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
