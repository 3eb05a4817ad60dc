"""Evaluation logs of Inspect AI, of the shape that inspect-ai 0.3.285 writes: one JSON object, and an ``.eval`` archive."""

from __future__ import annotations

import io
import json
import zipfile

import pyarrow as pa
import pytest

from promptlift import transcripts
from promptlift.transcripts.sources import RECORD_CHARS

AT = "2026-01-05T10:00:00.{:03}000+00:00"
HEADER = {
    "version": 2,
    "status": "success",
    "eval": {
        "eval_id": "8LDH", "created": "2026-01-05T10:00:00+00:00", "task": "shop", "task_version": 0,
        "model": "openai/gpt-4o", "config": {},
    },
    "plan": {"name": "plan", "steps": []},
}  # fmt: skip
CALL = {"id": "c", "function": "find", "arguments": {"q": 1}, "type": "function"}
SEARCH = {"type": "tool_use", "id": "w", "name": "search", "arguments": '{"q": 2}', "result": "found"}
ANSWERED = {"role": "assistant", "model": "gpt-4o-2024-08-06"}
LATE = {"type": "timeout", "message": "late"}
MESSAGES = [
    {"id": "m0", "content": "You are kind.", "role": "system"},
    {"id": "m1", "content": "attachment://1605b0", "source": "input", "role": "user"},
    {
        "id": "m2", "tool_calls": [CALL], **ANSWERED,
        "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "A moment"}],
    },
    {"id": "m3", "content": "", "role": "tool", "tool_call_id": "c", "function": "find", "error": LATE},
    {"id": "m4", "content": [SEARCH, {"type": "text", "text": "Here it is"}], **ANSWERED},
]  # fmt: skip
SAID = [
    ("system", "You are kind."),
    ("user", "Find it"),
    ("assistant", "A moment"),
    ("assistant", '[tool call] find({"q": 1})'),
    ("system", "[tool result] late"),
    ("assistant", '[tool call] search({"q": 2})'),
    ("system", "[tool result] found"),
    ("assistant", "Here it is"),
]


def answered(number, message, tokens):
    """The event of a call of a model."""
    return {
        "event": "model",
        "timestamp": AT.format(number),
        "output": {
            "choices": [{"message": message}],
            "usage": {"input_tokens": 9, "output_tokens": tokens},
            "time": 0.2 + number / 1000,
        },
        "completed": AT.format(number + 200),
    }


def sample(**more):
    usage = {"input_tokens": 18, "output_tokens": 5, "total_tokens": 23, "total_cost": 0.25}
    return {
        "id": "s1", "epoch": 1, "uuid": "3HTF", "input": "Find it", "target": "it", "messages": MESSAGES,
        "scores": {"match": {"value": "C", "answer": "it"}},
        "metadata": {"channel": "web"},
        "events": [
            {"event": "span_begin", "timestamp": AT.format(0)},
            answered(0, MESSAGES[2], 2),
            answered(400, MESSAGES[4], 3),
            answered(800, {"id": "grade", "content": "C", "role": "assistant"}, 99),
        ],
        "model_usage": {"openai/gpt-4o": usage, "openai/grader": {"input_tokens": 900, "output_tokens": 99}},
        "started_at": AT.format(0),
        "attachments": {"1605b0": "Find it"},
        **more,
    }  # fmt: skip


def archive(samples, *, packed="deflate", header="header.json", suffix=""):
    """An ``.eval`` archive of samples; Zstandard, which Inspect writes, is more than zipfile can before Python 3.14."""
    raw = io.BytesIO()
    members = {
        "_journal/start.json": {"version": 2, "eval": HEADER["eval"]},
        **{
            f"samples/{one['id']}_epoch_{one['epoch']}{suffix}.json": one
            for one in samples
            if isinstance(one, dict)
        },
        "summaries.json": [],
        header: HEADER,
    }
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED if packed == "deflate" else 0) as file:
        for name, value in members.items():
            text = json.dumps(value).encode()
            file.writestr(name, text if packed == "deflate" else pa.compress(text, "zstd", asbytes=True))
        where = [(member.header_offset, member.filename) for member in file.infolist()]
    data = bytearray(raw.getvalue())
    if packed == "zstd":
        at = [offset + 8 for offset, _ in where]
        found = data.find(b"PK\x01\x02")
        while found >= 0:
            at.append(found + 10)
            found = data.find(b"PK\x01\x02", found + 1)
        for offset in at:
            data[offset : offset + 2] = (93).to_bytes(2, "little")
    return bytes(data)


