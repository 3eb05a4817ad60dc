"""A snapshot of the embedded service: the same tables as over HTTP, with no network."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pandas as pd
import pytest

import promptlift
from promptlift.local import wait_for_insights
from support.service_process import ServiceProcess

MODEL = "gpt-4o"
BAD = "User: Cancel my order.\nAssistant: I cannot do that.\nUser: That did not help, forget it."


def timed(number, **metadata):
    messages = [
        {
            "role": ("user", "assistant")[turn % 2],
            "content": f"Where is parcel {number}, turn {turn}? ünïcode",
            "timestamp": f"2026-{1 + number % 5:02d}-11T12:00:{turn * 5:02d}Z",
            "tokens": 10,
        }
        for turn in range(2 + number % 3)
    ]
    return json.dumps({"messages": messages, "metadata": metadata})


def records():
    yield from ({"content": timed(number, channel="web", seats=number)} for number in range(30))
    yield {"content": timed(3, channel="app", seats="many", vip=True, share=0.5)}
    yield {"content": timed(4, seats=2.5), "status": "in_progress"}
    yield {
        "content": BAD,
        "status": "abandoned",
        "llm_model": "gpt-4o-mini",
        "source_id": "s-1",
        "title": "Bad",
    }


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """A workspace on an account of its own, with two prompts, conversations in several months and an optimization."""
    with ExitStack() as ends:
        running = ServiceProcess(tmp_path_factory.mktemp("snapshots")).start()
        ends.callback(running.kill)
        lift = ends.enter_context(promptlift.connect(running.base_url, running.key, progress=False))
        lift.create_prompt("Support", "You help.", llm_model=MODEL)
        lift.create_prompt("Sales", "You sell.", llm_model=MODEL)
        lift.log(list(records()), prompt_id="Support")
        lift.log([{"content": timed(number, channel="mail")} for number in range(12)], prompt_id="Sales")
        wait_for_insights(lift, [lift.prompt_id(name) for name in ("Support", "Sales")])
        lift.optimize("Support", mode="validation", variants=1, wait=True)
        yield lift


@pytest.fixture(scope="module")
def folder(ours, tmp_path_factory):
    path = tmp_path_factory.mktemp("snapshot") / "january"
    ours.pull(path)
    return path


@pytest.fixture
def opened(folder):
    return promptlift.open_snapshot(folder)


CALLS = {
    "conversations": lambda lift: lift.conversations(),
    "conversations with insights": lambda lift: lift.conversations(insights=True),
    "conversations with content": lambda lift: lift.conversations(insights=True, content=True),
    "conversations of a prompt": lambda lift: lift.conversations("Sales", insights=True),
    "conversations of two prompts": lambda lift: lift.conversations(["Sales", "Support"]),
    "conversations of a status": lambda lift: lift.conversations(status="in_progress"),
    "conversations of a period": lambda lift: lift.conversations(
        "Support", since="2026-02-01", until="2026-04-01"
    ),
    "conversations of a channel": lambda lift: lift.conversations(where={"metadata.channel": ["web", "app"]}),
    "prompts": lambda lift: lift.prompts(),
    "messages": lambda lift: lift.messages(),
    "messages of a prompt": lambda lift: lift.messages("Sales"),
    "insights": lambda lift: lift.insights(),
    "issues": lambda lift: lift.issues(),
    "topics": lambda lift: lift.topics("Support"),
    "optimizations": lambda lift: lift.optimizations(),
    "variants": lambda lift: lift.variants(prompt_id="Support"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_table_is_the_same_from_either_source(ours, opened, call):
    ours.prompts()  # names are in the tables once they are known
    there, here = CALLS[call](ours), CALLS[call](opened)
    assert len(here) or call == "issues"
    pd.testing.assert_frame_equal(here, there)
    given, told = (table.attrs["promptlift"] for table in (there, here))
    for name in ("table", "rows", "filters", "complete", "analyser", "warnings"):
        assert told[name] == given[name]


def test_a_second_pull_brings_what_is_new_and_asks_for_little_else(ours, tmp_path):
    ours.pull(tmp_path)
    before = promptlift.open_snapshot(tmp_path).conversations(insights=True)
    again = ours.pull(tmp_path)
    assert again.manifest.requests <= 10
    pd.testing.assert_frame_equal(promptlift.open_snapshot(tmp_path).conversations(insights=True), before)
    ours.log([{"content": timed(40 + number, channel="web")} for number in range(5)], prompt_id="Sales")
    wait_for_insights(ours, [ours.prompt_id("Sales")])
    third = ours.pull(tmp_path)
    assert third.manifest.requests <= 20
    for call in CALLS.values():
        pd.testing.assert_frame_equal(call(promptlift.open_snapshot(tmp_path)), call(ours))
    assert third.verify() == {}
