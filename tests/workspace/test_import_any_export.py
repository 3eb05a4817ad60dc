"""Exports as the tools give them, in one call each: a correct table, and whatever is left out is named with its count."""

from __future__ import annotations

import json

import pytest

from support.stranger_records import RECORDS


def one_line(value):
    return json.dumps(value)


def indented(value):
    return json.dumps(value, indent=2)


def lines(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def odd(name, number):
    """A record of a format with a field that no service has a place for."""
    return RECORDS[name](number) | {"zz": number}


def page(key, name, **beside):
    return {key: [odd(name, 1), odd(name, 2)], **beside}


CSV_NAMES = ("ticket", "threadId", "Chat No", "dialogue_id", "Vorgang")


def table(column):
    rows = [
        {column: f"g{number}", "role": message["role"], "content": message["content"], "zz": f"{number}{at}", "cost": 0.25}
        for number in (1, 2)
        for at, message in enumerate(RECORDS["openai"](number)["messages"][:2])
    ]  # fmt: skip
    file = [list(rows[0]), *(list(row.values()) for row in rows)]
    return "".join(",".join(map(str, row)) + "\n" for row in file)


CURSOR = {"next_cursor": "abc"}
# The files of each export, and its format.
EXPORTS = {
    "langfuse, pages of the API": (
        {
            "page-1.json": one_line({"data": [odd("langfuse", 1)], "meta": {"page": 1}}),
            "page-2.json": one_line({"data": [odd("langfuse", 2)], "meta": {"page": 2}}),
        },
        "langfuse",
    ),
    "langsmith, API": (
        {"runs.json": indented(page("runs", "langsmith", cursors={"next": None}))},
        "langsmith",
    ),
    "phoenix, API": ({"spans.json": one_line(page("data", "phoenix", **CURSOR))}, "phoenix"),
    "mlflow, search": ({"traces.json": indented(page("traces", "mlflow", next_page_token=""))}, "mlflow"),
    "weave, JSON Lines": ({"calls.jsonl": lines(page("calls", "weave")["calls"])}, "weave"),
    "helicone, API": ({"requests.json": one_line(page("data", "helicone", error=None))}, "helicone"),
    "openai, JSON Lines with outcomes": (
        {"chats.jsonl": lines({**odd("openai", number), "metadata": {"reward": 1}} for number in (1, 2))},
        "openai",
    ),
    "sharegpt, an array": ({"sharegpt.json": indented([odd("sharegpt", 1), odd("sharegpt", 2)])}, "sharegpt"),
    "chatgpt, in one line": (
        {"conversations.json": one_line([odd("chatgpt", 1), odd("chatgpt", 2)])},
        "chatgpt",
    ),
    "zendesk, API": (
        {"tickets.json": one_line(page("tickets", "zendesk", count=2, next_page=None))},
        "zendesk",
    ),
    "intercom, API": (
        {
            "intercom.json": indented(
                page("conversations", "intercom", type="conversation.list", total_count=2)
            )
        },
        "intercom",
    ),
    **{f"CSV, {name}": ({"messages.csv": table(name)}, "rows") for name in CSV_NAMES},
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_of_any_wrapper_is_one_call_from_a_correct_table(lift, tmp_path, name):
    texts, format_name = EXPORTS[name]
    for file, text in texts.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    prompt = f"Any export: {name}"
    result = lift.import_files([tmp_path / file for file in texts], prompt=prompt)
    assert result.complete, result
    assert {one.reading.format for one in result.files} == {format_name}
    found = lift.conversations(prompt, content=True)
    ids = [] if format_name == "openai" else ["g1", "g2"]
    assert (len(found), sorted(found["source_id"].dropna())) == (2, ids)
    assert all(found["content"].str.contains(r"good [12]"))
    # The field that is left out is named with its count, in the result and in what is printed.
    dropped = {field: count for one in result.files for field, count in one.reading.dropped.items()}
    assert {count for field, count in dropped.items() if field.endswith("zz")} == {
        4 if format_name == "rows" else 2
    }
    assert all(f"{field} ({count:,})" in str(result) for field, count in dropped.items())
