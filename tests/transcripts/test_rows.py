from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from promptlift import transcripts

CSV = (
    "conversation_id,role,content,timestamp,model,tokens,status,kind\n"
    "007,user,Hi,2026-01-05T10:00:00Z,m,,completed,text\n"
    '007,assistant,"Hello, ""you""\nthere",2026-01-05T10:00:01Z,m,12,completed,text\n'
    "8,customer,NA,2026-01-05T11:00:00Z,,,abandoned,text\n"
    "8,bot,null,2026-01-05T11:00:01Z,m2,3,abandoned,text\n"
    "8,user,,2026-01-05T11:00:02Z,,,abandoned,text\n"
)
SAID = [
    [("user", "Hi"), ("assistant", 'Hello, "you"\nthere')],
    [("user", "NA"), ("assistant", "null"), ("user", "")],
]


@pytest.mark.parametrize(
    ("separator", "encoding"), [(",", "utf-8"), (";", "utf-8-sig"), ("\t", "utf-16"), ("|", "utf-8")]
)
def test_csv_is_read_with_any_separator_and_byte_order_mark(written, said, separator, encoding):
    text = CSV.replace("Hello, ", "Hello; ").replace(",", separator).replace("Hello; ", "Hello, ")
    reading = transcripts.read(written("messages.csv", text.encode(encoding)))
    assert reading.format == "rows"
    assert [said(c) for c in reading.conversations] == SAID
    assert reading.problems == []


def test_csv_cells_stay_what_they_are(written):
    reading = transcripts.read(written("messages.csv", CSV))
    assert [(c.source_id, c.status, c.llm_model, c.line) for c in reading.conversations] == [
        ("007", "completed", "m", 2),
        ("8", "abandoned", "m2", 5),
    ]
    hi, hello = json.loads(reading.conversations[0].content)["messages"]
    assert hi == {"role": "user", "content": "Hi", "timestamp": "2026-01-05T10:00:00.000Z"}
    assert (hello["timestamp"], hello["model"], hello["tokens"]) == ("2026-01-05T10:00:01.000Z", "m", 12)
    assert reading.dropped == {}
    assert [found.metadata["kind"] for found in reading.conversations] == ["text", "text"]


@pytest.mark.parametrize(
    ("header", "rows", "noted"),
    [
        ("turn", [("10", "c"), ("9", "b"), ("1", "a")], True),
        ("created_at", [("2026-01-03", "c"), ("2026-01-01", "a"), ("2026-01-02", "b")], True),
        ("turn", [("", "a"), ("1", "b"), ("0", "c")], False),
        ("turn", [("1", "a"), ("1", "b"), ("0", "c")], False),
        ("created_at", [("2026-01-03", "a"), ("soon", "b"), ("2026-01-01", "c")], False),
        ("turn", [("1", "a"), ("2", "b"), ("3", "c")], False),
    ],
)
def test_shuffled_rows_are_put_in_order(written, said, header, rows, noted):
    text = f"Thread ID,Speaker,Message,{header}\n" + "".join(f"t,user,{word},{key}\n" for key, word in rows)
    reading = transcripts.read(written("a.csv", text))
    assert [word for _, word in said(reading.conversations[0])] == ["a", "b", "c"]
    note = "Conversations whose rows were out of order and were sorted: 1."
    assert (note in reading.notes) is noted


def test_bad_rows_are_reported_and_a_conversation_that_would_lose_a_message_is_left_out(written, said):
    text = (
        "conversation_id,role,content\n"
        "a,user,hi\n"
        "a,ghost,boo\n"
        "b,user,hi\n"
        "b,user,one,too,many\n"
        ",user,nobody's\n"
        '"c",user,"open\n'
        "d,function_call,f({})\n"
        "d,tool,ok\n"
        f"e,user,{'x' * 200_000}\n"
        'f,user,"x" y\n'
    )
    reading = transcripts.read(written("a.csv", text))
    assert [c.source_id for c in reading.conversations] == ["b", "d"]
    assert said(reading.conversations[1]) == [
        ("assistant", "[tool call] f({})"),
        ("system", "[tool result] ok"),
    ]
    assert [(p.line, p.message.split("; known")[0]) for p in reading.problems] == [
        (5, "the row has 5 cells, the header has 3"),
        (7, "not a CSV row: ',' expected after '\"'"),
        (11, "not a CSV row: ',' expected after '\"'"),
        (6, "the row has no conversation_id; it is left out"),
        (10, "message 1 has 200000 bytes; the limit is 102400"),
        (3, "the row has the role 'ghost'"),
    ]
    assert reading.problems[-1].message.endswith("; conversation a is left out")


def test_columns_of_the_same_name_are_reported(written, said):
    reading = transcripts.read(written("a.csv", "id,role,text,text,,\n1,user,No,Hi,,\n1,assistant,No,Yo,,\n"))
    assert [(one.line, one.message) for one in reading.problems] == [
        (1, "the header repeats text; the last column of a name is read")
    ]
    assert said(reading.conversations[0]) == [("user", "Hi"), ("assistant", "Yo")]


