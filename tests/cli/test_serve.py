"""``promptlift serve`` and ``promptlift keys``."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import promptlift
from promptlift.errors import InvalidApiKey
from support.command_line import failed_in_one_line, promptlift_command
from support.service_process import READY, clean_environment


def first_start(data, *options):
    """Start a service with no key given; gives the process and its first lines up to the ready line."""
    process = subprocess.Popen(
        [Path(sys.executable).with_name("promptlift"), "serve", "--port", "0", "--data", data, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(),
    )
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if line.startswith(READY):
            break
    return process, lines


def test_the_first_start_prints_a_key_once_and_it_works(tmp_path):
    process, lines = first_start(tmp_path)
    assert process.poll() is None, lines
    key = lines[0].rpartition(" ")[2]
    assert len(lines) == 2
    assert re.fullmatch(r"promptlift is ready at http://127\.0\.0\.1:\d+/api/v1", lines[1])
    with promptlift.connect(lines[1].removeprefix(READY), key, progress=False) as lift:
        assert len(lift.prompts()) == 0
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "")
    process, lines = first_start(tmp_path)
    assert len(lines) == 1
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "")
    # A file has one value right after the other, and the next one may begin as the key goes on.
    with closing(sqlite3.connect(tmp_path / "promptlift.db")) as database:
        kept = "\n".join(database.iterdump())
    assert key[:8] in kept
    assert key[:9] not in kept
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_start_that_the_database_refuses_late_is_one_sentence(start_service, tmp_path):
    start_service(data=tmp_path).stop()
    # As on a disk that is full by then, the database opens, and what begins the background work fails.
    with sqlite3.connect(tmp_path / "promptlift.db") as database:
        database.execute("DROP TABLE workers")
    database.close()
    done = promptlift_command("serve", "--port", 0, "--data", tmp_path)
    assert "cannot be used: no such table: workers. Another program" in failed_in_one_line(done)


def test_keys_are_made_listed_and_revoked_while_the_service_runs(start_service):
    running = start_service()
    made = promptlift_command("keys", "create", "--name", "notebook", "--data", running.data)
    key = made.stdout.strip()
    assert made.returncode == 0
    assert "not shown again" in made.stderr
    with promptlift.connect(running.base_url, key, progress=False) as lift:
        assert len(lift.prompts()) == 0
    listed = promptlift_command("keys", "list", "--data", running.data)
    assert key not in listed.stdout
    rows = [line.split() for line in listed.stdout.splitlines()]
    prefix = next(row[0] for row in rows if "notebook" in row)
    assert key.startswith(prefix)
    revoked = promptlift_command("keys", "revoke", prefix, "--data", running.data)
    assert revoked.returncode == 0
    with promptlift.connect(running.base_url, key, progress=False) as lift, pytest.raises(InvalidApiKey):
        lift.prompts()
    again = promptlift_command("keys", "revoke", prefix, "--data", running.data)
    assert "keys list" in failed_in_one_line(again)


def test_a_short_key_in_the_environment_is_refused_without_showing_it(tmp_path):
    done = promptlift_command(
        "serve", "--port", 0, "--data", tmp_path, env={"PROMPTLIFT_API_KEY": "secret-one"}
    )
    assert "16" in failed_in_one_line(done)
    assert "secret-one" not in done.stdout + done.stderr


def keys_of(data):
    """Rows of `keys list`: prefix, id, name and the rest."""
    listed = promptlift_command("keys", "list", "--data", data)
    return [line.split() for line in listed.stdout.splitlines()[1:]]


def test_a_prefix_that_two_keys_share_revokes_neither(start_service):
    running = start_service()
    sharing = [f"shared-prefix-{number}" + "x" * 30 for number in range(2)]
    for key in sharing:
        running.stop()
        running.key = key
        running.start()
    prefix = sharing[0][:8]
    ids = [row[1] for row in keys_of(running.data) if row[0] == prefix]
    done = promptlift_command("keys", "revoke", prefix, "--data", running.data)
    assert f"2 valid keys begin with {prefix}" in failed_in_one_line(done)
    assert all(one in done.stderr for one in ids)
    assert [row[-1] for row in keys_of(running.data)] == ["valid"] * 3
    done = promptlift_command("keys", "revoke", ids[0], "--data", running.data)
    assert done.returncode == 0
    assert sorted(row[-1] for row in keys_of(running.data)) == ["revoked", "valid", "valid"]
    # Only one has the prefix now, and a leaked key may be given as a whole.
    assert promptlift_command("keys", "revoke", sharing[1], "--data", running.data).returncode == 0


def test_a_service_with_a_revoked_key_does_not_start(start_service):
    running = start_service()
    running.stop()
    assert promptlift_command("keys", "revoke", running.key, "--data", running.data).returncode == 0
    done = promptlift_command(
        "serve", "--port", 0, "--data", running.data, env={"PROMPTLIFT_API_KEY": running.key}
    )
    line = failed_in_one_line(done)
    assert "was revoked" in line
    assert running.key not in done.stderr


def test_a_second_service_of_a_folder_is_refused_by_its_name_and_by_the_address_of_its_database(
    start_service, tmp_path
):
    first = start_service()

    def refused(*options):
        return failed_in_one_line(promptlift_command("serve", "--port", 0, *options))

    line = refused("--data", first.data)
    assert f"pid {first.pid}" in line
    assert first.base_url in line
    address = f"sqlite:///{first.data / 'promptlift.db'}"
    assert f"pid {first.pid}" in refused("--data", tmp_path / "other", "--database", address)
    assert promptlift_command("keys", "list", "--database", address).returncode == 0
    assert first.stop() == 0
    second = start_service(database=address)
    assert f"pid {second.pid}" in refused("--data", first.data)
    address = f"sqlite:///{tmp_path / 'mine.sqlite'}"
    start_service(database=address)
    assert "already serves" in refused("--data", tmp_path / "other", "--database", address)
    # Its neighbour is another database; one in memory is none.
    start_service(database=f"sqlite:///{tmp_path / 'other.sqlite'}")
    assert "must be a file" in refused("--data", tmp_path / "other", "--database", "sqlite:///:memory:")


def test_a_public_address_says_what_plain_http_means(tmp_path):
    process, _ = first_start(tmp_path, "--host", "0.0.0.0")
    process.send_signal(signal.SIGTERM)
    # It comes right after the ready line, so it may be in the buffer already, which communicate() passes over.
    with process.stdout as printed:
        rest = printed.read()
    process.wait(timeout=30)
    assert "over plain HTTP" in rest
    assert "TLS" in rest
