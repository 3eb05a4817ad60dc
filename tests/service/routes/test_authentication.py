"""How long a key is remembered, which is as long as whoever revokes one waits."""

from __future__ import annotations

import asyncio

import pytest

from promptlift.service.actions.access import KEY_MEMORY_SECONDS, KeyCache
from promptlift.service.administration import revoke_key
from promptlift.service.errors import ApiException
from promptlift.service.settings import ServiceSettings
from promptlift.service.store import accounts
from promptlift.service.store.database import Database

KEY = "a-key-for-the-tests-of-its-memory"


@pytest.fixture
def database(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'keys.db'}")
    opened.migrate()
    with opened.write() as connection:
        account = accounts.create(connection, name="A", email="a@b.test", plan="free")
        accounts.add_key(connection, account, KEY, name="test")
    yield opened
    opened.close()


def revoke(database):
    with database.write() as connection:
        (row,) = accounts.valid_keys_named(connection, KEY)
        accounts.revoke(connection, row.id)


def is_accepted(cache):
    try:
        asyncio.run(cache.caller(f"Bearer {KEY}"))
    except ApiException:
        return False
    return True


def test_a_key_is_read_again_when_its_time_is_over(database):
    now = 0.0
    cache = KeyCache(database, steady=lambda: now)
    assert is_accepted(cache)
    revoke(database)
    now = KEY_MEMORY_SECONDS - 0.01
    assert is_accepted(cache)
    now = KEY_MEMORY_SECONDS
    assert not is_accepted(cache)


def test_a_key_that_is_revoked_while_it_is_read_is_not_remembered_for_longer(database, monkeypatch):
    now = 0.0
    cache = KeyCache(database, steady=lambda: now)
    real = accounts.find_caller

    def slow(*arguments):
        nonlocal now
        found = real(*arguments)
        revoke(database)
        now += 10 * KEY_MEMORY_SECONDS
        return found

    monkeypatch.setattr(accounts, "find_caller", slow)
    assert is_accepted(cache)  # it came before the key was revoked
    monkeypatch.undo()
    assert not is_accepted(cache)


def test_revoking_takes_as_long_as_a_key_may_be_remembered(database, tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr("time.sleep", waited.append)
    settings = ServiceSettings(data=tmp_path, database_url=database.url)
    revoke_key(settings, KEY)
    assert waited == [KEY_MEMORY_SECONDS]
