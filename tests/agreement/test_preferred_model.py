"""The setting ``preferredLLM``: checked like a prompt's own model, and the default model of new prompts."""

from __future__ import annotations

import pytest

from promptlift.errors import ValidationError

NEW = {"name": "n", "content": "c"}


def prefer(wire, model):
    return wire.ask("PATCH", "/settings", {"general": {"preferredLLM": model}})


def test_a_new_prompt_without_a_model_takes_the_preferred_one(wire, client):
    assert prefer(wire, "gpt-4o-mini").status == 200
    answer = wire.ask("POST", f"/{wire.scheme.segment}", NEW)
    assert (answer.status, answer.body["llmModel"]) == (201, "gpt-4o-mini")
    assert client.prompts.create(**NEW).llm_model == "gpt-4o-mini"
    own = wire.ask("POST", f"/{wire.scheme.segment}", {**NEW, "llmModel": "gpt-4o"})
    assert own.body["llmModel"] == "gpt-4o"
    assert prefer(wire, "gpt-4o").status == 200
    assert wire.get(f"/{wire.scheme.segment}/{answer.body['id']}")["llmModel"] == "gpt-4o-mini"


def test_without_a_preferred_model_it_is_required(wire, client):
    answer = wire.ask("POST", f"/{wire.scheme.segment}", NEW)
    assert (answer.status, answer.error["details"]) == (400, {"llmModel": "Required field"})
    with pytest.raises(
        ValidationError, match=r'Name one, such as llm_model="gpt-4o", or set .*"preferredLLM"'
    ) as told:
        client.prompts.create(**NEW)
    assert told.value.details == {"llmModel": "Required field"}
    prefer(wire, "gpt-4o")
    assert prefer(wire, "").status == 200
    assert wire.ask("POST", f"/{wire.scheme.segment}", NEW).status == 400
    unknown = prefer(wire, "gpt-44o")
    assert (unknown.status, set(unknown.error["details"])) == (400, {"general.preferredLLM"})
    assert "did you mean gpt-4o" in unknown.error["details"]["general.preferredLLM"]
    prefer(wire, "gpt-4o")
    null = wire.ask("POST", f"/{wire.scheme.segment}", {**NEW, "llmModel": None})
    assert (null.status, list(null.error["details"])) == (400, ["llmModel"])
