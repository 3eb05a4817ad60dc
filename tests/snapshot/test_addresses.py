"""Snapshots at addresses: on fsspec's memory file system, and in an object store that speaks the protocol of S3."""

from __future__ import annotations

import contextlib
import json
import uuid
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import promptlift
from promptlift import analysis
from promptlift.errors import SnapshotBusy, SnapshotDamaged, SnapshotError
from promptlift.snapshot import Snapshot, verify
from promptlift.snapshot.location import location_of
from promptlift.snapshot.writer_lock import only_writer
from support.foreign_service import ForeignService
from support.pulled import LISTED, workspace

pytestmark = pytest.mark.slow

fsspec = pytest.importorskip("fsspec", reason="the extra s3 is not installed")


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.slow)])
def address(request):
    """An address where nothing is, and the options of its file system."""
    if request.param == "memory":
        yield f"memory://{uuid.uuid4().hex}/january", {}
        return
    store = request.getfixturevalue("object_store")
    yield f"{store.new_bucket()}/january", store.storage_options


@pytest.fixture
def service():
    with ForeignService(honours=LISTED) as running:
        running.fill(230)
        yield running


def files_at(address, options):
    system, path = fsspec.core.url_to_fs(address, **options)
    system.invalidate_cache()
    return system, {one.partition("/january/")[2] for one in system.find(path)}


def test_a_pull_to_an_address_is_the_snapshot_that_a_folder_has(tmp_path, address, service):
    place, options = address
    lift = workspace(service)
    lift.pull(tmp_path)
    lift.pull(place, storage_options=options)
    here, there = (
        promptlift.open_snapshot(tmp_path),
        promptlift.open_snapshot(place, storage_options=options),
    )
    for call in (
        lambda opened: opened.conversations(insights=True, content=True),
        lambda opened: opened.messages("p1"),
        lambda opened: opened.prompts(),
    ):
        pd.testing.assert_frame_equal(call(there), call(here))
    assert verify(place, storage_options=options) == {}
    _, files = files_at(place, options)
    # Neither a claim nor anything of the pull is left.
    assert files == {"manifest.json", *(one.path for one in there.snapshot.manifest.files)}
    assert there.snapshot.files("prompts")[0].startswith(place)
    scanned = there.snapshot.scan(engine="polars")
    assert analysis.completion(scanned)["n"].iloc[0] == 230


def test_later_pulls_and_tables_bring_it_up_to_date(address, service):
    place, options = address
    lift = workspace(service, snapshot=place, storage_options=options)
    assert len(lift.conversations()) == 230
    service.fill(4)
    service.rows[40]["status"] = "abandoned"
    plain = workspace(service)
    lift.prompts(), plain.prompts()
    found = lift.conversations(insights=True, content=True)
    assert found.attrs["promptlift"]["snapshot"] == place
    pd.testing.assert_frame_equal(found, plain.conversations(insights=True, content=True))
    service.fill(1)
    assert lift.pull().manifest.rows()["conversations"] == 235
    for _ in range(3):
        service.fill(1)
        snapshot = lift.pull()
    _, files = files_at(place, options)
    named = {one.path for one in snapshot.manifest.files} | set(snapshot.manifest.retired)
    assert files == {"manifest.json", *named}


@pytest.mark.parametrize("harm", ["missing", "changed"])
def test_every_object_that_is_harmed_is_named_and_cannot_be_read(address, service, harm):
    place, options = address
    snapshot = workspace(service).pull(place, storage_options=options)
    system, _ = files_at(place, options)
    for part in snapshot.manifest.files:
        path = f"{place}/{part.path}"
        data = system.cat_file(path)
        if harm == "missing":
            system.rm_file(path)
        else:
            system.pipe_file(path, bytes([data[0] ^ 1]) + data[1:])
        assert set(verify(place, storage_options=options)) == {part.path}
        with pytest.raises(SnapshotDamaged, match=part.path.rpartition("/")[2]):
            Snapshot(place, storage_options=options).read(part.table, ["prompt_id"])
        with pytest.raises(SnapshotDamaged, match=part.path.rpartition("/")[2]):
            promptlift.open_snapshot(place, storage_options=options).snapshot.scan(part.table)
        system.pipe_file(path, data)
    assert verify(place, storage_options=options) == {}
    found = promptlift.open_snapshot(place, storage_options=options).snapshot.scan("issues")
    assert found.count("*").fetchall() == [(snapshot.manifest.rows()["issues"],)]


def test_one_writer_at_a_time_and_a_claim_that_is_not_renewed_is_void(address, service):
    place, options = address
    lift = workspace(service)
    lift.pull(place, storage_options=options)
    location = location_of(place, options)
    with only_writer(location):
        with pytest.raises(SnapshotBusy, match=r"being written by process \d+ on .* since"):
            lift.pull(place, storage_options=options)
        assert len(promptlift.open_snapshot(place, storage_options=options).conversations()) == 230
    ended = datetime.now(UTC) - timedelta(minutes=6)
    claim = {"process": 1, "host": "gone", "since": "then", "renewed": ended.isoformat(), "token": "x"}
    location.write(".writer.json", json.dumps(claim).encode())
    lift.pull(place, storage_options=options)
    assert not location.exists(".writer.json")


def test_what_another_writer_did_is_not_written_over(address, service):
    """A claim can be lost, by a machine that stood still for minutes; the state that it began from tells."""
    place, options = address
    lift = workspace(service, snapshot=place, storage_options=options)
    other = workspace(service)
    lift.pull()
    service.fill(2)

    def before(_method, path, _count):
        if path == "/prompts" and service.before is not None:
            service.before = None
            location_of(place, options).remove([".writer.json"])
            other.pull(place, storage_options=options)

    service.before, service.lock = before, contextlib.nullcontext()
    with pytest.raises(SnapshotBusy, match=r"written by another process meanwhile.*Pull again"):
        lift.pull()
    assert verify(place, storage_options=options) == {}
    assert lift.pull().manifest.pulls == 3


def test_an_address_that_nobody_knows_is_refused(service):
    with pytest.raises(SnapshotError, match="not an address that fsspec supports"):
        workspace(service).pull("nothing://bucket/january")
