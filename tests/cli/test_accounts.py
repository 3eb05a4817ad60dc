"""Accounts made on the command line: keys, plans and limits of their own, at once in the running service."""

from __future__ import annotations

import pytest

from support.answering_model import AnsweringModel, serving
from support.command_line import failed_in_one_line, invoke, promptlift_command
from support.optimizing import make_tiny, start
from support.service_process import ServiceProcess, wait_until
from support.website import a_website
from support.wire import Wire


def run(running, *arguments):
    """A command that succeeds on the data of a service, and what it prints."""
    code, said = invoke(*arguments, "--data", running.data)
    assert code == 0, said
    return said.strip()


def account(running, name="Acme", *options):
    """An account and a key for it."""
    email = f"owner@{name.lower()}.test"
    made = run(running, "accounts", "create", name, "--email", email, *options)
    return Wire(running.base_url, run(running, "keys", "create", "--account", made), made)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A service of which nobody else changes the accounts."""
    service = ServiceProcess(tmp_path_factory.mktemp("accounts")).start()
    yield service
    service.stop()


def test_an_account_has_its_name_email_plan_and_keys(running):
    wire = account(running, "Acme", "--plan", "pro")
    found = wire.get("/account")
    assert (found["id"], found["name"], found["email"]) == (wire.account, "Acme", "owner@acme.test")
    assert found["plan"]["name"] == "pro"
    listed = run(running, "accounts", "list").splitlines()
    (row,) = [line.split() for line in listed if line.startswith(wire.account)]
    assert row[1:4] == ["Acme", "owner@acme.test", "pro"]
    shown = run(running, "keys", "list", "--account", "owner@acme.test").splitlines()
    assert len(shown) == 2
    assert shown[1].split()[0] == wire.key[:8]


def test_a_change_holds_at_once_and_a_restart_keeps_it(start_service):
    running = start_service("pro")
    wire = Wire(running.base_url, running.key)
    first = wire.get("/account")["id"]
    run(running, "accounts", "rename", first, "New name", "--email", "new@acme.test", "--plan", "free")
    # The next look of the service is at most a quarter of a second away.
    wait_until(lambda: wire.get("/account")["plan"]["name"] == "free", what="the plan is new")
    found = wire.get("/account")
    assert (found["name"], found["email"]) == ("New name", "new@acme.test")
    running.stop()
    running.plan = None
    running.start()
    assert Wire(running.base_url, running.key).get("/account")["plan"]["name"] == "free"


def test_limits_of_an_enterprise_account_are_enforced(running):
    limits = ("--prompts", "1", "--optimizations", "0", "--conversations", "2", "--requests", "200")
    wire = account(running, "Custom", *limits)
    assert list(wire.get("/account")["plan"]["limits"].values()) == [1, 0, 2, 200, None]
    prompt_id = wire.add_prompt()
    body = {"name": "n", "content": "c", "llmModel": "gpt-4o"}
    refused = wire.ask("POST", "/prompts", body)
    assert (refused.status, refused.headers["x-ratelimit-limit"]) == (429, "200")
    assert (refused.error["details"]["limit"], refused.error["details"]["used"]) == (1, 1)
    optimized = wire.ask("POST", "/optimizations", {"promptId": prompt_id})
    assert (optimized.status, optimized.error["details"]["limit"]) == (429, 0)
    run(running, "accounts", "rename", wire.account, "--prompts", "plan")
    wait_until(lambda: wire.ask("POST", "/prompts", body).status == 201, what="no limit")


@pytest.fixture(scope="module")
def judging(tmp_path_factory):
    """A service with a model and a website that it may read, and both."""
    with serving(AnsweringModel()) as environment, a_website() as website:
        allowed = {**environment, "PROMPTLIFT_ALLOW_PRIVATE_NETWORKS": "1"}
        service = ServiceProcess(tmp_path_factory.mktemp("judging"), env=allowed).start()
        yield service, website
        service.stop()


def ended(wire, path):
    wait_until(lambda: wire.get(path)["status"] in ("failed", "completed"), what="it ends")
    return wire.get(path)


def test_a_token_limit_stops_optimizations_and_judging_until_it_is_raised(judging):
    service, _ = judging
    wire = account(service, "Tokens", "--tokens", "1")
    prompt_id = wire.add_prompt()
    wire.log(prompt_id)
    # One call passes the limit; what it was spent on is kept.
    wait_until(lambda: wire.get("/usage")["tokens"]["used"] >= 1, what="a conversation is judged")
    assert wire.get("/usage")["tokens"]["limit"] == 1
    make_tiny(wire)
    refused = wire.ask("POST", "/optimizations", {"promptId": prompt_id})
    assert (refused.status, refused.error["code"]) == (429, "LIMIT_EXCEEDED")
    assert refused.error["message"] == "The plan's limit of tokens a month is reached"
    waiting = wire.log(prompt_id)
    counts = f"/prompts/{prompt_id}/status"
    wait_until(lambda: wire.get(counts)["insights"]["reasons"], what="it is said why insights are missing")
    (reason,) = wire.get(counts)["insights"]["reasons"]
    assert reason["reason"].startswith("The account's limit of 1 tokens a month is reached")
    assert wire.get(f"/conversations/{waiting}")["hasInsights"] is False
    run(service, "accounts", "rename", wire.account, "--tokens", "plan")
    wire.wait_for_insights(prompt_id)


def test_an_optimization_that_uses_up_the_tokens_fails_with_the_reason(judging):
    wire = account(judging[0], "Spender", "--tokens", "60")
    made = start(wire, wire.add_prompt(), variantCount=2)
    found = ended(wire, f"/optimizations/{made['id']}")
    assert (found["status"], "60 tokens a month" in found["failure"]) == ("failed", True)


def test_without_tokens_no_benchmark_starts_and_the_words_of_a_website_are_kept(judging):
    service, website = judging
    wire = account(service, "Benchmark", "--tokens", "15")
    arms = [{"promptId": wire.add_prompt()}]
    body = {"arms": arms, "scenarioSet": {"count": 2}, "maxTurns": 1}
    made = wire.ask("POST", "/benchmarks", body).body
    assert "15 tokens a month" in ended(wire, f"/benchmarks/{made['id']}")["failure"]
    for path, sent in (("/benchmarks", body), (f"/benchmarks/{made['id']}/resume", None)):
        refused = wire.ask("POST", path, sent)
        assert (refused.status, refused.error["code"]) == (429, "LIMIT_EXCEEDED")
        assert refused.error["message"] == "The plan's limit of tokens a month is reached"
    assert wire.get("/benchmarks")["pagination"]["total"] == 1
    before = wire.get("/usage")["tokens"]["used"]
    found = wire.ask("POST", "/settings/sync-context", {"url": website.url}).body
    assert (found["analyser"], found["extracted"]["industry"]) == ("words", "")
    assert found["problem"].startswith("The account's limit of 15 tokens a month is reached")
    assert wire.get("/usage")["tokens"]["used"] == before
    run(service, "accounts", "rename", wire.account, "--tokens", "plan")
    wait_until(
        lambda: wire.ask("POST", f"/benchmarks/{made['id']}/resume").status == 200, what="it continues"
    )
    found = wire.ask("POST", "/settings/sync-context", {"url": website.url}).body
    assert (found["analyser"], found["problem"]) == ("llm:stub-1", None)


def test_on_postgresql_a_revoked_key_is_refused_by_every_process_at_once(start_service, postgres_url):
    first = start_service(database=postgres_url)
    second = ServiceProcess(first.data, database=postgres_url, key=first.key).start()
    try:
        where = ("--database", postgres_url)
        made = promptlift_command(
            "accounts", "create", "Shared", "--email", "s@shared.test", "--plan", "pro", *where
        )
        key = promptlift_command("keys", "create", "--account", "Shared", *where).stdout.strip()
        wires = [Wire(service.base_url, key) for service in (first, second)]
        prompt_id = wires[0].add_prompt(tags=['a"b', "x,y"])
        assert [wire.get("/account")["id"] for wire in wires] == [made.stdout.strip()] * 2
        assert [prompt["id"] for prompt in wires[1].get("/prompts?tags=%22x,y%22")["data"]] == [prompt_id]
        assert wires[1].get("/prompts?tags=b")["data"] == []
        assert promptlift_command("keys", "revoke", key, *where).returncode == 0
        assert [wire.ask("GET", "/account").status for wire in wires] == [401, 401]
    finally:
        second.stop()


def test_what_cannot_be_done_is_said_in_one_line(running):
    for email in ("first@twin.test", "second@twin.test"):
        run(running, "accounts", "create", "Twin", "--email", email)
    before = run(running, "accounts", "list")
    for said, *arguments in (
        ("not an e-mail address", "create", "x", "--email", "nobody"),
        ("must not be blank", "create", " ", "--email", "a@b.test"),
        ("--plan enterprise", "create", "x", "--email", "a@b.test", "--plan", "free", "--prompts", "9"),
        ("at least 1", "create", "x", "--email", "a@b.test", "--requests", "0"),
        ("accounts list", "rename", "nobody", "x"),
        ("2 accounts", "rename", "Twin", "x"),
        ("Nothing to change", "rename", "first@twin.test"),
    ):
        code, shown = invoke("accounts", *arguments, "--data", running.data)
        assert (code, said in shown) == (1, True)
    assert run(running, "accounts", "list") == before
    code, said = invoke("accounts", "create", "x", "--email", "a@b.test", "--tokens", "many")
    assert (code, "--tokens" in said) == (2, True)
    done = promptlift_command("keys", "create", "--account", "nobody", "--data", running.data)
    assert "accounts list" in failed_in_one_line(done)
