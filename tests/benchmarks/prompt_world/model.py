"""The model endpoint of a world: it answers every purpose of a request as the world's truth has it.

Requests without a purpose are those of other optimizers: a text between two lines of three backticks is the prompt, and
the answer is a new one between such lines.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from benchmarks.prompt_world.world import OPEN, THANKS
from benchmarks.prompt_world.writer import write_edits, write_prompt
from promptlift.schema.transcript import CALL, RESULT
from promptlift.service.simulations.conversation import FIRST_CUE
from support.data_blocks import read_records
from support.stub_endpoint import Say, completion

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from benchmarks.prompt_world.world import Mode, World
    from benchmarks.prompt_world.writer import Edit
    from support.stub_endpoint import Asked

__all__ = ["PURPOSE", "WorldModel"]

PURPOSE: Final = "x-promptlift-purpose"
CHARS_A_TOKEN: Final = 4
# What the service appends to a prompt whose assistant has tools begins so.
ABOUT_TOOLS: Final = "\n\n\nYou have tools: "
# Share of the additions that a reflection writes as a longer line in the place of one that is there.
REPLACES: Final = 0.2

_WANTED: Final = re.compile(r"Write (\d+) (?:variants|scenarios)")
_STRATEGY: Final = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_FENCED: Final = re.compile(r"```[^\n`]*\n(.*?)\n```", re.DOTALL)
_CRITERION: Final = re.compile(r'"(target \d+)"(?=:)')
_ID_FIELDS: Final = ("conversationId", "conversation_id", "conversation", "id")


class WorldModel:
    """Answers the requests of a ``StubEndpoint``.

    Attributes
    ----------
    world
        Whose truth it tells.
    asked
        Requests by purpose; ``other`` are those without one.
    conversations
        Conversations that an assistant had.
    tokens
        Tokens of all requests and answers.
    heard
        What was said in the conversations.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: Counter[str] = Counter()
        self.conversations = 0
        self.tokens = 0
        self.heard: set[str] = set()
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Count from here on: what came before, such as the judging of logged conversations, is no cost of a search."""
        with self._lock:
            self.asked.clear()
            self.conversations = self.tokens = 0

    def __call__(self, asked: Asked) -> Say:
        if asked.body is None:
            return Say({"object": "list", "data": [{"id": "stub"}]})
        purpose = asked.headers.get(PURPOSE, "other")
        answer = getattr(self, f"_{purpose}", None)
        if answer is None:
            return Say({"error": {"message": f"no such purpose: {purpose}"}}, status=400)
        said = answer(asked.body)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        read = sum(len(one["content"]) for one in asked.body["messages"]) // CHARS_A_TOKEN
        written = len(text) // CHARS_A_TOKEN + 1
        with self._lock:
            self.asked[purpose] += 1
            self.tokens += read + written
            self.conversations += purpose == "agent" and len(asked.body["messages"]) == 2
        return completion(text, prompt=read, completed=written)

    # The two sides of a conversation

    def _agent(self, body: dict[str, Any]) -> str:
        messages = body["messages"]
        # What the service says of tools comes after the prompt.
        system = messages[0]["content"].split(ABOUT_TOOLS)[0]
        heard = _said_by(messages, "user")
        if ABOUT_TOOLS in messages[0]["content"] and not messages[-1]["content"].startswith(RESULT):
            return self.world.call(heard[-1])[0]
        reply = self.world.reply(system, heard[0], body.get("seed", 0), further=heard[1:])
        with self._lock:
            self.heard.update((heard[-1], reply))
        return reply

    def _persona(self, body: dict[str, Any]) -> str:
        """Raise the next matter; with none left, end by whether everything was settled."""
        said = _said_by(body["messages"], "assistant")
        further = self.world.further(said[0])[len(said) - 1 :]
        if further:
            return further[0]
        settled = not any(OPEN in one for one in _said_by(body["messages"], "user"))
        return f"{THANKS[settled]} [END]"

    # Who looks at conversations

    def _judge(self, body: dict[str, Any]) -> dict[str, Any]:
        """Judge by the assistant's words, with the errors of the world's judge."""
        turns = [one for one in read_records(body["messages"]) if one.get("role") in ("user", "assistant")]
        said = _said_by(turns, "assistant")
        rng = self.world.rng("judge", [one["content"] for one in turns])
        left_open = next((one for one in said if OPEN in one), "")
        settled = bool(said) and not left_open
        judge = self.world.judge
        right = rng.random() < (judge.true_positive if settled else judge.true_negative)
        completed = settled == right
        shown = [mode for mode in self.world.modes if mode.symptom in left_open.casefold()]
        criteria = sorted(set(_CRITERION.findall(body["messages"][0]["content"])))
        return {
            **({"criteria": [{"name": name, "met": completed} for name in criteria]} if criteria else {}),
            "sentiment": "positive" if completed else "negative",
            "sentimentScore": 0.6 if completed else -0.6,
            "taskCompleted": completed,
            "quality": 85 if completed else 35,
            "topics": ["orders"],
            "summary": self._summary(left_open, completed=completed, quotes=rng.random() < judge.quotes),
            "issues": [] if completed else self._issues_of(shown),
        }

    def _summary(self, left_open: str, *, completed: bool, quotes: bool) -> str:
        asked = "Somebody asked for help with an order."
        if completed:
            return f"{asked} It was settled."
        told = left_open.rsplit(", but ", maxsplit=1)[-1].removesuffix(f", {OPEN}")
        return f"{asked} It stayed open: {told}." if quotes and told else f"{asked} It stayed open."

    def _issues_of(self, shown: list[Mode]) -> list[dict[str, Any]]:
        titles = [f"Left the {mode.theme} open" for mode in shown[:1]] or ["Request was not settled"]
        return [{"title": title, "severity": "high", "evidence": None} for title in titles]

    def _issues(self, _body: dict[str, Any]) -> dict[str, Any]:
        return {"groups": []}

    # Who writes

    def _scenarios(self, body: dict[str, Any]) -> dict[str, Any]:
        """Draw openings in the likeness of the log, so those of users of before where users have drifted."""
        key = _digest(body["messages"])
        wanted = _WANTED.search(body["messages"][-1]["content"])
        scenarios = [
            {
                "title": f"Order matter {key}-{number}",
                "opening": self.world.opening("written", key, number),
                "goal": "Have everything in the first message settled.",
            }
            for number in range(int(wanted[1]) if wanted else 15)
        ]
        return {"scenarios": scenarios}

    def _variants(self, body: dict[str, Any]) -> dict[str, Any]:
        said = body["messages"][-1]["content"]
        prompt, context = _prompt_and_context(body)
        ask = said[_WANTED.search(said).start() :] if _WANTED.search(said) else ""
        key = _digest(body["messages"])
        variants = []
        for number, strategy in enumerate(_STRATEGY.findall(ask)):
            rng = self.world.rng("variant", key, number)
            aimed = "failure" in strategy
            content = write_prompt(self.world, prompt, context, rng, aimed=aimed)
            variants.append(
                {
                    "name": strategy.split(":")[0],
                    "content": content,
                    "rationale": "It should work better.",
                }
            )
        return {"variants": variants}

    def _reflection(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer edits, each with the places in the request that show its symptom."""
        prompt, context = _prompt_and_context(body)
        rng = self.world.rng("reflection", _digest(body["messages"]))
        records = read_records(body["messages"])
        edits = [
            {
                "symptom": edit.symptom or "Conversations stay open.",
                "cause": edit.cause,
                "evidence": _evidence(records, edit.symptom),
                "operation": edit.operation,
                "anchor": edit.anchor,
                "text": edit.text,
            }
            for edit in _placed(write_edits(self.world, prompt, context, rng), prompt, rng)
        ]
        return {"edits": edits}

    def _other(self, body: dict[str, Any]) -> str:
        """Answer a whole prompt, as to an optimizer that names no purpose."""
        said = body["messages"][-1]["content"]
        fenced = _FENCED.search(said)
        prompt = fenced[1] if fenced else self.world.seed_prompt
        context = said[fenced.end() :] if fenced else said
        rng = self.world.rng("other", _digest(body["messages"]))
        return f"```\n{write_prompt(self.world, prompt, context, rng)}\n```"

    # What is not about the prompt

    def _tool(self, _body: dict[str, Any]) -> dict[str, Any]:
        return {"result": {"status": "ok"}}

    def _context(self, _body: dict[str, Any]) -> dict[str, Any]:
        return {
            "industry": "Retail",
            "objectives": "Settle what people ask about their orders.",
            "kpis": "Share of requests that are settled.",
        }


