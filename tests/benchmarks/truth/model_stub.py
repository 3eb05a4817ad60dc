"""A fast stub of an OpenAI-compatible endpoint whose texts have a known truth (see `known_truth`).

    python tests/benchmarks/truth/model_stub.py --port 0 --delay-ms 20

Prints ``model stub is ready at ADDRESS``. `GET /record` tells how many requests were under way for how long, `POST
/reset` begins a new record. A request that it does not understand is answered 400 and counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import sys
import time
from collections import Counter

import httptools
import known_truth
import orjson
import uvloop

READY = "model stub is ready at "
MODEL = "stub"

_CASE = re.compile(rb"Case file run(\d+) of(\d) base(\d+) plus(\d+) arm(\d)")
_MATTER = re.compile(rb"Matter (\d+) for ([a-z0-9-]+):")
_REPLY = re.compile(rb"Reply ([0-9a-f]{8}): .{0,40}outcome (yes|no)")
_VARIANTS = re.compile(r"Write (\d+) variants")
_SCENARIOS = re.compile(r"Write (\d+) scenarios")
_TITLE = re.compile(r"Matter (\d+)\b")

_HEAD = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
# The content goes in as a JSON string.
_COMPLETION = (
    b'{"id":"stub","object":"chat.completion","model":"stub","choices":[{"index":0,"finish_reason":"stop","message":'
    b'{"role":"assistant","content":%s}}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}'
)


class NotUnderstood(Exception):
    """The request is none that a known truth can answer."""


class Record:
    """How many requests there were, and for how long how many were under way."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.purposes: Counter[str] = Counter()
        self.not_understood = 0
        # The judge, the personas and the writer of scenarios must not know the arm.
        self.leaks = 0
        self.seconds_at: list[float] = [0.0] * 257
        self.under_way = 0
        self.first = self.last = 0.0
        self._cpu = time.process_time()

    def begin(self) -> None:
        self._pass(time.monotonic())
        self.under_way += 1

    def end(self) -> None:
        self._pass(time.monotonic())
        self.under_way -= 1

    def _pass(self, now: float) -> None:
        if self.first:
            self.seconds_at[min(self.under_way, 256)] += now - self.last
        else:
            self.first = now
        self.last = now

    def document(self) -> dict:
        most = max((at for at, seconds in enumerate(self.seconds_at) if seconds), default=0)
        return {
            "requests": sum(self.purposes.values()),
            "purposes": self.purposes,
            "notUnderstood": self.not_understood,
            "leaks": self.leaks,
            "seconds": self.last - self.first,
            "secondsAt": self.seconds_at[: most + 1],
            "cpuSeconds": time.process_time() - self._cpu,
        }


def answer_agent(body: bytes) -> bytes:
    """Complete the task or not, by the truth of the arm."""
    case_, matter_ = _CASE.search(body), _MATTER.search(body)
    if case_ is None or matter_ is None:
        raise NotUnderstood("an agent needs a case file and an opening")
    run, variants, base, plus, arm = map(int, case_.groups())
    case = known_truth.CaseFile(run, variants, base, plus, arm)
    matter, persona = int(matter_[1]), matter_[2].decode()
    code = int(known_truth.uniform(run, "reply", arm, matter, persona) * 2**32)
    if known_truth.completes(case, matter, persona):
        return b'"Reply %08x: your matter is settled, outcome yes."' % code
    return b'"Reply %08x: sorry, this cannot be settled, outcome no."' % code


def answer_judge(body: bytes) -> bytes:
    """Say what the transcript says, with some noise in the scores."""
    replies = _REPLY.findall(body)
    if not replies:
        raise NotUnderstood("a judge needs a reply to judge")
    code, outcome = replies[-1]
    completed = outcome == b"yes"
    mood, work = known_truth.normal(code, "mood"), known_truth.normal(code, "work")
    score = max(-1.0, min(1.0, (0.5 if completed else -0.3) + 0.3 * mood))
    quality = max(0.0, min(100.0, (78.0 if completed else 50.0) + 9.0 * work))
    sentiment = "positive" if score > 0.2 else "negative" if score < -0.2 else "neutral"
    issues = [{"title": "Not settled", "severity": "medium", "evidence": "outcome no"}]
    document = {
        "sentiment": sentiment,
        "sentimentScore": round(score, 3),
        "taskCompleted": completed,
        "quality": round(quality, 1),
        "topics": ["matters"],
        "summary": "Somebody asked about a matter. The assistant replied.",
        "issues": [] if completed else issues,
    }
    return orjson.dumps(orjson.dumps(document).decode())


def records_of(body: bytes) -> tuple[str, list[dict]]:
    """The words of the last message, and the records in it."""
    try:
        said = json.loads(body)["messages"][-1]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise NotUnderstood("not a chat request") from None
    return said, [json.loads(line) for line in said.split("\n") if line.startswith("{")]


def _original(records: list[dict]) -> str:
    content = next((one.get("content", "") for one in records if one.get("kind") == "prompt"), "")
    if known_truth.CaseFile.read(content) is None:
        raise NotUnderstood("the prompt has no case file")
    return content


