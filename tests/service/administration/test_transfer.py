"""From SQLite to PostgreSQL: every table the same by count and hash, or nothing is kept."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

import promptlift
from promptlift.errors import ConfigError
from promptlift.service import administration
from promptlift.service.store import transfer as copying
from promptlift.service.store.database import Database
from promptlift.service.store.tables import metadata, prompts
from support.service_process import ServiceProcess, wait_until

ODD = 'User: "ünï" 🙂 \\ tab\t\nAssistant: ' + "x" * 9000


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A service with a little of everything, stopped: its address, its key, and its conversations."""
    service = ServiceProcess(tmp_path_factory.mktemp("source")).start()
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.client.prompts.create(
            name="Support", content="c", llm_model="gpt-4o", tags=["a,b"], temperature=0.1
        )
        rows = [
            {"content": ODD, "source_id": f"s{n}", "cost": 0.1 * n, "metadata": {"n": n}} for n in range(1200)
        ]
        lift.log(rows, prompt_id=prompt.id)
        lift.client.prompts.update(prompt.id, content="d")

        def all_judged():
            return lift.client.conversations.list(has_insights=False, limit=1).pagination.total == 0

        wait_until(all_judged, what="all are judged")
        before = lift.conversations(prompt.id, insights=True, content=True)
    service.stop()
    return f"sqlite:///{service.data / 'promptlift.db'}", service.key, before


@pytest.fixture
def moved(source, postgres_url):
    """The address of what is moved, that of an empty database, and the key and the conversations."""
    url, key, before = source
    return url, postgres_url.replace("postgresql://", "postgresql+psycopg://"), key, before


def test_a_service_goes_on_with_what_it_had(moved, start_service):
    source, target, key, before = moved
    tables = []
    administration.move(source, target, note=tables.append)
    assert [one.table for one in tables] == [table.name for table in metadata.sorted_tables]
    rows = {one.table: one.rows for one in tables}
    assert (rows["conversations"], rows["insights"], rows["prompt_versions"]) == (1200, 1200, 2)
    again = start_service(database=target.replace("+psycopg", ""), env={"PROMPTLIFT_API_KEY": key})
    with promptlift.connect(again.base_url, key, progress=False) as lift:
        after = lift.conversations("Support", insights=True, content=True)
        assert after.equals(before)
        # New rows come after those that were copied.
        lift.log([{"content": "User: new"}], prompt_id="Support")
        assert len(lift.conversations("Support")) == 1201
        assert lift.client.conversations.list(limit=1).data[0].id not in set(before["conversation_id"])
    with pytest.raises(ConfigError, match="has accounts already"):
        administration.move(source, target, note=tables.append)


def test_a_copy_that_differs_is_not_kept(moved, monkeypatch):
    source, target, _, _ = moved
    whole = copying.copy_tables

    def and_change(reading, writing):
        yield from whole(reading, writing)
        writing.execute(update(prompts).values(name="another"))

    monkeypatch.setattr(copying, "copy_tables", and_change)
    with pytest.raises(ConfigError, match="The copy of the table prompts differs"):
        administration.move(source, target, note=lambda _: None)
    opened = Database(target)
    with opened.read() as connection:
        assert connection.execute(select(prompts)).all() == []
        assert copying.is_empty(connection)
    opened.close()


def test_only_from_sqlite_to_postgresql(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with pytest.raises(ConfigError, match="copies from SQLite to PostgreSQL"):
        administration.move(url, f"sqlite:///{tmp_path / 'b.db'}", note=lambda _: None)
