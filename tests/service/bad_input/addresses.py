"""Query parameters out of range, unknown routes, hostile ids and methods that are not possible."""

from __future__ import annotations

from .requests import MISSING, PROMPT, Bad, absent, not_possible, nowhere, refused


def read(path: str, /, **details: str) -> Bad:
    """A read whose parameters are not acceptable."""
    return refused(f"GET {path}", None, **details)


PARAMETERS = [
    read("/prompts?limit=0", limit="must be a whole number from 1 to 100"),
    read("/agents?limit=101", limit="must be a whole number from 1 to 100"),
    read("/conversations?limit=ten", limit="must be a whole number from 1 to 100"),
    read("/conversations?limit=5&limit=0", limit="must be a whole number from 1 to 100"),
    read("/prompts?offset=-1", offset="must be a whole number from 0 to 9007199254740992"),
    read("/prompts?status=completed", status="must be one of active, draft, archived"),
    read("/conversations?hasInsights=1", hasInsights="must be true or false"),
    read("/prompts?includeCompletion=1", includeCompletion="must be true or false"),
    read("/conversations/none?includeInsights=no", includeInsights="must be true or false"),
    read(
        "/conversations?limit=0&offset=x&status=y&hasInsights=z",
        limit="must be a whole number from 1 to 100",
        offset="must be a whole number from 0 to 9007199254740992",
        status="must be one of completed, abandoned, in_progress",
        hasInsights="must be true or false",
    ),
    read("/conversations?promptId=%00", promptId="must not contain a NUL character"),
    refused("GET /conversations?agentId=" + "a" * 10_001, None, agentId="must have at most 10000 characters"),
    refused(
        "GET /prompts?tags=" + ",".join(f"t{n}" for n in range(51)), None, tags="must have at most 50 entries"
    ),
    read("/prompts/{prompt}/insights?days=31", days="must be one of 7, 30, 90, all"),
    read("/agents/{prompt}/insights?days=0", days="must be one of 7, 30, 90, all"),
]

ROUTES = [
    nowhere("GET /"),
    nowhere("GET /prompts/"),
    nowhere("GET /prompts//status"),
    nowhere("GET /prompts/../account"),
    nowhere("GET /prompts/{prompt}/variants"),
    Bad("GET /prompts/{prompt}%2Fstatus", None, 404, MISSING, "No such path; no id has a slash in it"),
    Bad("GET /prompts/%2e%2e%2faccount", None, 404, MISSING, "No such path; no id has a slash in it"),
    absent("GET /prompts/..", None, "Prompt"),
    absent("GET /prompts/%00", None, "Prompt"),
    absent("GET /prompts/%FF%FE", None, "Prompt"),
    absent("GET /conversations/'%20OR%20'1'='1", None, "Conversation"),
    absent("GET /prompts/" + "i" * 4_000, None, "Prompt"),
    not_possible("PUT /prompts/{prompt}", "GET, PATCH, DELETE", PROMPT),
    not_possible("DELETE /conversations/none", "GET, PATCH"),
    not_possible("OPTIONS /prompts", "GET, POST"),
    not_possible("TRACE /account", "GET"),
]