def answer_variants(body: bytes) -> bytes:
    """Write as many variants as asked for, the next ones by number."""
    said, records = records_of(body)
    original, wanted = _original(records), _VARIANTS.search(said)
    if wanted is None:
        raise NotUnderstood("it does not say how many variants")
    there = next((len(one["names"]) for one in records if one.get("kind") == "versions that exist"), 0)
    arms = range(there + 1, there + 1 + int(wanted[1]))
    variants = [
        {
            "name": f"Edition {arm}",
            "content": known_truth.variant_text(original, arm),
            "rationale": f"It adds: {known_truth.ADDITIONS[arm - 1]}",
        }
        for arm in arms
    ]
    return orjson.dumps(orjson.dumps({"variants": variants}).decode())


def answer_scenarios(body: bytes) -> bytes:
    """Write as many new openings as asked for, each for the person who will come with it."""
    said, records = records_of(body)
    wanted_ = _SCENARIOS.search(said)
    _original(records)
    if wanted_ is None:
        raise NotUnderstood("it does not say how many scenarios")
    titles = next((one["titles"] for one in records if one.get("kind") == "titles that exist"), [])
    numbers = [int(found[1]) for title in titles if (found := _TITLE.match(title))]
    first = max(numbers, default=-1) + 1
    people = [one["name"] for one in records if one.get("kind") == "kind of person"] or ["nobody"]
    wanted = int(wanted_[1])
    scenarios = [
        {
            "title": f"Matter {first + at}",
            # The cells of a pass go person by person.
            "opening": known_truth.opening_text(
                first + at, known_truth.slug(people[at * len(people) // wanted])
            ),
            "goal": "Have the matter settled.",
        }
        for at in range(wanted)
    ]
    return orjson.dumps(orjson.dumps({"scenarios": scenarios}).decode())


def answer_persona(_body: bytes) -> bytes:
    """End the conversation."""
    return b'"Fine. [END]"'


def answer_nothing(_body: bytes) -> bytes:
    """Refuse a purpose that nobody told of."""
    raise NotUnderstood("no such purpose")


ANSWERS = {
    "agent": answer_agent,
    "judge": answer_judge,
    "variants": answer_variants,
    "scenarios": answer_scenarios,
    "persona": answer_persona,
}


class Endpoint(asyncio.Protocol):
    """One connection; httptools calls the ``on_`` methods."""

    def __init__(self, record: Record, delay: float) -> None:
        self.record = record
        self.delay = delay
        self.loop = asyncio.get_running_loop()
        self.parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.transport.close()

    def on_message_begin(self) -> None:
        self.purpose = ""
        self.body: list[bytes] = []

    def on_url(self, url: bytes) -> None:
        self.url = url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"x-promptlift-purpose":
            self.purpose = value.decode("latin-1")

    def on_body(self, piece: bytes) -> None:
        self.body.append(piece)

    def on_message_complete(self) -> None:
        if not self.url.endswith(b"/chat/completions"):
            self._other()
            return
        self.record.begin()
        body = b"".join(self.body)
        status, content = self._content(self.purpose, body)
        if status == 200:
            content = _COMPLETION % (content, len(body) // 4, len(content) // 4)
        whole = _HEAD % (status, len(content)) + content
        if self.delay:
            self.loop.call_later(self.delay, self._send, whole)
        else:
            self._send(whole)

    def _content(self, purpose: str, body: bytes) -> tuple[int, bytes]:
        record = self.record
        record.purposes[purpose] += 1
        if purpose in ("judge", "persona"):
            record.leaks += b"Case file" in body
        elif purpose == "scenarios":
            record.leaks += any(found != b"0" for *_, found in _CASE.findall(body))
        try:
            return 200, ANSWERS.get(purpose, answer_nothing)(body)
        except NotUnderstood as error:
            record.not_understood += 1
            return 400, orjson.dumps({"error": {"message": str(error)}})

    def _send(self, whole: bytes) -> None:
        self.record.end()
        self.transport.write(whole)

    def _other(self) -> None:
        if self.url.endswith(b"/models"):
            document: dict = {"object": "list", "data": [{"id": MODEL}]}
        elif self.url == b"/record":
            document = self.record.document()
        elif self.url == b"/reset":
            self.record.reset()
            document = {}
        else:
            document = {"error": {"message": "no such path"}}
        body = orjson.dumps(document)
        self.transport.write(_HEAD % (200, len(body)) + body)


async def serve(port: int, delay: float) -> None:
    """Answer until told to end."""
    loop = asyncio.get_running_loop()
    record = Record()
    server = await loop.create_server(lambda: Endpoint(record, delay), "127.0.0.1", port, backlog=512)
    print(f"{READY}http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    await ending.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay-ms", type=float, default=0.0)
    options = parser.parse_args()
    sys.setswitchinterval(0.1)
    uvloop.run(serve(options.port, options.delay_ms / 1000.0))


if __name__ == "__main__":
    main()
