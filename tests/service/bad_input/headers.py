"""Wrong keys and content types."""

from __future__ import annotations

from .requests import PROMPT, of_key, of_type

NO_KEY = "The API key is missing or invalid; send Authorization: Bearer <API_KEY>"
WRONG_KEY = "The API key is invalid"

HEADERS = [
    of_type("a form's content type", "POST /prompts", PROMPT, "application/x-www-form-urlencoded"),
    of_type("plain text", "POST /conversations", PROMPT, "text/plain"),
    of_type("an upload", "PATCH /settings", {}, "multipart/form-data; boundary=x"),
    of_type("XML", "PATCH /prompts/{prompt}", {}, "application/xml"),
    of_type("an empty content type", "POST /prompts", PROMPT, ""),
    of_key("no key", "GET /account", None, None, NO_KEY),
    of_key("an empty key", "GET /account", None, "", NO_KEY),
    of_key("only the word Bearer", "GET /account", None, "Bearer", NO_KEY),
    of_key("Bearer and nothing", "GET /account", None, "Bearer ", NO_KEY),
    of_key("another kind of key", "GET /account", None, "Basic dTpw", NO_KEY),
    of_key("a wrong key", "GET /account", None, "Bearer plk_wrong", WRONG_KEY),
    of_key("two keys in one", "GET /account", None, "Bearer a b", WRONG_KEY),
    of_key("a key in quotes", "GET /account", None, 'Bearer "plk_wrong"', WRONG_KEY),
    of_key("a key that is no ASCII", "GET /account", None, "Bearer \xff\xfe", WRONG_KEY),
    of_key("a very long key", "GET /account", None, "Bearer " + "k" * 5_000, NO_KEY),
    of_key("SQL for a key", "GET /account", None, "Bearer ' OR '1'='1", WRONG_KEY),
    of_key("a wrong key and a bad body", "POST /prompts", b"{", "Bearer plk_wrong", WRONG_KEY),
]
