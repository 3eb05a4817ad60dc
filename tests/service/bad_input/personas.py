"""Personas with values that are not acceptable, of the library, and of somebody else."""

from __future__ import annotations

from .optimizations import NUL, STATE, media_type
from .requests import PERSONA_ID, THEIR_PERSONA_ID, Bad, absent, no_body, no_object, not_possible, refused

CREATE, ONE = "POST /personas", f"/personas/{PERSONA_ID}"
PATCH = f"PATCH {ONE}"
ANNA = {"name": "Anna", "description": "Is in a hurry."}
WRONG = (
    ({"name": " \t"}, {"name": "must not be blank"}),
    ({"name": "n" * 201}, {"name": "must have at most 200 characters"}),
    ({"description": "\x00d"}, {"description": NUL}),
    ({"description": "é" * 10_001}, {"description": "must have at most 10000 characters"}),
    ({"name": [], "description": 5}, {"name": "must be a string", "description": "must be a string"}),
)

PERSONAS = [
    refused(CREATE, {}, name="Required field", description="Required field"),
    refused(CREATE, {**ANNA, "name": None}, name="must be a string"),
    refused(PATCH, {"name": None}, name="must not be null"),
    *(refused(CREATE, {**ANNA, **fields}, **details) for fields, details in WRONG),
    *(refused(PATCH, fields, **details) for fields, details in WRONG),
    no_body(CREATE),
    no_object(PATCH, [ANNA]),
    *(
        Bad(
            f"{method} /personas/per_lib_engineer",
            body,
            409,
            STATE,
            "A persona of the library cannot be changed or deleted; create one of your own instead",
            {"builtIn": "true"},
        )
        for method, body in (("PATCH", {"name": "mine"}), ("DELETE", None))
    ),
    media_type(CREATE),
    *(
        absent(f"{method} /personas/{one}", body, "Persona")
        for method, body in (("GET", None), ("PATCH", {"name": "n"}), ("DELETE", None))
        for one in ("none", THEIR_PERSONA_ID)
    ),
    refused("GET /personas?limit=0", None, limit="must be a whole number from 1 to 100"),
    not_possible("DELETE /personas", "GET, POST"),
]
