"""Many kinds of change to the files of a snapshot and to its manifest: each is named, and none is ever read as if it were right."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from pyarrow import dataset

import promptlift
from promptlift.analysis.reading import collect, names_of
from promptlift.cli.snapshots import verify as run_verify
from promptlift.errors import SnapshotDamaged
from promptlift.snapshot import Snapshot, verify
from promptlift.snapshot.manifest import _written, save_manifest
from promptlift.snapshot.part_files import PARTITIONED, TABLES
from promptlift.snapshot.writing import NextState
from support.foreign_service import KEY, ForeignService
from support.pulled import LISTED, StampingService, workspace

MANIFEST = "manifest.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A snapshot with every table, and the rows of each file."""
    folder = tmp_path_factory.mktemp("whole") / "snapshot"
    with ForeignService(honours=LISTED) as service:
        service.fill(6, promptId="p1")
        service.fill(4, promptId="p2", createdAt="2026-02-03T00:00:00Z")
        snapshot = workspace(service).pull(folder)
    state = NextState(snapshot.location, snapshot.manifest.files)
    ids = snapshot.read("conversations", ["conversation_id", "prompt_id"])
    for table in set(TABLES) - snapshot.manifest.rows().keys():
        if table in PARTITIONED:
            state.add(table, ids, {})
        else:
            state.set_table(table, ids)
    state.commit(replace(snapshot.manifest, totals=snapshot.manifest.totals | {"verdicts": len(ids)}))
    snapshot.reload()
    assert snapshot.manifest.rows().keys() == set(TABLES)
    return folder, {one: rows(pd.read_parquet(folder / one.path)) for one in snapshot.manifest.files}


@pytest.fixture
def place(whole, tmp_path):
    """A copy of it, in a folder whose name is a pattern that fits another copy beside it."""
    shutil.copytree(whole[0], tmp_path / "outside")
    return shutil.copytree(whole[0], tmp_path / "[a-z]*")


@pytest.fixture
def opened_outside(place):
    """Whatever was opened in the copy outside since it was asked last, by whichever library: the kernel tells."""
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    outside = place.parent / "outside"
    for one in (outside, *filter(Path.is_dir, outside.rglob("*"))):
        assert libc.inotify_add_watch(watch, os.fsencode(one), 0x20) >= 0  # IN_OPEN

    def asked():
        try:
            return os.read(watch, 1 << 16)
        except BlockingIOError:
            return b""

    dataset.dataset(outside / "labels").to_table()
    assert asked()
    yield asked
    os.close(watch)


def rows(table):
    """The rows of a table that can be told apart, in any order."""
    names = [
        name
        for name in ("conversation_id", "prompt_id", "topic", "title", "record", "value")
        if name in table
    ]
    return sorted(table[names].astype(object).fillna("").itertuples(index=False, name=None))


def opened(folder):
    return promptlift.open_snapshot(folder)


def by_table_call(folder, table):
    found = opened(folder).snapshot.read(table)
    return pd.DataFrame({"prompt_id": []}) if found is None else found.to_pandas()


def scanned(folder, table):
    found = opened(folder).snapshot.scan(table)
    return collect(found, names_of(found))


def listed(folder, table):
    """What any library reads that is given the files."""
    files = opened(folder).snapshot.files(table)
    return dataset.dataset(files).to_table().to_pandas() if files else pd.DataFrame({"prompt_id": []})


READERS = {"pandas": by_table_call, "duckdb": scanned, "files": listed}


# changes to files: take the file, a file of another table, and a whole copy of the file outside


def deleted(path, _other, _copy):
    path.unlink()


def cut(path, _other, _copy):
    path.write_bytes(path.read_bytes()[:-1])


def lengthened(path, _other, _copy):
    path.write_bytes(path.read_bytes() + b"\0")


def flipped(path, _other, _copy):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def another_table(path, other, _copy):
    path.write_bytes(other.read_bytes())


def a_folder(path, _other, _copy):
    path.unlink()
    path.mkdir()


def a_pipe(path, _other, _copy):
    path.unlink()
    os.mkfifo(path)


def a_link_to(target):
    def change(path, _other, copy):
        path.unlink()
        path.symlink_to(target or copy)

    return change


def a_folder_that_is_a_link(path, _other, copy):
    shutil.rmtree(path.parent)
    path.parent.symlink_to(copy.parent)


def one_more(path, _other, _copy):
    shutil.copy(path, path.with_name("part-99999-00000000.parquet"))


FILES = {
    "deleted": deleted,
    "cut": cut,
    "lengthened": lengthened,
    "a byte of the rows": flipped,
    "another table": another_table,
    "a folder": a_folder,
    "a pipe": a_pipe,
    "a link to a copy": a_link_to(None),
    "a link to a device": a_link_to("/dev/zero"),
    "a folder that is a link": a_folder_that_is_a_link,
    "one more": one_more,
}  # fmt: skip


