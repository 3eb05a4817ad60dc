"""Benchmarks and scenario sets with values that are not acceptable, and of somebody else."""

from __future__ import annotations

from typing import Any

from .requests import (
    PROMPT_ID,
    THEIR_PROMPT_ID,
    THEIR_VARIANT_ID,
    THEIR_VERSION_ID,
    VARIANT_ID,
    VERSION_ID,
    Bad,
    absent,
    no_body,
    no_json,
    no_object,
    of_type,
    refused,
)

CREATE, BULK = "POST /benchmarks", "POST /benchmarks/bulk"
ARM = {"promptId": PROMPT_ID}
NUL = "must not contain a NUL character"
WHOLE = "must be a whole number"
NO_VERSION = "is not a version of this prompt; see its versions"
LINK = "Required field, unless variantId is given"
DATA = [CREATE, BULK]


def asked(fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A benchmark of which only these fields are wrong."""
    return refused(CREATE, {"arms": [ARM], **fields}, by_path, **details)


def arm(fields: dict[str, Any], field: str, problem: str) -> Bad:
    """A benchmark whose second arm is wrong."""
    path = f"arms[1].{field}" if field else "arms[1]"
    return refused(CREATE, {"arms": [ARM, fields]}, {path: problem})


def scenarios(fields: Any, field: str, problem: str) -> Bad:
    """A benchmark whose scenario set is wrong."""
    path = f"scenarioSet.{field}" if field else "scenarioSet"
    return refused(CREATE, {"arms": [ARM], "scenarioSet": fields}, {path: problem})


def bulk(fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A bulk request of which only these fields are wrong."""
    body = {"action": "delete", "jobIds": ["bmk_1"], **fields}
    return refused(BULK, body, by_path, **details)


def asking(path: str, **details: str) -> Bad:
    """A query that is not accepted."""
    return refused(f"GET {path}", None, **details)


CREATES = [
    asked({"arms": []}, arms="must not be empty"),
    asked({"arms": [ARM] * 13}, arms="must have at most 12 entries"),
    asked({"name": " "}, name="must not be blank"),
    asked({"name": "n" * 201}, name="must have at most 200 characters"),
    asked({"objective": "\x00"}, objective=NUL),
    asked({"maxTurns": 0}, maxTurns="must be at least 1"),
    asked({"seed": -1}, seed="must be at least 0"),
    asked({"prices": []}, prices="must be an object"),
    asked({"prices": {"gpt-4o": {"input": -1, "output": 1}}}, {"prices.gpt-4o.input": "must be at least 0"}),
    asked({"prices": {"gpt-4o": {"input": 1}}}, {"prices.gpt-4o.output": "Required field"}),
    arm({}, "promptId", LINK),
    arm("gpt-4o", "", "must be an object"),
    arm({"promptId": "prm_1"}, "promptId", "no such prompt"),
    arm({"promptId": THEIR_PROMPT_ID}, "promptId", "no such prompt"),
    arm({**ARM, "agentId": "prm_1"}, "agentId", "must be the same as promptId, or absent"),
    arm({**ARM, "versionId": "ver_99"}, "versionId", NO_VERSION),
    arm({**ARM, "versionId": THEIR_VERSION_ID}, "versionId", NO_VERSION),
    arm({"variantId": "var_1"}, "variantId", "no such variant"),
    arm({"variantId": THEIR_VARIANT_ID}, "variantId", "no such variant"),
    arm(
        {"variantId": VARIANT_ID, "versionId": VERSION_ID},
        "variantId",
        "must be absent where versionId is given: an arm has one text",
    ),
    arm({**ARM, "name": ""}, "name", "must not be blank"),
    scenarios("set_1", "", "must be an object"),
    scenarios({"count": 0}, "count", "must be at least 1"),
    scenarios({"count": 1_001}, "count", "must be at most 1000"),
    scenarios({"source": "web"}, "source", "must be one of conversations, model, both"),
    scenarios({"id": "set_1"}, "id", "no such scenario set; GET /scenario-sets lists them"),
    scenarios({"version": 1}, "version", "needs the id of a set"),
    scenarios({"promptId": THEIR_PROMPT_ID}, "promptId", "no such prompt"),
    scenarios({"conversationIds": [" "]}, "conversationIds[0]", "must not be blank"),
    scenarios({"conversationIds": ["cnv_1"]}, "conversationIds[0]", "no such conversation"),
    scenarios(
        {"conversationIds": ["cnv_1"], "source": "model"},
        "source",
        "must be conversations, or absent, where conversationIds is given",
    ),
]
BULKS = [
    refused(BULK, {}, action="Required field", jobIds="Required field"),
    bulk({"action": "stop"}, action="must be one of delete"),
    bulk({"jobIds": []}, jobIds="must not be empty"),
    bulk({"jobIds": ["bmk_1"] * 501}, jobIds="must have at most 500 entries"),
    bulk({"jobIds": ["\x00"]}, {"jobIds[0]": NUL}),
]
QUERIES = [
    asking("/benchmarks?status=done", status="must be one of queued, running, completed, failed, stopped"),
    asking("/benchmarks?limit=0", limit="must be a whole number from 1 to 100"),
    asking("/benchmarks/bmk_1/conversations?arm=12", arm="must be a whole number from 0 to 11"),
    asking("/benchmarks/bmk_1/conversations?includeContent=1", includeContent="must be true or false"),
    asking("/benchmarks/bmk_1?reference=worst", reference="must be the number of an arm, or best"),
    asking("/benchmarks/bmk_1?margin=100", margin="must be a number from 0 to 99"),
    asking("/benchmarks/bmk_1?level=0.2", level="must be a number from 0.5 to 0.999"),
    asking("/scenario-sets/set_1?version=0", version="must be a whole number from 1 to 9007199254740992"),
]
STRANGERS = [
    absent("GET /benchmarks/bmk_1", kind="Benchmark"),
    absent("GET /benchmarks/bmk_1/conversations", kind="Benchmark"),
    absent("POST /benchmarks/bmk_1/stop", {}, kind="Benchmark"),
    absent("POST /benchmarks/bmk_1/resume", kind="Benchmark"),
    absent("GET /scenario-sets/set_1", kind="Scenario set"),
    refused("POST /benchmarks/bmk_1/stop", {"reason": 3}, reason="must be a string"),
]
BENCHMARKS = [
    *CREATES,
    *BULKS,
    *QUERIES,
    *STRANGERS,
    *(no_body(request) for request in DATA),
    *(no_json(request, b"{arms: []}") for request in DATA),
    *(no_object(request, [ARM]) for request in DATA),
    *(of_type(request, {}, "text/plain") for request in DATA),
]
