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
from support.service_process import READY, ServiceProcess, clean_environment


def first_start(data):
    """Start a service with no key given; gives the process and its first lines up to the ready line."""
    process = subprocess.Popen(
        [Path(sys.executable).with_name("promptlift"), "serve", "--port", "0", "--data", data],
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
    database = b"".join(path.read_bytes() for path in tmp_path.glob("promptlift.db*"))
    assert key.encode() not in database


def test_a_start_that_the_database_refuses_late_is_one_sentence(start_service, tmp_path):
    start_service(data=tmp_path).stop()
    # As on a disk that is full by then, the database opens, and what begins the background work fails.
    with sqlite3.connect(tmp_path / "promptlift.db") as database:
        database.execute("DROP TABLE workers")
    database.close()
    done = promptlift_command("serve", "--port", 0, "--data", tmp_path)
    assert "cannot be used: no such table: workers. Another program" in failed_in_one_line(done)


def test_a_start_that_fails_when_all_but_the_last_is_done_is_one_sentence_and_has_shown_its_key(tmp_path):
    (tmp_path / "service.json").mkdir()
    done = promptlift_command("serve", "--port", 0, "--data", tmp_path)
    assert "service.json" in failed_in_one_line(done)
    assert "API key" in done.stdout


def test_a_service_starts_again_after_it_was_killed(start_service):
    running = start_service()
    with promptlift.connect(running.base_url, running.key, progress=False) as lift:
        lift.client.prompts.create(name="A", content="Be kind.", llm_model="gpt-4o-mini")
    running.kill()
    running.start()
    with promptlift.connect(running.base_url, running.key, progress=False) as lift:
        assert list(lift.prompts()["name"]) == ["A"]
    assert running.stop() == 0


def test_two_services_share_a_postgres_database(start_service, postgres_url):
    first = start_service(database=postgres_url)
    second = ServiceProcess(first.data, database=postgres_url, key=first.key).start()
    try:
        with promptlift.connect(first.base_url, first.key, progress=False) as lift:
            lift.client.prompts.create(name="A", content="Be kind.", llm_model="gpt-4o-mini")
        with promptlift.connect(second.base_url, first.key, progress=False) as lift:
            assert list(lift.prompts()["name"]) == ["A"]
    finally:
        second.stop()


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


def test_at_most_eight_characters_of_a_key_are_kept_in_the_clear(tmp_path):
    made = promptlift_command("keys", "create", "--data", tmp_path)
    key = made.stdout.strip()
    assert keys_of(tmp_path)[0][0] == key[:8]
    # A file has one value right after the other, and the next one may begin as the key goes on.
    with closing(sqlite3.connect(tmp_path / "promptlift.db")) as database:
        kept = "\n".join(database.iterdump())
    assert key[:8] in kept
    assert key[:9] not in kept
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


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
    line = failed_in_one_line(promptlift_command("serve", "--port", 0, "--data", first.data))
    assert f"pid {first.pid}" in line
    assert first.base_url in line
    address = f"sqlite:///{first.data / 'promptlift.db'}"
    done = promptlift_command("serve", "--port", 0, "--data", tmp_path / "other", "--database", address)
    assert f"pid {first.pid}" in failed_in_one_line(done)
    done = promptlift_command("serve", "--port", 0, "--data", first.data, "--database", address)
    assert f"pid {first.pid}" in failed_in_one_line(done)
    assert promptlift_command("keys", "list", "--database", address).returncode == 0
    assert first.stop() == 0


def test_a_folder_is_refused_while_its_database_is_served_by_its_address(start_service, tmp_path):
    (tmp_path / "folder").mkdir(mode=0o700)
    address = f"sqlite:///{tmp_path / 'folder' / 'promptlift.db'}"
    first = start_service(database=address)
    done = promptlift_command("serve", "--port", 0, "--data", tmp_path / "folder")
    assert f"pid {first.pid}" in failed_in_one_line(done)


def test_an_sqlite_file_of_another_name_takes_one_service_too(start_service, tmp_path):
    address = f"sqlite:///{tmp_path / 'mine.sqlite'}"
    start_service(database=address)
    done = promptlift_command("serve", "--port", 0, "--data", tmp_path / "other", "--database", address)
    assert "already serves" in failed_in_one_line(done)
    # Its neighbour is another database.
    start_service(database=f"sqlite:///{tmp_path / 'other.sqlite'}")


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(tmp_path, address):
    done = promptlift_command("serve", "--port", 0, "--data", tmp_path, "--database", address)
    assert "must be a file" in failed_in_one_line(done)


@pytest.mark.parametrize(("host", "told"), [("0.0.0.0", True), ("::1", False)])
def test_a_public_address_says_what_plain_http_means(tmp_path, host, told):
    process = subprocess.Popen(
        [sys.executable, "-m", "promptlift", "serve", "--host", host, "--port", "0", "--data", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    for line in process.stdout:
        if line.startswith(READY):
            break
    process.send_signal(signal.SIGTERM)
    _, warnings = process.communicate(timeout=30)
    assert process.returncode == 0
    assert ("over plain HTTP" in warnings) is told
    assert ("TLS" in warnings) is told
