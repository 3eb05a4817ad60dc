"""``kill -9`` at any moment of a run of any kind: whoever takes it over comes to the end of one that nobody disturbed."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from functools import cache

import pytest

from support.answering_model import AnsweringModel, serving
from support.judging_model import QUESTION, SIGNS, JudgingModel, world
from support.kills import KILLS
from support.optimizing_caller import Caller
from support.plain_client import PlainClient
from support.searching import SMALL, without_ids
from support.service_process import ServiceProcess, free_port, wait_until
from support.topical import topical
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(1_800)]

SEED = 20261121
# A dead worker is noticed when its lease has run out.
LEASE = {"PROMPTLIFT_LEASE_SECONDS": "1.5"}
AT_A_TIME = 12


def asked(wire, method, path, body=None):
    status, found = wire.send(method, path, body)
    assert status in (200, 201), found
    return found


class Simulated:
    """Conversations of simulated people with texts."""

    better = 0.2
    kills = KILLS
    # Of what is counted as begun, a kill may lose this much.
    lost = AT_A_TIME

    def __init__(self) -> None:
        self.model = AnsweringModel(better=self.better)
        self.model.hold()

    def begun(self):
        return sum(self.model.conversations.values())

    def reach(self, _wire, _run_id):
        """Let the run come to where it is to be killed: at once."""


class Benchmark(Simulated):
    """Two prompts on two models."""

    path = "/benchmarks"
    scenarios = max(16, 4 * KILLS)

    def begin(self, wire):
        prompts = [
            asked(
                wire, "POST", "/prompts", {"name": name, "content": f"{name} You help.", "llmModel": "gpt-4o"}
            )["id"]
            for name in ("Manner 0:", "Manner 1:")
        ]
        arms = [{"promptId": one, "llmModel": m} for one in prompts for m in ("gpt-4o", "gpt-4o-mini")]
        chosen = {"count": self.scenarios, "source": "model"}
        body = {"arms": arms, "scenarioSet": chosen, "maxTurns": 1, "seed": 5}
        return asked(wire, "POST", self.path, body)["id"]

    def final(self, wire, run_id):
        held = wire.all_pages(f"{self.path}/{run_id}/conversations?includeContent=true")
        shown = {
            (one["cell"], one["arm"]): [
                one[name] for name in ("status", "taskCompleted", "quality", "content")
            ]
            for one in held
        }
        assert len(shown) == len(held) == 4 * self.scenarios
        return asked(wire, "GET", f"{self.path}/{run_id}")["results"], shown


class Backfill:
    """A judge put to conversations."""

    path = "/judge-runs"
    count = 20 * KILLS
    kills = KILLS
    lost = AT_A_TIME

    def __init__(self) -> None:
        self.model = JudgingModel()
        self.model.hold()

    def log(self, wire):
        prompt = asked(
            wire, "POST", "/prompts", {"name": "Support", "content": "You help.", "llmModel": "gpt-4o"}
        )["id"]
        made = world(self.count)
        self.truth = {}
        for key, text in made.texts.items():
            logged = asked(wire, "POST", "/conversations", {"promptId": prompt, "content": text})
            self.truth[logged["id"]] = made.truth[key]
        self.judge = asked(wire, "POST", "/judges", {"name": "refund", "question": QUESTION})["id"]

    def begin(self, wire):
        self.log(wire)
        return asked(wire, "POST", f"/judges/{self.judge}/backfill")["id"]

    def reach(self, _wire, _run_id):
        """Let the run come to where it is to be killed: at once."""

    def begun(self):
        return sum(
            "Answer the question" in one.body["messages"][1]["content"] for one in self.model.of("judge")
        )

    def final(self, wire, run_id):
        found = wire.all_pages(f"/judges/{self.judge}/verdicts")
        verdicts = {one["conversationId"]: one["verdict"] for one in found}
        assert len(verdicts) == len(found) == self.count
        return asked(wire, "GET", f"{self.path}/{run_id}")["progress"], [verdicts[one] for one in self.truth]


class Alignment(Backfill):
    """A judge improved by labels."""

    count = max(100, 20 * KILLS)
    lost = 1

    def begin(self, wire):
        self.log(wire)
        labels = [{"conversationId": one, "value": value} for one, value in self.truth.items()]
        return asked(wire, "POST", f"/judges/{self.judge}/align", {"labels": labels})["id"]

    def begun(self):
        return len(self.model.of("reflection"))

    def final(self, wire, _run_id):
        versions = asked(wire, "GET", f"/judges/{self.judge}/versions")["data"]
        assert [one["version"] for one in versions] == [2, 1]
        # Ids differ from one service to the next, and the split goes by them: the rules come in another order.
        rules = set(versions[0]["rubric"].splitlines())
        assert rules == {f"- {rule}" for _, rule in SIGNS.values() if rule}
        return rules


class Optimization(Simulated):
    """Variants of a model, killed before there is a winner."""

    path = "/optimizations"
    better = 0.12

    def ask(self, caller):
        caller.settings(
            maxIterations=4,
            personaCount=4,
            scenariosPerSimulation=max(2, KILLS // 10),
            maxTurns=1,
            confidenceMode="high",
        )
        return caller.start(caller.prompt(), mode="validation", variantCount=3, seed=11)

    def begin(self, wire):
        with closing(Caller(wire.service)) as caller:
            return self.ask(caller)["id"]

    def final(self, wire, run_id):
        kinds = Counter(one["type"] for one in wire.all_pages("/events"))
        assert (kinds["optimization.started"], kinds["optimization.completed"]) == (1, 1)
        with closing(Caller(wire.service)) as caller:
            return caller.final_state(run_id)


class Verification(Optimization):
    """An optimization that is killed while it measures its winner once more."""

    better = 0.4
    # Its 32 pairs allow no more.
    kills = min(KILLS, 5)

    def ask(self, caller):
        caller.settings(personaCount=4, scenariosPerSimulation=2, maxTurns=1, confidenceMode="low")
        return caller.start(caller.prompt(), mode="exploratory", variantCount=1, seed=11)

    def reach(self, wire, run_id):
        def verifying():
            self.model.allow(5)
            return asked(wire, "GET", f"{self.path}/{run_id}")["results"]["progress"]["stage"] == "verify"

        wait_until(verifying, what="it verifies the winner", seconds=300)
        self.model.hold()

    def final(self, wire, run_id):
        found = super().final(wire, run_id)
        assert found["results"]["verifiedPairs"]["n"] == 4 * 8
        return found


class Search(Optimization):
    """A search for the candidate that meets a goal best, which keeps its course as a state."""

    better = 0.2
    # It has no more calls, however long it is.
    kills = min(KILLS, 5)
    logged = 8

    def ask(self, caller):
        caller.settings(**SMALL)
        prompt_id = caller.prompt()
        # The judge has its answers, and perhaps the writer of the first edits.
        self.model.allow(2 * self.logged)
        caller.log(
            prompt_id, [f"User: My parcel {n} is late.\nAssistant: I cannot say." for n in range(self.logged)]
        )
        target = "Name the day of delivery"
        goal = [{"measure": "taskCompletion", "weight": 1}, {"measure": target, "weight": 3}]
        intent = {"targetImprovements": [target]}
        return caller.start(prompt_id, mode="exploratory", variantCount=2, intent=intent, goal=goal)

    def final(self, wire, run_id):
        plan = asked(wire, "GET", f"{self.path}/{run_id}")["searchPlan"]
        assert plan["generations"] >= 1
        return without_ids(super().final(wire, run_id)), plan


def ended(wire, kind, run_id):
    def is_over():
        return asked(wire, "GET", f"{kind.path}/{run_id}")["status"] not in ("queued", "running")

    wait_until(is_over, what="the run ends", seconds=600)
    found = asked(wire, "GET", f"{kind.path}/{run_id}")
    assert found["status"] == "completed", found
    return kind.final(wire, run_id)


def go_on(wire, kind, run_id):
    """Let the run go on until at least one more call is kept."""

    def calls():
        found = asked(wire, "GET", f"{kind.path}/{run_id}")
        assert found["status"] in ("queued", "running"), "It ended before all kills: make the run larger."
        return found["usage"]["modelCalls"]

    before = calls()

    def goes_on():
        kind.model.allow(3)
        return calls() > before

    wait_until(goes_on, what="it goes on", seconds=300)
    kind.model.hold()


def kill_at_random(wire, kind, run_id, kill):
    """Kill while it runs, each time after at least one more call was kept."""
    moments = random.Random(SEED)
    kind.reach(wire, run_id)
    for number in range(kind.kills):
        go_on(wire, kind, run_id)
        time.sleep(moments.uniform(0.0, 0.15))
        kill(number)
    assert asked(wire, "GET", f"{kind.path}/{run_id}")["status"] == "running"
    kind.model.allow()


@contextmanager
def started(process):
    process.start()
    try:
        yield process
    finally:
        process.kill()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The end of a run of a kind, and how much was begun for it."""

    @cache
    def run(make):
        kind = make()
        kind.model.allow()
        folder = tmp_path_factory.mktemp("calm")
        with (
            serving(kind.model) as env,
            started(ServiceProcess(folder, port=free_port(), env=env)) as service,
        ):
            wire = PlainClient(service)
            return ended(wire, kind, kind.begin(wire)), kind.begun()

    return run


