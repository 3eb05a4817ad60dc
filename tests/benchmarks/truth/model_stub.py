"""A model whose texts have a known truth (see `known_truth`), for a ``StubEndpoint``, and what it was asked."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from benchmarks.truth import known_truth
from support.stub_endpoint import Asked, Say, completion

_REPLY = re.compile(r"Reply ([0-9a-f]{8}): .{0,40}outcome (yes|no)")
_VARIANTS = re.compile(r"Write (\d+) variants")
_SCENARIOS = re.compile(r"Write (\d+) scenarios")
_TITLE = re.compile(r"Matter (\d+)\b")


class NotUnderstood(Exception):
    """The request is none that a known truth can answer."""


class TruthModel:
    """Answers by the truth; a request that it does not understand is answered 400 and counted.

    Attributes
    ----------
    purposes
        Requests by purpose.
    leaks
        Requests that give an arm away to those who must not know it: the judge, the personas, the writer of scenarios.
    """

    def __init__(self) -> None:
        self.purposes: Counter[str] = Counter()
        self.not_understood = self.leaks = 0

    def __call__(self, asked: Asked) -> Say:
        if asked.body is None:
            return Say({"object": "list", "data": [{"id": "stub"}]})
        purpose = asked.headers.get("x-promptlift-purpose", "")
        said = "\n".join(one["content"] for one in asked.body["messages"])
        self.purposes[purpose] += 1
        arms = [found[6] for found in known_truth.CASE.finditer(said)]
        self.leaks += bool(arms) if purpose in ("judge", "persona") else 0
        self.leaks += purpose == "scenarios" and any(arm != "0" for arm in arms)
        try:
            answer = ANSWERS.get(purpose, answer_nothing)(said, asked.body["messages"][-1]["content"])
        except NotUnderstood as error:
            self.not_understood += 1
            return Say({"error": {"message": str(error)}}, status=400)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return completion(text, prompt=len(said) // 4, completed=len(text) // 4)


def answer_agent(said: str, _last: str) -> str:
    """Complete the task or not, by the truth of the arm."""
    case, matter_ = known_truth.CaseFile.read(said), known_truth.MATTER.search(said)
    if case is None or matter_ is None:
        raise NotUnderstood("an agent needs a case file and an opening")
    matter, persona = int(matter_[1]), matter_[2]
    code = int(known_truth.uniform(case.run, "reply", case.arm, matter, persona) * 2**32)
    if known_truth.completes(case, matter, persona):
        return f"Reply {code:08x}: your matter is settled, outcome yes."
    return f"Reply {code:08x}: sorry, this cannot be settled, outcome no."


def answer_judge(said: str, _last: str) -> Any:
    """Say what the transcript says, with some noise in the scores."""
    replies = _REPLY.findall(said)
    if not replies:
        raise NotUnderstood("a judge needs a reply to judge")
    code, outcome = replies[-1]
    completed = outcome == "yes"
    mood, work = known_truth.normal(code.encode(), "mood"), known_truth.normal(code.encode(), "work")
    score = max(-1.0, min(1.0, (0.5 if completed else -0.3) + 0.3 * mood))
    quality = max(0.0, min(100.0, (78.0 if completed else 50.0) + 9.0 * work))
    return {
        "sentiment": "positive" if score > 0.2 else "negative" if score < -0.2 else "neutral",
        "sentimentScore": round(score, 3),
        "taskCompleted": completed,
        "quality": round(quality, 1),
        "topics": ["matters"],
        "summary": "Somebody asked about a matter. The assistant replied.",
        "issues": [] if completed else [{"title": "Not settled", "severity": "medium", "evidence": "outcome no"}],
    }  # fmt: skip


def _records_of(last: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in last.split("\n") if line.startswith("{")]


def _original(records: list[dict[str, Any]]) -> str:
    content = next((one.get("content", "") for one in records if one.get("kind") == "prompt"), "")
    if known_truth.CaseFile.read(content) is None:
        raise NotUnderstood("the prompt has no case file")
    return content


def answer_variants(_said: str, last: str) -> Any:
    """Write as many variants as asked for, the next ones by number."""
    records, wanted = _records_of(last), _VARIANTS.search(last)
    original = _original(records)
    if wanted is None:
        raise NotUnderstood("it does not say how many variants")
    there = next((len(one["names"]) for one in records if one.get("kind") == "versions that exist"), 0)
    return {
        "variants": [
            {
                "name": f"Edition {arm}",
                "content": known_truth.variant_text(original, arm),
                "rationale": f"It adds: {known_truth.ADDITIONS[arm - 1]}",
            }
            for arm in range(there + 1, there + 1 + int(wanted[1]))
        ]
    }


def answer_scenarios(_said: str, last: str) -> Any:
    """Write as many new openings as asked for, each for the person who will come with it."""
    records, wanted_ = _records_of(last), _SCENARIOS.search(last)
    _original(records)
    if wanted_ is None:
        raise NotUnderstood("it does not say how many scenarios")
    titles = next((one["titles"] for one in records if one.get("kind") == "titles that exist"), [])
    numbers = [int(found[1]) for title in titles if (found := _TITLE.match(title))]
    first = max(numbers, default=-1) + 1
    people = [one["name"] for one in records if one.get("kind") == "kind of person"] or ["nobody"]
    wanted = int(wanted_[1])
    # The cells of a pass go person by person.
    names = [known_truth.slug(people[at * len(people) // wanted]) for at in range(wanted)]
    return {
        "scenarios": [
            {
                "title": f"Matter {number}",
                "opening": known_truth.opening_text(number, name),
                "goal": "Have the matter settled.",
            }
            for number, name in enumerate(names, first)
        ]
    }


def answer_persona(_said: str, _last: str) -> str:
    """End the conversation."""
    return "Fine. [END]"


def answer_nothing(_said: str, _last: str) -> Any:
    """Refuse a purpose that nobody told of."""
    raise NotUnderstood("no such purpose")


ANSWERS = {
    "agent": answer_agent,
    "judge": answer_judge,
    "variants": answer_variants,
    "scenarios": answer_scenarios,
    "persona": answer_persona,
}
