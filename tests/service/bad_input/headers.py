"""Wrong keys and content types."""

from __future__ import annotations

from .requests import PROMPT, of_key, of_type

NO_KEY = "The API key is missing or invalid; send Authorization: Bearer <API_KEY>"
WRONG_KEY = "The API key is invalid"

HEADERS = [
    of_type("POST /prompts", PROMPT, "application/x-www-form-urlencoded"),
    of_type("PATCH /settings", {}, "multipart/form-data; boundary=x"),
    of_type("POST /prompts", PROMPT, ""),
    of_key("GET /account", None, None, NO_KEY),
    of_key("GET /account", None, "", NO_KEY),
    of_key("GET /account", None, "Bearer", NO_KEY),
    of_key("GET /account", None, "Basic dTpw", NO_KEY),
    of_key("GET /account", None, "Bearer plk_wrong", WRONG_KEY),
    of_key("GET /account", None, "Bearer \xff\xfe", WRONG_KEY),
    of_key("GET /account", None, "Bearer " + "k" * 5_000, NO_KEY),
    of_key("POST /prompts", b"{", "Bearer plk_wrong", WRONG_KEY),
]
