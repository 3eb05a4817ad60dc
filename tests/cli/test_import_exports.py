"""Real exports, each from the file to the table: what is left out is named, and the prompts have their texts byte for byte."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from promptlift import transcripts
from support.shared_data import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.slow]

EXPORTS = SHARED / "exports"
# One with names of prompts, one without system prompts, one of Parquet; tests/transcripts read the others.
FILES = ("langfuse-observations.jsonl", "langsmith-runs.parquet", "messages.csv")


def records(path):
    if path.suffix == ".parquet":
        return pd.read_parquet(path).to_dict("records")
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def system_prompts(value):
    """Every system prompt in a record, found without the code that is tested."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            value = json.loads(value)
        except ValueError:
            return
    if isinstance(value, dict):
        kinds = (value.get("role"), value.get("message.role"), value.get("from"), value.get("type"))
        texts = (value.get("content"), value.get("message.content"), value.get("value"))
        if "system" in kinds:
            yield from (text for text in texts if isinstance(text, str))
        if str(value.get("id")).endswith("'SystemMessage']"):
            yield value["kwargs"]["content"]
        for inner in value.values():
            yield from system_prompts(inner)
    elif hasattr(value, "tolist") or isinstance(value, list):
        for inner in value:
            yield from system_prompts(inner)


@pytest.mark.parametrize("name", FILES)
def test_an_export_goes_from_the_file_to_the_table(run_command, lift, name):
    path, prompt = EXPORTS / name, f"Export {name}"
    code, said = run_command("import", path, "--prompt", prompt)
    assert code == 0, said
    reading = transcripts.read(path)
    count = len(reading.conversations)
    calls = f", {reading.model_calls} model calls" if reading.model_calls else ""
    line = f"{path}: {reading.format}, {count} conversations{calls}; logged {count}, already there 0\n"
    assert line in said
    # Everything that is left out has its name and how often it was there.
    (left_out,) = re.findall(r"^  left out \(in how many records\): (.+)$", said, re.MULTILINE)
    named = dict(re.findall(r"(?:^|, )(.+?) \(([\d,]+)\)(?=, |$)", left_out))
    assert {field: int(number.replace(",", "")) for field, number in named.items()} == reading.dropped

    made = lift.prompts()
    made = made[made["name"].str.startswith(prompt)]
    table = re.search(r"\n(prompt +conversations .*)\n((?:.+\n)+?)In brackets", said)
    rows = dict(zip(made["name"], made["prompt_id"], strict=True))
    shown = {}
    for row in table[2].splitlines():
        known = next(one for one in sorted(rows, key=len, reverse=True) if row.startswith(one))
        shown[known] = int(row.removeprefix(known).split()[0])
    assert sum(shown.values()) == count
    assert shown == {one: len(lift.conversations(one)) for one in rows if len(lift.conversations(one))}

    expected = set() if name == "messages.csv" else set(system_prompts(records(path)))
    texts = set()
    for prompt_id in rows.values():
        texts |= set(lift.versions(prompt_id)["content"].dropna())
    assert texts == expected
    assert bool(texts) != (name == "messages.csv")


def test_scores_say_what_reads_them(run_command):
    code, said = run_command("import", EXPORTS / "langfuse-scores.jsonl", "--prompt", "Export scores")
    assert code == 1
    assert "lift.labels.read(FILE, PROMPT) reads these as labels" in said
