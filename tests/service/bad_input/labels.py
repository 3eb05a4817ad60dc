"""Labels and judges that are not acceptable."""

from __future__ import annotations

from typing import Any

from .requests import Bad, absent, refused

LABEL = {"conversationId": "cnv_1", "question": "task_completed", "value": "yes", "labeller": "ann"}
JUDGE = {"name": "polite", "question": "Is the assistant polite?"}


def label(name: str, fields: dict[str, Any], by_path: dict[str, str]) -> Bad:
    """A label of which only these fields are wrong."""
    return refused(f"label: {name}", "POST /labels", {"labels": [LABEL | fields]}, by_path)


LABELS = [
    refused("no labels", "POST /labels", {}, labels="Required field"),
    refused("labels that are no list", "POST /labels", {"labels": LABEL}, labels="must be a list"),
    refused("an empty list of labels", "POST /labels", {"labels": []}, labels="must not be empty"),
    refused(
        "too many labels", "POST /labels", {"labels": [LABEL] * 501}, labels="must have at most 500 entries"
    ),
    label("a chance of nothing", {"chance": 0}, {"labels[0].chance": "must be greater than 0"}),
    label("no labeller", {"labeller": ""}, {"labels[0].labeller": "must not be blank"}),
    refused("a judge without a name", "POST /judges", {"question": "Is it?"}, name="Required field"),
    refused("a judge without a question", "POST /judges", {"name": "polite"}, question="Required field"),
    refused(
        "a judge with examples that are none",
        "POST /judges",
        {**JUDGE, "examples": {}},
        examples="must be a list",
    ),
    absent("a plan of a judge that is not there", "POST /judges/none/plan", {}, "Judge"),
    absent("a backfill of a judge that is not there", "POST /judges/none/backfill", {}, "Judge"),
    absent(
        "labels for a judge that is not there",
        "POST /judges/none/align",
        {"labels": [{"conversationId": "cnv_1", "value": True}]},
        "Judge",
    ),
    *(
        absent(
            "labels to learn from for a prompt that is not there",
            f"POST /{name}/none/learned-judge",
            {"labels": [{"conversationId": "cnv_1", "completed": True}] * 20},
            what,
        )
        for name, what in (("prompts", "Prompt"), ("agents", "Agent"))
    ),
    absent("the end of a run that is not there", "POST /judge-runs/none/stop", {}, "Judge run"),
]
