"""A model endpoint on a real socket whose answers depend on the request alone, so that a run can be repeated."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from support.data_blocks import read_records
from support.stub_endpoint import StubEndpoint, StubModel

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = 0.6
MANNERS = (
    "Be brief.",
    "Explain each step.",
    "Repeat the request first.",
    "Give an example.",
    "Be formal.",
)
PROMPT = "You are the support of a parcel service. Always ask for the parcel number. Never promise a refund."


class AnsweringModel(StubModel):
    """Answers every purpose.

    Parameters
    ----------
    better
        How much more often the first variant completes than the original.
    options
        As for `StubModel`.

    Attributes
    ----------
    conversations
        How often the assistant was asked with each text and opening.
    """

    def __init__(self, *, better: float = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.better = better
        self.conversations: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def _variants(self, messages: list[dict[str, str]]) -> Any:
        count = asked_for(messages)
        return {
            "variants": [
                {
                    "name": f"Manner {number}",
                    "content": f"{PROMPT}\nManner {number}: {MANNERS[number % 5]} {'Then check it. ' * number}",
                    "rationale": "Another manner.",
                }
                for number in range(1, count + 1)
            ]
        }

    def _reflection(self, messages: list[dict[str, str]]) -> Any:
        """Answer one edit against what the first failed conversation began with."""
        records = read_records(messages)
        failed = next(one for one in records if one.get("outcome") == "failed")
        number = 1 + sum(one.get("kind") == "edit that was made" for one in records)
        return {
            "edits": [
                {
                    "symptom": "The request stays open.",
                    "cause": "The manner of the answer is not said.",
                    "evidence": [{"conversation": failed["id"], "quote": failed["turns"][0]["content"]}],
                    "operation": "add",
                    "anchor": "",
                    "text": f"Manner {number}: {MANNERS[number % 5]}",
                }
            ]
        }

    def _scenarios(self, messages: list[dict[str, str]]) -> Any:
        mark = hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:10]
        return {
            "scenarios": [
                {
                    "title": f"Parcel {mark}{at}",
                    "opening": f"My parcel {mark}{at} has not arrived, what now?",
                    "goal": "Learn where the parcel is.",
                }
                for at in range(15)
            ]
        }

    def _issues(self, _messages: list[dict[str, str]]) -> Any:
        return {"groups": []}

    def _context(self, _messages: list[dict[str, str]]) -> Any:
        return {
            "industry": "Parcel delivery",
            "objectives": "Make shipping simple for small shops.",
            "kpis": "Parcels that are delivered on time.",
        }

    def _persona(self, messages: list[dict[str, str]]) -> str:
        return "Thank you. [END]" if share(messages, "end") < 0.5 else "And when exactly?"

    def _agent(self, messages: list[dict[str, str]]) -> str:
        text, opening = messages[0]["content"], messages[1]["content"]
        if len(messages) == 2:
            with self._lock:
                self.conversations[text, opening] += 1
        rate = BASE + (self.better if "Manner 1:" in text else 0.0)
        return "It is solved: tomorrow." if share(opening, text) < rate else "I cannot say."

    def _judge(self, messages: list[dict[str, str]]) -> Any:
        solved = "It is solved" in json.dumps(messages)
        # The first target is met where the request is solved, the others by chance.
        named = sorted(set(re.findall(r'"(target \d+)"(?=:)', messages[0]["content"])))
        # The marks around a transcript are drawn anew for every request.
        transcript = re.sub(r"^(BEGIN|END) [0-9a-f]+$", "", messages[1]["content"], flags=re.MULTILINE)
        criteria = [
            {"name": name, "met": share(transcript, name) < 0.5 if at else solved}
            for at, name in enumerate(named)
        ]
        return {
            **({"criteria": criteria} if criteria else {}),
            "sentiment": "positive" if solved else "negative",
            "sentimentScore": 0.5 if solved else -0.5,
            "taskCompleted": solved,
            "quality": 80 if solved else 30,
            "topics": ["parcel"],
            "summary": "They asked for a parcel.",
            "issues": [] if solved else [{"title": "No answer", "severity": "high", "evidence": None}],
        }


def share(*of: Any) -> float:
    """A number from 0 to 1 that depends on the arguments alone."""
    digest = hashlib.sha256(json.dumps(of).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def asked_for(messages: list[dict[str, str]]) -> int:
    """How many variants a request wants."""
    found = re.search(r"Write (\d) variants", messages[-1]["content"])
    assert found is not None
    return int(found[1])


@contextmanager
def serving(model: StubModel) -> Iterator[dict[str, str]]:
    """Serve a model; gives the environment that points a service at it."""
    endpoint = StubEndpoint(model)
    try:
        settings = endpoint.settings
        yield {
            "PROMPTLIFT_LLM_BASE_URL": settings.base_url,
            "PROMPTLIFT_LLM_MODEL": settings.model,
            "PROMPTLIFT_LLM_API_KEY": settings.api_key or "",
        }
    finally:
        endpoint.close()
