"""A reader sees the old file or the new one, never half of one."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from promptlift.atomic_write import append_private, atomic_write, create_private


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_permissions_stay(tmp_path, mode):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_temporary_file_is_never_more_open_than_the_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    seen = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
    )
    atomic_write(path, b"new")
    assert seen == [0o600]


def test_a_private_file_is_created_once_and_only_its_owner_reads_it(tmp_path):
    path = tmp_path / "key"
    create_private(path, b"first")
    create_private(path, b"second")
    assert path.read_bytes() == b"first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names_in(tmp_path) == ["key"]


def test_what_is_appended_to_a_private_file_is_on_disk(tmp_path, monkeypatch):
    path, synced = tmp_path / "a", []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    append_private(path, b"first")
    append_private(path, b"second")
    assert path.read_bytes() == b"firstsecond"
    assert synced == [5, 11]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        atomic_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a"]


def test_readers_and_writers_at_once(tmp_path):
    path = tmp_path / "a"
    atomic_write(path, b"0" * 200_000)
    writers = [
        threading.Thread(target=lambda digit=digit: [atomic_write(path, digit * 200_000) for _ in range(20)])
        for digit in (b"1", b"2", b"3")
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        data = path.read_bytes()
        assert len(data) == 200_000
        assert len(set(data)) == 1
    assert names_in(tmp_path) == ["a"]


def test_only_this_module_renames_a_file_into_place():
    """Whatever writes a file for somebody else to read writes it here."""
    from support.source_tree import PACKAGE

    marks = ("os.replace", ".replace(target)", "fsync", "NamedTemporaryFile", "mkstemp")
    found = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(mark in path.read_text(encoding="utf-8") for mark in marks)
    ]
    assert found == ["atomic_write.py"]
