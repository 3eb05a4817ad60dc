"""Triggering, waiting and what may go wrong meanwhile, against a service of the bare specification."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import promptlift
from promptlift.client.transport import Clock
from promptlift.errors import (
    ConfigError,
    ConnectionFailed,
    InvalidState,
    PromptliftError,
    ServerError,
    UnexpectedResponse,
)
from promptlift.workspace import RunFailed, RunStopped, StillRunning
from support.foreign_optimizations import OptimizationService
from support.foreign_service import KEY, hang_up


class SkippingClock(Clock):
    """Real time, with waits that are skipped over and remembered."""

    def __init__(self):
        self.skipped = 0.0
        self.waits = []

    def now(self):
        return super().now() + self.skipped

    def wait(self, seconds, stop):
        self.waits.append(seconds)
        self.skipped += seconds
        return stop.is_set()


@pytest.fixture
def service():
    with OptimizationService() as running:
        yield running


@pytest.fixture
def clock():
    return SkippingClock()


@pytest.fixture
def lift(service, clock):
    with promptlift.connect(service.base_url, KEY, progress=False) as opened:
        opened.client.transport.clock = clock
        yield opened


RESULTS = {"winnerSelected": True, "winningVariantId": "va", "lift": 12.5, "confidence": 0.92}
RUNNING = {"status": "running"}
COMPLETED = {"status": "completed", "results": RESULTS, "completedAt": "2026-01-31T09:30:00Z"}


def looks(service):
    return sum(method == "GET" and path.startswith("/optimizations/") for method, path, _ in service.seen)


def progress(done, most=630, stage="confirm", confidence=0.83):
    numbers = {"stage": stage, "conversationsDone": done, "conversationsMax": most, "fraction": done / most}
    return {"status": "running", "results": {"confidence": confidence, "progress": numbers}}


def test_it_is_triggered_once_and_waited_for(service, lift):
    service.states = [RUNNING, RUNNING, COMPLETED]
    ended = lift.optimize("p1", mode="validation", variants=3, intent="shorter answers", persona_ids=["a"])
    assert (ended.status, ended.results.lift, ended.results.winning_variant_id) == ("completed", 12.5, "va")
    assert service.bodies == [
        (
            "/optimizations",
            {
                "promptId": "p1",
                "mode": "validation",
                "variantCount": 3,
                "intent": {"hypothesis": "shorter answers"},
                "personaIds": ["a"],
            },
        )
    ]
    assert looks(service) == 3


def test_a_trigger_without_an_answer_is_not_sent_again_and_says_where_to_look(service, lift):
    for error, answer in (
        (ConnectionFailed, hang_up),
        (ServerError, lambda handler: service.error(handler, 503, "DOWN", "down")),
        (UnexpectedResponse, lambda handler: service.send(handler, 201, b"<html>")),
    ):
        service.seen.clear()
        service.fault = lambda *_, answer=answer: answer
        with pytest.raises(error, match=r"see lift\.optimizations\('p1'\)"):
            lift.optimize("p1")
        assert len(service.seen) == 1


def test_what_cannot_be_right_is_said_before_anything_is_sent(service, lift):
    with pytest.raises(ConfigError, match=r"lift\.prompts"):
        lift.optimize("")
    assert service.seen == []
    run = lift.optimize("p1", wait=False)
    for timeout in (-1, float("nan")):
        with pytest.raises(ConfigError, match="timeout"):
            run.wait(timeout=timeout)
    assert looks(service) == 0


def test_a_network_that_fails_for_minutes_is_survived(service, lift, clock):
    def fault(method, path, _count):
        down = method == "GET" and 10 < clock.skipped < 300
        return hang_up if down else None

    service.fault = fault
    service.states = [RUNNING] * 20 + [COMPLETED]
    assert lift.optimize("p1").status == "completed"
    assert clock.skipped > 300
    assert clock.waits[0] == pytest.approx(0.5)


@pytest.mark.parametrize("trouble", ["hangs up", "no JSON"])
def test_a_network_that_stays_away_ends_the_wait_and_says_how_to_go_on(service, lift, clock, trouble):
    answer = hang_up if trouble == "hangs up" else lambda handler: service.send(handler, 200, b"<html>")
    service.fault = lambda method, *_: answer if method == "GET" else None
    with pytest.raises(
        PromptliftError,
        match=r"continues: lift\.optimizations\['o00001'\]\.wait\(\) waits for it again, .*\.stop\(\)",
    ):
        lift.optimize("p1")
    assert 600 <= clock.skipped < 700


def test_a_time_limit_ends_the_wait_not_the_optimization(service, lift, clock):
    service.states = [progress(40)]
    with pytest.raises(
        StillRunning, match=r"still running after 60 seconds.*\['o00001'\]\.wait\(\)"
    ) as ended:
        lift.optimize("p1", wait=False).wait(timeout=60)
    assert isinstance(ended.value, TimeoutError)
    assert ended.value.run.results.progress.conversations_done == 40
    assert clock.skipped == pytest.approx(60, abs=1)
    service.states = [COMPLETED]
    assert lift.optimizations["o00001"].wait(timeout=0).status == "completed"


def test_a_failed_one_says_why(service, lift):
    for told, said in (
        ({"failure": "the model is gone"}, "the model is gone"),
        ({}, "the service does not say why"),
    ):
        service.states = [{"status": "failed", **told}]
        with pytest.raises(RunFailed, match=f"failed: {said}") as failed:
            lift.optimize("p1")
        assert failed.value.run.status == "failed"


def test_a_stopped_one_comes_back_with_a_warning(service, lift):
    service.states = [{"status": "stopped", "stopReason": "too expensive", "results": {"confidence": 0.7}}]
    with pytest.warns(RunStopped, match="stopped: too expensive"):
        ended = lift.optimize("p1")
    assert ended.results.confidence == 0.7


def test_apply_stop_and_get_go_through(service, lift):
    service.add(1)
    assert lift.optimizations["o00001"].apply().applied_variant_id == "va"
    assert lift.optimizations["o00001"].apply("vb").applied_variant_id == "vb"
    assert lift.optimizations["o00001"].results.confidence == 0.92
    service.add(1, status="running")
    with pytest.raises(InvalidState, match=r"\['o00002'\]\.wait\(\) waits for the end"):
        lift.optimizations["o00002"].apply()
    assert lift.optimizations["o00002"].stop("enough").status == "stopped"


def test_an_apply_without_an_answer_says_what_to_look_at(service, lift):
    service.add(1)
    service.fault = lambda _method, path, _count: hang_up if path.endswith("/apply") else None
    with pytest.raises(ConnectionFailed, match="look at the prompt before applying again"):
        lift.optimizations["o00001"].apply()


@pytest.fixture
def shown(service, clock, capsys, monkeypatch):
    """What a bar shows: every state that was drawn."""
    monkeypatch.setenv("TQDM_MININTERVAL", "0")
    with promptlift.connect(service.base_url, KEY) as opened:
        opened.client.transport.clock = clock
        yield lambda: (opened.optimize("p1"), capsys.readouterr().err)[1]


def test_the_bar_shows_stage_conversations_confidence_and_time_left(service, shown):
    service.states = [
        progress(0, stage="preparing", confidence=None),
        progress(60, stage="screen", confidence=None) | {"rehearsal": True},
        progress(315),
        COMPLETED,
    ]
    drawn = shown()
    stages = ("writing variants", "rehearsal: screening", "60/630", "confirming", "315/630", "50%")
    for words in (*stages, "confidence 0.83", "conversations/s"):
        assert words in drawn


def test_a_service_without_progress_gets_a_bar_that_claims_no_rate(service, shown):
    service.states = [{"status": "queued"}, RUNNING, COMPLETED]
    drawn = shown()
    assert "queued [00:0" in drawn
    assert "running [00:0" in drawn
    assert "/s" not in drawn
    assert "%" not in drawn


def test_progress_of_another_shape_never_ends_the_wait(service, shown):
    odd = [
        None,
        "soon",
        {"progress": 0.5},
        {"progress": {"conversationsDone": "many", "conversationsMax": 5}},
        {"progress": {"conversationsDone": 1, "conversationsMax": 0}},
        {"confidence": "high", "progress": {"stage": 7}},
    ]
    service.states = [*({"status": "running", "results": results} for results in odd), COMPLETED]
    assert "running [00:0" in shown()


PROGRAM = """
    import promptlift
    lift = promptlift.connect({base_url!r}, {key!r}, progress={progress})
    print("begun", flush=True)
    try:
        {work}
    except KeyboardInterrupt as interrupt:
        print("interrupted:", interrupt, flush=True)