# changes to the manifest, whose own hash is right afterwards: take the manifest and the entry of a file, return its entries


def entry(**changes):
    """Change what the manifest says of a file."""
    return lambda part: [replace(part, **{name: value(part) for name, value in changes.items()})]


LISTS = {
    "listed twice": lambda part: [part, part],
    "left out": lambda _: [],
    "one row more": entry(rows=lambda part: part.rows + 1),
    "10^18 rows": entry(rows=lambda _: 10**18),
    "a byte less": entry(size=lambda part: part.size - 1),
    "a path outside": entry(path=lambda part: f"../outside/snapshot/{part.path}"),
    "a path that comes back": entry(path=lambda part: f"{part.table}/../{part.path}"),
    "an absolute path": entry(path=lambda _: "/dev/zero"),
    "a path with NUL": entry(path=lambda part: f"{part.path}\0"),
    "a path that is a pattern": entry(path=lambda part: part.path.replace("part-0", "part-?")),
    "a path that is a folder": entry(path=lambda part: part.partition),
}  # fmt: skip


def fitted(folder, part, change):
    """Write a manifest with the change that fits it, sums and own hash included; return the paths that it has instead."""
    snapshot = Snapshot(folder)
    entries = change(part)
    files = (*(one for one in snapshot.manifest.files if one != part), *entries)
    sums = Counter()
    for one in files:
        if isinstance(one.path, str) and isinstance(one.rows, int | float):
            sums[one.table] += one.rows
    totals = {name: sums[name] for name in snapshot.manifest.totals}
    data = json.loads((folder / MANIFEST).read_bytes()) | {"totals": totals, "rows": dict(sums)}
    seal(folder, data | {"files": [asdict(one) for one in files]})
    return {ascii(one.path)[1:-1] for one in entries}


def seal(folder, data):
    """Write decoded JSON as a manifest, in its form and with the right hash of its own."""
    data.pop("manifest_sha256", None)
    files = data.pop("files")
    head = [f" {json.dumps(name)}: {json.dumps(value, sort_keys=True)}" for name, value in data.items()]
    lines = json.dumps(files)
    if isinstance(files, list):
        lines = "[\n  " + ",\n  ".join(json.dumps(one, sort_keys=True) for one in files) + "\n ]"
    body = ("{\n" + ",\n".join([*head, f' "files": {lines}'])).encode()
    own = hashlib.sha256(body).hexdigest()
    (folder / MANIFEST).write_bytes(body + f',\n "manifest_sha256": "{own}"\n}}\n'.encode())


def check(change, place, whole, opened_outside, tables, readers):
    """Make a change in each table, look at what becomes of it, and undo it."""
    aside = place.parent / "aside"
    listed = Snapshot(place).manifest.files
    for table in tables:
        part = next(one for one in listed if one.table == table)
        shutil.copytree(place, aside)
        paths = {part.path, MANIFEST, f"{part.partition}/part-99999-00000000.parquet"}
        if change in FILES:
            other = next(one for one in listed if one.table != table)
            FILES[change](place / part.path, place / other.path, place.parent / "outside" / part.path)
        else:
            paths |= fitted(place, part, LISTS[change])
        opened_outside()
        assert verify(place).keys() & paths, table
        # Where a file is left out and all sums were made to fit, what is read is what the manifest lists.
        of_table = [one for one in listed if one.table == table and (one != part or change != "left out")]
        right = sorted(row for one in of_table for row in whole[1][one])
        for name, read in readers.items():
            with suppress(SnapshotDamaged):
                assert rows(read(place, table)) == right, (name, table)
        assert not opened_outside(), table
        shutil.rmtree(place)
        aside.rename(place)


@pytest.mark.parametrize("change", [*FILES, *LISTS])
@pytest.mark.slow
def test_every_change_is_named_and_nothing_wrong_is_read(change, place, whole, opened_outside):
    check(change, place, whole, opened_outside, ("issues", "labels"), READERS)


def said(part=None, **changes):
    """Change what the manifest says, or one part of it."""
    return lambda data: data | (changes if part is None else {part: data[part] | changes})


