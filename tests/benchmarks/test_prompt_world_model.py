"""The endpoint of a prompt world answers every purpose over a real socket as its schema says."""

from __future__ import annotations

import json
from typing import Literal

import httpx
import pytest
from pydantic import BaseModel, ConfigDict

from benchmarks.prompt_world import run
from benchmarks.prompt_world.measure import Measured, measure
from benchmarks.prompt_world.model import WorldModel
from benchmarks.prompt_world.world import OPEN, SETTLED, draw_world
from promptlift.service.insights.llm_judge import TargetsJudgeAnswer
from promptlift.service.optimizations.variants import VariantsAnswer
from promptlift.service.simulations.scenarios import ScenariosAnswer
from support.stub_endpoint import StubEndpoint


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Evidence(Strict):
    conversation_id: str
    quote: str


class Edit(Strict):
    symptom: str
    cause: str
    evidence: list[Evidence]
    operation: Literal["add", "replace", "delete"]
    anchor: str
    text: str


class Reflection(Strict):
    edits: list[Edit]


class QuotedEdit(Edit):
    evidence: list[str]


class QuotedReflection(Strict):
    edits: list[QuotedEdit]


def block_of(records):
    """Set records apart as the service does."""
    lines = "\n".join(map(json.dumps, records))
    return f"BEGIN {'0' * 32}\n{lines}\nEND {'0' * 32}"


class Asking:
    """A world's endpoint, asked over HTTP."""

    def __init__(self, world, base_url, model):
        self.world = world
        self.model = model
        self._http = httpx.Client(base_url=base_url, trust_env=False, timeout=30)

    def close(self):
        self._http.close()

    def ask(self, purpose, *messages, **options):
        headers = {} if purpose is None else {"X-Promptlift-Purpose": purpose}
        body = {
            "model": "stub",
            "messages": [{"role": role, "content": text} for role, text in messages],
            **options,
        }
        answer = self._http.post("/chat/completions", json=body, headers=headers)
        answer.raise_for_status()
        whole = answer.json()
        assert whole["usage"]["prompt_tokens"] > 0
        return whole["choices"][0]["message"]["content"]

    def ask_with_data(self, purpose, records, ask, **options):
        """Ask as the service does: records as lines of JSON, then the question."""
        data = f"{block_of(records)}\n\n{ask}"
        return json.loads(self.ask(purpose, ("system", "Rules."), ("user", data), **options))


@pytest.fixture
def asking():
    opened = []

    def begin(family="additive", seed=5):
        world = draw_world(family, seed)
        model = WorldModel(world)
        endpoint = StubEndpoint(model)
        one = Asking(world, endpoint.settings.base_url, model)
        opened.append((one, endpoint))
        return one

    yield begin
    for one, endpoint in opened:
        one.close()
        endpoint.close()


def schema_of(answer):
    schema = {"name": "answer", "strict": True, "schema": answer.model_json_schema()}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def transcripts_of(world, count):
    """Failed conversations as a reflection would read them, and one that was settled."""
    failed = [one for one in world.log if not one.completed][:count]
    settled = next(one for one in world.log if one.completed)
    return [
        {
            "kind": "conversation",
            "conversationId": f"conv_{number}",
            "text": "\n".join(map(": ".join, one.messages)),
        }
        for number, one in enumerate([*failed, settled])
    ]


def test_judge(asking):
    one = asking()
    symptom = one.world.modes[0].symptom
    for reply, true in ((f"I took care of it. {SETTLED}", True), (f"Sorry, but {symptom}, {OPEN}", False)):
        verdicts = []
        for number in range(40):
            turns = [
                {"role": "user", "content": f"Order {number}"},
                {"turn": 2, "role": "assistant", "content": reply},
            ]
            found = one.ask_with_data("judge", turns, "Judge the conversation between the two lines.")
            assert TargetsJudgeAnswer.model_validate({"criteria": [], **found})
            assert bool(found["issues"]) != found["taskCompleted"]
            assert symptom not in json.dumps(found["issues"])
            verdicts.append(found["taskCompleted"])
        assert sum(verdict == true for verdict in verdicts) > 34


def test_variants(asking):
    one = asking()
    records = [
        {"kind": "prompt", "content": one.world.seed_prompt},
        {"kind": "failure", "text": f"It stayed open: {one.world.modes[0].symptom}."},
    ]
    ask = (
        "Write 2 variants, one for each strategy:\n1. Against the failures: Go through.\n2. Shorter: Cut it."
    )
    found = one.ask_with_data("variants", records, ask)
    written = VariantsAnswer.model_validate(found).variants
    assert [variant.name for variant in written] == ["Against the failures", "Shorter"]
    assert all(variant.content.startswith(one.world.seed_prompt) for variant in written)


