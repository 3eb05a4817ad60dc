"""A model endpoint on a real socket that judges by a rubric of its own, hidden from those who ask.

Every conversation has some signs; the owner's answer is yes when it has one of the hidden ones. The stub judge answers
by the cures of which its instructions hold the words: without them it sees only the plain sign, so a better rubric makes
it right more often. The stub writer finds the cure only where a conversation with the sign is shown on which the judge
is wrong.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from support.stub_endpoint import StubModel

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


class JudgingModel(StubModel):
    """Answers the question of `QUESTION` and writes edits of its rubric.

    Parameters
    ----------
    writes
        Whether the writer finds the hidden rules; else it writes rules that change nothing.
    options
        As for `StubModel`.
    """

    tokens = (100, 20)

    def __init__(self, *, writes: bool = True, **options: Any) -> None:
        super().__init__(**options)
        self.writes = writes

    def _judge(self, messages: list[dict[str, str]]) -> Any:
        if "yes-or-no question" in messages[0]["content"]:
            return self._answer(messages)
        return {
            "sentiment": "neutral", "sentimentScore": 0.0, "taskCompleted": True, "quality": 50, "topics": ["parcel"],
            "summary": "They asked for a parcel.", "issues": [],
        }  # fmt: skip

    def _reflection(self, messages: list[dict[str, str]]) -> Any:
        return {"edits": self._edits(messages)}

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
