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


def asked(name: str, fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A benchmark of which only these fields are wrong."""
    return refused(f"benchmark: {name}", CREATE, {"arms": [ARM], **fields}, by_path, **details)


def arm(name: str, fields: dict[str, Any], field: str, problem: str) -> Bad:
    """A benchmark whose second arm is wrong."""
    path = f"arms[1].{field}" if field else "arms[1]"
    return refused(f"arm: {name}", CREATE, {"arms": [ARM, fields]}, {path: problem})


def scenarios(name: str, fields: Any, field: str, problem: str) -> Bad:
    """A benchmark whose scenario set is wrong."""
    path = f"scenarioSet.{field}" if field else "scenarioSet"
    return refused(f"scenario set: {name}", CREATE, {"arms": [ARM], "scenarioSet": fields}, {path: problem})


def bulk(name: str, fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A bulk request of which only these fields are wrong."""
    body = {"action": "delete", "jobIds": ["bmk_1"], **fields}
    return refused(f"bulk: {name}", BULK, body, by_path, **details)


def asking(name: str, path: str, **details: str) -> Bad:
    """A query that is not accepted."""
    return refused(f"benchmarks: {name}", f"GET {path}", None, **details)


CREATES = [
    refused("benchmark: nothing", CREATE, {}, arms="Required field"),
    asked("no arms", {"arms": []}, arms="must not be empty"),
    asked("thirteen arms", {"arms": [ARM] * 13}, arms="must have at most 12 entries"),
    asked("arms an object", {"arms": ARM}, arms="must be a list"),
    asked("arms null", {"arms": None}, arms="must be a list"),
    asked("a blank name", {"name": " "}, name="must not be blank"),
    asked("a name too long", {"name": "n" * 201}, name="must have at most 200 characters"),
    asked("an objective with NUL", {"objective": "\x00"}, objective=NUL),
    asked("no turns", {"maxTurns": 0}, maxTurns="must be at least 1"),
    asked("too many turns", {"maxTurns": 51}, maxTurns="must be at most 50"),
    asked("half a turn", {"maxTurns": 1.5}, maxTurns=WHOLE),
    asked("a negative seed", {"seed": -1}, seed="must be at least 0"),
    asked("a seed too large", {"seed": 2**53}, seed=f"must be at most {2**53 - 1}"),
    asked("a seed a text", {"seed": "7"}, seed=WHOLE),
    asked("prices a list", {"prices": []}, prices="must be an object"),
    asked(
        "a negative price",
        {"prices": {"gpt-4o": {"input": -1, "output": 1}}},
        {"prices.gpt-4o.input": "must be at least 0"},
    ),
    asked(
        "half a price",
        {"prices": {"gpt-4o": {"input": 1}}},
        {"prices.gpt-4o.output": "Required field"},
    ),
    asked(
        "a price a text",
        {"prices": {"gpt-4o": {"input": "1", "output": 1}}},
        {"prices.gpt-4o.input": "must be a number"},
    ),
    arm("nothing", {}, "promptId", LINK),
    arm("a text", "gpt-4o", "", "must be an object"),
    arm("no such prompt", {"promptId": "prm_1"}, "promptId", "no such prompt"),
    arm("no such agent", {"agentId": "prm_1"}, "agentId", "no such prompt"),
    arm("somebody else's prompt", {"promptId": THEIR_PROMPT_ID}, "promptId", "no such prompt"),
    arm("two prompts", {**ARM, "agentId": "prm_1"}, "agentId", "must be the same as promptId, or absent"),
    arm("no such version", {**ARM, "versionId": "ver_99"}, "versionId", NO_VERSION),
    arm("somebody else's version", {**ARM, "versionId": THEIR_VERSION_ID}, "versionId", NO_VERSION),
    arm("no such variant", {"variantId": "var_1"}, "variantId", "no such variant"),
    arm("somebody else's variant", {"variantId": THEIR_VARIANT_ID}, "variantId", "no such variant"),
    arm(
        "two texts",
        {"variantId": VARIANT_ID, "versionId": VERSION_ID},
        "variantId",
        "must be absent where versionId is given: an arm has one text",
    ),
    arm("a link with NUL", {"promptId": "\x00"}, "promptId", NUL),
    arm("a blank model", {**ARM, "llmModel": " "}, "llmModel", "must not be blank"),
    arm("a blank name", {**ARM, "name": ""}, "name", "must not be blank"),
    scenarios("a text", "set_1", "", "must be an object"),
    scenarios("none", {"count": 0}, "count", "must be at least 1"),
    scenarios("too many", {"count": 1_001}, "count", "must be at most 1000"),
    scenarios(
        "a source that is not known", {"source": "web"}, "source", "must be one of conversations, model, both"
    ),
    scenarios("no such set", {"id": "set_1"}, "id", "no such scenario set; GET /scenario-sets lists them"),
    scenarios("a version of no set", {"version": 1}, "version", "needs the id of a set"),
    scenarios("version 0", {"id": "set_1", "version": 0}, "version", "must be at least 1"),
    scenarios("somebody else's prompt", {"promptId": THEIR_PROMPT_ID}, "promptId", "no such prompt"),
    scenarios("no conversations", {"conversationIds": []}, "conversationIds", "must not be empty"),
    scenarios("a blank conversation", {"conversationIds": [" "]}, "conversationIds[0]", "must not be blank"),
    scenarios(
        "no such conversation", {"conversationIds": ["cnv_1"]}, "conversationIds[0]", "no such conversation"
    ),
    scenarios(
        "conversations of a model",
        {"conversationIds": ["cnv_1"], "source": "model"},
        "source",
        "must be conversations, or absent, where conversationIds is given",
    ),
]
BULKS = [
    refused("bulk: nothing", BULK, {}, action="Required field", jobIds="Required field"),
    bulk("an action that is not known", {"action": "stop"}, action="must be one of delete"),
    bulk("no ids", {"jobIds": []}, jobIds="must not be empty"),
    bulk("too many ids", {"jobIds": ["bmk_1"] * 501}, jobIds="must have at most 500 entries"),
    bulk("ids a text", {"jobIds": "bmk_1"}, jobIds="must be a list"),
    bulk("an id a number", {"jobIds": [1]}, {"jobIds[0]": "must be a string"}),
    bulk("an id with NUL", {"jobIds": ["\x00"]}, {"jobIds[0]": NUL}),
]
QUERIES = [
    asking(
        "a status that is not known",
        "/benchmarks?status=done",
        status="must be one of queued, running, completed, failed, stopped",
    ),
    asking("no items", "/benchmarks?limit=0", limit="must be a whole number from 1 to 100"),
    asking(
        "an arm that cannot be",
        "/benchmarks/bmk_1/conversations?arm=12",
        arm="must be a whole number from 0 to 11",
    ),
    asking(
        "a flag", "/benchmarks/bmk_1/conversations?includeContent=1", includeContent="must be true or false"
    ),
    asking(
        "a reference", "/benchmarks/bmk_1?reference=worst", reference="must be the number of an arm, or best"
    ),
    asking("a margin", "/benchmarks/bmk_1?margin=100", margin="must be a number from 0 to 99"),
    asking("a level", "/benchmarks/bmk_1?level=0.2", level="must be a number from 0.5 to 0.999"),
    asking(
        "a version of a set",
        "/scenario-sets/set_1?version=0",
        version="must be a whole number from 1 to 9007199254740992",
    ),
]
STRANGERS = [
    absent("no such benchmark", "GET /benchmarks/bmk_1", kind="Benchmark"),
    absent("conversations of no benchmark", "GET /benchmarks/bmk_1/conversations", kind="Benchmark"),
    absent("stop no benchmark", "POST /benchmarks/bmk_1/stop", {}, kind="Benchmark"),
    absent("resume no benchmark", "POST /benchmarks/bmk_1/resume", kind="Benchmark"),
    absent("no such scenario set", "GET /scenario-sets/set_1", kind="Scenario set"),
    refused(
        "stop a benchmark: reason", "POST /benchmarks/bmk_1/stop", {"reason": 3}, reason="must be a string"
    ),
]
BENCHMARKS = [
    *CREATES,
    *BULKS,
    *QUERIES,
    *STRANGERS,
    *(no_body(f"{request} without a body", request) for request in DATA),
    *(no_json(f"{request} with no JSON", request, b"{arms: []}") for request in DATA),
    *(no_object(f"{request} with a list", request, [ARM]) for request in DATA),
    *(of_type(f"{request} as plain text", request, {}, "text/plain") for request in DATA),
]