"""


def interrupted(service, work, *, requests=1):
    """Send a process SIGINT while it works; gives what it printed and how long it took to end."""
    program = textwrap.dedent(PROGRAM).format(base_url=service.base_url, key=KEY, work=work, progress=True)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while sum(path.startswith("/optimizations") for _, path, _ in service.seen) < requests:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    return out


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind are sent on other systems")
@pytest.mark.parametrize("answers", ["at once", "never"])
@pytest.mark.slow
def test_ctrl_c_ends_the_waiting_and_says_that_the_optimization_goes_on(service, answers):
    service.add(1, status="running")
    if answers == "never":
        service.fault = lambda *_: (lambda _handler: time.sleep(20)) if looks(service) > 1 else None
    out = interrupted(service, "lift.optimizations['o00001'].wait()", requests=2)
    assert (
        "interrupted: Waiting was interrupted. The optimization continues: lift.optimizations['o00001'].wait()"
        in out
    )
    assert "lift.optimizations['o00001'].stop() stops it" in out
    assert not any(method == "POST" for method, _, _ in service.seen)


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind are sent on other systems")
@pytest.mark.slow
def test_ctrl_c_while_it_is_triggered_says_that_it_may_have_been(service):
    service.fault = lambda *_: lambda _handler: time.sleep(20)
    out = interrupted(service, "lift.optimize('p1')")
    assert "It may have been triggered all the same: see lift.optimizations('p1')." in out