@pytest.mark.parametrize("answer", [Reflection, QuotedReflection])
def test_reflection(asking, answer):
    one = asking()
    conversations = transcripts_of(one.world, 6)
    records = [{"kind": "prompt", "content": one.world.seed_prompt}, *conversations]
    found = one.ask_with_data("reflection", records, "Write edits.", **schema_of(answer))
    edits = answer.model_validate(found).edits
    assert any(one.world.gain(f"{one.world.seed_prompt}\n{edit.text}") > 0 for edit in edits)
    texts = {record["conversationId"]: record["text"] for record in conversations}
    evidence = [
        (item.conversation_id, item.quote) if answer is Reflection else item.split(": ", 1)
        for edit in edits
        for item in edit.evidence
    ]
    assert evidence
    assert all(quote in texts[conversation] for conversation, quote in evidence)


def test_reflection_replaces_lines_that_are_there(asking):
    one = asking()
    records = [{"kind": "prompt", "content": one.world.seed_prompt}, *transcripts_of(one.world, 6)]
    asked = (
        one.ask_with_data("reflection", records, f"Write edits, try {n}.", **schema_of(Reflection))
        for n in range(12)
    )
    edits = [edit for found in asked for edit in Reflection.model_validate(found).edits]
    replacing = [edit for edit in edits if edit.operation == "replace"]
    assert 0 < len(replacing) < len(edits) / 2
    assert all(edit.anchor in one.world.seed_prompt.split("\n") for edit in replacing)
    assert all(edit.text.startswith(edit.anchor) and edit.text != edit.anchor for edit in replacing)


def test_scenarios_and_agent(asking):
    one = asking()
    found = one.ask_with_data(
        "scenarios", [{"kind": "prompt", "content": one.world.seed_prompt}], "Write 7 scenarios."
    )
    scenarios = ScenariosAnswer.model_validate(found).scenarios
    assert len({scenario.opening for scenario in scenarios}) == 7
    replies = [
        one.ask("agent", ("system", one.world.seed_prompt), ("user", scenario.opening))
        for scenario in scenarios
    ]
    assert all(reply.endswith((SETTLED, OPEN)) for reply in replies)
    assert one.model.conversations == 7
    assert one.model.asked == {"scenarios": 1, "agent": 7}
    assert one.model.tokens > 0


def test_a_request_without_a_purpose_is_a_rewrite(asking):
    one = asking()
    said = (
        f"Instructions:\n```\n{one.world.seed_prompt}\n```\nExamples:\n{one.world.modes[1].symptom}\n```x```"
    )
    answer = one.ask(None, ("user", said))
    assert answer.startswith(f"```\n{one.world.seed_prompt}")
    assert answer.endswith("\n```")


def test_todays_engine_is_measured_as_users_run_it():
    found = measure("defective", 3, "today", "exploratory")
    # At most 345, and 120 more that verify a win.
    assert 60 <= found.conversations <= 465
    assert found.tokens > 10_000
    assert (found.gain != 0) == found.named
    assert (found.copied, found.lost, found.told_headroom) == ((), (), False)


def test_gepa_is_measured_alone_and_confirmed(monkeypatch):
    engine = pytest.importorskip("benchmarks.prompt_world.gepa_engine", reason="needs the package gepa")
    monkeypatch.setitem(engine.CALLS, "exploratory", 60)
    alone = measure("defective", 3, "gepa", "exploratory")
    assert 60 <= alone.conversations < 120
    confirmed = measure("defective", 3, "gepa-confirmed", "exploratory")
    assert confirmed.conversations > alone.conversations
    assert confirmed.gain in (0, alone.gain)


def nothing_named(family, seed, engine, mode):
    """Stand in for a measurement: an optimizer that names nothing."""
    return Measured(family, seed, engine, mode, 0.0, False, False, 100, 1_000, (), (), 1.0)


def test_a_run_goes_on_from_its_file(tmp_path, capsys, monkeypatch):
    asked = []

    def measure_here(missing, **_):
        asked.extend(missing)
        return [nothing_named(*key) for key in missing]

    monkeypatch.setattr(run, "measure_all", measure_here)
    out = tmp_path / "worlds.jsonl"
    arguments = ["--families", "additive,null", "--worlds", "2", "--out", str(out)]
    assert run.main(arguments) == 0
    first = capsys.readouterr().out
    assert [(family, seed) for family, seed, *_ in asked] == [
        ("additive", 0), ("null", 0), ("additive", 1), ("null", 1),
    ]  # fmt: skip
    out.write_text(out.read_text()[:-40])
    assert run.main(arguments) == 0
    assert asked[4:] == [("null", 1, "today", "exploratory")]
    assert capsys.readouterr().out == first
