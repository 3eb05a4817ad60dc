from __future__ import annotations

import pytest

from promptlift.transcripts.recognition import format_of, separator_of

PLAIN = {"messages": [{"role": "user", "content": "x"}]}
TOOLS = {"messages": [{"role": "tool", "content": "x"}]}
OWN = {"messages": [{"role": "user", "content": "x", "tokens": 3}]}
ROW = {"conversation_id": "a", "role": "user", "content": "x"}
SHARE = {"conversations": [{"from": "human", "value": "x"}]}


@pytest.mark.parametrize(
    ("records", "single", "name"),
    [
        ([PLAIN], True, "structured"),
        ([PLAIN], False, "openai"),
        ([PLAIN, TOOLS], True, "openai"),
        ([PLAIN, OWN], False, "structured"),
        ([TOOLS, OWN, TOOLS], False, "structured"),
        ([{"content": "User: x"}], False, "structured"),
        ([PLAIN, ROW, ROW], False, "rows"),
        ([PLAIN, PLAIN, ROW], False, "openai"),
        ([None, 3, "x", [], SHARE], False, "sharegpt"),
        ([{"mapping": {}}], False, "chatgpt"),
        ([{"run_type": "chain", "inputs": {}}], False, "langsmith"),
        ([{"attributes.llm.model_name": "m"}], False, "phoenix"),
        ([{"type": "SPAN", "input": "", "output": "", "traceId": "t"}], False, "langfuse"),
        ([{"name": "n", "value": 1, "source": "API", "dataType": "NUMERIC"}], False, "langfuse-scores"),
        ([{"a": 1}, None, "x", []], False, None),
        ([], False, None),
    ],
)
def test_records_tell_their_format(records, single, name):
    assert format_of(records, single=single) == name


@pytest.mark.parametrize(
    ("head", "separator"),
    [
        ("role,content\n", ","),
        ('"Role";"Text"\n', ";"),
        ("speaker\tmessage\n", "\t"),
        ("role content\n", None),
        ("User: role, content\n", None),
        ("", None),
    ],
)
def test_a_table_is_known_by_its_columns(head, separator):
    assert separator_of(head) == separator
