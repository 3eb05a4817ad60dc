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
    with pytest.raises(ValidationError, match="llmModel"):
        client.prompts.create(**NEW)
    prefer(wire, "gpt-4o")
    assert prefer(wire, "").status == 200
    assert wire.ask("POST", f"/{wire.scheme.segment}", NEW).status == 400
    prefer(wire, "gpt-4o")
    null = wire.ask("POST", f"/{wire.scheme.segment}", {**NEW, "llmModel": None})
    assert (null.status, list(null.error["details"])) == (400, ["llmModel"])


def test_an_unknown_preferred_model_is_refused_with_near_names(wire):
    answer = wire.ask("PATCH", "/settings", {"general": {"preferredLLM": "gpt-44o", "industry": "Parcels"}})
    assert (answer.status, answer.error["code"]) == (400, "VALIDATION_ERROR")
    assert "did you mean gpt-4o" in answer.error["details"]["general.preferredLLM"]
    assert wire.get("/settings")["general"]["industry"] == ""


def test_the_preferred_model_stands_in_also_where_something_else_is_wrong(wire):
    prefer(wire, "gpt-4o")
    answer = wire.ask("POST", f"/{wire.scheme.segment}", {"name": ""})
    assert answer.error["details"] == {"name": "must not be blank", "content": "Required field"}
