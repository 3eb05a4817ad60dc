"""Bodies that clients send: types are taken as they are, bounds hold, null is not a value where one is needed."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from promptlift.schema import limits
from promptlift.schema.benchmarks import BulkRequest
from promptlift.schema.conversations import ConversationCreate
from promptlift.schema.optimizations import ApplyRequest, OptimizationCreate, StopRequest
from promptlift.schema.prompts import PromptCreate, PromptUpdate
from promptlift.schema.settings import SyncContextRequest
from promptlift.schema.webhooks import Webhook, WebhookCreate

PROMPT = {"name": "n", "content": "c", "llmModel": "gpt-4o"}
CONVERSATION = {"promptId": "p", "content": "User: hi"}


def problems(model, body):
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    return {".".join(map(str, error["loc"])) for error in caught.value.errors()}


@pytest.mark.parametrize(
    ("model", "required"),
    [
        (PromptCreate, {"name", "content", "llmModel"}),
        (PromptUpdate, set()),
        (ConversationCreate, {"content"}),
        (OptimizationCreate, set()),
        (ApplyRequest, set()),
        (StopRequest, set()),
        (WebhookCreate, {"url", "events"}),
        (SyncContextRequest, {"url"}),
        (BulkRequest, {"action", "jobIds"}),
    ],
)
def test_required_fields_are_those_of_the_specification(model, required):
    if required:
        assert problems(model, {}) == required
    else:
        assert model.model_validate({}).to_wire() == {}


@pytest.mark.parametrize("name", ["description", "tags", "temperature", "maxTokens", "objective"])
def test_null_in_an_optional_field_of_a_new_prompt_is_the_same_as_none_of_it(name):
    assert PromptCreate.model_validate({**PROMPT, name: None}).name == "n"


@pytest.mark.parametrize("name", ["name", "content", "llmModel"])
def test_null_in_a_required_field_is_refused(name):
    assert problems(PromptCreate, {**PROMPT, name: None}) == {name}


@pytest.mark.parametrize("name", ["name", "content", "llmModel", "status"])
def test_a_prompt_cannot_lose_what_every_prompt_has(name):
    assert problems(PromptUpdate, {name: None}) == {name}


@pytest.mark.parametrize("name", ["description", "tags", "temperature", "maxTokens", "objective"])
def test_null_in_an_update_clears_an_optional_field(name):
    assert PromptUpdate.model_validate({name: None}).to_wire() == {name: None}


def test_an_update_has_only_the_fields_that_were_sent():
    assert PromptUpdate.model_validate({"name": "n"}).model_dump(exclude_unset=True) == {"name": "n"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 1),
        ("name", ""),
        ("name", "  "),
        ("name", "a\x00"),
        ("name", "x" * (limits.NAME_CHARS + 1)),
        ("content", ["x"]),
        ("content", ""),
        ("content", "é" * (limits.PROMPT_CONTENT_BYTES // 2 + 1)),
        ("content", "\ud800"),
        ("llmModel", None),
        ("llmModel", 4),
        ("description", 1),
        ("description", "x" * (limits.DESCRIPTION_CHARS + 1)),
        ("tags", "a,b"),
        ("tags", [""]),
        ("tags", [1]),
        ("tags", ["x" * (limits.TAG_CHARS + 1)]),
        ("tags", ["x"] * (limits.TAGS + 1)),
        ("temperature", "1"),
        ("temperature", True),
        ("temperature", -0.01),
        ("temperature", 2.01),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("maxTokens", 0),
        ("maxTokens", 1.5),
        ("maxTokens", "5"),
        ("maxTokens", True),
        ("maxTokens", limits.MAX_TOKENS_MAX + 1),
        ("objective", {}),
    ],
)
def test_a_value_of_a_prompt_outside_its_bounds_is_refused(name, value):
    (path,) = problems(PromptCreate, {**PROMPT, name: value})
    assert path.split(".")[0] == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "x" * limits.NAME_CHARS),
        ("content", "é" * (limits.PROMPT_CONTENT_BYTES // 2)),
        ("tags", ["x" * limits.TAG_CHARS] * limits.TAGS),
        ("tags", []),
        ("temperature", 0),
        ("temperature", 2),
        ("maxTokens", 1),
        ("maxTokens", limits.MAX_TOKENS_MAX),
    ],
)
def test_a_value_of_a_prompt_at_its_bound_is_taken(name, value):
    assert PromptCreate.model_validate({**PROMPT, name: value}).to_wire()[name] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content", {"messages": []}),
        ("content", ""),
        ("status", "done"),
        ("status", "Completed"),
        ("llmModel", 1),
        ("companyName", ["x"]),
        ("idempotencyKey", ""),
        ("idempotencyKey", "k" * (limits.KEY_CHARS + 1)),
        ("idempotencyKey", "a\x00"),
        ("promptId", 5),
        ("promptId", "a\x00b"),
        ("promptId", "p" * (limits.KEY_CHARS + 1)),
        ("agentId", "a\x00b"),
    ],
)
def test_a_value_of_a_conversation_outside_its_bounds_is_refused(name, value):
    assert problems(ConversationCreate, {**CONVERSATION, name: value}) == {name}


def test_unknown_fields_are_ignored():
    assert PromptCreate.model_validate({**PROMPT, "id": "mine", "novel": 1}).to_wire() == PROMPT


@pytest.mark.parametrize("count", [0, 6, "3", 2.5, True])
def test_an_optimization_has_one_to_five_variants(count):
    assert problems(OptimizationCreate, {"promptId": "p", "variantCount": count}) == {"variantCount"}
    assert OptimizationCreate.model_validate({"promptId": "p"}).variant_count is None


def test_a_webhook_subscribes_to_known_events_and_hides_its_secret():
    assert problems(WebhookCreate, {"url": "https://x.test", "events": []}) == {"events"}
    assert problems(WebhookCreate, {"url": "https://x.test", "events": ["prompt.created"]}) == {"events.0"}
    webhook = Webhook.from_wire(
        {"id": "w", "url": "https://x.test", "events": [], "status": "active", "secret": "s3"}
    )
    assert webhook.secret == "s3"
    assert "s3" not in repr(webhook)
