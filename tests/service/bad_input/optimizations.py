"""Optimizations with values that are not acceptable, in states that do not allow it, and of somebody else."""

from __future__ import annotations

import re
from typing import Any

from promptlift.schema.optimizations import VERDICTS

from .requests import (
    OPTIMIZATION_ID,
    PROMPT_ID,
    THEIR_OPTIMIZATION_ID,
    THEIR_PERSONA_ID,
    THEIR_PROMPT_ID,
    THEIR_VARIANT_ID,
    VALIDATION,
    VARIANT_ID,
    Bad,
    absent,
    nested,
    no_body,
    no_json,
    no_object,
    not_possible,
    of_type,
    refused,
)

CREATE = "POST /optimizations"
ONE = f"/optimizations/{OPTIMIZATION_ID}"
APPLY, STOP = f"POST {ONE}/apply", f"POST {ONE}/stop"
STATE = "INVALID_STATE"
NUL = "must not contain a NUL character"
COUNT = "must be a whole number"


def asked(fields: dict[str, Any], /, **details: str) -> Bad:
    """A trigger in which only these fields are wrong."""
    return refused(CREATE, {"promptId": PROMPT_ID, **fields}, **details)


def media_type(request: str) -> Bad:
    """A body that says it is something else than JSON."""
    return of_type(request, {}, "text/plain")


TRIGGERS = [
    Bad(CREATE, {}, 400, VALIDATION, "Required field: promptId (or agentId)", {"promptId": "Required field"}),
    refused(CREATE, {"variantCount": 0}, promptId="Required field", variantCount="must be at least 1"),
    asked({"promptId": 7}, promptId="must be a string"),
    asked({"promptId": "a\x00"}, promptId=NUL),
    asked({"promptId": "p" * 256}, promptId="must have at most 255 characters"),
    asked({"agentId": "other"}, agentId="must be the same as promptId, or absent"),
    asked({"mode": "thorough"}, mode="must be one of exploratory, validation"),
    asked({"variantCount": 0}, variantCount="must be at least 1"),
    asked({"variantCount": 6}, variantCount="must be at most 5"),
    asked({"variantCount": 10**30}, variantCount=COUNT),
    asked({"variantCount": 2.5}, variantCount=COUNT),
    asked({"variantCount": 3.0}, variantCount=COUNT),
    asked({"variantCount": True}, variantCount=COUNT),
    asked({"seed": -1}, seed="must be at least 0"),
    asked({"seed": 2**53}, seed="must be at most 9007199254740991"),
    asked({"intent": "faster"}, intent="must be an object"),
    asked(
        {"intent": {"targetImprovements": ["fine", None, {}]}},
        **{
            "intent.targetImprovements[1]": "must be a string",
            "intent.targetImprovements[2]": "must be a string",
        },
    ),
    asked(
        {"intent": {"targetImprovements": ["x"] * 51}},
        **{"intent.targetImprovements": "must have at most 50 entries"},
    ),
    asked({"intent": {"targetImprovements": ["a\x00b"]}}, **{"intent.targetImprovements[0]": NUL}),
    asked(
        {"intent": {"targetImprovements": ["x" * 10_001]}},
        **{"intent.targetImprovements[0]": "must have at most 10000 characters"},
    ),
    asked(
        {"intent": {"hypothesis": "é" * 10_001}},
        **{"intent.hypothesis": "must have at most 10000 characters"},
    ),
    asked({"personaIds": "p"}, personaIds="must be a list"),
    asked({"personaIds": []}, personaIds="must not be empty; leave it out to draw from all personas"),
    asked({"personaIds": [None]}, **{"personaIds[0]": "must be a string"}),
    asked({"personaIds": [" "]}, **{"personaIds[0]": "must not be blank"}),
    asked({"personaIds": ["nobody"]}, **{"personaIds[0]": "no such persona"}),
    asked({"personaIds": [THEIR_PERSONA_ID]}, **{"personaIds[0]": "no such persona"}),
    asked(
        {"personaIds": ["per_lib_expert", "per_lib_engineer"]},
        personaIds="must have at most 1 entries, the personaCount of the settings",
    ),
    asked({"personaIds": [f"p{n}" for n in range(100_000)]}, personaIds="must have at most 500 entries"),
    asked(
        {
            "promptId": 1,
            "agentId": 2,
            "mode": 3,
            "variantCount": "4",
            "intent": 5,
            "personaIds": 6,
            "seed": "7",
        },
        promptId="must be a string",
        agentId="must be a string",
        mode="must be one of exploratory, validation",
        variantCount=COUNT,
        intent="must be an object",
        personaIds="must be a list",
        seed=COUNT,
    ),
    absent(CREATE, {"promptId": "none"}, "Prompt"),
    absent(CREATE, {"agentId": "none"}, "Agent"),
    absent(CREATE, {"promptId": "' OR '1'='1"}, "Prompt"),
    absent(CREATE, {"promptId": ""}, "Prompt"),
    absent(CREATE, {"promptId": THEIR_PROMPT_ID}, "Prompt"),
    absent(CREATE, {"agentId": THEIR_PROMPT_ID}, "Agent"),
    absent(CREATE, {"promptId": OPTIMIZATION_ID}, "Prompt"),
    no_body(CREATE),
    Bad(
        CREATE,
        {"promptId": PROMPT_ID, "intent": nested(200)},
        400,
        VALIDATION,
        "The body is nested too deeply",
        {"body": "is nested deeper than 64 levels"},
    ),
    media_type(CREATE),
]

