"""Backfills and alignments from the request to the end: killed, stopped, without an answer, with too little to spend."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from sqlalchemy import func, insert, select, update

from promptlift.service.store import conversation_updates
from promptlift.service.store.database import Database
from promptlift.service.store.tables import metadata
from support.answering_model import serving
from support.databases import is_lock_awaited
from support.judging_model import QUESTION, JudgingModel, world
from support.plain_client import PlainClient
from support.service_process import ServiceProcess, free_port, wait_until
from support.stub_endpoint import Say

judge_verdicts = metadata.tables["judge_verdicts"]
runs = metadata.tables["runs"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

COUNT = 60


@contextmanager
def judged_service(model, folder, **options):
    """A service over a model, and a client of it."""
    with serving(model) as env:
        service = ServiceProcess(folder, port=free_port(), env={**env, **options.pop("env", {})}, **options)
        service.start()
        try:
            yield service, PlainClient(service)
        finally:
            service.stop()


def log(wire, count=COUNT, *, seed=1):
    """Log conversations and make a judge; gives its id, and the owner's answers by conversation."""
    made = world(count, seed=seed)
    _, prompt = wire.send(
        "POST", "/prompts", {"name": "Support", "content": "You help.", "llmModel": "gpt-4o"}
    )
    truth = {}
    for key, text in made.texts.items():
        body = {"promptId": prompt["id"], "content": text, "idempotencyKey": f"{key}-{seed}"}
        truth[wire.send("POST", "/conversations", body)[1]["id"]] = made.truth[key]
    _, judge = wire.send("POST", "/judges", {"name": "refund", "question": QUESTION})
    return judge["id"], truth


def begin(wire, path, body=None):
    status, run = wire.send("POST", path, body)
    assert status == 200, run
    return run["id"]


def ended(wire, run_id):
    def run():
        return wire.send("GET", f"/judge-runs/{run_id}")[1]

    wait_until(lambda: run()["status"] not in ("queued", "running"), what="it ends", seconds=120)
    return run()


def verdicts(wire, judge):
    _, page = wire.send("GET", f"/judges/{judge}/verdicts?limit=100")
    return {one["conversationId"]: one["verdict"] for one in page["data"]}


def align_body(truth, **fields):
    labels = [{"conversationId": one, "value": value} for one, value in truth.items()]
    return {"labels": labels, **fields}


def test_spending_ends_at_its_limits(tmp_path):
    with judged_service(JudgingModel(), tmp_path / "limits") as (_, wire):
        judge, _ = log(wire, 45)
        found = ended(wire, begin(wire, f"/judges/{judge}/backfill", {"maxConversations": 7}))
        assert found["status"] == "completed"
        assert found["usage"]["modelCalls"] == len(verdicts(wire, judge)) == 7
        # 120 tokens an answer: the ninth is not begun, and those under way then end.
        found = ended(wire, begin(wire, f"/judges/{judge}/backfill", {"maxTokens": 960}))
        assert found["status"] == "stopped"
        assert 8 <= found["usage"]["modelCalls"] <= 8 + 12
        limit = {"maxCost": 0.001, "price": {"input": 5.0, "output": 25.0}}
        found = ended(wire, begin(wire, f"/judges/{judge}/backfill", limit))
        assert (found["status"], found["usage"]["cost"] < 0.001 * (1 + 13)) == ("stopped", True)
        assert "Start another run" in found["stopReason"]


def test_an_endpoint_that_is_gone_fails_the_run_with_the_reason_and_what_was_judged_stays(tmp_path):
    model = JudgingModel()
    with judged_service(model, tmp_path / "gone") as (_, wire):
        judge, _ = log(wire, 30)
        model.fault = lambda _asked: (
            Say({"error": {"message": "no such key"}}, status=401) if len(model.requests) > 40 else None
        )
        wait_until(lambda: len(model.of("judge")) >= 30, what="the service's own judge is done")
        found = ended(wire, begin(wire, f"/judges/{judge}/backfill"))
        assert found["status"] == "failed"
        assert "no such key" in found["failure"]
        kept = len(verdicts(wire, judge))
        assert kept < 30
        model.fault = None
        begin(wire, f"/judge-runs/{found['id']}/resume")
        assert ended(wire, found["id"])["progress"]["done"] == 30