def log(samples):
    return {**HEADER, "samples": samples, "reductions": []}


FILES = {
    "log.json": lambda samples: json.dumps(log(samples), indent=2),
    "log.jsonl": lambda samples: [log(samples)],
    "deflate.eval": archive,
    "zstd.eval": lambda samples: archive(samples, packed="zstd"),
}


@pytest.mark.parametrize("name", FILES)
def test_samples_are_conversations_with_their_scores_times_and_costs(written, said, name):
    reading = transcripts.read(written(name, FILES[name]([sample(), sample(epoch=2, uuid="x")])))
    assert (reading.format, reading.problems, reading.notes) == ("inspect", [], [])
    found, again = reading.conversations
    assert said(found) == SAID
    assert (found.source_id, again.source_id, found.llm_model) == ("3HTF", "x", "openai/gpt-4o")
    assert (found.prompt_name, found.prompt_version, found.title) == ("shop", None, "shop s1")
    assert (found.input_tokens, found.output_tokens, found.cost) == (18, 5, 0.25)
    assert (found.tool_calls, found.tool_errors, found.latency_ms) == (2, 1, 400)
    assert (found.metadata["channel"], found.metadata["score.match"]) == ("web", "C")
    assert (found.metadata["task"], found.metadata["sample"], found.metadata["epoch"]) == ("shop", "s1", 1)
    messages = json.loads(found.content)["messages"]
    assert [m["timestamp"][17:23] for m in messages if "timestamp" in m] == ["00.200"] * 2 + ["00.600"] * 3
    assert {m.get("model") for m in messages if m["role"] == "assistant"} == {"gpt-4o-2024-08-06"}
    assert [m.get("tokens") for m in messages if m["role"] == "assistant"] == [2, None, 3, None]
    assert reading.dropped["samples[].target"] == 2
    assert reading.dropped["plan"] == 1


def test_a_sample_keeps_its_prompt_its_failure_and_its_run(written):
    text = "  Be kind.\r\n\tAlways – even on Sundays.  \n"
    one = sample(
        messages=[{"id": "m0", "content": text, "role": "system"}, *MESSAGES[1:]],
        error={"message": "no", "traceback": "…"},
        limit={"type": "time", "limit": 9.0},
        events=None,
    )
    del one["uuid"]
    reading = transcripts.read(written("a.eval", archive([one], packed="zstd", header="other.json")))
    (found,) = reading.conversations
    assert [prompt.text for prompt in reading.system_prompts] == [text]
    assert (found.source_id, found.status, found.prompt_name) == ("8LDH/s1/1", "abandoned", "shop")
    assert (found.metadata["error"], found.metadata["limit"]) == ("no", "time")


@pytest.mark.parametrize(("name", "size"), [("log.json", 9), ("deflate.eval", 18)])
@pytest.mark.slow
def test_a_log_may_be_longer_than_what_is_held_of_a_record(written, said, name, size):
    """In an archive even one sample may: it is mostly events, which are not imported."""
    store = {"page": "x" * (size * 1024 * 1024)}
    reading = transcripts.read(written(name, FILES[name]([sample(epoch=one, store=store) for one in (1, 2)])))
    assert reading.problems == []
    assert [said(found) for found in reading.conversations] == [SAID, SAID]
    assert RECORD_CHARS == 16 * 1024 * 1024


def test_a_damaged_sample_costs_that_sample_alone(written):
    data = bytearray(archive([sample(), sample(epoch=2, uuid="x")], packed="zstd"))
    at = data.find(b"samples/s1_epoch_1.json") + 60
    data[at : at + 40] = bytes(40)
    reading = transcripts.read(written("a.eval", bytes(data)))
    assert [found.source_id for found in reading.conversations] == ["x"]
    assert reading.problems[0].message.startswith("samples/s1_epoch_1.json cannot be read: ")


def zipped(name, text):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as file:
        file.writestr(name, text)
    return raw.getvalue()


def test_other_archives_and_what_cannot_be_read_of_one_are_refused(written):
    for data, said in (
        (archive([sample()], suffix="/sample"), "import the log from which it was converted"),
        (zipped("a.csv", "a,b"), "unpack it"),
        (zipped("header.json", "[]"), "header.json cannot be read: "),
    ):
        reading = transcripts.read(written("a.eval", data))
        assert reading.conversations == []
        assert said in reading.problems[0].message
