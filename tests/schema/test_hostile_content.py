"""Content that wants to do harm: it is refused, and refusing it is cheap."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift.errors import TranscriptError
from promptlift.schema.limits import JSON_DEPTH
from promptlift.schema.transcript import json_depth, parse_content


def nested(levels):
    return '{"messages": [{"role": "user", "content": "hi"}], "x": ' + "[" * levels + "]" * levels + "}"


def test_content_at_the_depth_limit_is_read():
    assert parse_content(nested(JSON_DEPTH - 1)).messages


@pytest.mark.parametrize("levels", [JSON_DEPTH, 1_000, 100_000])
def test_content_over_the_depth_limit_is_refused(levels):
    with pytest.raises(TranscriptError, match=f"nested deeper than {JSON_DEPTH} levels"):
        parse_content(nested(levels))


def test_brackets_inside_strings_do_not_nest():
    text = json.dumps({"messages": [{"role": "user", "content": '[[{"\\' * 500}]})
    assert parse_content(text).messages[0].content == '[[{"\\' * 500


@pytest.mark.parametrize(
    "text",
    [
        '{"messages": [{"role": "user", "content": "hi',
        '{"messages": [{"role": "user", "content": "hi"}',
        '{"messages": [{"role": "user", "content": "hi"}]} trailing',
        "{'messages': []}",
        '{"messages": [{"role": "user", "content": "a\nb"}]}',
        '{"messages": [{"role": "user", "content": NaN}]}',
        '{"messages": [{"role": "user", "content": "hi", "tokens": 1e999}]}',
        '{"messages": [{"role": "user", "content": "\\ud800"}]}',
        '{"messages": [{"role": "user", "content": "\ud800"}]}',
        '{"messages": [{"role": "user", "content": "\x00"}]}',
        "{",
    ],
)
def test_what_looks_like_json_but_is_not_is_refused(text):
    with pytest.raises(TranscriptError, match="content looks like JSON but is not: "):
        parse_content(text)


def test_a_nul_character_in_a_message_is_text_like_any_other():
    assert (
        parse_content('{"messages": [{"role": "user", "content": "a\\u0000b"}]}').messages[0].content
        == "a\x00b"
    )


def test_a_number_with_forty_digits_is_kept_as_a_number():
    text = '{"messages": [{"role": "user", "content": "hi", "tokens": ' + "9" * 40 + "}]}"
    assert parse_content(text).messages[0].tokens == pytest.approx(1e40)


def test_of_duplicate_fields_the_last_one_counts():
    assert parse_content('{"messages": [], "messages": [{"role": "user", "content": "hi"}]}').messages


@pytest.mark.parametrize(
    "text",
    [
        "[" * 70 + '"' + '\\"' * 500_000 + "\\",
        "[" * 70 + '"\\' * 500_000,
        "{" * 2_000_000,
        '"' + "[" * 2_000_000,
    ],
    ids=[
        "escaped quotes",
        "quote backslash",
        "braces",
        "unclosed",
    ],
)
@pytest.mark.slow
def test_looking_for_the_depth_of_a_hostile_text_comes_to_an_end(text):
    assert 0 <= json_depth(text) <= JSON_DEPTH + 1


def true_depth(value):
    if isinstance(value, dict):
        return 1 + max(map(true_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(true_depth, value), default=0)
    return 0


deep_values = st.recursive(
    st.none() | st.integers() | st.text('[]{}"\\a', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('[]{}"\\', max_size=3), inner, max_size=3)
    ),
    max_leaves=60,
)


@given(deep_values, st.integers(1, 8))
def test_the_depth_is_never_taken_for_less_than_it_is(value, limit):
    depth, bounded = true_depth(value), json_depth(json.dumps(value), limit=limit)
    assert (bounded > limit) == (depth > limit)
    assert bounded >= min(depth, limit + 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["User:" + " " * 500_000, " " * 500_000, "\n" * 500_000, "User" * 100_000, "User: a\n" * 60_000]
)
def test_reading_hostile_plain_text_comes_to_an_end(text):
    with suppress(TranscriptError):
        assert parse_content(text).messages
