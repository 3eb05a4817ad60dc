from __future__ import annotations

import asyncio
import threading

import pandas as pd
import pytest

import promptlift
from promptlift.errors import ConfigError, IncompleteError
from support.foreign_service import KEY, ForeignService

pytestmark = pytest.mark.slow


@pytest.fixture
def service():
    with ForeignService() as running:
        yield running


@pytest.fixture
def lift(service, tmp_path, monkeypatch):
    monkeypatch.setenv("PROMPTLIFT_DATA", str(tmp_path))
    with promptlift.connect(service.base_url, KEY, progress=False) as opened:
        yield opened


def test_nothing_that_is_shown_has_the_key(lift):
    for shown in (
        lift,
        lift.client,
        lift.client.prompts,
        lift.client.config,
        lift.__dict__,
        lift.client.__dict__,
    ):
        assert KEY not in repr(shown)


def test_every_table_says_how_it_was_read(service, lift):
    service.fill(130)
    frame = lift.conversations("p1", status="completed")
    told = frame.attrs["promptlift"]
    assert (told["table"], told["rows"], told["total"], told["requests"]) == ("conversations", 130, 130, 2)
    assert told["filters"] == {"prompt_id": "p1", "status": "completed"}
    assert (told["complete"], told["deleted_meanwhile"], told["warnings"]) == (True, 0, {})
    assert pd.Timestamp(told["fetched_at"]).tzinfo is not None


def test_all_tables_can_be_had_when_there_is_nothing(service, lift):
    for frame in (lift.conversations(insights=True, content=True), lift.messages()):
        assert len(frame) == 0
        assert frame.attrs["promptlift"]["complete"]
    assert list(lift.prompts()["prompt_id"]) == ["p1"]


def test_an_incomplete_read_carries_the_table_of_what_was_read(service, lift):
    service.fill(250)
    service.fault = lambda _m, _p, count: (
        (lambda handler: service.error(handler, 400, "VALIDATION_ERROR", "no")) if count >= 2 else None
    )
    with pytest.raises(IncompleteError, match=r"\.fetched") as failed:
        lift.conversations()
    fetched = failed.value.fetched
    assert isinstance(fetched, pd.DataFrame)
    assert len(fetched) == 100
    assert fetched.attrs["promptlift"]["complete"] is False
    assert fetched.attrs["promptlift"]["total"] == 250


def test_usage_has_one_row_a_resource(lift):
    usage = lift.usage().set_index("resource")
    assert usage.loc["tokens", "used"] == 7
    assert pd.isna(usage.loc["tokens", "limit"])
    assert list(usage.index) == ["prompts", "optimizations", "conversations", "tokens"]


def test_a_plan_tells_requests_and_minutes_before(service, lift):
    service.plan = "free"
    service.fill(500)
    plan = lift.plan(insights=True)
    assert (plan.rows, plan.requests, plan.requests_per_minute) == (500, 506, 60)
    assert 8 <= plan.minutes <= 9
    assert str(plan) == "500 rows, 506 requests, about 8 minutes (60 requests a minute)"
    assert len(service.seen) == 2


def test_records_frames_and_readings_can_be_logged(service, lift):
    class Reading:
        conversations = (
            promptlift.transcripts.ImportedConversation(
                "User: r", None, "completed", None, None, "f.txt", 1, None, "print-1"
            ),
        )

    service.answers_200 = True
    rows = pd.DataFrame({"content": ["User: a", "User: b"]})
    talk = pd.DataFrame({"conversation_id": [1, 1], "role": ["user", "assistant"], "content": ["x", "y"]})
    for records, count in (([{"content": "User: d"}], 1), (rows, 2), (talk, 1), (Reading(), 1), ([], 0)):
        result = lift.log(records, prompt_id="p1")
        assert (result.logged, result.complete) == (count, True)
        assert lift.log(records, prompt_id="p1").logged == 0
    assert len(service.rows) == 5


def test_what_is_no_list_of_records_says_what_to_give(lift):
    for records in (5, "a.jsonl", {"content": "User: a"}):
        with pytest.raises(ConfigError, match="Give a list of dicts"):
            lift.log(records, prompt_id="p1")


def test_it_works_in_a_running_loop_and_in_threads(service, lift):
    service.fill(50)

    async def in_a_loop():
        return len(lift.conversations(insights=True))

    assert asyncio.run(in_a_loop()) == 50
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(len(lift.conversations(insights=True))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [50] * 4


def test_the_agent_scheme_reads_and_logs_under_agents(service, tmp_path, monkeypatch):
    monkeypatch.setenv("PROMPTLIFT_DATA", str(tmp_path))
    with promptlift.connect(service.base_url, KEY, scheme="agent", progress=False) as lift:
        assert lift.log([{"content": "User: a"}], prompt_id="p1").logged == 1
        assert list(lift.conversations("p1")["prompt_id"]) == ["p1"]
        assert len(lift.prompts()) == 1
    assert ("GET", "/agents") in {(method, path) for method, path, _ in service.seen}


def test_a_short_read_shows_no_progress_bar(service, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PROMPTLIFT_DATA", str(tmp_path))
    service.fill(120)
    with promptlift.connect(service.base_url, KEY) as lift:
        lift.conversations()
        lift.log([{"content": "User: a"}], prompt_id="p1")
    assert capsys.readouterr() == ("", "")


def test_a_long_read_shows_a_progress_bar_with_rate_and_time_left(service, monkeypatch, capsys):
    monkeypatch.setattr("promptlift.workspace.session.SILENT_SECONDS", 0)
    service.fill(120)
    with promptlift.connect(service.base_url, KEY) as lift:
        lift.conversations(insights=True)
    shown = capsys.readouterr().err
    assert "conversations read" in shown
    assert "/s]" in shown
