"""A reviewed service whose optimization searched in three generations: candidates, their edits, and what each is worth.

Import it where a conftest has loaded ``foreign_service``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from promptlift.schema.optimizations import TextLength
from promptlift.schema.search import Edit, assembled
from support.reviewed_service import ReviewedService

ORIGINAL = "You are the help desk of an invented shop.\nAnswer in {language}.\nNever promise a date."
TEXTS = {
    "e1": "If a request cannot be met as it stands, offer the nearest thing that can be done.",
    "e2": "Write lively answers with some variety.",
    "e3": "Answer in {language}, in at most three sentences.",
    "e4": "In every answer treat what was said earlier as known, and ask only for what is missing.",
    "e5": "Keep people informed about what else is on offer.",
}


def edit(name: str, **fields: Any) -> dict[str, Any]:
    """Make an edit as the service sends it."""
    return {
        "id": f"edt_{name}",
        "operation": "add",
        "anchor": "",
        "text": TEXTS.get(name, ""),
        "symptom": "Requests are declined and nothing is offered",
        "cause": "No rule says what to do with a request that cannot be met.",
        "evidence": [
            {"conversationId": f"cnv_{name}_1", "quote": "I am afraid that this is not possible."},
            {"conversationId": f"cnv_{name}_2", "quote": "I cannot do anything about the refund here."},
        ],
        "won": 9,
        "lost": 2,
        "tied": 13,
        "state": "kept",
        "reason": None,
        **fields,
    }


def edits() -> dict[str, dict[str, Any]]:
    """Make all edits of the search, by name."""
    return {
        "e1": edit("e1"),
        "e2": edit(
            "e2", symptom="Answers read like a form", cause="The tone is not named.", won=3, lost=4, tied=17, state="pruned",
            reason="Without it as many conversations were completed.",
        ),
        "e3": edit(
            "e3", operation="replace", anchor="Answer in {language}.", symptom="Answers are too long to be read", won=6,
            lost=3, tied=15, cause="No length is named.",
        ),
        "e4": edit(
            "e4", symptom="People are asked for what they said already", won=8, lost=1, tied=15,
            cause="No rule says to use what the conversation holds.",
        ),
        "e5": edit(
            "e5", symptom="People leave without a hint", won=None, lost=None, tied=None, state="refused",
            reason="It repeats five words in a row of a logged conversation.",
        ),
    }  # fmt: skip


def candidates(
    named: dict[str, str] | None = None, made: dict[str, dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """Make the original and the candidates of three generations.

    Parameters
    ----------
    named
        Names of candidates by id, in place of the usual ones.
    made
        The edits; those of `edits` when left out.
    """
    made = edits() if made is None else made
    rows = [
        ("v1", "Generation 1, from logged failures", 1, ("v0", None), ("e1", "e2", "e5"), "pool", (16, 5, 3, 32), None),
        ("v2", "Generation 1, shorter", 1, ("v0", None), ("e3",), "pool", (16, 4, 3, 48), None),
        ("v3", "Generation 2 of 1", 2, ("v1", None), ("e1", "e2", "e4"), "pool", (24, 9, 3, 80), None),
        ("v4", "Generation 2, ask first", 2, ("v2", None), ("e3", "e2"), "rejected", (8, 1, 3, 96),
         "It lost on the first batch."),
        ("v5", "Generation 3, merged", 3, ("v3", "v2"), ("e1", "e2", "e4", "e3"), "pool", (40, 15, 4, 128),
         "One of its edits earned nothing."),
        ("v6", "Generation 3, pruned", 3, ("v5", None), ("e1", "e4", "e3"), "finalist", (48, 19, 4, 168), None),
    ]  # fmt: skip
    found = [
        {
            "id": "v0", "name": "Original", "number": 0, "isOriginal": True, "content": ORIGINAL, "generation": 0,
            "metrics": {"taskCompletion": 50.0, "sentiment": 0.1, "quality": 70.0}, "pairs": {"n": 60}, "warnings": [],
        }
    ]  # fmt: skip
    for number, (identifier, name, generation, (parent, other), of, state, counts, reason) in enumerate(
        rows, 1
    ):
        pairs, won, lost, spent = counts
        kept = [Edit.from_wire(made[one]) for one in of if made[one]["state"] != "refused"]
        points = 100.0 * (won - lost) / pairs
        found.append(
            {
                "id": identifier, "name": (named or {}).get(identifier, name), "number": number, "isOriginal": False,
                "content": assembled(ORIGINAL, kept), "generation": generation, "parentVariantId": parent,
                "otherParentVariantId": other,
                "edits": [made[one] | ({"state": "kept"} if made[one]["state"] == "pruned" and identifier != "v6" else {}) for one in of],
                "search": {
                    "pairs": pairs, "won": won, "lost": lost, "tied": pairs - won - lost, "points": points,
                    "pointsLow": points - 100.0 / pairs**0.5, "pointsHigh": points + 100.0 / pairs**0.5,
                    "conversationsSpent": spent, "state": state, "reason": reason,
                },
                "metrics": {"taskCompletion": 50.0 + points, "sentiment": 0.2, "quality": 72.0},
                "originalTaskCompletion": 50.0, "lift": 2 * points, "pairs": {"n": pairs}, "warnings": [],
                "stage": "confirm" if identifier == "v6" else "screen", "isWinner": identifier == "v6",
                **({"liftPoints": points, "liftLow": 20.0, "liftHigh": 110.0, "intervalLevel": 0.9, "confidence": 0.96,
                    "pairs": {"n": 60, "n11": 26, "n10": 25, "n01": 4, "n00": 5}} if identifier == "v6" else {}),
            }
        )  # fmt: skip
    for one in found:
        one["length"] = TextLength.of(one["content"], answers=3.0, monthly=900, price=2.5).to_wire()
    # The finalist is what the search kept of its parent: the edit that went is listed with it, pruned.
    found[-1]["edits"].append(made["e2"])
    return found


@dataclass
class SearchedService(ReviewedService):
    """Its only optimization, ``o00001``, found its winner in three generations; a hand-made text can be tested."""

    texts: dict[str, str] = field(default_factory=lambda: {"p1": ORIGINAL})
    variants: list[dict[str, Any]] = field(default_factory=candidates)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self):
        results = {
            "winnerSelected": True,
            "winningVariantId": "v6",
            "lift": 62.5,
            "confidence": 0.96,
            "confidenceNeeded": 0.9,
        }
        plan = {
            "search": {"planned": 172, "spent": 168},
            "confirmation": {"planned": 173, "spent": 120},
            "verification": {"planned": 120, "spent": 0},
            "generationsMax": 6,
            "generations": 3,
        }
        self.add(results=results, searchPlan=plan)

    def begin(self, body):
        self.asked.append(body)
        return super().begin(body)
