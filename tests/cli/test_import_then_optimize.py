"""From an export to better prompts: what was imported is optimized, on a real service with its rehearsal model."""

from __future__ import annotations

import json

import pytest
import typer.testing

import promptlift
from promptlift import analysis
from promptlift.cli.commands import app
from promptlift.errors import InvalidState
from support.shared_data import SHARED, needs_shared

pytestmark = pytest.mark.slow

SYSTEM = "  You help the customers of a shop.\r\n\tAlways answer in {language} – even on Sundays. \n"
TALK = [("user", "Where is my parcel?"), ("assistant", "It arrives tomorrow."), ("user", "Thanks!")]


def chat(*, system=None):
    first = [] if system is None else [{"role": "system", "content": system}]
    return {"messages": [*first, *({"role": role, "content": text} for role, text in TALK)]}


def trace(number, *, system=SYSTEM):
    """A call of a model as Langfuse exports it."""
    asked = [{"role": "system", "content": system}, {"role": "user", "content": TALK[0][1]}]
    return {
        "id": f"o-{number}",
        "type": "GENERATION",
        "trace_id": f"t-{number}",
        "session_id": f"s-{number}",
        "start_time": f"2026-01-0{number} 10:00:00.000000",
        "end_time": f"2026-01-0{number} 10:00:01.000000",
        "input": json.dumps(asked),
        "output": TALK[1][1],
        "provided_model_name": "gpt-4o",
    }


@pytest.fixture
def run(service, tmp_path, monkeypatch):
    """Run a command against the shared service, and give what it said."""
    monkeypatch.setenv("PROMPTLIFT_BASE_URL", service.base_url)
    monkeypatch.setenv("PROMPTLIFT_API_KEY", service.key)
    monkeypatch.setenv("PROMPTLIFT_DATA", str(tmp_path / "user-data"))

    def run(*arguments):
        done = typer.testing.CliRunner().invoke(app, [str(one) for one in arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.fixture
def export(tmp_path):
    def write(name, records):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


def optimized(lift, prompt):
    """The texts of the variants of a short optimization, without the original."""
    done = lift.optimize(prompt, mode="exploratory", variants=2, seed=3, timeout=240)
    assert done.status == "completed"
    table = lift.variants(done.id)
    (original,) = table[table["is_original"]]["content"]
    return original, list(table[~table["is_original"]]["content"])


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("chats", [chat(system=SYSTEM)]),
        ("traces", [trace(number) for number in (1, 2)]),
        # Of a template in which a value was filled in.
        (
            "filled",
            [trace(number, system=f"{SYSTEM}Today is 2026-01-0{number}.") for number in range(1, 8)],
        ),
    ],
)
def test_variants_begin_with_the_system_prompt_of_the_export(run, lift, export, name, records):
    prompt = f"Optimize {name}"
    run("import", export(f"{name}.jsonl", records), "--prompt", prompt)
    text = SYSTEM if name != "filled" else f"{SYSTEM}Today is {{{{value}}}}."
    known = lift.client.prompts.get(lift.prompt_id(prompt))
    assert (known.content, known.content_known) == (text, True)
    original, variants = optimized(lift, prompt)
    assert original == text
    assert len(variants) == 2
    assert all(one.startswith(text) and len(one) > len(text) for one in variants)


@needs_shared
def test_each_prompt_of_a_real_export_is_optimized_from_its_own_text(run, lift):
    prompt = "Optimize export"
    run("import", SHARED / "exports" / "langfuse-observations.jsonl", "--prompt", prompt)
    texts = {}
    for line in (SHARED / "exports" / "langfuse-observations.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        first = json.loads(record["input"])[0]
        assert first["role"] == "system"
        texts[f"{prompt} / {record['prompt_name']}"] = first["content"]
    assert len(texts) == 2
    for name, text in texts.items():
        original, variants = optimized(lift, name)
        assert original == text
        assert all(one.startswith(text) for one in variants)


def test_without_a_system_prompt_it_is_refused_and_the_way_out_works(run, lift, export, tmp_path):
    said = run("import", export("chats.jsonl", [chat()]), "--prompt", "Optimize later")
    prompt_id = lift.prompt_id("Optimize later")
    step = f"promptlift prompts set {prompt_id} FILE"
    assert f"Set it before you optimize: {step}" in said
    with pytest.raises(InvalidState) as refused:
        lift.optimize("Optimize later", mode="exploratory", variants=2)
    assert "there is nothing to optimize" in str(refused.value)
    assert step in str(refused.value)
    assert lift.optimizations("Optimize later").empty
    # What was imported is analysed all the same.
    assert analysis.completion(lift.conversations("Optimize later", insights=True))["n"].iloc[0] == 1

    text = tmp_path / "prompt.txt"
    text.write_bytes(SYSTEM.encode())
    run("prompts", "set", prompt_id, text)
    original, variants = optimized(lift, "Optimize later")
    assert original == SYSTEM
    assert all(one.startswith(SYSTEM) for one in variants)


def test_python_gives_the_text_as_well(run, lift, export):
    run("import", export("chats.jsonl", [chat()]), "--prompt", "Optimize in Python")
    lift.update_prompt("Optimize in Python", content=SYSTEM)
    assert isinstance(lift, promptlift.Workspace)
    original, _ = optimized(lift, "Optimize in Python")
    assert original == SYSTEM
