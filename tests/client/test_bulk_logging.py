"""Many conversations: in groups where the service takes them, one by one elsewhere, and each exactly once, whoever is killed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from functools import partial

import pytest

import promptlift
from promptlift.client import Client, configure
from promptlift.client.log.run import LoggingRun
from promptlift.client.retry import RetryPolicy
from promptlift.client.transport import Transport
from promptlift.transcripts import Reading
from support.foreign_service import KEY, ForeignService
from support.kills import KILLS
from support.service_process import clean_environment, free_port, wait_until

COUNT = 700
PATH = "/conversations/bulk"
QUICK = RetryPolicy(first_pause=0.01, longest_pause=0.05, timeout=0.5, first_timeout=0.2)


def records(count=COUNT):
    return [{"content": f"User: question {number}\nAssistant: answer"} for number in range(count)]


def run(base_url, key, prompt_id, some):
    config = configure(base_url, key)
    with Client(config, transport=Transport(config, policy=QUICK)) as client:
        logging = LoggingRun(client.transport, prompt_id)
        return logging.run(some), logging._task.requests


def contents(lift, prompt_id):
    return sorted(lift.conversations(prompt_id, content=True)["content"])


def test_new_conversations_go_in_groups_and_a_second_time_none_goes(service, lift):
    prompt_id = lift.client.prompts.create(name="groups", content="c", llm_model="gpt-4o").id
    wrong = [*records(), {"content": "no labels"}, {"content": ""}]
    result, requests = run(service.base_url, service.key, prompt_id, wrong)
    assert (result.logged, result.already_there, result.not_sent, result.stopped) == (COUNT, 0, 0, None)
    assert [one.index for one in result.failed] == [COUNT, COUNT + 1]
    assert "content cannot be read" in result.failed[0].message
    # One asks whether they may go in groups.
    assert requests <= 1 + COUNT // 256 + 1
    assert contents(lift, prompt_id) == sorted(one["content"] for one in records())
    again, _ = run(service.base_url, service.key, prompt_id, records())
    assert (again.logged, again.already_there) == (0, COUNT)
    assert len(contents(lift, prompt_id)) == COUNT


def test_an_iterator_is_read_while_its_first_records_are_logged(service, lift):
    """A file of a million must not be held: when the 3,000th is asked for, most of those before are in the service."""
    prompt_id = lift.client.prompts.create(name="iterator", content="c", llm_model="gpt-4o").id
    seen = []

    def some():
        for number, record in enumerate(records(3_001)):
            if number == 3_000:
                seen.append(lift.client.conversations.list(prompt_id=prompt_id, limit=1).pagination.total)
            yield record

    result = lift.log(some(), prompt_id="iterator")
    assert (result.logged, result.complete) == (3_001, True)
    # Three groups of 500 are on their way, and one is being filled.
    assert seen[0] >= 1_000
    readings = (Reading(conversations=records(2)), Reading(conversations=[{"content": "User: last"}]))
    assert lift.log(iter(readings), prompt_id=prompt_id).logged == 1
    with pytest.raises(promptlift.errors.NotFound):
        lift.log(iter(records(1)), prompt_id="iterater")


@pytest.mark.slow
def test_a_service_without_groups_gets_them_one_by_one():
    with ForeignService() as foreign:
        result, _ = run(foreign.base_url, KEY, "p1", records(40))
        assert (result.logged, len(foreign.rows)) == (40, 40)
        assert foreign.requests("POST", PATH) == 1


@pytest.mark.slow
def test_where_a_proxy_takes_no_large_bodies_they_go_one_by_one():
    """The service says that it takes groups, and something before it refuses them."""
    with ForeignService() as foreign:

        def fault(method, path, count):
            if path != PATH:
                return None
            asked = foreign.requests("POST", PATH) == 1
            return lambda handler: (
                foreign.send(handler, 200, {"data": []})
                if asked
                else foreign.send(handler, 413, {"error": "large"})
            )

        foreign.fault = fault
        result, _ = run(foreign.base_url, KEY, "p1", records(40))
        assert (result.logged, result.failed, len(foreign.rows)) == (40, [], 40)


@pytest.mark.timeout(600)
def test_kill_9_of_the_import_or_the_service_loses_and_doubles_nothing(start_service, tmp_path):
    port = free_port()
    service = start_service(data=tmp_path / "service", options=("--port", str(port)))
    files = []
    for number in range(4):
        files.append(tmp_path / f"{number}.jsonl")
        talks = [
            {
                "messages": [
                    {"role": "user", "content": f"{number} {one}"},
                    {"role": "assistant", "content": "ok"},
                ]
            }
            for one in range(500)
        ]
        files[-1].write_text("\n".join(map(json.dumps, talks)))
    env = {"PROMPTLIFT_API_KEY": service.key, "PROMPTLIFT_DATA": str(tmp_path / "user")}
    command = [
        sys.executable,
        "-m",
        "promptlift",
        "import",
        *map(str, files),
        "--prompt",
        "killed",
        "--no-wait",
    ]
    command += ["--base-url", service.base_url]
    chosen = random.Random(int(os.environ.get("SEED", "20261122")))

    def begin():
        return subprocess.Popen(
            command, env=clean_environment(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def logged():
        with promptlift.connect(service.base_url, service.key, progress=False) as lift:
            return lift.client.conversations.list(limit=1).pagination.total

    def has_moved(importing, before):
        return importing.poll() is not None or logged() > before

    for number in range(KILLS):
        before = logged()
        with begin() as importing:
            # At the start of a run, or some of the way into what it adds.
            if before < 2000:
                wait_until(partial(has_moved, importing, before), what="it logs")
            time.sleep(chosen.random() * 0.1)
            if number % 2:
                service.kill()
                service.start()
                importing.communicate(timeout=240)
            else:
                importing.kill()
    with begin() as last:
        said, _ = last.communicate(timeout=240)
        assert last.returncode == 0, said
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        table = lift.conversations("killed", content=True)
    asked = [json.loads(one)["messages"][0]["content"] for one in table["content"]]
    assert sorted(asked) == sorted(f"{number} {one}" for number in range(4) for one in range(500))
