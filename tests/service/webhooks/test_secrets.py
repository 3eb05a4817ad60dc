"""Secrets of webhooks are nowhere in the database, and shown once."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import pytest

from promptlift.errors import ConfigError
from promptlift.service.settings import ServiceSettings
from promptlift.service.webhooks import KEY_FILE, Secrets, load_secrets
from support.service_process import wait_until
from support.wire import Wire


def test_the_key_is_kept_beside_the_database_for_its_owner_only(tmp_path):
    settings = ServiceSettings(data=tmp_path / "data")
    made = load_secrets(settings)
    file = tmp_path / "data" / KEY_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().strip()) == 64
    assert load_secrets(settings).key_id == made.key_id
    assert [one.name for one in file.parent.iterdir()] == [KEY_FILE]


def test_the_key_of_the_environment_wins_and_makes_no_file(tmp_path):
    env = {"PROMPTLIFT_SECRET_KEY": "s" * 32, "PROMPTLIFT_DATA": str(tmp_path)}
    settings = ServiceSettings.from_env(env)
    assert load_secrets(settings).key_id == Secrets("s" * 32).key_id
    assert list(tmp_path.iterdir()) == []
    assert "s" * 32 not in repr(settings)
    with pytest.raises(ConfigError, match="PROMPTLIFT_SECRET_KEY must have at least 32 characters"):
        ServiceSettings.from_env({"PROMPTLIFT_SECRET_KEY": "short"})


@pytest.mark.slow
def test_of_processes_that_start_together_one_makes_the_key(tmp_path):
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert len(set(pool.map(key_id_in, [tmp_path] * 8, chunksize=1))) == 1


def key_id_in(folder):
    return load_secrets(ServiceSettings(data=folder)).key_id


def test_a_folder_that_cannot_be_written_leaves_the_service_without_webhooks(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("")
    settings = ServiceSettings(data=blocked / "data", database_url="postgresql://db/name")
    assert load_secrets(settings) is None
    assert "set PROMPTLIFT_SECRET_KEY" in caplog.text


def test_no_secret_is_in_the_database_or_the_log_or_any_later_answer(start_service, certificate, receiver):
    running = start_service(env=certificate.trusted)
    wire = Wire(running.base_url, running.key)
    body = {"url": receiver.url, "events": ["conversation.created"]}
    secret = wire.ask("POST", "/webhooks", body).body["secret"]
    wire.log(wire.add_prompt())
    receiver.wait_for(1)
    wait_until(lambda: wire.get("/webhooks")["data"][0]["status"] == "active", what="the webhook is listed")
    webhook_id = wire.get("/webhooks")["data"][0]["id"]
    shown = [
        wire.ask("GET", path).raw for path in ("/webhooks", f"/webhooks/{webhook_id}/deliveries", "/events")
    ]
    assert running.stop() == 0
    key = (running.data / KEY_FILE).read_text().strip()
    bare = secret.removeprefix("whsec_")
    for file in filter(Path.is_file, running.data.rglob("*")):
        content = file.read_bytes()
        assert bare.encode() not in content, file
        assert key.encode() not in content or file.name == KEY_FILE, file
    assert not [one for one in shown if bare.encode() in one]
    assert bare not in str(receiver.received[0].headers)


def test_webhooks_of_another_key_wait_and_the_log_says_so(start_service, certificate, receiver):
    first = start_service(env={**certificate.trusted, "PROMPTLIFT_SECRET_KEY": "a" * 32})
    wire = Wire(first.base_url, first.key)
    webhook = wire.ask("POST", "/webhooks", {"url": receiver.url, "events": ["conversation.created"]}).body
    first.stop()
    first.env = {**certificate.trusted, "PROMPTLIFT_SECRET_KEY": "b" * 32}
    first.start()
    wire = Wire(first.base_url, first.key)
    assert (
        "the deliveries of some webhooks (1) wait: their secrets were made from another key"
        in first.log.read_text()
    )
    answer = wire.ask("POST", f"/webhooks/{webhook['id']}/test")
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
    conversation = wire.log(wire.add_prompt())
    first.stop()
    first.env = {**certificate.trusted, "PROMPTLIFT_SECRET_KEY": "a" * 32}
    first.start()
    assert receiver.wait_for(1)[0].event["data"]["conversationId"] == conversation
