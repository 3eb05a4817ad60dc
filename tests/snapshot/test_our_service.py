"""A snapshot of the embedded service: the same tables as over HTTP, with no network."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack

import pandas as pd
import pytest

import promptlift
from promptlift.analysis.reading import collect, names_of
from promptlift.errors import ConfigError, NotFound
from promptlift.local import wait_for_insights
from support.service_process import ServiceProcess

pytestmark = pytest.mark.slow  # a service holds what they read

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
        lift.update_prompt("Sales", content="You sell well.")
        lift.log(list(records()), prompt_id="Support")
        lift.log([{"content": timed(number, channel="mail")} for number in range(12)], prompt_id="Sales")
        wait_for_insights(lift, ["Support", "Sales"])
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
    "versions": lambda lift: lift.versions("Sales"),
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


def test_a_pull_makes_the_requests_that_the_documentation_says(start_service, tmp_path):
    service = start_service()
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        lift.create_prompt("Sales", "You sell.", llm_model=MODEL)

        def grow_to(count):
            so_far = len(lift.conversations())
            lift.log([{"content": timed(number)} for number in range(so_far, count)], prompt_id="Sales")
            wait_for_insights(lift, ["Sales"])

        for count in (0, 100, 600):
            grow_to(count)
            manifest = lift.pull(tmp_path / str(count)).manifest
            assert manifest.totals["conversations"] == count
            assert manifest.requests <= count / 97 + 6
        assert lift.pull(tmp_path / "600").manifest.requests <= 10
        grow_to(700)
        assert lift.pull(tmp_path / "600").manifest.requests <= 20


def no_network(*_args, **_options):
    raise AssertionError("a snapshot needs no network")


@pytest.fixture
def offline(opened, monkeypatch):
    """The snapshot, where no connection can be made."""
    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr("promptlift.client.connection.Connection.exchange", no_network)
    return opened


def test_plots_reports_comparisons_and_widgets_need_no_network(offline, tmp_path):
    from promptlift import analysis, plots, report, widgets

    lift = offline
    df = lift.conversations(insights=True)
    plots.completion_trend(df, freq="ME", by="prompt")
    plots.issues(df)
    plots.segments(df)
    plots.prompt_overview(lift, "Support")
    analysis.segments(df)
    assert "Support" in lift.compare("Support", "Sales").sentence
    assert lift.this_week("Support", until="2026-04-01").sentence
    for name in ("one.html", "one.xlsx", "one.md"):
        report.write(lift, "Support", tmp_path / name)
    report.write(lift, ["Support", "Sales"], tmp_path / "two.html", period=("2026-01-01", "2026-06-01"))
    assert "parcel" in (tmp_path / "one.html").read_text()
    browser = widgets.ConversationBrowser(lift.conversations(insights=True, content=True))
    assert browser is not None
    optimization_id = lift.optimizations()["optimization_id"].iloc[0]
    plots.variant_lift(lift.variants(optimization_id))
    assert widgets.VariantReview(lift, optimization_id) is not None
    assert lift.optimizations[optimization_id].status == "completed"
    one = lift.conversation(df["conversation_id"].iloc[0])
    assert "parcel" in one.content
    assert one.insights.sentiment in ("negative", "neutral", "positive")
    assert lift.plan().requests == 0


def test_a_cell_shows_where_the_snapshot_is_and_its_prompts(offline, folder):
    text, html = repr(offline), offline._repr_html_()
    for shown in (text, html):
        assert "Support" in shown
        assert "Sales" in shown
        assert folder.name in shown
    assert "lift.log" not in text
    assert "45 conversations" in repr(offline.snapshot)


def test_what_only_the_service_can_do_says_so(offline):
    for call in (
        lambda: offline.optimize("Support"),
        lambda: offline.log([{"content": "User: a"}], prompt_id="Support"),
        lambda: offline.pull("elsewhere/"),
        lambda: offline.create_prompt("More", "text", llm_model=MODEL),
    ):
        with pytest.raises(ConfigError, match=r"snapshot|promptlift\.connect"):
            call()
    for call in (offline.usage, offline.events, offline.fleet):
        with pytest.raises(NotFound, match=r"promptlift\.connect"):
            call()
    with pytest.raises(NotFound, match="Did you mean 'Support'"):
        offline.conversations("Suport")


def test_a_conversation_is_the_same_from_either_source(ours, opened):
    for one in opened.conversations()["conversation_id"][::7]:
        there, here = ours.conversation(one).to_wire(), opened.conversation(one).to_wire()
        there.pop("idempotencyKey", None)
        assert said(here) == said(there)


def said(value):
    """JSON without what is null."""
    if isinstance(value, dict):
        return {name: said(one) for name, one in value.items() if one is not None}
    return value


@pytest.mark.parametrize("engine", ["duckdb", "polars", pytest.param("spark", marks=pytest.mark.slow)])
def test_a_scan_names_the_prompts_and_leaves_out_what_is_for_pulls_alone(opened, engine):
    pytest.importorskip(
        {"spark": "pyspark"}.get(engine, engine), reason=f"the extra {engine} is not installed"
    )
    table = opened.conversations()
    scanned = opened.snapshot.scan("conversations", engine=engine)
    assert not {"position", "list_hash"} & set(names_of(scanned))
    columns = ["conversation_id", "prompt_id", "prompt"]
    found = collect(scanned, columns)
    here, there = (one[columns].sort_values("conversation_id").to_numpy().tolist() for one in (table, found))
    assert there == here
    assert set(table["prompt"]) >= {"Sales"}