def _said_by(messages: Iterable[dict[str, Any]], role: str) -> list[str]:
    """List what a side said in a conversation, without calls of tools, their results and cues."""
    unsaid = (CALL, RESULT, FIRST_CUE)
    return [
        one["content"] for one in messages if one["role"] == role and not one["content"].startswith(unsaid)
    ]


def _digest(of: Any) -> str:
    return hashlib.sha256(json.dumps(of).encode()).hexdigest()[:10]


def _prompt_and_context(body: dict[str, Any]) -> tuple[str, str]:
    """Return the prompt of a request, and the other data that came with it."""
    records = read_records(body["messages"])
    prompt = next((one["content"] for one in records if one.get("kind") == "prompt"), "")
    others = [json.dumps(one, ensure_ascii=False) for one in records if one.get("kind") != "prompt"]
    return prompt, "\n".join(others)


def _placed(edits: list[Edit], prompt: str, rng: random.Random) -> list[Edit]:
    """Put some of the sentences that are to be added beside a line of the prompt, as a replacement of it."""
    lines = [line for line in prompt.split("\n") if line.strip()]
    placed = []
    for edit in edits:
        line = rng.choice(lines) if lines and edit.operation == "add" and rng.random() < REPLACES else None
        beside = (
            None
            if line is None
            else replace(edit, operation="replace", anchor=line, text=f"{line} {edit.text}")
        )
        placed.append(beside or edit)
    return placed


def _evidence(records: Iterable[dict[str, Any]], symptom: str) -> list[dict[str, str]]:
    """List who said a symptom: the id of the conversation, and the words."""
    if not symptom:
        return []
    found = []
    for record in records:
        if symptom in json.dumps(record, ensure_ascii=False).casefold():
            named = next((str(record[name]) for name in _ID_FIELDS if record.get(name)), "")
            found.append({"conversation": named, "quote": symptom})
    return found[:3]
