"""From an export to better prompts: what was imported is optimized, on a real service with its rehearsal model."""

from __future__ import annotations

import json

import pytest

from promptlift import analysis
from promptlift.errors import InvalidState
from promptlift.workspace.prompt_names import id_of

pytestmark = pytest.mark.slow

SYSTEM = "  You help the customers of a shop.\r\n\tAlways answer in {language} – even on Sundays. \n"
TALK = [("user", "Where is my parcel?"), ("assistant", "It arrives tomorrow."), ("user", "Thanks!")]


def test_without_a_system_prompt_it_is_refused_and_the_way_out_works(run_command, lift, tmp_path):
    chat = {"messages": [{"role": role, "content": text} for role, text in TALK]}
    (tmp_path / "chats.jsonl").write_text(json.dumps(chat), encoding="utf-8")
    code, said = run_command("import", tmp_path / "chats.jsonl", "--prompt", "Optimize later")
    assert code == 0, said
    prompt_id = id_of(lift, "Optimize later")
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
    assert run_command("prompts", "set", prompt_id, text)[0] == 0
    texts = lift.optimize(prompt_id, mode="exploratory", variants=2, seed=3).variants()["content"]
    assert len(texts) == 3
    assert texts.str.startswith(SYSTEM).all()
