"""Every reader takes twice as many steps for twice as much: what it does is counted, not timed."""

from __future__ import annotations

import json
import sys

import pytest

from promptlift import transcripts
from promptlift.transcripts import json_layouts
from support.stranger_records import AT

pytestmark = pytest.mark.slow

HI = {"role": "user", "content": "Hi"}


class Counted(str):
    """A text that counts how often it is looked up or compared."""

    __slots__ = ()
    steps = 0

    def __hash__(self):
        Counted.steps += 1
        return str.__hash__(self)

    def __eq__(self, other):
        Counted.steps += 1
        return str.__eq__(self, other)


def counted(value):
    if isinstance(value, str):
        return Counted(value)
    if isinstance(value, list):
        return [counted(one) for one in value]
    return {Counted(name): counted(one) for name, one in value.items()} if isinstance(value, dict) else value


class Decoder(json.JSONDecoder):
    def raw_decode(self, s, idx=0):
        value, end = super().raw_decode(s, idx)
        return counted(value), end


def tree(count, *, branches):
    """A conversation of ChatGPT of which the shown half is a chain, the other one branches of its root."""

    def node(number, parent, text):
        content = {"content_type": "text", "parts": [text]}
        about = {"id": str(number), "author": {"role": "user"}, "content": content, "weight": int(not parent)}
        return {"parent": parent, "message": about}

    shown = {f"n{at}": node(at, f"n{at - 1}" if at else None, "Hi") for at in range(count)}
    others = {f"b{at}": node(at, "n0", "No") for at in range(branches)}
    return {"mapping": {**shown, **others}, "current_node": f"n{count - 1}"}


def observation(number, **more):
    about = {"id": f"o{number}", "type": "GENERATION", "startTime": AT, "input": [HI]}
    return {**about, "output": {"role": "assistant", "content": f"a{number}"}, **more}


def answer(number):
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    earlier = f"r{number + 1}"  # the last one is read first
    about = {"id": f"r{number}", "object": "response", "previous_response_id": earlier, "output": [text]}
    return {"request": {"model": "m", "input": "Hi"}, "response": about}


def page_of_tickets(count):
    tickets = [{"id": at, "comments": [{"author_id": at, "body": "Hi"}]} for at in range(count)]
    return {"tickets": tickets, "users": [{"id": at, "role": "end-user"} for at in range(count)]}


SHAPES = {
    "chatgpt, nodes": ("chatgpt", lambda n: [tree(n, branches=n)]),
    "zendesk, users": ("zendesk", lambda n: [page_of_tickets(n)]),
    "rows, mixed": ("rows", lambda n: [{**HI, "conversation_id": f"c{at % (n // 3)}", "x": at} for at in range(n)]),
    "langfuse, traces": ("langfuse", lambda n: [observation(at, traceId=f"t{at}") for at in range(n)]),
    "openai-responses, chain": ("openai-responses", lambda n: [answer(at) for at in range(n)]),
}  # fmt: skip


def steps(path, name, records):
    """How many functions are called, and texts looked up or compared, to read a file."""
    path.write_text("\n".join(map(json.dumps, records)))
    Counted.steps = calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        reading = transcripts.read(path, format=name)
    finally:
        sys.setprofile(before)
    assert not any("the file" in problem.message for problem in reading.problems), reading.problems
    return calls + Counted.steps


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_as_much_takes_twice_as_many_steps(shape, tmp_path, monkeypatch):
    monkeypatch.setattr(json_layouts, "_DECODER", Decoder(strict=False))
    name, records = SHAPES[shape]
    one, two, four = (steps(tmp_path / "a.jsonl", name, records(size)) for size in (150, 300, 600))
    # Without what every file takes.
    assert four - two < 2.3 * (two - one) + 2_000