SEALED = {
    "a line taken out": lambda data: data | {"files": data["files"][1:]},
    "no files": said(files=None),
    "other sums": said(rows={"conversations": 10**9}),
    "other totals": said(totals={"conversations": 10**9}),
    "an unknown scheme": said("service", scheme="cgi"),
    "an address that is none": said("service", base_url="http://[::1"),
    "a limit that is a text": said("state", limit="100"),
    "more than it has": said(more=1),
    "half a character": said(written_by="\ud800"),
    "another format": said(format="another"),
}
DEEP = b'{"format": "promptlift snapshot", "schema_version": 1, "state": ' + b'{"a":' * 100_000
WRITTEN = {
    "no text": b"\xff\xfe\x00",
    "nested where anything may be": DEEP,
    "a long number": b'{"format": "promptlift snapshot", "schema_version": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize(
    "change", [*SEALED, *WRITTEN, "a pipe", "a folder", "a link to a copy", "a link to a device"]
)
def test_a_hostile_manifest_is_named_and_nothing_is_opened(change, place, opened_outside, capsys):
    path = place / MANIFEST
    if change in SEALED:
        seal(place, SEALED[change](json.loads(path.read_bytes())))
    elif change in WRITTEN:
        path.write_bytes(WRITTEN[change])
    else:
        FILES[change](path, None, place.parent / "outside" / MANIFEST)
    opened_outside()
    assert verify(place).keys() == {MANIFEST}
    nowhere = workspace(SimpleNamespace(base_url="http://127.0.0.1:9/api/v1"))
    for use in (promptlift.open_snapshot, run_verify, nowhere.pull):
        with pytest.raises(SnapshotDamaged):
            use(place)
    assert "manifest.json: " in capsys.readouterr().out
    assert not opened_outside()


@pytest.mark.parametrize("link", ["conversations", ".pull", ".lock"])
def test_a_pull_writes_nothing_outside(place, opened_outside, link):
    outside = place.parent / "outside"
    before = {path: path.stat().st_mtime_ns for path in outside.rglob("*")}
    with ForeignService(honours=LISTED) as service:
        service.fill(8, promptId="p1")
        shutil.rmtree(place)
        place.mkdir()
        (place / link).symlink_to(outside / link)
        opened_outside()
        with pytest.raises(SnapshotDamaged, match="leads out of the snapshot"):
            workspace(service).pull(place)
    assert not opened_outside()
    assert {path: path.stat().st_mtime_ns for path in outside.rglob("*")} == before


@pytest.mark.parametrize("change", ["deleted", "a byte of the rows"])
def test_a_pull_builds_on_no_damaged_file(change, tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(8)
        snapshot = workspace(service).pull(tmp_path)
        (part,) = snapshot.manifest.of_table("issues")
        FILES[change](tmp_path / part.path, None, None)
        service.rows[3]["status"] = "abandoned"
        with pytest.raises(SnapshotDamaged, match=part.path):
            workspace(service).pull(tmp_path)
    assert verify(tmp_path).keys() >= {part.path}


def test_what_is_read_again_is_not_compared_again(place, monkeypatch):
    snapshot = Snapshot(place)
    snapshot.scan("issues")
    monkeypatch.setattr("promptlift.snapshot.part_files.hashlib.sha256", None)
    snapshot.scan("issues")
    with pytest.raises(TypeError):
        snapshot.scan("topics")


@pytest.mark.slow
def test_the_signature_tells_what_no_sum_can(tmp_path, monkeypatch, capsys):
    """Only the holder of the key writes one; the key itself is nowhere."""
    monkeypatch.delenv("PROMPTLIFT_API_KEY", raising=False)
    with StampingService(honours=LISTED) as service:
        service.fill(5, promptId="p1")
        service.fill(5, promptId="p2")
        lift = workspace(service, snapshot=tmp_path)
        snapshot = lift.pull()
        assert snapshot.signature == "signed with this key"
        assert (snapshot.verify(), Snapshot(tmp_path).signature) == ({}, "signed; not checked, no key")
        assert KEY not in (tmp_path / MANIFEST).read_text()
        assert Snapshot(tmp_path, api_key="another").signature == "signed; not checked, this is another key"
        run_verify(tmp_path)
        assert capsys.readouterr().out.endswith("signed; not checked, no key.\n")
        service.insert(promptId="p1")
        assert lift.pull().signature == "signed with this key"
        # A prompt with all that belongs to it is taken out, and everything fits.
        manifest = Snapshot(tmp_path).manifest
        left = [one for one in manifest.files if one.prompt_id != "p2"]
        totals = manifest.totals | {"conversations": 6}
        state = replace(manifest, files=tuple(left), retired=(), totals=totals)
        (tmp_path / MANIFEST).write_bytes(_written(state))
        for path in tmp_path.rglob("*.parquet"):
            if path.relative_to(tmp_path).as_posix() not in {one.path for one in left}:
                path.unlink()
        assert verify(tmp_path) == {}
        assert "signature is wrong" in verify(tmp_path, api_key=KEY)[MANIFEST]
        monkeypatch.setenv("PROMPTLIFT_API_KEY", KEY)
        assert verify(tmp_path).keys() == {MANIFEST}
        with pytest.raises(SnapshotDamaged, match="signature is wrong"):
            lift.pull(tmp_path)
        # A signature that was taken away does not come back by itself.
        save_manifest(Snapshot(tmp_path).location, replace(state, signature=""))
        service.insert(promptId="p1")
        assert lift.pull(tmp_path).signature == "not signed"
        assert lift.pull(tmp_path, everything=True).signature == "signed with this key"
        assert len(lift.conversations()) == 12