def test_a_conversation_that_cannot_be_judged_says_why_and_is_tried_again_in_the_next_run(tmp_path):
    def once(asked):
        text = asked.body["messages"][1]["content"]
        return Say({"choices": [{"message": {"content": "maybe"}}]}) if "parcel 3 is" in text else None

    model = JudgingModel(fault=once)
    with judged_service(model, tmp_path / "bad") as (_, wire):
        judge, _ = log(wire, 10)
        found = ended(wire, begin(wire, f"/judges/{judge}/backfill"))
        assert (found["status"], found["progress"]) == ("completed", {"done": 9, "failed": 1, "total": 10})
        _, page = wire.send("GET", f"/judges/{judge}/verdicts?limit=100")
        [failed] = [one for one in page["data"] if one["verdict"] is None]
        assert failed["problem"]
        model.fault = None
        again = ended(wire, begin(wire, f"/judges/{judge}/backfill"))
        assert again["progress"] == {"done": 1, "failed": 0, "total": 1}


def test_a_judge_that_cannot_be_improved_stays_as_it_is_and_says_so(tmp_path):
    model = JudgingModel()
    with judged_service(model, tmp_path / "useless") as (_, wire):
        judge, truth = log(wire)
        tosses = random.Random(5)
        coins = {one: tosses.random() < 0.5 for one in truth}
        found = ended(wire, begin(wire, f"/judges/{judge}/align", align_body(coins)))["alignment"]
        assert not found["improved"]
        assert found["p"] >= 0.05
        model.writes = False
        found = ended(wire, begin(wire, f"/judges/{judge}/align", align_body(truth)))["alignment"]
        assert (found["improved"], found["newVersion"], found["rubric"]) == (False, None, None)
        assert found["kappaBefore"] == found["kappaAfter"]
        assert "cannot be improved by these labels: no proposed change" in found["sentence"]
        assert {one["state"] for one in found["edits"]} == {"rejected"}
        assert wire.send("GET", f"/judges/{judge}")[1]["version"] == 1


def test_a_judge_is_deleted_while_a_worker_keeps_its_verdicts(tmp_path, postgres_url):
    """The worker has the row of its run, and adds rows of the judge that is being deleted."""
    options = {"database": postgres_url, "options": ["--no-worker"]}
    with (
        judged_service(JudgingModel(), tmp_path / "data", **options) as (_, wire),
        ThreadPoolExecutor(1) as requests,
        closing(Database(postgres_url)) as database,
    ):
        judge, truth = log(wire, 3)
        run = begin(wire, f"/judges/{judge}/backfill")
        verdict = {
            "account_id": select(runs.c.account_id).scalar_subquery(),
            "judge_row_id": select(runs.c.subject_id).scalar_subquery(),
            "conversation_id": next(iter(truth)),
            "run_id": run,
            "verdict": True,
            "analyser": "model:test",
            "created_at": 1,
        }
        with database.write() as connection:
            connection.execute(update(runs).values(model_calls=1))
            deletion = requests.submit(wire.send, "DELETE", f"/judges/{judge}")
            wait_until(lambda: is_lock_awaited(database), what="the deletion waits for the worker")
            connection.execute(insert(judge_verdicts).values(**verdict))
        assert deletion.result()[0] == 200
        with database.read() as connection:
            assert connection.scalar(select(func.count()).select_from(judge_verdicts)) == 0


def test_changed_and_old_conversations_take_their_verdicts_with_them(tmp_path):
    with judged_service(JudgingModel(), tmp_path / "old") as (service, wire):
        judge, truth = log(wire, 3)
        ended(wire, begin(wire, f"/judges/{judge}/backfill"))
        changed, *kept = truth
        body = {"content": "User: other\nAssistant: words"}
        assert wire.send("PATCH", f"/conversations/{changed}", body)[0] == 200
        assert verdicts(wire, judge).keys() == set(kept)
        wait_until(
            lambda: wire.send("GET", "/conversations?hasInsights=true")[1]["pagination"]["total"] == 3,
            what="the service's own judge is done",
        )
        url = f"sqlite:///{service.data / 'promptlift.db'}"
        with closing(Database(url)) as database, database.write() as connection:
            deleted, _ = conversation_updates.delete_conversations(connection, before=2**53, after_seq=0)
        assert (deleted, verdicts(wire, judge)) == (len(truth), {})
