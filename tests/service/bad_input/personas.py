"""Personas with values that are not acceptable, of the library, and of somebody else."""

from __future__ import annotations

from .optimizations import NUL, STATE, media_type
from .requests import PERSONA_ID, THEIR_PERSONA_ID, Bad, absent, no_body, no_object, refused

CREATE, ONE = "POST /personas", f"/personas/{PERSONA_ID}"
PATCH = f"PATCH {ONE}"
ANNA = {"name": "Anna", "description": "Is in a hurry."}
WRONG = (
    ("name a number", {"name": 1}, {"name": "must be a string"}),
    ("name null", {"name": None}, None),
    ("name empty", {"name": ""}, {"name": "must not be blank"}),
    ("name blank", {"name": " \t"}, {"name": "must not be blank"}),
    ("name with NUL", {"name": "a\x00"}, {"name": NUL}),
    ("name too long", {"name": "n" * 201}, {"name": "must have at most 200 characters"}),
    ("description a list", {"description": ["d"]}, {"description": "must be a string"}),
    ("description blank", {"description": "\n"}, {"description": "must not be blank"}),
    ("description with NUL", {"description": "\x00d"}, {"description": NUL}),
    (
        "description too long",
        {"description": "é" * 10_001},
        {"description": "must have at most 10000 characters"},
    ),
    (
        "both wrong",
        {"name": [], "description": 5},
        {"name": "must be a string", "description": "must be a string"},
    ),
)
LIBRARY = "/personas/per_lib_engineer"

PERSONAS = [
    refused("persona: nothing", CREATE, {}, name="Required field", description="Required field"),
    refused("persona: no description", CREATE, {"name": "n"}, description="Required field"),
    *(
        refused(f"persona: {name}", CREATE, {**ANNA, **fields}, **(details or {"name": "must be a string"}))
        for name, fields, details in WRONG
    ),
    *(
        refused(f"persona update: {name}", PATCH, fields, **(details or {"name": "must not be null"}))
        for name, fields, details in WRONG
    ),
    no_body("persona: no body", CREATE),
    no_object("persona update: a list", PATCH, [ANNA]),
    *(
        Bad(
            f"persona: {method} one of the library",
            f"{method} {LIBRARY}",
            body,
            409,
            STATE,
            "A persona of the library cannot be changed or deleted; create one of your own instead",
            {"builtIn": "true"},
        )
        for method, body in (("PATCH", {"name": "mine"}), ("DELETE", None))
    ),
    media_type(CREATE),
    media_type(PATCH),
    *(
        absent(f"persona: {method} {name}", f"{method} /personas/{one}", body, "Persona")
        for method, body in (("GET", None), ("PATCH", {"name": "n"}), ("DELETE", None))
        for name, one in (
            ("no such one", "none"),
            ("somebody else's", THEIR_PERSONA_ID),
            ("a null byte", "%00"),
            ("SQL", "'%20OR%20'1'='1"),
        )
    ),
    *(
        refused(f"personas: {query}", f"GET /personas?{query}", None, **details)
        for query, details in (
            ("limit=0", {"limit": "must be a whole number from 1 to 100"}),
            ("limit=1e2", {"limit": "must be a whole number from 1 to 100"}),
            ("offset=-1", {"offset": "must be a whole number from 0 to 9007199254740992"}),
        )
    ),
    *(
        Bad(
            f"persona: {method} {path}",
            f"{method} {path}",
            None,
            405,
            "METHOD_NOT_ALLOWED",
            f"{method} is not possible here; allowed: {allowed}",
        )
        for method, path, allowed in (
            ("DELETE", "/personas", "GET, POST"),
            ("PUT", ONE, "GET, PATCH, DELETE"),
            ("POST", ONE, "GET, PATCH, DELETE"),
        )
    ),
]