# Workers of their own take runs over by the same statements: a run with rows, and one that holds a state.
KILLED = [
    *(("sqlite", make) for make in (Benchmark, Backfill, Alignment, Verification, Search)),
    ("postgresql", Optimization),
]


@pytest.mark.parametrize(("database", "make"), KILLED)
def test_a_killed_run_comes_to_the_same_end_and_repeats_nothing_that_was_kept(
    make, database, undisturbed, tmp_path, request
):
    kind = make()
    expected, calm = undisturbed(make)
    url = request.getfixturevalue("postgres_url") if database == "postgresql" else None
    with serving(kind.model) as env, ExitStack() as ends:
        short, options = {**env, **LEASE}, ["--no-worker"] if url else []
        service = ServiceProcess(
            tmp_path / "killed", port=free_port(), env=short, database=url, options=options
        )
        ends.enter_context(started(service))
        workers = [WorkerProcess(url, tmp_path / f"{n}.log", short) for n in range(2 if url else 0)]
        for worker in workers:
            ends.enter_context(started(worker))

        def kill(number):
            victim = workers[number % 2] if workers else service
            victim.kill()
            victim.start(wait=not workers)

        wire = PlainClient(service)
        run_id = kind.begin(wire)
        kill_at_random(wire, kind, run_id, kill)
        assert ended(wire, kind, run_id) == expected
        # Once for each, and once more for those that a kill cut off.
        assert kind.begun() <= calm + kind.kills * kind.lost


