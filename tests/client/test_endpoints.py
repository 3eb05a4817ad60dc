from __future__ import annotations

import inspect
from typing import Any

import pytest

from promptlift.client import Client, configure
from promptlift.errors import ValidationError
from promptlift.schema.endpoints import ENDPOINTS, encode_id
from promptlift.schema.naming import SCHEMES


@pytest.mark.parametrize(
    ("identifier", "segment"),
    [
        ("a1", "a1"),
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("a?b#c", "a%3Fb%23c"),
        ("a b%2F", "a%20b%252F"),
        ("ü\n", "%C3%BC%0A"),
    ],
)
def test_an_id_stays_one_path_segment(identifier, segment):
    assert encode_id(identifier) == segment


@pytest.mark.parametrize("identifier", ["", None, 7])
def test_a_missing_id_never_becomes_another_endpoint(identifier):
    with pytest.raises(ValidationError, match="An id is required"):
        ENDPOINTS["prompts.get"].path_for(SCHEMES["prompt"], identifier)


def test_only_what_changes_nothing_the_second_time_or_carries_a_key_may_be_repeated():
    for endpoint in ENDPOINTS.values():
        if endpoint.method == "GET" or endpoint.name in TWICE_IS_ONCE:
            assert endpoint.is_repeatable(keyed=False)
        else:
            assert not endpoint.is_repeatable(keyed=False)
            keyed = ("conversations.create", "conversations.log_many")
            assert endpoint.is_repeatable(keyed=True) == (endpoint.name in keyed)


TWICE_IS_ONCE = {
    "conversations.lookup",
    "conversations.update",
    "judges.create",
    "judges.plan",
    "labels.create",
    "prompts.update_topic",
}


class Sent(Exception):
    """A request that was recorded instead of sent."""


class Recorder:
    """Stands where the transport is, and keeps what it was to send."""

    def __init__(self, config):
        self.config = config
        self.sent = []

    def send(self, call):
        self.sent.append(call)
        raise Sent


def arguments(method: Any) -> dict[str, Any]:
    """A value for every argument that must be given."""
    given = {"llm_model": "gpt-4o", "content": "User: hi", "events": ["prompt.deleted"], "job_ids": ["b1"]}
    given["topic"] = 1
    given["weights"] = {"v1": 0.5}
    given["arms"] = [{"prompt_id": "x1"}]
    given["conversations"] = [{"content": "User: hi"}]
    # Of a judge they answer its own question, with true or false.
    value: Any = True if method.__qualname__.startswith("Judges.") else "yes"
    given["labels"] = [{"conversation_id": "x1", "question": "q", "value": value, "labeller": "ann"}]
    if method.__name__ == "learn":
        given["labels"] = [{"conversation_id": "x1", "completed": True}]
    return {
        name: given.get(name, "x1")
        for name, parameter in inspect.signature(method).parameters.items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }


@pytest.fixture(params=["prompt", "agent"])
def calls(request):
    """Every method of every group, called once: its name, the request and the row that it should be of."""
    config = configure("http://127.0.0.1:9", "key", scheme=request.param)
    recorder = Recorder(config)
    client = Client(config, transport=recorder)
    made = []
    for group_name, group in vars(client).items():
        for name, method in inspect.getmembers(group, inspect.ismethod):
            if not name.startswith("_") and group_name not in ("transport", "config"):
                with pytest.raises(Sent):
                    method(**arguments(method))
                made.append((f"{group_name}.{name}", group._scheme, recorder.sent[-1]))
    return made


def test_every_endpoint_has_a_method_and_every_method_an_endpoint(calls):
    """House rule: the client has a method for every row of the table, named like it."""
    only_agents = {"prompts.regenerate_insights", "prompts.step_failures"}
    for name, scheme, call in calls:
        row = ENDPOINTS.get(name) or ENDPOINTS[name.replace("agents.", "prompts.")]
        assert call.method == row.method
        assert call.path == row.path_for(scheme, "x1" if row.has_id else None)
        # One of the methods makes the keys itself.
        assert call.repeatable == row.is_repeatable(keyed=name == "conversations.log_many")
    named = {name for name, _, _ in calls}
    assert ENDPOINTS.keys() - only_agents <= named
    assert {name.replace("prompts.", "agents.") for name in only_agents} <= named


def test_a_list_is_filtered_by_every_parameter_that_the_table_has():
    """House rule: what a row's query model says is what a method takes, and it goes under the API's name."""
    config = configure("http://127.0.0.1:9", "key", scheme="agent")
    recorder = Recorder(config)
    client = Client(config, transport=recorder)
    for row in ENDPOINTS.values():
        if row.query is None:
            continue
        group, _, name = row.name.partition(".")
        method = getattr(getattr(client, group), name)
        filters = set(row.query.model_fields) - {"agent_id"}
        assert filters <= inspect.signature(method).parameters.keys()
        with pytest.raises(Sent):
            method(**arguments(method) | dict.fromkeys(filters, "v"))
        names = {str(row.query.model_fields[one].alias) for one in filters}
        sent = recorder.sent[-1].query
        assert sent == dict.fromkeys({"agentId" if one == "promptId" else one for one in names}, "v")


@pytest.fixture
def sent():
    """Call a method of a client, and give the request that it would send."""

    def call(use, scheme="prompt"):
        config = configure("http://127.0.0.1:9", "key", scheme=scheme)
        recorder = Recorder(config)
        with pytest.raises(Sent):
            use(Client(config, transport=recorder))
        return recorder.sent[-1]

    return call


def test_parameters_are_written_as_the_api_reads_them(sent):
    assert sent(lambda c: c.prompts.list(limit=5, tags=["a", "b"])).query == {"limit": "5", "tags": "a,b"}
    tags = ['say "a"', "b,c", '"d"']
    assert sent(lambda c: c.prompts.list(tags=tags)).query == {"tags": 'say "a","b,c","""d"""'}
    assert sent(lambda c: c.conversations.get("c1", include_insights=False)).query == {
        "includeInsights": "false"
    }


@pytest.mark.parametrize(
    "fields", [{"mode": "fast"}, {"variant_count": 6}, {"variants": 3}, {"persona_ids": [""]}]
)
def test_a_body_that_cannot_be_right_is_not_sent(fields):
    config = configure("http://127.0.0.1:9", "key")
    client = Client(config, transport=Recorder(config))
    with pytest.raises(ValidationError, match="was not sent") as failed:
        client.optimizations.create(prompt_id="p1", **fields)
    assert failed.value.details.keys() != set()
    with pytest.raises(ValidationError) as failed:
        client.prompts.update("p1", colour="red")
    assert failed.value.details == {"colour": "Unknown field"}
    assert client.transport.sent == []
