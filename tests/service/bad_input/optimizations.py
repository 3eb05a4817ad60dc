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
    of_type,
    refused,
)

CREATE = "POST /optimizations"
ONE = f"/optimizations/{OPTIMIZATION_ID}"
APPLY, STOP = f"POST {ONE}/apply", f"POST {ONE}/stop"
STATE = "INVALID_STATE"
NUL = "must not contain a NUL character"
COUNT = "must be a whole number"


def asked(name: str, fields: dict[str, Any], /, **details: str) -> Bad:
    """A trigger in which only these fields are wrong."""
    return refused(f"optimize: {name}", CREATE, {"promptId": PROMPT_ID, **fields}, **details)


def media_type(request: str) -> Bad:
    """A body that says it is something else than JSON."""
    return of_type(f"{request} as plain text", request, {}, "text/plain")


TRIGGERS = [
    Bad(
        "optimize: nothing",
        CREATE,
        {},
        400,
        VALIDATION,
        "Required field: promptId (or agentId)",
        {"promptId": "Required field"},
    ),
    refused(
        "optimize: no prompt and a wrong count",
        CREATE,
        {"variantCount": 0},
        promptId="Required field",
        variantCount="must be at least 1",
    ),
    Bad(
        "optimize: prompt null",
        CREATE,
        {"promptId": None},
        400,
        VALIDATION,
        "Required field: promptId (or agentId)",
        {"promptId": "Required field"},
    ),
    asked("prompt a number", {"promptId": 7}, promptId="must be a string"),
    asked("prompt a list", {"promptId": [PROMPT_ID]}, promptId="must be a string"),
    asked("prompt with NUL", {"promptId": "a\x00"}, promptId=NUL),
    asked("prompt too long", {"promptId": "p" * 256}, promptId="must have at most 255 characters"),
    asked("agent an object", {"agentId": {}}, agentId="must be a string"),
    asked("two links", {"agentId": "other"}, agentId="must be the same as promptId, or absent"),
    asked("mode unknown", {"mode": "thorough"}, mode="must be one of exploratory, validation"),
    asked("mode empty", {"mode": ""}, mode="must be one of exploratory, validation"),
    asked("mode in capitals", {"mode": "VALIDATION"}, mode="must be one of exploratory, validation"),
    asked("mode a number", {"mode": 1}, mode="must be one of exploratory, validation"),
    asked("count 0", {"variantCount": 0}, variantCount="must be at least 1"),
    asked("count 6", {"variantCount": 6}, variantCount="must be at most 5"),
    asked("count negative", {"variantCount": -3}, variantCount="must be at least 1"),
    asked("count huge", {"variantCount": 10**30}, variantCount=COUNT),
    asked("count a fraction", {"variantCount": 2.5}, variantCount=COUNT),
    asked("count a whole fraction", {"variantCount": 3.0}, variantCount=COUNT),
    asked("count a text", {"variantCount": "3"}, variantCount=COUNT),
    asked("count true", {"variantCount": True}, variantCount=COUNT),
    asked("count a list", {"variantCount": [3]}, variantCount=COUNT),
    asked("seed negative", {"seed": -1}, seed="must be at least 0"),
    asked("seed beyond exact numbers", {"seed": 2**53}, seed="must be at most 9007199254740991"),
    asked("seed a fraction", {"seed": 0.5}, seed=COUNT),
    asked("seed a text", {"seed": "7"}, seed=COUNT),
    asked("seed false", {"seed": False}, seed=COUNT),
    asked("intent a text", {"intent": "faster"}, intent="must be an object"),
    asked("intent a list", {"intent": []}, intent="must be an object"),
    asked(
        "improvements a text",
        {"intent": {"targetImprovements": "all"}},
        **{"intent.targetImprovements": "must be a list"},
    ),
    asked(
        "improvements of wrong types",
        {"intent": {"targetImprovements": ["fine", None, {}]}},
        **{
            "intent.targetImprovements[1]": "must be a string",
            "intent.targetImprovements[2]": "must be a string",
        },
    ),
    asked(
        "too many improvements",
        {"intent": {"targetImprovements": ["x"] * 51}},
        **{"intent.targetImprovements": "must have at most 50 entries"},
    ),
    asked(
        "an improvement with NUL",
        {"intent": {"targetImprovements": ["a\x00b"]}},
        **{"intent.targetImprovements[0]": NUL},
    ),
    asked(
        "an improvement that is too long",
        {"intent": {"targetImprovements": ["x" * 10_001]}},
        **{"intent.targetImprovements[0]": "must have at most 10000 characters"},
    ),
    asked(
        "hypothesis a list",
        {"intent": {"hypothesis": ["x"]}},
        **{"intent.hypothesis": "must be a string"},
    ),
    asked("hypothesis with NUL", {"intent": {"hypothesis": "\x00"}}, **{"intent.hypothesis": NUL}),
    asked(
        "hypothesis too long",
        {"intent": {"hypothesis": "é" * 10_001}},
        **{"intent.hypothesis": "must have at most 10000 characters"},
    ),
    asked("personas a text", {"personaIds": "p"}, personaIds="must be a list"),
    asked("personas an object", {"personaIds": {}}, personaIds="must be a list"),
    asked(
        "no persona",
        {"personaIds": []},
        personaIds="must not be empty; leave it out to draw from all personas",
    ),
    asked("persona null", {"personaIds": [None]}, **{"personaIds[0]": "must be a string"}),
    asked("persona blank", {"personaIds": [" "]}, **{"personaIds[0]": "must not be blank"}),
    asked("persona with NUL", {"personaIds": ["p\x00"]}, **{"personaIds[0]": NUL}),
    asked(
        "persona too long",
        {"personaIds": ["p" * 256]},
        **{"personaIds[0]": "must have at most 255 characters"},
    ),
    asked("persona unknown", {"personaIds": ["nobody"]}, **{"personaIds[0]": "no such persona"}),
    asked("SQL for a persona", {"personaIds": ["' OR 1=1 --"]}, **{"personaIds[0]": "no such persona"}),
    asked(
        "a persona of somebody else",
        {"personaIds": [THEIR_PERSONA_ID]},
        **{"personaIds[0]": "no such persona"},
    ),
    asked(
        "more personas than a pass has",
        {"personaIds": ["per_lib_expert", "per_lib_engineer"]},
        personaIds="must have at most 1 entries, the personaCount of the settings",
    ),
    asked(
        "a huge list of personas",
        {"personaIds": [f"p{n}" for n in range(100_000)]},
        personaIds="must have at most 500 entries",
    ),
    asked(
        "every type wrong",
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
    absent("optimize: no such prompt", CREATE, {"promptId": "none"}, "Prompt"),
    absent("optimize: no such agent", CREATE, {"agentId": "none"}, "Agent"),
    absent("optimize: SQL for a prompt", CREATE, {"promptId": "' OR '1'='1"}, "Prompt"),
    absent("optimize: an empty prompt id", CREATE, {"promptId": ""}, "Prompt"),
    absent("optimize: somebody else's prompt", CREATE, {"promptId": THEIR_PROMPT_ID}, "Prompt"),
    absent("optimize: somebody else's agent", CREATE, {"agentId": THEIR_PROMPT_ID}, "Agent"),
    absent(
        "optimize: a prompt id that is an optimization's", CREATE, {"promptId": OPTIMIZATION_ID}, "Prompt"
    ),
    no_body("optimize: no body", CREATE),
    Bad(
        "optimize: too deep",
        CREATE,
        {"promptId": PROMPT_ID, "intent": nested(200)},
        400,
        VALIDATION,
        "The body is nested too deep",
        {"body": "is nested deeper than 64 levels"},
    ),
    media_type(CREATE),
]

APPLIES = [
    Bad(
        "apply: without a winner",
        APPLY,
        None,
        409,
        STATE,
        "The optimization ended without a winner, so there is no variant to apply by default; pass variantId",
        {"variantId": "needed, because there is no winner"},
    ),
    Bad(
        "apply: a version that is not live",
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
        "apply: rehearsal a word",
        APPLY,
        {"variantId": VARIANT_ID, "acceptRehearsal": "yes"},
        acceptRehearsal="must be true or false",
    ),
    refused("apply: variant a number", APPLY, {"variantId": 1}, variantId="must be a string"),
    refused("apply: variant a list", APPLY, {"variantId": []}, variantId="must be a string"),
    refused("apply: variant with NUL", APPLY, {"variantId": "v\x00"}, variantId=NUL),
    refused(
        "apply: variant too long",
        APPLY,
        {"variantId": "v" * 256},
        variantId="must have at most 255 characters",
    ),
    refused(
        "apply: version an object",
        APPLY,
        {"variantId": VARIANT_ID, "ifVersionId": {}},
        ifVersionId="must be a string",
    ),
    refused(
        "apply: version with NUL", APPLY, {"variantId": VARIANT_ID, "ifVersionId": "\x00"}, ifVersionId=NUL
    ),
    *(
        Bad(
            f"apply: {name}",
            APPLY,
            {"variantId": one},
            400,
            VALIDATION,
            "No such variant",
            {"variantId": "is not a variant of this optimization"},
        )
        for name, one in (
            ("no such variant", "var_none"),
            ("an empty variant", ""),
            ("SQL for a variant", "' OR 1=1 --"),
            ("somebody else's variant", THEIR_VARIANT_ID),
            ("a prompt for a variant", PROMPT_ID),
        )
    ),
    no_object("apply: a list", APPLY, []),
    no_object("apply: null", APPLY, b"null"),
    no_json("apply: no JSON", APPLY, b"winner"),
    media_type(APPLY),
    absent("apply: no such optimization", "POST /optimizations/none/apply"),
    absent("apply: somebody else's optimization", f"POST /optimizations/{THEIR_OPTIMIZATION_ID}/apply"),
    absent(
        "apply: somebody else's optimization and variant",
        f"POST /optimizations/{THEIR_OPTIMIZATION_ID}/apply",
        {"variantId": THEIR_VARIANT_ID},
    ),
]

STOPS = [
    Bad(
        "stop: one that has ended",
        STOP,
        {"reason": "r"},
        409,
        STATE,
        "The optimization is completed; only a queued or running one can be stopped",
        {"status": "completed"},
    ),
    refused("stop: reason a number", STOP, {"reason": 5}, reason="must be a string"),
    refused("stop: reason an object", STOP, {"reason": {}}, reason="must be a string"),
    refused("stop: reason with NUL", STOP, {"reason": "a\x00"}, reason=NUL),
    refused(
        "stop: reason too long", STOP, {"reason": "r" * 10_001}, reason="must have at most 10000 characters"
    ),
    no_object("stop: a text", STOP, b'"r"'),
    no_json("stop: half an object", STOP, b'{"reason'),
    media_type(STOP),
    absent("stop: no such optimization", "POST /optimizations/none/stop"),
    absent("stop: somebody else's optimization", f"POST /optimizations/{THEIR_OPTIMIZATION_ID}/stop"),
]

READS = [
    *(
        absent(f"read: {name}", f"GET /optimizations/{one}{view}")
        for view in ("", "/variants", "/simulations")
        for name, one in (
            (f"no such optimization{view}", "none"),
            (f"somebody else's optimization{view}", THEIR_OPTIMIZATION_ID),
            (f"a null byte{view}", "%00"),
            (f"no UTF-8{view}", "%FF%FE"),
            (f"SQL{view}", "'%20OR%20'1'='1"),
            (f"4,000 characters{view}", "o" * 4_000),
            (f"a prompt{view}", PROMPT_ID),
        )
    ),
    *(
        refused(f"{name} of optimizations", f"GET /optimizations?{query}", None, **details)
        for name, query, details in (
            ("limit 0", "limit=0", {"limit": "must be a whole number from 1 to 100"}),
            ("limit 101", "limit=101", {"limit": "must be a whole number from 1 to 100"}),
            ("offset", "offset=-1", {"offset": "must be a whole number from 0 to 9007199254740992"}),
            (
                "status",
                "status=active",
                {"status": "must be one of queued, running, completed, failed, stopped"},
            ),
            ("prompt with NUL", "promptId=%00", {"promptId": NUL}),
            ("agent too long", "agentId=" + "a" * 10_001, {"agentId": "must have at most 10000 characters"}),
        )
    ),
    *(
        refused(f"{name} of simulations", f"GET {ONE}/simulations?{query}", None, **details)
        for name, query, details in (
            ("limit", "limit=x", {"limit": "must be a whole number from 1 to 100"}),
            ("stage", "stage=done", {"stage": "must be one of screen, confirm, verify, regression"}),
            ("outcome", "taskCompleted=1", {"taskCompleted": "must be true or false"}),
            ("content", "includeContent=", {"includeContent": "must be true or false"}),
            ("variant with NUL", "variantId=%00", {"variantId": NUL}),
            ("unknown variant", "variantId=none", {"variantId": "no such variant in this optimization"}),
            (
                "somebody else's variant",
                f"variantId={THEIR_VARIANT_ID}",
                {"variantId": "no such variant in this optimization"},
            ),
        )
    ),
]

METHODS = [
    Bad(
        f"{method} {path}",
        f"{method} {path}",
        None,
        405,
        "METHOD_NOT_ALLOWED",
        f"{method} is not possible here; allowed: {allowed}",
    )
    for method, path, allowed in (
        ("DELETE", "/optimizations", "GET, POST"),
        ("PUT", ONE, "GET"),
        ("DELETE", ONE, "GET"),
        ("PATCH", ONE, "GET"),
        ("POST", f"{ONE}/variants", "GET"),
        ("POST", f"{ONE}/simulations", "GET"),
        ("GET", f"{ONE}/apply", "POST"),
        ("GET", f"{ONE}/stop", "POST"),
        ("DELETE", f"{ONE}/stop", "POST"),
    )
]

REVIEW = f"PATCH {ONE}/review"
REVIEWS = [
    refused("review: nothing", REVIEW, {}, variantId="Required field"),
    refused("review: a blank variant", REVIEW, {"variantId": " "}, variantId="must not be blank"),
    refused(
        "review: every type wrong",
        REVIEW,
        {"variantId": VARIANT_ID, "verdict": 5, "note": []},
        verdict=f"must be one of {', '.join(VERDICTS)}",
        note="must be a string",
    ),
    absent("a review of no optimization", "PATCH /optimizations/opt_1/review", {"variantId": "var_1"}),
    refused(
        "undo: a note that is a number", "POST /actions/act_1/undo", {"note": 3}, note="must be a string"
    ),
    absent("undo what nobody did", "POST /actions/act_1/undo", {}, kind="Action"),
]

OPTIMIZATIONS = [*TRIGGERS, *APPLIES, *STOPS, *READS, *METHODS, *REVIEWS]
