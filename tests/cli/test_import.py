"""``promptlift import``: everything goes in once, and everything that does not is told."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import UTC, datetime

import pytest

import promptlift
from support.command_line import failed_in_one_line, promptlift_command
from support.source_tree import ROOT

EXPORT = ROOT / "notebooks" / "data" / "support-chat.jsonl"
CONVERSATIONS = 60


@pytest.fixture
def env(service, tmp_path):
    """An environment in which commands reach the shared service."""
    return {
        "PROMPTLIFT_BASE_URL": service.base_url,
        "PROMPTLIFT_API_KEY": service.key,
        "PROMPTLIFT_DATA": str(tmp_path / "user-data"),
    }


def prompt_of(lift, name):
    prompts = lift.prompts()
    return prompts[prompts["name"] == name]


def test_an_export_goes_in_and_a_second_import_adds_nothing(env, lift):
    first = promptlift_command("import", EXPORT, "--prompt", "Import once", env=env)
    assert first.returncode == 0, first.stdout + first.stderr
    line = f"{EXPORT}: openai, {CONVERSATIONS} conversations; logged {CONVERSATIONS}, already there 0\n"
    assert line in first.stdout
    made = prompt_of(lift, "Import once")
    assert len(made) == 1
    assert len(lift.conversations(made["prompt_id"].iloc[0])) == CONVERSATIONS
    second = promptlift_command("import", EXPORT, "--prompt", "Import once", env=env)
    assert second.returncode == 0
    assert f"logged 0, already there {CONVERSATIONS}\n" in second.stdout
    assert len(prompt_of(lift, "Import once")) == 1
    assert len(lift.conversations(made["prompt_id"].iloc[0])) == CONVERSATIONS


def test_an_import_waits_for_the_insights_and_says_how_the_prompt_does(env, lift):
    done = promptlift_command("import", EXPORT, "--prompt", "Import and see", env=env)
    head, row = re.search(r"\n(prompt +conversations .*)\n(Import and see .*)\n", done.stdout).groups()
    assert head.split() == ["prompt", "conversations", "task", "completion", "mean", "sentiment", "negative"]
    rate = lift.conversations("Import and see", insights=True)["task_completed"].astype("float").mean()
    assert re.match(rf"Import and see  {CONVERSATIONS} +{rate:.0%} \(\d+% to \d+%\)", row)
    assert done.stdout.endswith(
        'Next: promptlift report "Import and see" --out report.html, or promptlift lab to look into them in notebooks.\n'
    )
    done = promptlift_command("import", EXPORT, "--prompt", "Import and see", "--no-wait", env=env)
    assert "task completion" not in done.stdout
    assert done.returncode == 0


def test_the_mean_of_one_conversation_has_no_interval(env, tmp_path):
    write_export(tmp_path / "a.jsonl", ("a", "Where is it?"))
    done = promptlift_command("import", tmp_path / "a.jsonl", "--prompt", "Import one", env=env)
    row = re.search(r"^Import one +1 +(.+)$", done.stdout, re.MULTILINE)[1]
    assert re.fullmatch(r"\d+% \(\d+% to \d+%\) +[+-]\d\.\d\d +\d+% \(\d+% to \d+%\)", row)


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_a_table_of_several_prompts_goes_to_the_same_prompts_in_any_parts(
    run_command, lift, tmp_path, monkeypatch, size
):
    """Which prompts there are decides their names, and the first part has only one of them."""
    monkeypatch.setattr("promptlift.transcripts.collector.PART", size)
    prompts = ["Refunds"] * 4 + ["Orders"] * 4
    rows = [
        f"c{number},{role},{role} {number},{prompt}\n"
        for number, prompt in enumerate(prompts)
        for role in ("user", "assistant")
    ]
    (tmp_path / "a.csv").write_text("conversation_id,role,content,prompt_name\n" + "".join(rows))
    name = f"Import of parts {size}"
    code, said = run_command("import", tmp_path / "a.csv", "--prompt", name, "--no-wait")
    assert code == 0, said
    assert f"{tmp_path / 'a.csv'}: rows, 8 conversations; logged 8, already there 0\n" in said
    for own in ("Refunds", "Orders"):
        made = prompt_of(lift, f"{name} / {own}")
        assert len(lift.conversations(made["prompt_id"].iloc[0])) == 4
    assert prompt_of(lift, name).empty
    code, said = run_command("import", tmp_path / "a.csv", "--prompt", name, "--no-wait")
    assert (code, "logged 0, already there 8\n" in said) == (0, True)


def test_files_that_belong_together_are_read_together(run_command, lift, tmp_path):
    """The requests of a batch and its answers; the second file adds nothing of its own and is no failure."""
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Where is it?"}]}
    answer = {
        "object": "chat.completion",
        "choices": [{"message": {"role": "assistant", "content": "Here."}}],
    }
    files = {
        "in.jsonl": {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": asked},
        "out.jsonl": {"custom_id": "a", "response": {"status_code": 200, "body": answer}, "error": None},
    }
    for name, record in files.items():
        (tmp_path / name).write_text(json.dumps(record), encoding="utf-8")
    for order in (("in.jsonl", "out.jsonl"), ("out.jsonl", "in.jsonl")):
        code, said = run_command("import", *(tmp_path / name for name in order), "--prompt", "Import pairs")
        assert code == 0, said
        assert "in.jsonl: openai-batch, 1 conversation, 1 model call; logged" in said
        assert "out.jsonl: openai-batch, 0 conversations\n" in said
    messages = lift.messages("Import pairs")
    assert list(messages["content"]) == ["Where is it?", "Here."]


def test_prompts_set_gives_a_text(env, lift, tmp_path):
    text = tmp_path / "prompt.txt"
    text.write_bytes(b"You help. \r\n")
    write_export(tmp_path / "a.jsonl", ("a", "Where is it?"))
    done = promptlift_command("import", tmp_path / "a.jsonl", "--prompt", "Set me", env=env)
    prompt_id = lift.prompt_id("Set me")
    assert f"Set it before you optimize: promptlift prompts set {prompt_id} FILE" in done.stdout
    done = promptlift_command("prompts", "set", "Set me", text, env=env)
    assert done.returncode == 0, done.stderr
    assert f"The text of 'Set me' is now that of {text}." in done.stdout
    prompt = lift.client.prompts.get(prompt_id)
    assert (prompt.content, prompt.content_known) == ("You help. \r\n", True)
    assert "has this text already" in promptlift_command("prompts", "set", prompt_id, text, env=env).stdout
    assert "Did you mean 'Set me'" in failed_in_one_line(
        promptlift_command("prompts", "set", "Set mee", text, env=env)
    )


def test_columns_and_roles_of_a_table_are_named_by_the_user(env, lift, tmp_path):
    table = tmp_path / "chats.csv"
    table.write_text("case,author_kind,said\n1,Guest,Where is it?\n1,Shop,On its way.\n", encoding="utf-8")
    refused = promptlift_command("import", table, "--prompt", "Table", "--dry-run", env=env)
    assert refused.returncode == 1
    assert "--column role=" in refused.stdout
    named = ("--column", "role=author_kind", "--column", "text=said", "--column", "conversation=case")
    refused = promptlift_command("import", table, "--prompt", "Table", "--dry-run", *named, env=env)
    assert '--role "Guest=user"' in refused.stdout
    meant = ("--role", "Guest=user", "--role", "Shop=assistant")
    done = promptlift_command("import", table, "--prompt", "Table", *named, *meant, env=env)
    assert done.returncode == 0, done.stdout
    content = lift.conversations("Table", content=True)["content"].iloc[0]
    assert [message["role"] for message in json.loads(content)["messages"]] == ["user", "assistant"]
    wrong = promptlift_command("import", table, "--prompt", "Table", "--role", "Guest=boss", env=env)
    assert "give user, assistant, system or tool" in wrong.stdout


def test_a_second_import_from_another_computer_adds_nothing_either(env, lift, tmp_path):
    promptlift_command("import", EXPORT, "--prompt", "Import twice", env=env)
    elsewhere = {**env, "PROMPTLIFT_DATA": str(tmp_path / "elsewhere")}
    done = promptlift_command("import", EXPORT, "--prompt", "Import twice", env=elsewhere)
    assert done.returncode == 0
    prompt_id = prompt_of(lift, "Import twice")["prompt_id"].iloc[0]
    assert len(lift.conversations(prompt_id)) == CONVERSATIONS


def test_a_bad_line_is_told_and_the_rest_goes_in(env, lift, tmp_path):
    lines = EXPORT.read_text(encoding="utf-8").splitlines()[:5]
    spoiled = tmp_path / "spoiled.jsonl"
    spoiled.write_text("\n".join([*lines[:2], '{"messages": [', *lines[2:]]), encoding="utf-8")
    done = promptlift_command("import", spoiled, "--prompt", "Import spoiled", env=env)
    assert done.returncode == 1
    assert f"{spoiled}:3: " in done.stdout
    assert "logged 5, already there 0" in done.stdout
    assert done.stderr == ""


def test_dropped_fields_are_told_by_name(env, tmp_path):
    rich = tmp_path / "rich.jsonl"
    record = {
        "messages": [
            {"role": "user", "content": "Hi", "weight": 1},
            {"role": "assistant", "content": "Hello", "refusal": "none"},
        ],
        "parallel_tool_calls": False,
    }
    rich.write_text(json.dumps(record) + "\n", encoding="utf-8")
    done = promptlift_command("import", rich, "--prompt", "Import rich", "--dry-run", env=env)
    assert done.returncode == 0
    assert f"{rich}: openai, 1 conversation; 2 fields left out, --verbose lists them\n" in done.stdout
    assert "weight" not in done.stdout
    done = promptlift_command("import", rich, "--prompt", "A", "--dry-run", "--verbose", env=env)
    assert "  left out messages[].weight (1 record)\n" in done.stdout
    assert "  left out parallel_tool_calls (1 record)\n" in done.stdout


def test_a_dry_run_logs_nothing_and_needs_no_service(tmp_path):
    done = promptlift_command(
        "import",
        EXPORT,
        "--prompt",
        "A",
        "--dry-run",
        env={"PROMPTLIFT_BASE_URL": "http://127.0.0.1:9/api/v1"},
    )
    assert done.returncode == 0
    assert "Nothing was logged" in done.stdout
    assert f"{CONVERSATIONS} conversations" in done.stdout


def test_files_that_are_missing_or_unknown_are_told_and_the_others_go_in(env, lift, tmp_path):
    odd = tmp_path / "odd.bin"
    odd.write_bytes(bytes(range(256)) * 10)
    missing = tmp_path / "missing.jsonl"
    done = promptlift_command("import", missing, odd, EXPORT, "--prompt", "Import some", env=env)
    assert done.returncode == 1
    assert f"{missing}: There is no file" in done.stdout
    assert f"{odd}: " in done.stdout
    assert f"logged {CONVERSATIONS}" in done.stdout


def test_nothing_readable_makes_no_prompt(env, lift, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    done = promptlift_command("import", empty, "--prompt", "Never made", env=env)
    assert done.returncode == 1
    assert "empty" in done.stdout
    assert len(prompt_of(lift, "Never made")) == 0


def test_a_name_of_two_prompts_is_refused_with_their_ids(env, lift):
    ids = [
        lift.client.prompts.create(name="Twin", content="Be kind.", llm_model="gpt-4o-mini").id
        for _ in range(2)
    ]
    done = promptlift_command("import", EXPORT, "--prompt", "Twin", env=env)
    assert "2 prompts have the name 'Twin'" in failed_in_one_line(done)
    for prompt_id in ids:
        assert prompt_id in done.stderr
    done = promptlift_command("import", EXPORT, "--prompt", ids[0], env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(lift.conversations(ids[0])) == CONVERSATIONS
    assert len(lift.conversations(ids[1])) == 0


def test_an_unknown_model_of_a_new_prompt_is_refused_with_near_names(env, lift):
    done = promptlift_command("import", EXPORT, "--prompt", "Odd", "--model", "gpt-4o-minni", env=env)
    assert "gpt-4o-mini" in failed_in_one_line(done)
    assert len(prompt_of(lift, "Odd")) == 0


def test_a_wrong_key_is_one_clear_line(env):
    done = promptlift_command(
        "import", EXPORT, "--prompt", "A", env={**env, "PROMPTLIFT_API_KEY": "wrong-but-long-enough"}
    )
    failed_in_one_line(done)
    assert "wrong-but-long-enough" not in done.stdout + done.stderr


def test_two_services_at_once_are_refused(env, tmp_path):
    done = promptlift_command(
        "import", EXPORT, "--prompt", "A", "--base-url", env["PROMPTLIFT_BASE_URL"], "--data", tmp_path
    )
    assert "--base-url" in failed_in_one_line(done)


def test_without_a_service_the_embedded_one_takes_it(tmp_path):
    data = tmp_path / "data"
    done = promptlift_command("import", EXPORT, "--prompt", "Mine", env={"PROMPTLIFT_DATA": str(data)})
    assert done.returncode == 0, done.stdout + done.stderr
    with promptlift.local(data, progress=False) as lift:
        assert len(lift.conversations()) == CONVERSATIONS


def write_export(path, *conversations):
    lines = [
        json.dumps({"id": source, "messages": [{"role": "user", "content": text} for text in texts]})
        for source, *texts in conversations
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def test_the_export_of_the_next_week_updates_what_has_grown(env, lift, tmp_path):
    week_1, week_2 = tmp_path / "week-1.jsonl", tmp_path / "week-2.jsonl"
    write_export(week_1, ("a", "Where is it?"), ("b", "Hello"))
    write_export(week_2, ("a", "Where is it?", "It is late."), ("b", "Hello"), ("c", "New"))
    first = promptlift_command("import", week_1, "--prompt", "Import grown", env=env)
    assert "; logged 2, already there 0\n" in first.stdout
    # Both, as a glob gives them: the older file changes nothing.
    second = promptlift_command("import", week_2, week_1, "--prompt", "Import grown", env=env)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "; logged 1, updated 1, already there 1\n" in second.stdout
    assert "; logged 0, already there 2\n" in second.stdout
    table = lift.conversations(prompt_of(lift, "Import grown")["prompt_id"].iloc[0], content=True)
    assert sorted(table["source_id"]) == ["a", "b", "c"]
    assert "It is late." in table.set_index("source_id").loc["a", "content"]


def test_a_quota_that_is_used_up_is_told(start_service, tmp_path):
    service = start_service("free")
    export = tmp_path / "many.jsonl"
    write_export(export, *((f"s{number}", f"Question {number}") for number in range(505)))
    reach = {
        "PROMPTLIFT_BASE_URL": service.base_url,
        "PROMPTLIFT_API_KEY": service.key,
        "PROMPTLIFT_DATA": str(tmp_path / "user-data"),
    }
    with sqlite3.connect(service.data / "promptlift.db") as database:
        database.execute("INSERT INTO usage_counters VALUES (?, ?, 'conversations', 500)", period(database))
    database.close()
    done = promptlift_command("import", export, "--prompt", "Over", env=reach)
    assert done.returncode == 1
    assert (
        "not sent: 505; stopped early: The plan's limit of conversations per month is reached" in done.stdout
    )


def period(database):
    """The account and the start of its billing period, as the counters have them."""
    now = datetime.now(UTC)
    start = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    (account,) = database.execute("SELECT id FROM accounts").fetchone()
    return account, int(start.timestamp() * 1000)