def test_a_service_that_is_stopped_in_order_comes_to_the_same_end_after_its_next_start(undisturbed, tmp_path):
    kind = Search()
    expected, calm = undisturbed(Search)
    folder = tmp_path / "stopped"
    with serving(kind.model) as env, started(ServiceProcess(folder, port=free_port(), env=env)) as service:
        wire = PlainClient(service)
        run_id = kind.begin(wire)
        go_on(wire, kind, run_id)
        # The model answers nothing more: whoever waited for the calls under way would never end.
        assert service.stop() == 0
        service.start()
        assert asked(wire, "GET", f"{kind.path}/{run_id}")["status"] == "running"
        kind.model.allow()
        assert ended(wire, kind, run_id) == expected
        assert kind.begun() <= calm + kind.lost


@pytest.mark.parametrize("make", [Benchmark, Alignment])
def test_a_stopped_run_asks_nothing_more_and_resumes_to_the_same_end(make, undisturbed, tmp_path):
    kind = make()
    expected, calm = undisturbed(make)
    folder = tmp_path / "stopped"
    with serving(kind.model) as env, started(ServiceProcess(folder, port=free_port(), env=env)) as service:
        wire = PlainClient(service)
        run_id = kind.begin(wire)
        go_on(wire, kind, run_id)
        stopped = asked(wire, "POST", f"{kind.path}/{run_id}/stop", {"reason": "enough"})
        assert (stopped["status"], stopped["stopReason"]) == ("stopped", "enough")
        assert not (stopped.get("results") or {}).get("final")
        kind.model.allow()
        assert asked(wire, "POST", f"{kind.path}/{run_id}/resume")["status"] == "queued"
        assert ended(wire, kind, run_id) == expected
        # What was cut off is asked again; whoever went on after the stop would have asked for much more.
        assert kind.begun() <= calm + kind.lost


def found_topics(wire, prompt_id, ids):
    """Return the topics of a prompt, and that of each conversation, once all is done."""

    def is_over():
        status, _ = wire.send("GET", f"/prompts/{prompt_id}/topics")
        return status == 200 and not asked(wire, "GET", f"/prompts/{prompt_id}/topics")["placing"]

    wait_until(is_over, what="topics are found and given", seconds=300)
    names = [one["name"] for one in asked(wire, "GET", f"/prompts/{prompt_id}/topics")["topics"]]
    return names, [asked(wire, "GET", f"/conversations/{one}/insights")["topics"] for one in ids]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_topics_are_found_and_given_whenever_the_service_is_killed(database, tmp_path, request):
    url = request.getfixturevalue("postgres_url") if database == "postgresql" else None
    moments = random.Random(SEED)
    with started(ServiceProcess(tmp_path / "killed", port=free_port(), env=LEASE, database=url)) as service:
        wire = PlainClient(service)
        prompts = [
            asked(wire, "POST", "/prompts", {"name": name, "content": "Help.", "llmModel": "gpt-4o"})["id"]
            for name in ("calm", "killed")
        ]
        contents = topical("English", 60)["content"].tolist()

        def log(prompt):
            return [
                asked(wire, "POST", "/conversations", {"promptId": prompt, "content": one})["id"]
                for one in contents
            ]

        expected = found_topics(wire, prompts[0], log(prompts[0]))
        ids = log(prompts[1])
        for _ in range(KILLS):
            time.sleep(moments.uniform(0.0, 2.0))
            service.kill()
            service.start()
        assert found_topics(wire, prompts[1], ids) == expected
        assert any(expected[1])