@pytest.mark.parametrize("unit", ["us", "ns", "s"])
def test_parquet_keeps_real_types(tmp_path, said, unit):
    moment = datetime(2026, 1, 5, 10, 0, 0, tzinfo=UTC)
    table = pa.table(
        {
            "thread_id": pa.array([7, 7, 8]),
            "role": pa.array(["user", "assistant", "user"]).dictionary_encode(),
            "content": pa.array(["Hi", "007", None]),
            "created_at": pa.array([moment] * 3, pa.timestamp(unit, "UTC")),
            "turn": pa.array([1, 2, 1]),
            "tokens": pa.array([None, Decimal(5), None], pa.decimal128(5, 0)),
            "score": pa.array([0.5, None, None]),
        }
    )
    path = tmp_path / "messages.parquet"
    pq.write_table(table, path)
    reading = transcripts.read(path)
    (conversation,) = reading.conversations
    assert conversation.source_id == "7"
    assert said(conversation) == [("user", "Hi"), ("assistant", "007")]
    assert json.loads(conversation.content)["messages"][1] == {
        "role": "assistant",
        "content": "007",
        "timestamp": "2026-01-05T10:00:00.000Z",
        "tokens": 5,
    }
    assert reading.dropped == {"content (row without text)": 1}
    assert conversation.metadata["score"] == 0.5
    assert [str(p) for p in reading.problems] == [
        f"{path}:3: the conversation has no messages; nothing to import"
    ]


def test_a_column_with_one_value_in_each_conversation_is_metadata_and_others_are_named(written):
    text = (
        "conversation_id,role,content,plan,seats,mood,page,prompt,prompt_version,subject\n"
        f"a,user,Hi,pro,3,glad,{'x' * 2000},Support,2,Order\n"
        f"a,assistant,Hello,pro,3,calm,{'x' * 2000},Support,2,Order\n"
        "b,user,Hi,,1,glad,,Sales,1,\n"
    )
    reading = transcripts.read(written("a.csv", text))
    first, second = reading.conversations
    assert dict(first.metadata) == {"plan": "pro", "seats": "3"}
    assert dict(second.metadata) == {"seats": "1"}
    assert reading.dropped == {"mood": 3, "page": 2}
    assert (first.title, first.prompt_name, first.prompt_version) == ("Order", "Support", "2")
    assert reading.prompt_names == ["Support", "Sales"]


def test_a_column_of_prompts_may_hold_their_texts(written):
    prompt = "You are kind.\n\tAlways.  "
    rows = [{"conversation_id": "a", "role": "user", "content": "Hi", "prompt": prompt}]
    reading = transcripts.read(written("a.jsonl", rows))
    assert [text.text for text in reading.system_prompts] == [prompt]
    assert (reading.prompt_names, dict(reading.conversations[0].metadata)) == ([], {})
    each = [{**rows[0], "prompt": words} for words in ("Where is it?", "Thanks")]
    reading = transcripts.read(written("b.jsonl", each))
    assert (reading.prompt_names, reading.dropped) == ([], {"prompt": 2})


TWO = [("a", "user", "Hi"), ("a", "assistant", "Hello"), ("b", "user", "Hi"), ("b", "assistant", "Bye"), ("c", "user", "Ho")]  # fmt: skip


def table(column, rows=TWO, **more):
    return [{column: name, "role": role, "content": text, **more} for name, role, text in rows]


@pytest.mark.parametrize("column", ["vorgang", "userId", "akte"])
def test_the_column_of_the_conversation_is_guessed_from_its_blocks(written, column):
    reading = transcripts.read(written("a.jsonl", table(column, shop="north", day=1)))
    assert [one.source_id for one in reading.conversations] == ["a", "b", "c"]
    (note,) = reading.notes
    assert note.startswith(f"The conversations are told apart by the column {column}, whose values repeat")
    assert note.endswith("To use another: --column conversation=NAME")
    # One that is given is not doubted.
    reading = transcripts.read(written("a.jsonl", table(column)), columns={"conversation": "role"})
    assert [one.source_id for one in reading.conversations] == ["user", "assistant"]


@pytest.mark.parametrize(
    "rows",
    [
        [("", "user", "Hi"), ("", "assistant", "Hello")],
        [("x", "user", "Hi"), ("x", "assistant", "Hello")],
        [("x", "user", "Hi"), ("y", "assistant", "Hello"), ("x", "user", "Hi")],
        [("1", "user", "Hi"), ("2", "assistant", "Hello")],
    ],
    ids=["empty", "constant", "not in blocks", "different in each row"],
)
def test_a_column_that_may_not_tell_conversations_apart_is_not_guessed_and_the_option_is_named(written, rows):
    reading = transcripts.read(written("a.jsonl", table("word", rows)))
    assert len(reading.conversations) == 1
    (note,) = reading.notes
    assert note.startswith("No column tells the conversations apart, so all rows are one conversation.")
    assert note.endswith("--column conversation=NAME (the columns are word, role, content)")


def test_usage_in_columns_is_summed_and_a_value_of_all_rows_is_that_of_the_conversation(written):
    text = (
        "ticket,role,content,tokens,prompt_tokens,cost,latency_ms\n"
        "a,user,Hi,,,0.5,\n"
        "a,assistant,Hello,7,10,0.5,100\n"
        "a,assistant,Bye,5,20,0.5,300\n"
        "b,user,Hi,,,,\n"
        "b,assistant,Hello,,,0.25,\n"
    )
    first, second = transcripts.read(written("a.csv", text)).conversations
    assert (first.cost, first.input_tokens, first.latency_ms) == (0.5, 30, 200.0)
    assert (second.cost, second.input_tokens, second.latency_ms) == (0.25, None, None)
