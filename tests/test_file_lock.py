"""Lock files: between objects, threads and processes, and after a kill."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from promptlift.file_lock import file_lock, is_held, try_acquire

# Takes the lock, forks a child that lives on, and says the child's pid.
HOLDER = """
import os, sys, time
from pathlib import Path
from promptlift.file_lock import file_lock, try_acquire
lock = file_lock(Path(sys.argv[1]))
assert try_acquire(lock)
child = os.fork()
if child == 0:
    time.sleep(120)
    os._exit(0)
print(child, flush=True)
time.sleep(120)
"""


def test_a_lock_excludes_every_other_and_is_the_owners_only(tmp_path):
    path = tmp_path / "lock"
    assert not is_held(path)
    assert not path.exists()
    lock = file_lock(path)
    assert try_acquire(lock)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # Looking must not let it go.
    assert is_held(path)
    assert is_held(path)
    assert not try_acquire(file_lock(path), timeout=0.1)
    released = threading.Thread(target=lock.release)
    released.start()
    released.join()
    assert not is_held(path)
    lock.release()


def test_a_missing_folder_is_an_error_and_not_a_lock(tmp_path):
    with pytest.raises(FileNotFoundError):
        try_acquire(file_lock(tmp_path / "none" / "lock"))
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_a_killed_process_lets_go_though_its_forked_child_lives(tmp_path):
    path = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        assert is_held(path)
        holder.kill()
        holder.wait()
        os.kill(child, 0)
        assert try_acquire(file_lock(path), timeout=60)
    finally:
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()
