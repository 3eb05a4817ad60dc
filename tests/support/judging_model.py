"""A model endpoint on a real socket that judges by a rubric of its own, hidden from those who ask.

Every conversation has some signs; the owner's answer is yes when it has one of the hidden ones. The stub judge answers
by the cures of which its instructions hold the words: without them it sees only the plain sign, so a better rubric makes
it right more often. The stub writer finds the cure only where a conversation with the sign is shown on which the judge
is wrong.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.stub_endpoint import Asked, Say, completion

if TYPE_CHECKING:
    from collections.abc import Callable

# What a conversation with the sign says, and the rule that makes a judge see it.
SIGNS = {
    "plain": ("You will get your money back tomorrow.", ""),
    "voucher": ("A credit slip lands in your wallet.", "Count vouchers as promises."),
    "later": ("Our cashier settles that on Monday.", "Count delayed payments as promises."),
    "hedge": ("Perhaps finance can do something nice.", "Hedged wording is no promise."),
}
YES = ("plain", "voucher", "later")
QUESTION = "Did the assistant promise a refund?"


@dataclass(frozen=True)
class World:
    """Conversations whose truth is known."""

    texts: dict[str, str] = field(default_factory=dict)
    truth: dict[str, bool] = field(default_factory=dict)


def world(count: int, *, seed: int = 1) -> World:
    """Conversations by key, with the owner's answers: a third of them have each sign or none."""
    draw = random.Random(seed)
    made = World()
    for number in range(count):
        sign = draw.choice([*SIGNS, "none", "none"])
        said = SIGNS[sign][0] if sign in SIGNS else "The parcel is on its way."
        key = f"c{number}"
        made.texts[key] = f"User: My parcel {number} is broken.\nAssistant: {said}\nUser: Fine {number}."
        made.truth[key] = sign in YES
    return made


class JudgingModel:
    """Answers the question of `QUESTION` and writes edits of its rubric.

    Parameters
    ----------
    writes
        Whether the writer finds the hidden rules; else it writes rules that change nothing.
    noise
        Share of conversations whose answer is wrong whatever the rubric is.
    fault
        Called with each request first; what it gives is answered instead.

    Attributes
    ----------
    asked
        Requests as they came.
    """

    def __init__(
        self,
        *,
        writes: bool = True,
        noise: float = 0.0,
        delay: float = 0.0,
        fault: Callable[[Asked], Say | None] | None = None,
    ) -> None:
        self.writes = writes
        self.noise = noise
        self.delay = delay
        self.fault = fault
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Say:
        if asked.body is None:
            return Say({"data": [{"id": "stub"}]})
        self.asked.append(asked)
        if self.fault is not None and (said := self.fault(asked)) is not None:
            return said
        purpose, messages = asked.headers["x-promptlift-purpose"], asked.body["messages"]
        if purpose == "reflection":
            answer: Any = {"edits": self._edits(messages)}
        elif "yes-or-no question" in messages[0]["content"]:
            answer = self._answer(messages)
        else:
            answer = _insights()
        say = completion(json.dumps(answer), prompt=100, completed=20)
        say.delay = self.delay
        return say

    def of(self, purpose: str) -> list[Asked]:
        """Requests for a purpose."""
        return [one for one in self.asked if one.headers["x-promptlift-purpose"] == purpose]

    def _answer(self, messages: list[dict[str, str]]) -> Any:
        rules = messages[0]["content"]
        turns = [
            json.loads(line) for line in messages[1]["content"].splitlines() if line.startswith('{"turn"')
        ]
        said = " ".join(one["content"] for one in turns)
        sees = {name: phrase in said for name, (phrase, _) in SIGNS.items()}
        answer = sees["plain"] or (sees["voucher"] and SIGNS["voucher"][1] in rules)
        answer = answer or (sees["later"] and SIGNS["later"][1] in rules)
        # Without the rule it takes hedges for promises.
        answer = answer or (sees["hedge"] and SIGNS["hedge"][1] not in rules)
        if share(said) < self.noise:
            answer = not answer
        return {"reason": "The last message of the assistant decides.", "answer": answer}

    def _edits(self, messages: list[dict[str, str]]) -> list[dict[str, Any]]:
        shown: dict[str, dict[str, Any]] = {}
        name = ""
        for line in messages[1]["content"].splitlines():
            if not line.startswith("{"):
                continue
            record = json.loads(line)
            if "conversation" in record:
                name = record["conversation"]
                shown[name] = {"wrong": record["owner"] != record["judge"], "text": ""}
            elif "turn" in record:
                shown[name]["text"] += record["content"]
        edits = []
        for phrase, rule in SIGNS.values():
            named = [key for key, one in shown.items() if one["wrong"] and phrase in one["text"]]
            if rule and named:
                text = rule if self.writes else f"Read message {len(edits) + 1} twice."
                edits.append(_add(text, named))
        if not edits:
            wrong = [key for key, one in shown.items() if one["wrong"]]
            edits = [_add("Be careful.", wrong[:1])]
        return edits


def _add(text: str, evidence: list[str]) -> dict[str, Any]:
    return {"operation": "add", "anchor": "", "text": text, "reason": "It was missed.", "evidence": evidence}


def _insights() -> Any:
    return {
        "sentiment": "neutral", "sentimentScore": 0.0, "taskCompleted": True, "quality": 50, "topics": ["parcel"],
        "summary": "They asked for a parcel.", "issues": [],
    }  # fmt: skip


def share(text: str) -> float:
    """A number from 0 to 1 that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def mark_of(asked: Asked) -> str:
    """The mark around the data of a request."""
    found = re.search(r"BEGIN ([0-9a-f]{32})", asked.body["messages"][1]["content"])
    assert found is not None
    return found[1]
