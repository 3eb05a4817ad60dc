"""What a snapshot proves: a file that is missing, cut or changed is named, and reading it raises."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import threading
from functools import partial
from types import SimpleNamespace

import pytest

import promptlift
from promptlift.errors import SnapshotDamaged, SnapshotError
from promptlift.file_lock import is_held
from promptlift.snapshot import Snapshot, verify
from promptlift.snapshot.manifest import MANIFEST_NAME, SCHEMA_VERSION
from promptlift.snapshot.writer_lock import OWNER
from support.foreign_service import ForeignService
from support.kills import KILLS
from support.pulled import LISTED, assert_same, workspace
from support.service_process import wait_until


@pytest.fixture(scope="module")
def pulled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pulled") / "snapshot"
    with ForeignService(honours=LISTED) as service:
        service.fill(2500)
        workspace(service).pull(folder)
    return folder


@pytest.fixture
def snapshot(pulled, tmp_path):
    shutil.copytree(pulled, tmp_path / "copy")
    return Snapshot(tmp_path / "copy")


def test_no_byte_of_a_manifest_can_change_unseen(snapshot):
    path = snapshot.folder / "manifest.json"
    data = path.read_bytes()
    for place in range(0, len(data), 17):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(SnapshotError):
            Snapshot(snapshot.folder)


def test_another_layout_is_refused_with_what_to_do(snapshot):
    path = snapshot.folder / "manifest.json"
    text = path.read_text()
    written = f'"schema_version": {SCHEMA_VERSION}'
    assert written in text
    path.write_text(text.replace(written, '"schema_version": 99'))
    with pytest.raises(SnapshotError, match=r"layout 99.* Pull into another folder, or upgrade promptlift"):
        promptlift.open_snapshot(snapshot.folder)


def test_a_folder_that_is_no_snapshot_says_how_to_make_one(tmp_path):
    with pytest.raises(SnapshotError, match="promptlift pull"):
        promptlift.open_snapshot(tmp_path)


def test_a_file_that_is_changed_after_it_was_read_is_refused(snapshot):
    table = snapshot.read("conversations")
    assert snapshot.read("conversations").equals(table)
    part = snapshot.manifest.of_table("conversations")[-1]
    path = snapshot.folder / part.path
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)
    with pytest.raises(SnapshotDamaged, match=part.path):
        snapshot.read("conversations")


def test_files_of_others_do_not_matter(snapshot):
    (snapshot.folder / "notes.txt").write_text("mine")
    # What a writer that was killed left is no part of the snapshot; the next one removes it.
    (snapshot.folder / OWNER).write_text("{}")
    stranger = snapshot.folder / snapshot.manifest.files[0].partition / "part-99999-00000000.parquet"
    stranger.write_bytes(b"half a file")
    assert verify(snapshot.folder) == {}
    assert len(Snapshot(snapshot.folder).read("conversations")) == 2500


def test_a_second_writer_is_told_who_writes_and_readers_go_on(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(300)
        lift = workspace(service)
        lift.pull(tmp_path)
        held, go_on = threading.Event(), threading.Event()

        def before(_method, path, _count):
            if path == "/prompts":
                held.set()
                assert go_on.wait(60)

        service.before = before
        service.lock = threading.Lock()
        writer = threading.Thread(target=lambda: lift.pull(tmp_path))
        writer.start()
        assert held.wait(60)
        with pytest.raises(SnapshotError, match=rf"being written by process {os.getpid()} .* since"):
            workspace(service).pull(tmp_path)
        assert len(promptlift.open_snapshot(tmp_path).conversations()) == 300
        go_on.set()
        writer.join(60)
        assert not is_held(tmp_path / ".lock")


@pytest.mark.slow
def test_readers_see_whole_states_while_a_writer_goes_on(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(120)
        lift = workspace(service)
        lift.pull(tmp_path)
        reader = Snapshot(tmp_path)
        for _ in range(4):
            service.fill(5)
            service.rows[-1]["status"] = "abandoned"
            lift.pull(tmp_path)
        # The files of its state are gone by now; it takes the newest one instead.
        assert len(reader.read("conversations", ["conversation_id"])) == 140


def pull(address, folder):
    """Pull in a process of its own."""
    workspace(SimpleNamespace(base_url=address)).pull(folder)


def test_what_a_killed_writer_left_of_the_manifest_is_removed(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(3)
        workspace(service).pull(tmp_path)
        left = tmp_path / f".{MANIFEST_NAME}.2ac00a1b.part"
        left.write_bytes(b"{")
        workspace(service).pull(tmp_path)
    assert not left.exists()
    assert verify(tmp_path) == {}


def reached(place, last):
    """Whether a service had so many requests, or a folder has so many files."""
    return (len(place.seen) if isinstance(place, ForeignService) else parts_in(place)) >= last


def parts_in(folder):
    return sum(name.endswith(".parquet") for _, _, files in os.walk(folder) for name in files)


@pytest.mark.slow
@pytest.mark.parametrize("honours", [LISTED, ()])
def test_a_pull_that_is_killed_goes_on_and_ends_as_if_nothing_had_been(tmp_path, honours):
    """Killed at six points or more: while it reads, and while it writes."""
    chance = random.Random(len(honours))
    # Forked from a process that has loaded everything and has no threads.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["support.pulled", "promptlift.workspace.snapshots.pull"])
    with ForeignService(honours=honours, page_limit=20) as service:
        for month in range(1, 7):
            service.fill(40, createdAt=f"2026-{month:02d}-03T00:00:00Z")
        pull(service.base_url, tmp_path / "whole")
        requests, files = len(service.seen), parts_in(tmp_path / "whole")
        for number in range(2 * KILLS):
            folder = tmp_path / str(number)
            service.seen.clear()
            child = processes.Process(target=pull, args=(service.base_url, folder))
            child.start()
            last = chance.randint(1, requests if number % 2 else files)
            done = partial(reached, service if number % 2 else folder, last)
            wait_until(
                lambda done=done, child=child: done() or not child.is_alive(), what="so much of a pull"
            )
            child.kill()
            child.join()
            if (folder / "manifest.json").exists():
                assert verify(folder) == {}
            workspace(service).pull(folder)
            assert_same(folder, tmp_path / "whole")
            # Nothing of the killed pull is left behind.
            assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")} == {
                one.path for one in Snapshot(folder).manifest.files
            } | set(Snapshot(folder).manifest.retired)
            assert not list(folder.rglob("*.part"))
