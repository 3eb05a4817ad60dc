"""``promptlift import``: every conversation is imported once, and whatever is not imported is reported."""

from __future__ import annotations

import json
import re

import promptlift
from promptlift import transcripts
from promptlift.client.log.records import FailedRecord
from promptlift.client.log.result import LogResult
from promptlift.transcripts import collector
from promptlift.workspace.importing.files import FileImport
from promptlift.workspace.prompt_names import id_of
from support.command_line import failed_in_one_line, promptlift_command
from support.source_tree import ROOT

EXPORT = ROOT / "notebooks" / "data" / "support-chat.jsonl"
CONVERSATIONS = 60


def prompt_of(lift, name):
    prompts = lift.prompts()
    return prompts[prompts["name"] == name]


def write_export(path, *conversations):
    lines = [
        json.dumps({"id": source, "messages": [{"role": "user", "content": text} for text in texts]})
        for source, *texts in conversations
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_an_export_is_imported_once_and_the_table_shows_how_the_prompt_does(
    service, run_command, lift, tmp_path, monkeypatch
):
    env = {"PROMPTLIFT_BASE_URL": service.base_url, "PROMPTLIFT_API_KEY": service.key}
    done = promptlift_command("import", EXPORT, "--prompt", "Import once", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    line = f"{EXPORT}: openai, {CONVERSATIONS} conversations; logged {CONVERSATIONS}, already there 0\n"
    assert line in done.stdout
    head, row = re.search(r"\n(prompt +conversations .*)\n(Import once .*)\n", done.stdout).groups()
    assert head.split() == ["prompt", "conversations", "task", "completion", "mean", "sentiment"]
    rate = lift.conversations("Import once", insights=True)["task_completed"].astype("float").mean()
    assert re.match(rf"Import once  {CONVERSATIONS} +{rate:.0%} \(\d+% to \d+%\)", row)
    assert done.stdout.endswith(
        'Next: promptlift report "Import once" --out report.html, or promptlift lab to look into them in notebooks.\n'
    )
    # Again, on this computer and on one that has logged nothing.
    for data in ("user-data", "elsewhere"):
        monkeypatch.setenv("PROMPTLIFT_DATA", str(tmp_path / data))
        code, said = run_command("import", EXPORT, "--prompt", "Import once", "--no-wait")
        assert (code, "task completion" in said) == (0, False)
        assert f"logged 0, already there {CONVERSATIONS}\n" in said
    made = prompt_of(lift, "Import once")
    assert len(made) == 1
    assert len(lift.conversations(made["prompt_id"].iloc[0])) == CONVERSATIONS


def test_a_table_of_several_prompts_goes_to_the_same_prompts_in_any_parts(
    run_command, lift, tmp_path, monkeypatch
):
    """Which prompts there are decides their names, and the first part has only one of them."""
    monkeypatch.setattr(collector, "PART", 1)
    rows = [
        f"c{number},{role},{role} {number},{prompt}\n"
        for number, prompt in enumerate(["Refunds"] * 2 + ["Orders"] * 2)
        for role in ("user", "assistant")
    ]
    (tmp_path / "a.csv").write_text("conversation_id,role,content,prompt_name\n" + "".join(rows))
    name = "Import of parts"
    for logged in (4, 0):
        code, said = run_command("import", tmp_path / "a.csv", "--prompt", name, "--no-wait")
        assert code == 0, said
        assert f"a.csv: rows, 4 conversations; logged {logged}, already there {4 - logged}\n" in said
    for own in ("Refunds", "Orders"):
        assert len(lift.conversations(f"{name} / {own}")) == 2
    assert prompt_of(lift, name).empty


def test_the_text_of_a_prompt_comes_from_a_file(run_command, lift, tmp_path):
    text = tmp_path / "prompt.txt"
    text.write_bytes(b"\xef\xbb\xbfYou help. \r\n")
    file = write_export(tmp_path / "a.jsonl", ("a", "Where is it?"))
    _, said = run_command("import", file, "--prompt", "Set me", "--no-wait")
    prompt_id = id_of(lift, "Set me")
    assert f"Set it before you optimize: promptlift import --prompt {prompt_id} --text FILE" in said
    code, said = run_command("import", "--prompt", prompt_id, "--text", text)
    assert (code, said) == (0, "The text of 'Set me' is now that of --text.\n")
    prompt = lift.client.prompts.get(prompt_id)
    assert (prompt.content, prompt.content_known) == ("You help. \r\n", True)
    assert run_command("import", "--prompt", "Set me", "--text", text) == (
        0,
        "'Set me' has this text already.\n",
    )
    assert "If you meant another: 'Set me'" in run_command("import", "--prompt", "Set mee", "--text", text)[1]
    for raw, words in ((b" \n", "is empty"), (b"\xff\xfe\x00", "not UTF-8 text")):
        text.write_bytes(raw)
        code, said = run_command("import", "--prompt", "Never", "--text", text)
        assert (code, words in said) == (1, True)


def test_an_outcome_that_no_conversation_records_is_named(run_command, tmp_path):
    file = write_export(tmp_path / "a.jsonl", ("a", "Where is it?"))
    code, said = run_command("import", file, "--prompt", "No reward", "--outcome", "reward >= 1")
    assert (code, "No conversation of \"No reward\" records 'reward >= 1'." in said) == (0, True)


def test_a_bad_line_is_reported_and_the_rest_is_imported(run_command, lift, tmp_path):
    lines = EXPORT.read_text(encoding="utf-8").splitlines()[:5]
    spoiled = tmp_path / "spoiled.jsonl"
    spoiled.write_text("\n".join([*lines[:2], '{"messages": [', *lines[2:]]), encoding="utf-8")
    odd, missing = tmp_path / "odd.bin", tmp_path / "missing.jsonl"
    odd.write_bytes(bytes(range(256)) * 10)
    code, said = run_command("import", missing, odd, spoiled, "--prompt", "Import spoiled", "--no-wait")
    assert code == 1
    assert f"{missing}: There is no file" in said
    assert f"{odd}: " in said
    assert f"{spoiled}:3: " in said
    assert "logged 5, already there 0" in said


def test_a_dry_run_needs_no_service_and_names_what_is_left_out(tmp_path, monkeypatch, run):
    monkeypatch.setenv("PROMPTLIFT_BASE_URL", "http://127.0.0.1:9/api/v1")
    rich = tmp_path / "rich.jsonl"
    record = {
        "messages": [
            {"role": "user", "content": "Hi", "weight": 1},
            {"role": "assistant", "content": "Hello", "refusal": "none"},
        ],
        "parallel_tool_calls": False,
    }
    rich.write_text(json.dumps(record) + "\n", encoding="utf-8")
    code, said = run("import", rich, EXPORT, "--prompt", "A", "--dry-run")
    assert code == 0
    left_out = "left out (in how many records): messages[].weight (1), parallel_tool_calls (1)"
    assert f"{rich}: openai, 1 conversation\n  {left_out}\n" in said
    assert f"{CONVERSATIONS} conversations" in said
    assert said.endswith("Nothing was logged: this was a dry run.\n")
    rich.write_text("", encoding="utf-8")
    said = run("import", rich, "--prompt", "A", "--dry-run")[1].splitlines()[1:]
    assert said == [
        "The files contain no conversations that could be logged.",
        "Nothing was logged: this was a dry run.",
    ]


def test_records_in_a_row_that_fail_alike_are_one_line():
    failed = [FailedRecord(at, f"a.jsonl:{at + 1}", why) for at, why in enumerate(["full"] * 3 + ["odd"])]
    logged = LogResult(failed=[*failed, FailedRecord(7, "a.jsonl:8", "odd")])
    shown = FileImport("a.jsonl", transcripts.Reading(), logged=logged).lines()
    assert shown[-3:] == [
        "  not logged: a.jsonl:1 to a.jsonl:3: full",
        "  not logged: a.jsonl:4: odd",
        "  not logged: a.jsonl:8: odd",
    ]


def test_a_wrong_key_is_one_clear_line(service):
    env = {"PROMPTLIFT_BASE_URL": service.base_url, "PROMPTLIFT_API_KEY": "wrong-but-long-enough"}
    done = promptlift_command("import", EXPORT, "--prompt", "A", env=env)
    failed_in_one_line(done)
    assert "wrong-but-long-enough" not in done.stdout + done.stderr


def test_without_a_service_the_embedded_one_takes_it_and_two_at_once_are_refused(run, tmp_path, monkeypatch):
    both = ("--base-url", "http://127.0.0.1:9", "--data", tmp_path)
    assert "--base-url" in run("import", EXPORT, "--prompt", "A", *both)[1]
    monkeypatch.setenv("PROMPTLIFT_DATA", str(tmp_path))
    code, said = run("import", EXPORT, "--prompt", "Mine", "--no-wait")
    assert code == 0, said
    with promptlift.local(tmp_path, progress=False) as lift:
        assert len(lift.conversations()) == CONVERSATIONS
