"""Versions side by side in a notebook, and an application whose service goes away."""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit

import pytest

import promptlift
from promptlift.analysis.findings import finding
from promptlift.client.transport import Clock
from promptlift.errors import ConfigError, ConnectionFailed, InvalidState, NotFound, ValidationError
from promptlift.schema.experiments import Assignment
from promptlift.words.versions import TITLES
from support.service_process import ServiceProcess

pytestmark = pytest.mark.slow

HI = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


class LateClock(Clock):
    """A clock that tests set forward."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


def open_workspace(service):
    lift = promptlift.connect(service.base_url, service.key, progress=False)
    lift.client.transport.clock = LateClock()
    return lift


def with_two_texts(lift):
    prompt = lift.create_prompt("Support", "first", llm_model="gpt-4o").id
    lift.update_prompt(prompt, content="second")
    return prompt


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    service = ServiceProcess(tmp_path_factory.mktemp("live")).start()
    yield service
    service.stop()


def test_an_experiment_in_a_notebook(running):
    with open_workspace(running) as lift:
        prompt = with_two_texts(lift)
        with pytest.raises(NotFound, match="has no experiment"):
            lift.live("Support")
        with pytest.raises(ValidationError, match="not a version"):
            lift.live("Support", {"v9": 0.5})
        live = lift.live("Support", {"v1": 0.5})
        with pytest.raises(InvalidState, match="stop or apply it first"):
            lift.live("Support", {"v1": 0.1})
        with pytest.raises(ConfigError, match="unit must"):
            lift.resolve("Support", " ")
        given = [lift.resolve("Support", f"user-{n}") for n in range(40)]
        records = [
            {"messages": HI, "metadata": {"channel": "web", **one.metadata}, "source_id": str(n)}
            for n, one in enumerate(given)
        ]
        assert lift.log(records, prompt_id="Support").logged == 40
        table = live.refresh().table
        assert table["name"].tolist() == ["v2", "v1"]
        arms = [Assignment.read(one.assignment_id).arm for one in given]
        assert table["n_units"].tolist() == [arms.count(0), arms.count(1)]
        assert finding(table) == live.sentence
        assert lift.live("Support").id == live.id == lift.live(live.id).id
        html = live._repr_html_()
        assert live.sentence in html
        assert all(f">{title}</th>" in html for title in TITLES)
        assert html.count("<tr>") == 3
        assert "<svg" in html
        assert live.id in repr(live)
        assert live.apply(1, note="sure").state.status == "applied"
        assert lift.resolve("Support", "user-1").content == "first"
        assert lift.resolve("Support", "user-1").metadata == {}
        stopped = lift.live("Support", {"v1": 0.5}).stop("enough")
        assert stopped.state.reason == "enough"
        assert "stopped · enough" in stopped._repr_html_()
        assert lift.client.prompts.get(prompt).content == "first"


def test_an_application_answers_and_loses_nothing_while_the_service_is_away(tmp_path):
    """An hour without the service, then kill -9 and a restart: everybody keeps the version."""
    service = ServiceProcess(tmp_path / "data").start()
    outbox = tmp_path / "app" / "outbox.jsonl"
    try:
        with open_workspace(service) as lift:
            prompt = with_two_texts(lift)
            live = lift.live(prompt, {"v1": 0.3})
            before = {f"user-{n}": lift.resolve(prompt, f"user-{n}") for n in range(30)}
            service.kill()
            for minute in range(60):
                lift.client.transport.clock.ahead += 60.0
                given = lift.resolve(prompt, f"user-{minute}")
                assert before.get(f"user-{minute}", given) == given
                result = lift.log(
                    [{"messages": HI, "metadata": given.metadata, "source_id": str(minute)}, {"content": ""}],
                    prompt_id=given.prompt_id,
                    outbox=outbox,
                )
                assert (result.logged, result.waiting, len(result.failed)) == (0, minute + 1, 1)
                assert not result.complete
        service.port = urlsplit(service.base_url).port
        service.start()
        with open_workspace(service) as lift:  # the application was restarted, too
            result = lift.log([], prompt_id=prompt, outbox=outbox)
            assert (result.logged, result.waiting, result.complete) == (60, 0, True)
            assert lift.log([], prompt_id=prompt, outbox=outbox).logged == 0
            live = lift.live(live.id)
            assert live.table["n_conversations"].sum() == live.table["n_units"].sum() == 60
            for unit, given in before.items():
                assert lift.resolve(prompt, unit) == given
    finally:
        service.kill()


def test_an_application_waits_for_no_service_that_hangs_and_starts_without_one(tmp_path):
    prompt, record = f"prm_{'0' * 24}", {"messages": HI}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/api/v1"
        with promptlift.connect(url, "test_" + "k" * 40, progress=False) as lift:
            begun = time.monotonic()
            given = lift.resolve(prompt, "user-1", default="third")
            assert (given.content, given.metadata, given.prompt_id) == ("third", {}, prompt)
            assert lift.resolve("Support", "user-1", default="third").content == "third"
            for n in range(1, 4):
                result = lift.log(
                    [record, record], prompt_id=given.prompt_id, outbox=tmp_path / "outbox.jsonl"
                )
                assert (result.waiting, result.complete) == (2, False), n
            assert time.monotonic() - begun < 5.0
    with promptlift.connect(url, "test_" + "k" * 40, progress=False) as lift:
        with pytest.raises(ConnectionFailed):
            lift.resolve(prompt, "user-1")
        result = lift.log([record], prompt_id=prompt, outbox=tmp_path / "outbox.jsonl")
        assert (result.waiting, result.complete) == (2, False)
        assert result.stopped


def test_conversations_of_a_deleted_prompt_leave_the_outbox_and_those_of_others_are_logged(running, tmp_path):
    outbox = tmp_path / "outbox.jsonl"
    with open_workspace(running) as lift:
        gone, there = (lift.create_prompt(name, "text", llm_model="gpt-4o").id for name in ("Gone", "There"))
        lift.client.prompts.delete(gone)
        result = lift.log([{"messages": HI}], prompt_id=gone, outbox=outbox)
        assert (result.logged, len(result.failed), result.waiting) == (0, 1, 0)
        assert "not found" in result.failed[0].message
        result = lift.log([{"messages": HI}], prompt_id=there, outbox=outbox)
        assert (result.logged, result.complete) == (1, True)
        with pytest.raises(NotFound):
            lift.log([{"messages": HI}], prompt_id=gone)
    with promptlift.connect(running.base_url, "test_" + "n" * 40, progress=False) as lift:
        result = lift.log([{"messages": HI}], prompt_id=there, outbox=outbox)
        assert (result.logged, result.waiting, result.complete) == (0, 1, False)


def test_two_processes_on_postgresql_give_everybody_the_same_version(tmp_path, postgres_url):
    key = "test_" + "k" * 40
    services = [ServiceProcess(tmp_path / name, database=postgres_url, key=key).start() for name in "ab"]
    try:
        with open_workspace(services[0]) as one, open_workspace(services[1]) as other:
            prompt = with_two_texts(one)
            assert other.resolve(prompt, "u").metadata == {}
            one.live(prompt, {"v1": 0.5})
            for n in range(100):
                given = one.resolve(prompt, str(n))
                assert given.assignment_id
                assert other.resolve(prompt, str(n)) == given
            other.live(prompt).stop()
            assert one.resolve(prompt, "u").metadata == {}
    finally:
        for service in services:
            service.kill()
