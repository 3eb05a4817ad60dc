"""A service that has lost what was logged has it again after the next log, once and in its newest state."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field

import pytest

import promptlift
from support.kills import SEEDS
from support.service_process import ServiceProcess

pytestmark = pytest.mark.slow

TABLES = ("conversations", "conversation_contents", "idempotency_keys")


def talk(name, length):
    """Messages of a conversation after some turns."""
    return [
        {"role": ("user", "assistant")[turn % 2], "content": f"{name} says {turn}"} for turn in range(length)
    ]


@dataclass
class History:
    """What happened to the conversations of one prompt.

    Attributes
    ----------
    lengths
        Turns of each conversation with a source id so far.
    backup
        Rows of the service at some moment, by table.
    """

    chance: random.Random
    database: sqlite3.Connection
    lift: promptlift.Workspace
    prompt_id: str
    lengths: dict[str, int] = field(default_factory=dict)
    plain: int = 0
    backup: dict[str, list[tuple]] | None = None

    def grow(self):
        """Let some conversations begin and others go on, at their source."""
        for _ in range(self.chance.randint(1, 5)):
            self.plain += 1
        for _ in range(self.chance.randint(1, 5)):
            name = f"s{self.chance.randrange(8)}"
            self.lengths[name] = self.lengths.get(name, 0) + self.chance.randint(1, 3)

    def log(self, *, everything):
        """Log everything, or some of it and some former states."""
        records = [
            {"messages": talk(name, length), "source_id": name} for name, length in self.lengths.items()
        ]
        records += [{"content": f"User: plain {number}"} for number in range(self.plain)]
        if not everything:
            records = [record for record in records if self.chance.random() < 0.8]
            old = [
                {"messages": talk(name, self.chance.randint(1, length)), "source_id": name}
                for name, length in self.lengths.items()
                if self.chance.random() < 0.3
            ]
            records += old
        self.chance.shuffle(records)
        result = self.lift.log(records, prompt_id=self.prompt_id)
        assert result.logged + result.updated + result.already_there == len(records)
        assert result.complete
        return result

    def rows(self):
        ids = "SELECT id FROM conversations WHERE prompt_id = ?"
        where = {"conversations": "prompt_id = ?"}
        return {
            table: self.database.execute(
                f"SELECT * FROM {table} WHERE {where.get(table, f'conversation_id IN ({ids})')}",
                (self.prompt_id,),
            ).fetchall()
            for table in TABLES
        }

    def delete(self, ids):
        marks = ",".join("?" * len(ids))
        for table in ("insights", *TABLES[1:]):
            self.database.execute(f"DELETE FROM {table} WHERE conversation_id IN ({marks})", ids)
        self.database.execute(f"DELETE FROM conversations WHERE id IN ({marks})", ids)

    def lose(self):
        """Take rows away: the newest, any, or all that came after a backup; maybe the keys of those that are left."""
        self.database.execute("BEGIN IMMEDIATE")
        ids = [
            one
            for (one,) in self.database.execute(
                "SELECT id FROM conversations WHERE prompt_id = ? ORDER BY seq", (self.prompt_id,)
            )
        ]
        kind = self.chance.choice(["tail", "subset", "backup"])
        if kind == "backup" and self.backup is not None:
            self.delete(ids)
            for table, rows in self.backup.items():
                for row in rows:
                    self.database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
            # What a judge had claimed then nobody works on any more.
            self.database.execute(
                "UPDATE conversations SET judging = 'done', worker = NULL WHERE prompt_id = ?",
                (self.prompt_id,),
            )
        elif kind == "subset":
            self.delete([one for one in ids if self.chance.random() < 0.4])
        else:
            self.delete(ids[self.chance.randint(0, len(ids)) :])
        if self.chance.random() < 0.5:  # more than 24 hours go by
            self.database.execute(
                "DELETE FROM idempotency_keys WHERE conversation_id IN (SELECT id FROM conversations WHERE prompt_id = ?)",
                (self.prompt_id,),
            )
        self.database.execute("COMMIT")

    def contents(self):
        """What the service has, without the source ids in the metadata."""
        rows = self.database.execute(
            "SELECT source_id, content FROM conversations JOIN conversation_contents ON conversation_id = id "
            "WHERE prompt_id = ?",
            (self.prompt_id,),
        )
        return sorted(
            text if source is None else json.dumps([source, json.loads(text)["messages"]])
            for source, text in ((source, raw.decode()) for source, raw in rows)
        )

    def expected(self):
        states = [json.dumps([name, talk(name, length)]) for name, length in self.lengths.items()]
        return sorted([*states, *(f"User: plain {number}" for number in range(self.plain))])


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service of its own: its counts no longer fit what is taken from it behind its back."""
    running = ServiceProcess(tmp_path_factory.mktemp("losing")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def database(service):
    with closing(sqlite3.connect(service.data / "promptlift.db", timeout=60, isolation_level=None)) as opened:
        opened.execute("PRAGMA synchronous=OFF")
        yield opened


@pytest.mark.parametrize("decade", range(SEEDS))
def test_whatever_is_lost_is_there_again_once_and_in_its_newest_state(database, lift, decade):
    for seed in range(10 * decade, 10 * decade + 10):
        chance = random.Random(seed)
        prompt = lift.client.prompts.create(name=f"Healing {seed}", content="Help.", llm_model="gpt-4o")
        history = History(chance, database, lift, prompt.id)
        for _ in range(chance.randint(1, 3)):
            history.grow()
            history.log(everything=chance.random() < 0.5)
            if chance.random() < 0.5:
                history.backup = history.rows()
            if chance.random() < 0.7:
                history.lose()
        history.log(everything=True)
        assert history.contents() == history.expected(), f"seed {seed}"
        again = history.log(everything=True)
        assert (again.logged, again.updated) == (0, 0), f"seed {seed}"


def plain_records(count):
    return [{"content": f"User: question {number}\nAssistant: answer {number}"} for number in range(count)]


def texts_of(lift, prompt_id):
    return sorted(lift.conversations(prompt_id, content=True)["content"])


def test_after_a_restored_backup_the_next_log_says_what_was_missing(start_service):
    service = start_service()
    records = plain_records(100)
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt_id = lift.client.prompts.create(name="p", content="c", llm_model="gpt-4o").id
        lift.log(records[:95], prompt_id=prompt_id)
    service.stop()
    backup = service.data.with_name("backup")
    shutil.copytree(service.data, backup)
    service.start()
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        assert lift.log(records[95:], prompt_id=prompt_id).logged == 5
    service.stop()
    shutil.rmtree(service.data)
    shutil.move(backup, service.data)
    service.start()
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        result = lift.log(records, prompt_id=prompt_id)
        assert (result.logged, result.already_there, result.complete) == (5, 95, True)
        assert texts_of(lift, prompt_id) == sorted(record["content"] for record in records)


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_power_cut_that_takes_acknowledged_rows_is_healed_by_the_next_log(start_service, kept):
    """The write-ahead log was never synced: the last of it is gone, and with it what was acknowledged."""
    service = start_service()
    records = plain_records(120)
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt_id = lift.client.prompts.create(name="p", content="c", llm_model="gpt-4o").id
        lift.log(records[:40], prompt_id=prompt_id)
    service.stop()  # the log is taken into the database
    service.start()
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        assert lift.log(records, prompt_id=prompt_id).complete
    service.kill()
    wal = service.data / "promptlift.db-wal"
    size = wal.stat().st_size
    assert size
    with wal.open("r+b") as file:
        file.truncate(int(size * kept))
    wal.with_name("promptlift.db-shm").unlink(missing_ok=True)
    service.start()
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        before = len(lift.conversations(prompt_id))
        assert 40 <= before <= 120
        assert before < 120 or kept
        result = lift.log(records, prompt_id=prompt_id)
        assert (result.logged, result.already_there) == (120 - before, before)
        assert texts_of(lift, prompt_id) == sorted(record["content"] for record in records)