APPLIES = [
    Bad(
        APPLY,
        None,
        409,
        STATE,
        "The optimization ended without a winner, so there is no variant to apply by default; pass variantId",
        {"variantId": "needed, because there is no winner"},
    ),
    Bad(
        APPLY,
        {"variantId": VARIANT_ID, "ifVersionId": "ver_0", "acceptRehearsal": True},
        409,
        STATE,
        "The text was changed by someone else in the meantime; read the current version and try again",
        {
            "ifVersionId": "is not the current version",
            "liveVersionId": re.compile(r"ver_\d+"),
            "liveOrigin": "created",
            "liveSince": re.compile(r"\d{4}-.+Z"),
        },
    ),
    refused(
        APPLY, {"variantId": VARIANT_ID, "acceptRehearsal": "yes"}, acceptRehearsal="must be true or false"
    ),
    refused(APPLY, {"variantId": 1}, variantId="must be a string"),
    refused(APPLY, {"variantId": "v\x00"}, variantId=NUL),
    refused(APPLY, {"variantId": VARIANT_ID, "ifVersionId": {}}, ifVersionId="must be a string"),
    *(
        Bad(
            APPLY,
            {"variantId": one},
            400,
            VALIDATION,
            "No such variant",
            {"variantId": "is not a variant of this optimization"},
        )
        for one in ("var_none", "", THEIR_VARIANT_ID)
    ),
    no_object(APPLY, []),
    no_json(APPLY, b"winner"),
    media_type(APPLY),
    absent("POST /optimizations/none/apply"),
    absent(f"POST /optimizations/{THEIR_OPTIMIZATION_ID}/apply"),
    absent(f"POST /optimizations/{THEIR_OPTIMIZATION_ID}/apply", {"variantId": THEIR_VARIANT_ID}),
]

STOPS = [
    Bad(
        STOP,
        {"reason": "r"},
        409,
        STATE,
        "The optimization is completed; only a queued or running one can be stopped",
        {"status": "completed"},
    ),
    refused(STOP, {"reason": 5}, reason="must be a string"),
    refused(STOP, {"reason": "a\x00"}, reason=NUL),
    no_object(STOP, b'"r"'),
    no_json(STOP, b'{"reason'),
    media_type(STOP),
    absent("POST /optimizations/none/stop"),
    absent(f"POST /optimizations/{THEIR_OPTIMIZATION_ID}/stop"),
]

LIST, SIMULATIONS = "GET /optimizations", f"GET {ONE}/simulations"
READS = [
    *(
        absent(f"GET /optimizations/{one}{view}")
        for view in ("", "/variants", "/simulations")
        for one in ("none", THEIR_OPTIMIZATION_ID)
    ),
    absent("GET /optimizations/%00"),
    absent(f"GET /optimizations/{PROMPT_ID}"),
    refused(f"{LIST}?limit=0", None, limit="must be a whole number from 1 to 100"),
    refused(
        f"{LIST}?status=active", None, status="must be one of queued, running, completed, failed, stopped"
    ),
    refused(f"{LIST}?promptId=%00", None, promptId=NUL),
    refused(f"{SIMULATIONS}?stage=done", None, stage="must be one of screen, confirm, verify, regression"),
    refused(f"{SIMULATIONS}?taskCompleted=1", None, taskCompleted="must be true or false"),
    refused(f"{SIMULATIONS}?includeContent=", None, includeContent="must be true or false"),
    refused(f"{SIMULATIONS}?variantId=%00", None, variantId=NUL),
    refused(
        f"{SIMULATIONS}?variantId={THEIR_VARIANT_ID}", None, variantId="no such variant in this optimization"
    ),
    not_possible(f"DELETE {ONE}", "GET"),
    not_possible(f"GET {ONE}/apply", "POST"),
]

REVIEW = f"PATCH {ONE}/review"
REVIEWS = [
    refused(REVIEW, {}, variantId="Required field"),
    refused(REVIEW, {"variantId": " "}, variantId="must not be blank"),
    refused(
        REVIEW,
        {"variantId": VARIANT_ID, "verdict": 5, "note": []},
        verdict=f"must be one of {', '.join(VERDICTS)}",
        note="must be a string",
    ),
    absent("PATCH /optimizations/opt_1/review", {"variantId": "var_1"}),
    refused("POST /actions/act_1/undo", {"note": 3}, note="must be a string"),
    absent("POST /actions/act_1/undo", {}, kind="Action"),
]

OPTIMIZATIONS = [*TRIGGERS, *APPLIES, *STOPS, *READS, *REVIEWS]
