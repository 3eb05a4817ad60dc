"""Bodies of OTLP/HTTP: JSON and protobuf say the same, and what is neither is refused."""

from __future__ import annotations

import sys

import pytest

from promptlift.service.errors import ApiException
from promptlift.service.otlp.decode import read_json, read_protobuf
from support.spans import START, as_json, as_protobuf, chat, span

KNOWN = {
    "text": "ü",
    "number": -7,
    "part": 0.5,
    "yes": True,
    "list": ["a", 1],
    "map": {"in": {"ner": [False]}},
}


def test_json_and_protobuf_say_the_same():
    spans = (
        span(1, KNOWN, events=[("said", KNOWN)], failed=True),
        chat(2, [("user", "Hi")], "Hello", trace=0xABCDEF),
    )
    read = read_json(as_json(*spans), pytest.fail)
    assert read == read_protobuf(as_protobuf(*spans), pytest.fail)
    assert read[0].attributes == KNOWN
    assert read[0].events[0].attributes == KNOWN
    assert read[0].resource == {"service.name": "shop"}
    assert (read[0].started_at, read[0].ended_at) == (START + 1000, START + 1500)
    assert [one.failed for one in read] == [True, False]
    assert read[1].trace_id == f"{0xABCDEF:032x}"
    assert read_json(b"{}", pytest.fail) == read_protobuf(b"", pytest.fail) == []


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense",
        b"[]",
        b'{"resourceSpans": 5}',
        b'{"resourceSpans": {"a": 1}}',
        b"[" * 10_000,
        b"NaN",
    ],
)
def test_what_is_not_a_request_in_json_is_refused(raw):
    with pytest.raises(ApiException) as refused:
        read_json(raw, pytest.fail)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "raw", [b"nonsense", b"\x00\x01", b"\x0a\xff\xff\xff\xff\x0f", as_protobuf(span(1, {}))[:-3]]
)
def test_what_is_not_a_request_in_protobuf_is_refused(raw):
    with pytest.raises(ApiException) as refused:
        read_protobuf(raw, pytest.fail)
    assert refused.value.status == 400


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.trace.v1.trace_pb2", None)
    with pytest.raises(ApiException, match=r"promptlift\[otlp\]") as refused:
        read_protobuf(b"", pytest.fail)
    assert refused.value.status == 415
    assert "http/json" in refused.value.message
