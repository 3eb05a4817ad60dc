"""From an export to better prompts: what was imported is optimized, on a real service with its rehearsal model."""

from __future__ import annotations

import json

import pytest

from promptlift import analysis
from promptlift.errors import InvalidState

pytestmark = pytest.mark.slow

SYSTEM = "  You help the customers of a shop.\r\n\tAlways answer in {language} – even on Sundays. \n"
TALK = [("user", "Where is my parcel?"), ("assistant", "It arrives tomorrow."), ("user", "Thanks!")]


def chat():
    return {"messages": [{"role": role, "content": text} for role, text in TALK]}


def trace(number, *, system):
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
def run(run_command):
    """Run a command that must succeed, and give what it said."""

    def run(*arguments):
        code, said = run_command(*arguments)
        assert code == 0, said
        return said

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
    done = lift.optimize(prompt, mode="exploratory", variants=2, seed=3, wait=False).wait(timeout=240)
    assert done.status == "completed"
    table = lift.variants(done.id)
    (original,) = table[table["is_original"]]["content"]
    return original, list(table[~table["is_original"]]["content"])


def test_variants_begin_with_the_system_prompt_of_the_export(run, lift, export):
    """The prompt is a template in which a value was filled in."""
    prompt = "Optimize filled"
    records = [trace(number, system=f"{SYSTEM}Today is 2026-01-0{number}.") for number in range(1, 8)]
    run("import", export("filled.jsonl", records), "--prompt", prompt)
    text = f"{SYSTEM}Today is {{{{value}}}}."
    known = lift.client.prompts.get(lift.prompt_id(prompt))
    assert (known.content, known.content_known) == (text, True)
    original, variants = optimized(lift, prompt)
    assert original == text
    assert len(variants) == 2
    assert all(one.startswith(text) and len(one) > len(text) for one in variants)


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
