"""Labels and judges that are not acceptable."""

from __future__ import annotations

from typing import Any

from .requests import Bad, absent, refused

LABEL = {"conversationId": "cnv_1", "question": "task_completed", "value": "yes", "labeller": "ann"}
JUDGE = {"name": "polite", "question": "Is the assistant polite?"}


def label(fields: dict[str, Any], by_path: dict[str, str]) -> Bad:
    """A label of which only these fields are wrong."""
    return refused("POST /labels", {"labels": [LABEL | fields]}, by_path)


LABELS = [
    refused("POST /labels", {}, labels="Required field"),
    refused("POST /labels", {"labels": LABEL}, labels="must be a list"),
    refused("POST /labels", {"labels": []}, labels="must not be empty"),
    refused("POST /labels", {"labels": [LABEL] * 501}, labels="must have at most 500 entries"),
    label({"chance": 0}, {"labels[0].chance": "must be greater than 0"}),
    label({"labeller": ""}, {"labels[0].labeller": "must not be blank"}),
    refused("POST /judges", {"question": "Is it?"}, name="Required field"),
    refused("POST /judges", {"name": "polite"}, question="Required field"),
    refused("POST /judges", {**JUDGE, "examples": {}}, examples="must be a list"),
    absent("POST /judges/none/plan", {}, "Judge"),
    absent("POST /judges/none/backfill", {}, "Judge"),
    absent("POST /judges/none/align", {"labels": [{"conversationId": "cnv_1", "value": True}]}, "Judge"),
    *(
        absent(
            f"POST /{name}/none/learned-judge",
            {"labels": [{"conversationId": "cnv_1", "completed": True}] * 20},
            what,
        )
        for name, what in (("prompts", "Prompt"), ("agents", "Agent"))
    ),
    absent("POST /judge-runs/none/stop", {}, "Judge run"),
]
