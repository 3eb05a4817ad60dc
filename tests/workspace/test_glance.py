"""A workspace in a cell: what it says of real accounts, and that nothing a service does breaks or holds up the cell."""

from __future__ import annotations

import re
import shutil
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from IPython.core.formatters import DisplayFormatter

import promptlift
from promptlift.local import wait_for_insights
from support.foreign_service import KEY, ForeignService
from support.hostile import ONE_OF_EACH, name_of
from support.report_page import Page
from support.request_log import requests_of
from support.source_tree import ROOT

# Longer than a glance may take, shorter than the client's own time limit for an answer.
DEADLINE = 30.0
GOOD = "User: How do I reset my password?\nAssistant: Click on Forgot password.\nUser: Great, that worked, thank you!"
BAD = "User: Cancel my order.\nAssistant: I cannot do that.\nUser: That did not help, forget it."


def shown(lift):
    """What a cell shows, as a notebook asks for it: text and HTML."""
    data, _ = DisplayFormatter().format(lift, include={"text/plain", "text/html"})
    return data["text/plain"], data["text/html"]


def named_calls(text):
    return [line.strip() for line in text.rpartition("Next:\n")[2].splitlines()]


def in_time(act):
    """The result of a call that must not hang."""
    found = []
    thread = threading.Thread(target=lambda: found.append(act()), daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert found, f"no result after {DEADLINE:.0f} seconds"
    return found[0]


@contextmanager
def workspace_on(service, scheme="prompt"):
    with promptlift.connect(service.base_url, KEY, scheme=scheme, progress=False) as lift:
        yield lift


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A local workspace of its own with three prompts, of which two have judged conversations of several weeks."""
    with promptlift.local(tmp_path_factory.mktemp("glance"), progress=False) as lift:
        fill(lift)
        yield lift


def fill(account):
    for name in ("Empty", "Support v1", "Support v2"):
        account.create_prompt(name, "You help.", llm_model="gpt-4o")
    now = datetime.now(UTC).replace(microsecond=0)
    for name, contents in (("Support v1", [GOOD, BAD, GOOD]), ("Support v2", [GOOD, GOOD])):
        records = [
            {
                "messages": [
                    {
                        "role": line.split(": ")[0].lower(),
                        "content": line.split(": ")[1],
                        "timestamp": at.isoformat(),
                    }
                    for line in content.split("\n")
                ]
            }
            for place, content in enumerate(contents)
            for at in [now - timedelta(days=8 * place, minutes=1)]
        ]
        assert not account.log(records, prompt_id=name).failed
    wait_for_insights(account, ["Support v1", "Support v2"], progress=False)


@pytest.mark.slow
def test_the_calls_that_an_empty_account_names_fill_it(tmp_path, monkeypatch):
    shutil.copy(ROOT / "notebooks" / "data" / "support-chat.jsonl", tmp_path / "export.jsonl")
    monkeypatch.chdir(tmp_path)
    with promptlift.local(tmp_path / "data", progress=False) as lift:
        text, html = shown(lift)
        assert all("There are no prompts yet." in said for said in (text, html))
        assert "promptlift import" in text
        first = named_calls(text)
        assert first == [
            'lift.import_files("export.jsonl", prompt="Support assistant")',
            "promptlift.local.log_samples(lift)  # or sample conversations",
        ]
        for call in first:
            exec(call, {"lift": lift, "promptlift": promptlift})
        assert "Support assistant" in set(lift.prompts()["name"])
        assert len(lift.conversations("Support assistant")) == 60
        # Other calls now, whether insights are derived already or not.
        again = named_calls(shown(lift)[0])
        assert set(again).isdisjoint(first)
        for call in again:
            exec(call, {"lift": lift, "promptlift": promptlift})


@pytest.mark.slow
def test_a_filled_account_shows_prompts_rates_weeks_judge_and_three_calls(filled):
    text, html = shown(filled)
    assert text.startswith("promptlift: on this computer, in the temporary folder ")
    rows = [re.sub(" +", " ", line) for line in text.splitlines() if line.startswith(("Support", "Empty"))]
    assert rows[0] == "Support v1 3 67% (21% to 94%) 3 ·····█▁█"
    assert rows[1].startswith("Support v2 2 ")
    assert "none judged yet" in rows[2]
    for said in ("Judged by a word list, which counts words and cannot tell which prompt is better.",):
        assert said in text
        assert said in html
    calls = named_calls(text)
    # A word list cannot compare: the logs may say more.
    assert calls == [
        "df = lift.conversations('Support v1', insights=True)",
        "lift.outcomes('Support v1')",
        "lift.this_week('Support v1')",
    ]
    for call in calls:
        exec(call, {"lift": filled})
    assert "1 of 1 completed" in html
    assert Page(html).misnested == []


@pytest.mark.slow
def test_a_cell_costs_one_request_and_a_repr_soon_after_none(filled):
    with requests_of(filled) as made:
        shown(filled)
        assert made == ["GET /prompts"]
        repr(filled)
        assert len(made) == 1
        shown(filled)
        assert len(made) == 2


@pytest.mark.slow
def test_a_running_optimization_is_named_with_the_call_that_watches_it(filled):
    begun = filled.optimize("Support v2", rehearsal_seconds=600, wait=False)
    try:
        text, _ = shown(filled)
        assert "Being optimized: Support v2." in text
        assert f"promptlift.widgets.OptimizationMonitor(lift, '{begun.id}')" in text
    finally:
        begun.stop("seen")


def log_on(lift, prompt, *days):
    """Log a conversation on each day, with its outcome."""
    if prompt not in set(lift.prompts()["name"]):
        lift.create_prompt(prompt, "You help.", llm_model="gpt-4o", outcome="solved")
    told = [
        {
            "messages": [{"role": "user", "content": f"Hello {number}", "timestamp": f"{day}T00:00:00Z"}],
            "metadata": {"solved": True},
        }
        for number, day in enumerate(days)
    ]
    assert not lift.log(told, prompt_id=prompt).failed
    wait_for_insights(lift, [prompt], progress=False)


@pytest.mark.slow
def test_only_prompts_that_share_text_are_compared(tmp_path):
    texts = {
        "Airline": "You book flights for customers of an airline.\nNever promise a refund.",
        "Shop": "Sell shoes. Be brief, and ask for the size first of all.",
        "Shop 2": "Sell shoes. Be brief, and ask for the size first. Then for the colour.",
    }
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    with promptlift.local(tmp_path, progress=False) as lift:
        for name in ("Airline", "Shop"):
            lift.create_prompt(name, texts[name], llm_model="gpt-4o", outcome="solved")
            log_on(lift, name, today, today)
        text, _ = shown(lift)
        assert "Judged by the logs themselves" in text
        assert named_calls(text) == [
            "df = lift.conversations('Shop', insights=True)",
            "promptlift.plots.prompt_overview(lift, 'Shop')",
        ]
        lift.create_prompt("Shop 2", texts["Shop 2"], llm_model="gpt-4o", outcome="solved")
        log_on(lift, "Shop 2", today)
        assert "lift.compare('Shop', 'Shop 2')" in named_calls(shown(lift)[0])
        # A prompt with more conversations and a few words in common does not take the place of another version.
        kiosk = "You pour tea. Be brief, and ask for the size first."
        lift.create_prompt("Kiosk", kiosk, llm_model="gpt-4o", outcome="solved")
        log_on(lift, "Kiosk", today, today, today)
        assert "lift.compare('Shop', 'Shop 2')" in named_calls(shown(lift)[0])


@pytest.mark.slow
def test_old_data_are_compared_up_to_their_end_and_prompts_of_one_name_have_their_ids_in_the_calls(tmp_path):
    with promptlift.local(tmp_path, progress=False) as lift:
        log_on(lift, "Old", "2025-03-09", "2025-03-01")
        text, _ = shown(lift)
        assert "8 weeks to 9 Mar 2025" in text
        assert "lift.this_week('Old', until='2025-03-10')" in text
        log_on(lift, "Older", "2024-01-01")
        text, html = shown(lift)
        assert re.search(r"Older +1 .* all of them earlier$", text, re.MULTILINE)
        assert "all of them earlier" in html
        twin = lift.client.prompts.create(name="Old", content="c", llm_model="gpt-4o").id
        text, _ = shown(lift)
        assert text.count("Old (prm_") == 2
        assert twin not in text
        assert re.search(r"lift\.this_week\('prm_\w+', until", text)


@pytest.mark.parametrize("scheme", ["prompt", "agent"])
def test_another_service_costs_one_request_too_and_what_it_does_not_say_is_not_known(scheme):
    rows = [{"id": f"p{n}", "name": f"Prompt {n}", "content": "", "status": "active"} for n in range(12)]
    answer = {"data": rows, "pagination": {"total": 12, "limit": 100, "offset": 0}}
    with ForeignService() as service:
        service.fault = lambda *_: lambda handler: service.send(handler, 200, answer)
        with workspace_on(service, scheme) as lift:
            text, html = shown(lift)
            assert [path for _, path, _ in service.seen] == [f"/{scheme}s"]
    assert "2 more of 12 prompts: lift.prompts() has all." in text
    assert text.count("not known") == html.count("not known") == 20
    assert named_calls(text) == [
        "df = lift.conversations('Prompt 0', insights=True)",
        "promptlift.plots.prompt_overview(lift, 'Prompt 0')",
    ]


def drops(release):
    """A service whose answers arrive so slowly that no single read ever times out."""

    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        handler.wfile.flush()
        while not release.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    return lambda *_: answer


@pytest.mark.slow
def test_a_service_that_does_not_answer_in_time_is_said_to_be_out_of_reach():
    release = threading.Event()
    with ForeignService(fault=drops(release)) as service, workspace_on(service) as lift:
        try:
            text, html = in_time(lambda: shown(lift))
        finally:
            release.set()
    for said in (text, html):
        assert "cannot be reached or read now" in said
        assert service.base_url in said
    assert "Next:" not in text


def test_a_wrong_key_is_said():
    with ForeignService() as service, promptlift.connect(service.base_url, "another-key") as lift:
        text, html = shown(lift)
    assert "The API key is invalid" in text
    assert "another-key" not in text + html


ODD = [
    b"<html>It works!</html>",
    b"null",
    b'{"data": [], "pagination": {"total": 1e999}}',
    b'{"data": [null], "pagination": {"total": 1}}',
    b"""{"data": [{"id": "p", "name": ["n"], "status": 3, "completion": {"weeks": "many"}, "insights": 5}],
    "pagination": {"total": 1}}""",
    b"""{"data": [{"id": "p", "status": "running", "completion": {"conversations": -1, "withInsights": 0, "judged": 5,
    "completed": 9, "rate": 180, "rateLow": null, "rateHigh": 1e300, "weeks": [{"from": "0001-01-01T00:00:00Z",
    "judged": 2, "completed": 7}]}}], "pagination": {"total": 1}}""",
]


ODD_WEEK = b'{"from": "0001-01-01T00:00:00Z", "judged": 1, "completed": -99}'
# Weeks before the first year that there is, with negative counts.
ODD.append(
    ODD[-1].partition(b'"weeks": [')[0]
    + b'"weeks": ['
    + b", ".join([ODD_WEEK] * 8)
    + b']}}], "pagination": {"total": 1}}'
)


def test_an_answer_of_any_shape_breaks_no_cell():
    with ForeignService() as service:
        for body in ODD:
            service.fault = lambda *_, body=body: lambda handler: service.send(handler, 200, body)
            with workspace_on(service) as lift:
                text, html = in_time(lambda lift=lift: shown(lift))
            assert text.startswith("promptlift: http://127.0.0.1")
            assert Page(html).misnested == []


@pytest.mark.parametrize("payload", ONE_OF_EACH, ids=name_of)
def test_a_hostile_name_is_text(payload):
    """Of prompts, of what verdicts rest on, and of optimizations."""
    completion = {
        **dict.fromkeys(("conversations", "withInsights", "judged", "completed"), 1),
        "rate": 100.0,
        "rateLow": 20.0,
        "rateHigh": 100.0,
        "basis": payload,
        "optimizing": [payload or "o"],
        "weeks": [{"from": "2026-01-01T00:00:00Z", "judged": 1, "completed": 1}],
    }
    row = {
        **dict.fromkeys(("name", "promptId", "mode"), payload),
        "id": payload or "p",
        "status": "running",
        "completion": completion,
    }
    answer = {"data": [row], "pagination": {"total": 1}}
    with ForeignService() as service:
        service.fault = lambda *_: lambda handler: service.send(handler, 200, answer)
        with workspace_on(service) as lift:
            text, html = shown(lift)
    page = Page(html)
    assert page.names <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "span", "code", "br"}
    assert page.misnested == []
    assert page.comments == []
    assert all(set(attributes) <= {"style", "class", "scope", "title"} for _, attributes in page.tags)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 4_000
