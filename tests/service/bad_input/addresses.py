"""Query parameters out of range, unknown routes, hostile ids and methods that are not possible."""

from __future__ import annotations

from .requests import METHOD, MISSING, PROMPT, Bad, absent, refused


def read(name: str, path: str, /, **details: str) -> Bad:
    """A read whose parameters are not acceptable."""
    return refused(name, f"GET {path}", None, **details)


PARAMETERS = [
    read("limit 0", "/prompts?limit=0", limit="must be a whole number from 1 to 100"),
    read("limit 101", "/agents?limit=101", limit="must be a whole number from 1 to 100"),
    read("limit a text", "/conversations?limit=ten", limit="must be a whole number from 1 to 100"),
    read("limit empty", "/conversations?limit=", limit="must be a whole number from 1 to 100"),
    read("limit a fraction", "/conversations?limit=1.5", limit="must be a whole number from 1 to 100"),
    read(
        "limit huge",
        "/conversations?limit=99999999999999999999999999999999999999999999999999",
        limit="must be a whole number from 1 to 100",
    ),
    read(
        "limit twice, the last one wrong",
        "/conversations?limit=5&limit=0",
        limit="must be a whole number from 1 to 100",
    ),
    read("offset negative", "/prompts?offset=-1", offset="must be a whole number from 0 to 9007199254740992"),
    read("offset huge", "/prompts?offset=1e3", offset="must be a whole number from 0 to 9007199254740992"),
    read(
        "status of a conversation asked of prompts",
        "/prompts?status=completed",
        status="must be one of active, draft, archived",
    ),
    read(
        "status of a prompt asked of conversations",
        "/conversations?status=active",
        status="must be one of completed, abandoned, in_progress",
    ),
    read("status empty", "/prompts?status=", status="must be one of active, draft, archived"),
    read("hasInsights 1", "/conversations?hasInsights=1", hasInsights="must be true or false"),
    read(
        "includeInsights True", "/conversations?includeInsights=True", includeInsights="must be true or false"
    ),
    read("includeCompletion 1", "/prompts?includeCompletion=1", includeCompletion="must be true or false"),
    read("includeContent empty", "/conversations?includeContent=", includeContent="must be true or false"),
    read(
        "includeInsights of one conversation",
        "/conversations/none?includeInsights=no",
        includeInsights="must be true or false",
    ),
    read(
        "several at once",
        "/conversations?limit=0&offset=x&status=y&hasInsights=z",
        limit="must be a whole number from 1 to 100",
        offset="must be a whole number from 0 to 9007199254740992",
        status="must be one of completed, abandoned, in_progress",
        hasInsights="must be true or false",
    ),
    read("a prompt id with NUL", "/conversations?promptId=%00", promptId="must not contain a NUL character"),
    refused(
        "an agent id that is very long",
        "GET /conversations?agentId=" + "a" * 10_001,
        None,
        agentId="must have at most 10000 characters",
    ),
    read("tags with NUL", "/prompts?tags=a%00", tags="must not contain a NUL character"),
    refused(
        "too many tags",
        "GET /prompts?tags=" + ",".join(f"t{n}" for n in range(51)),
        None,
        tags="must have at most 50 entries",
    ),
    read("days 31", "/prompts/{prompt}/insights?days=31", days="must be one of 7, 30, 90, all"),
    read("days 0", "/agents/{prompt}/insights?days=0", days="must be one of 7, 30, 90, all"),
    read("days All", "/prompts/{prompt}/insights?days=All", days="must be one of 7, 30, 90, all"),
    read("days empty", "/agents/{prompt}/insights?days=", days="must be one of 7, 30, 90, all"),
]

