"""New databases and upgraded ones have exactly the tables that the code uses."""

from __future__ import annotations

import multiprocessing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect

from promptlift.errors import ConfigError, ServiceStartError
from promptlift.service.store.database import Database
from promptlift.service.store.tables import metadata
from support.databases import migrate


def test_migrations_make_the_tables_of_the_code(database):
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == "0001"
        # compare_metadata() knows no names of primary and foreign keys.
        there = inspect(connection)
        for table in metadata.sorted_tables:
            assert there.get_pk_constraint(table.name)["name"] == table.primary_key.name
            found = {key["name"] for key in there.get_foreign_keys(table.name)}
            assert found == {key.name for key in table.foreign_key_constraints}
            indexes = {index["name"] for index in there.get_indexes(table.name)}
            assert {index.name for index in table.indexes} <= indexes


def everything(database):
    """Every row of every table, that of the version included."""
    with database.read() as connection:
        return {
            name: sorted(map(repr, connection.exec_driver_sql(f'SELECT * FROM "{name}"')))
            for name in inspect(connection).get_table_names()
        }


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


def test_a_database_that_cannot_be_used_is_left_alone_and_told_without_the_password(tmp_path):
    file = tmp_path / "promptlift.db"
    file.write_bytes(b"not a database at all, but long enough to have a header " * 20)
    before = file.read_bytes()
    with (
        pytest.raises(ServiceStartError, match=r"promptlift\.db cannot be used: file is not a database"),
        Database(f"sqlite:///{file}") as opened,
    ):
        opened.migrate()
    assert file.read_bytes() == before
    with (
        pytest.raises(ServiceStartError, match=r"none/promptlift\.db cannot be used: unable to open"),
        Database(f"sqlite:///{tmp_path / 'none' / 'promptlift.db'}") as opened,
    ):
        opened.migrate()
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
