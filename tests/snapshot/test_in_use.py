"""A workspace with a snapshot in use: its tables are those that the service would give, for a few requests."""

from __future__ import annotations

import random

import pandas as pd
import pytest

import promptlift
from promptlift.errors import IncompleteError
from promptlift.snapshot import Snapshot
from promptlift.snapshot.location import LocalFolder
from promptlift.snapshot.writer_lock import only_writer
from support.foreign_service import KEY, ForeignService, hang_up
from support.kills import SEEDS
from support.pulled import LISTED, StampingService, workspace

TABLES = {
    "conversations": lambda lift, content: lift.conversations(content=content),
    "with insights": lambda lift, content: lift.conversations(insights=True, content=content),
    "of a status": lambda lift, content: lift.conversations(status="abandoned", content=content),
    "messages": lambda lift, _content: lift.messages(),
}


def change(service, chance, *, rejudge):
    """Let the service's rows come, go and change."""
    for _ in range(chance.randint(0, 4)):
        kind = chance.choice(["insert", "delete", "status", "arrive", *(["rejudge"] if rejudge else [])])
        row = chance.choice(service.rows) if service.rows else None
        if kind == "insert" or row is None:
            service.insert(insights=chance.random() > 0.3, status=chance.choice(["completed", "in_progress"]))
        elif kind == "delete":
            service.delete(row) if isinstance(service, StampingService) else service.rows.remove(row)
        else:
            fields = {
                "status": {"status": chance.choice(["completed", "abandoned", "in_progress"])},
                "arrive": {"hasInsights": True},
                "rejudge": {
                    "judged": {"sentiment": chance.choice(["negative", "neutral"]), "topics": ["new"]}
                },
            }[kind]
            service.change(row, **fields) if isinstance(service, StampingService) else row.update(fields)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    ("kind", "honours"),
    [(ForeignService, LISTED), (ForeignService, ()), (StampingService, LISTED), (StampingService, ())],
)
def test_tables_are_those_of_the_service_whatever_happened_there(tmp_path, kind, honours, seed):
    chance = random.Random(seed)
    with kind(honours=honours, page_limit=20) as service:
        service.fill(50)
        used, plain = workspace(service, snapshot=tmp_path), workspace(service)
        used.prompts(), plain.prompts()
        for _ in range(4):
            # What is judged anew shows in the list, or in the time of the change, or nowhere.
            change(service, chance, rejudge=bool(honours) or kind is StampingService)
            for name, table in TABLES.items():
                # With transcripts the snapshot also knows what comes of them, such as the number of turns.
                here, there = (table(lift, LISTED[1] in honours) for lift in (used, plain))
                pd.testing.assert_frame_equal(here, there, obj=name)
                told = here.attrs["promptlift"]
                assert told["complete"]
                if honours or name != "messages":
                    assert told["snapshot"] == str(tmp_path)
        assert Snapshot(tmp_path).verify() == {}


@pytest.mark.slow
def test_where_the_service_says_what_changed_a_read_of_nothing_new_takes_three_requests(tmp_path):
    with StampingService(honours=LISTED) as service:
        service.fill(1000)
        with promptlift.connect(service.base_url, KEY, progress=False, snapshot=tmp_path) as lift:
            lift.conversations()
            files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
            service.seen.clear()
            lift.messages()
            assert len(service.seen) == 3
            # Nor is anything written.
            now = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
            assert {path for path, at in now.items() if files.get(path) != at} <= {tmp_path / ".lock"}


@pytest.mark.slow
def test_a_pull_changes_nothing_about_later_reads(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(300)
        lift = workspace(service)
        lift.pull(tmp_path)
        assert "snapshot" not in lift.conversations().attrs["promptlift"]
        used = workspace(service, snapshot=tmp_path)
        assert used.conversations().attrs["promptlift"]["snapshot"] == str(tmp_path)
        before = Snapshot(tmp_path).manifest
        service.fill(1)
        assert "snapshot" not in lift.conversations().attrs["promptlift"]
        assert Snapshot(tmp_path).manifest == before
        assert len(used.conversations()) == 301
        assert Snapshot(tmp_path).manifest.totals["conversations"] == 301


@pytest.mark.slow
def test_what_the_snapshot_does_not_have_is_asked_of_the_service(tmp_path):
    with ForeignService() as service:
        service.fill(20)
        service.fill(5, promptId="p2")
        lift = workspace(service)
        lift.pull(tmp_path, prompt_id="p1")
        lift = workspace(service, snapshot=tmp_path)
        assert lift.conversations("p1").attrs["promptlift"]["snapshot"] == str(tmp_path)
        for table in (lift.conversations(), lift.conversations(["p1", "p2"]), lift.messages("p1")):
            assert "snapshot" not in table.attrs["promptlift"]
        assert len(lift.conversations()) == 25
        assert len(lift.messages("p1")) == 20


def test_while_another_process_writes_it_the_service_is_asked(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(30)
        lift = workspace(service)
        lift.pull(tmp_path)
        lift = workspace(service, snapshot=tmp_path)
        with only_writer(LocalFolder(tmp_path)):
            service.fill(1)
            found = lift.conversations()
        assert len(found) == 31
        assert "snapshot" not in found.attrs["promptlift"]


@pytest.mark.slow
def test_a_read_that_fails_carries_the_table_as_it_was(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(450)
        lift = workspace(service)
        lift.pull(tmp_path)
        lift = workspace(service, snapshot=tmp_path)
        service.fill(1)
        service.fault = lambda _m, _p, _c: hang_up if service.seen[-1][2].get("offset", "0") != "0" else None
        with pytest.raises(IncompleteError) as caught:
            lift.conversations()
        assert len(caught.value.fetched) == 450
        service.fault = None
        assert len(lift.conversations()) == 451