ROUTES = [
    Bad("the root of the API", "GET /", None, 404, MISSING, "No such path; the API lies under /api/v1"),
    Bad(
        "a slash at the end", "GET /prompts/", None, 404, MISSING, "No such path; the API lies under /api/v1"
    ),
    Bad("a double slash", "GET //prompts", None, 404, MISSING, "No such path; the API lies under /api/v1"),
    Bad(
        "an empty id", "GET /prompts//status", None, 404, MISSING, "No such path; the API lies under /api/v1"
    ),
    Bad("a capital", "GET /Prompts", None, 404, MISSING, "No such path; the API lies under /api/v1"),
    Bad(
        "an encoded slash",
        "GET /prompts%2F{prompt}",
        None,
        404,
        MISSING,
        "No such path; no id has a slash in it",
    ),
    Bad(
        "an encoded slash in an id",
        "GET /prompts/{prompt}%2Fstatus",
        None,
        404,
        MISSING,
        "No such path; no id has a slash in it",
    ),
    Bad(
        "a path upwards",
        "GET /prompts/../account",
        None,
        404,
        MISSING,
        "No such path; the API lies under /api/v1",
    ),
    Bad(
        "an encoded path upwards",
        "GET /prompts/%2e%2e%2faccount",
        None,
        404,
        MISSING,
        "No such path; no id has a slash in it",
    ),
    absent("dots for an id", "GET /prompts/..", None, "Prompt"),
    Bad(
        "a matrix parameter",
        "GET /prompts;limit=1",
        None,
        404,
        MISSING,
        "No such path; the API lies under /api/v1",
    ),
    Bad(
        "one segment too many",
        "GET /prompts/{prompt}/status/x",
        None,
        404,
        MISSING,
        "No such path; the API lies under /api/v1",
    ),
    Bad(
        "a view that is not there",
        "GET /prompts/{prompt}/variants",
        None,
        404,
        MISSING,
        "No such path; the API lies under /api/v1",
    ),
    absent("a null byte for an id", "GET /prompts/%00", None, "Prompt"),
    absent("no UTF-8 for an id", "GET /prompts/%FF%FE", None, "Prompt"),
    absent("half of a surrogate pair for an id", "GET /prompts/%ED%A0%80", None, "Prompt"),
    absent("Unicode for an id", "GET /agents/%E2%98%83", None, "Agent"),
    absent("SQL for an id", "GET /conversations/'%20OR%20'1'='1", None, "Conversation"),
    absent("a template for an id", "GET /prompts/{{7*7}}", None, "Prompt"),
    absent("a wildcard for an id", "GET /prompts/%25", None, "Prompt"),
    absent("an id of 4,000 characters", "GET /prompts/" + "i" * 4_000, None, "Prompt"),
    absent("the id with a blank", "GET /prompts/{prompt}%20", None, "Prompt"),
    Bad(
        "PUT a prompt",
        "PUT /prompts/{prompt}",
        PROMPT,
        405,
        METHOD,
        "PUT is not possible here; allowed: GET, PATCH, DELETE",
    ),
    Bad(
        "POST to a prompt",
        "POST /prompts/{prompt}",
        PROMPT,
        405,
        METHOD,
        "POST is not possible here; allowed: GET, PATCH, DELETE",
    ),
    Bad(
        "DELETE all prompts",
        "DELETE /prompts",
        None,
        405,
        METHOD,
        "DELETE is not possible here; allowed: GET, POST",
    ),
    Bad(
        "DELETE a conversation",
        "DELETE /conversations/none",
        None,
        405,
        METHOD,
        "DELETE is not possible here; allowed: GET, PATCH",
    ),
    Bad(
        "GET a look-up",
        "GET /prompts/{prompt}/conversations/lookup",
        None,
        405,
        METHOD,
        "GET is not possible here; allowed: POST",
    ),
    Bad("POST settings", "POST /settings", {}, 405, METHOD, "POST is not possible here; allowed: GET, PATCH"),
    Bad(
        "DELETE the account",
        "DELETE /account",
        None,
        405,
        METHOD,
        "DELETE is not possible here; allowed: GET",
    ),
    Bad("POST usage", "POST /usage", {}, 405, METHOD, "POST is not possible here; allowed: GET"),
    Bad(
        "GET a regeneration",
        "GET /agents/{prompt}/insights/regenerate",
        None,
        405,
        METHOD,
        "GET is not possible here; allowed: POST",
    ),
    Bad("OPTIONS", "OPTIONS /prompts", None, 405, METHOD, "OPTIONS is not possible here; allowed: GET, POST"),
    Bad("TRACE", "TRACE /account", None, 405, METHOD, "TRACE is not possible here; allowed: GET"),
]
