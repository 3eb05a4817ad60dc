from __future__ import annotations

import logging
import socket

import pytest
from pydantic import BaseModel

from promptlift.service.llm.calls import RetryPolicy
from promptlift.service.llm.client import ChatClient
from promptlift.service.llm.port import LlmBadAnswer, LlmEmptyAnswer, LlmRefused, LlmUnavailable
from promptlift.service.llm.settings import LlmSettings
from support.stub_endpoint import KEY, Say, completion

ASK = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi — ½ \ud83d\ude00"}]


class Fruit(BaseModel):
    name: str
    count: int


def test_an_answer_comes_with_its_tokens_and_model(talk):
    stub, client = talk(
        [completion([{"type": "text", "text": part} for part in ("Hel", "lo.")], prompt=7, completed=3)]
    )
    answer = client.chat(ASK, purpose="persona")
    assert (answer.text, answer.parsed, answer.model) == ("Hello.", None, "stub-1")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.tokens) == (7, 3, 10)
    assert stub.asked[0].path == "/v1/chat/completions"
    assert stub.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert set(stub.asked[0].body) == {"model", "messages"}
    wanted = {"model": "other", "temperature": 0.0, "max_tokens": 9}
    client.chat(ASK, purpose="agent", **wanted)
    assert wanted.items() <= stub.asked[1].body.items()
    assert stub.asked[0].body["messages"] == [*ASK[:1], {"role": "user", "content": "Hi — ½ ??"}]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "a", "count": 1}\n```',
        '<think>It is {"name": "b"}.</think>\n{"name": "a", "count": 1}',
        '\n {"name": "a", "count": 1, "more": [1]} ',
    ],
)
def test_fences_thoughts_and_further_fields_do_not_matter(talk, text):
    _, client = talk([completion(text)])
    assert client.chat(ASK, purpose="context", schema=Fruit).parsed == Fruit(name="a", count=1)


def bad_request(message):
    return Say({"error": {"message": message}}, status=400)


@pytest.mark.parametrize(
    "refusal",
    [
        bad_request("'response_format' of type 'json_schema' is not supported"),
        Say({"detail": "Extra inputs"}, status=422),
        Say({"error": {"message": "failed to parse grammar"}}, status=500),
        Say(raw=b"nope", status=400),
    ],
)
def test_an_endpoint_without_response_format_gets_the_schema_as_text_from_then_on(talk, refusal):
    def answer(asked):
        return refusal if "response_format" in asked.body else completion('{"name": "a", "count": 1}')

    stub, client = talk(answer)
    for _ in range(2):
        assert client.chat(ASK, purpose="context", schema=Fruit).parsed.name == "a"
    assert ["response_format" in asked.body for asked in stub.asked] == [True, False, False]
    system = stub.asked[1].body["messages"][0]
    assert system["role"] == "system"
    assert system["content"].startswith("Be short.")
    assert '"count"' in system["content"]


def test_a_refusal_for_another_reason_teaches_nothing(talk):
    state = {"broken": True}

    def answer(_):
        return bad_request("context too long") if state["broken"] else completion('{"name": "a", "count": 1}')

    stub, client = talk(answer)
    with pytest.raises(LlmRefused, match="context too long") as error:
        client.chat(ASK, purpose="context", schema=Fruit)
    assert error.value.status == 400
    state["broken"] = False
    client.chat(ASK, purpose="context", schema=Fruit)
    assert "response_format" in stub.asked[-1].body


def test_newer_models_get_the_parameters_they_know(talk):
    def answer(asked):
        if "max_tokens" in asked.body:
            return bad_request("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in asked.body:
            return bad_request("Unsupported value: 'temperature' does not support 0.0 with this model.")
        return completion("x")

    stub, client = talk(answer)
    for _ in range(2):
        assert client.chat(ASK, purpose="agent", temperature=0.0, max_tokens=5).text == "x"
    assert len(stub.asked) == 4
    assert stub.asked[-1].body["max_completion_tokens"] == 5
    assert "temperature" not in stub.asked[-1].body


def test_a_wish_to_wait_longer_than_the_budget_ends_at_once_and_is_passed_on(talk):
    stub, client = talk([Say({}, status=429, headers={"Retry-After": "3600"})])
    with pytest.raises(LlmUnavailable) as error:
        client.chat(ASK, purpose="agent")
    assert error.value.retry_after == 3600
    assert len(stub.asked) == 1


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "API_KEY"), (404, "PROMPTLIFT_LLM_MODEL"), (302, "address itself")]
)
def test_a_refusal_is_not_repeated_and_says_what_to_do(talk, status, advice):
    stub, client = talk(
        [Say({"error": {"message": f"no, {KEY}"}}, status=status, headers={"Location": "http://x/"})]
    )
    with pytest.raises(LlmRefused, match=advice) as error:
        client.chat(ASK, purpose="agent")
    assert error.value.status == status
    assert KEY not in str(error.value)
    assert len(stub.asked) == 1


@pytest.mark.parametrize(
    "say",
    [
        Say({}),
        Say({"choices": []}),
        Say(raw=b""),
        Say(raw=b"[" * 100_000),
    ],
)
def test_what_is_no_completion_is_asked_for_again_like_no_answer(talk, say):
    stub, client = talk([say, completion("ok")])
    assert client.chat(ASK, purpose="agent").text == "ok"
    assert len(stub.asked) == 2
    lasting, other = talk([say])
    with pytest.raises(LlmUnavailable, match="asked 3 times: it answered 200 with something other than"):
        other.chat(ASK, purpose="agent")
    assert len(lasting.asked) == 3


@pytest.mark.parametrize("text", [None, "", " \n ", [], [{"type": "image"}]])
def test_an_empty_answer_is_asked_for_once_more(talk, text):
    stub, client = talk([completion(text), completion("ok")])
    assert client.chat(ASK, purpose="agent").tokens == 30
    assert len(stub.asked) == 2
    _, other = talk([completion(text)])
    with pytest.raises(LlmEmptyAnswer) as error:
        other.chat(ASK, purpose="agent")
    assert error.value.tokens == 30


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (completion(None, refusal="I will not"), "refused to answer: I will not"),
        (Say({"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}), "used up its tokens"),
    ],
)
def test_a_model_that_will_not_answer_is_not_asked_again(talk, say, reason):
    stub, client = talk([say])
    with pytest.raises(LlmBadAnswer, match=reason):
        client.chat(ASK, purpose="agent")
    assert len(stub.asked) == 1


def test_an_answer_without_counts_counts_nothing(talk):
    say = completion("x")
    say.document["usage"] = {"prompt_tokens": "many", "completion_tokens": -3}
    del say.document["model"]
    _, client = talk([say])
    answer = client.chat(ASK, purpose="agent")
    assert (answer.tokens, answer.model) == (0, "stub")
    # Half a surrogate pair can be neither stored nor sent.
    _, client = talk([Say(raw=b'{"choices": [{"message": {"content": "a\\ud83d \\u00e9"}}]}')])
    assert client.chat(ASK, purpose="agent").text == "a? é"


def test_a_dead_endpoint_is_unavailable_without_the_errors_of_the_http_library():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        client = ChatClient(LlmSettings(address, "m", KEY), policy=RetryPolicy(attempts=2, first=0.01))
        with client, pytest.raises(LlmUnavailable, match="cannot be reached") as error:
            client.chat(ASK, purpose="agent")
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or not type(error.value.__context__).__module__.startswith(
        "httpx"
    )


def test_the_key_is_in_no_repr_and_no_log(talk, caplog):
    caplog.set_level(logging.DEBUG)
    _, client = talk([Say({"error": {"message": KEY}}, status=503)])
    with pytest.raises(LlmUnavailable) as error:
        client.chat(ASK, purpose="agent")
    assert KEY not in repr(client) + caplog.text + str(error.value)
