"""The text of an imported prompt on a service that has the specification's fields and none of ours."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

import promptlift
from support.foreign_service import KEY, ForeignService

pytestmark = pytest.mark.slow


@dataclass
class PromptService(ForeignService):
    """Keeps prompts, and knows neither marks nor versions."""

    prompts: dict[str, dict[str, Any]] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, method, path, params, body):
        parts = path.strip("/").split("/")
        if parts[0] != "prompts":
            return super().answer(method, path, params, body)
        if method == "POST":
            self.bodies.append(json.loads(body))
            known = {name: self.bodies[-1][name] for name in ("name", "content", "llmModel")}
            made = {"id": f"p{len(self.prompts) + 1}", "status": "active", **known}
            self.prompts[made["id"]] = made
            return 201, made
        if len(parts) == 1:
            return self.page(list(self.prompts.values()), params, ())
        if len(parts) > 2 or parts[1] not in self.prompts:
            return 404, {"error": {"code": "NOT_FOUND", "message": "Route not found"}}
        if method == "PATCH":
            self.prompts[parts[1]]["content"] = json.loads(body)["content"]
        return 200, self.prompts[parts[1]]


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setenv("PROMPTLIFT_API_KEY", KEY)
    with PromptService() as running:
        yield running


@pytest.fixture
def imported(service, tmp_path):
    def run(*texts):
        file = tmp_path / f"{len(texts)}-{len(service.rows)}.jsonl"
        records = []
        for number, text in enumerate(texts):
            said = [{"role": "user", "content": f"Hi {number} {file.name}"}]
            if text is not None:
                said.insert(0, {"role": "system", "content": text})
            records.append(json.dumps({"messages": said}) + "\n")
        file.write_text("".join(records))
        with promptlift.connect(service.base_url) as lift:
            return str(lift.import_files(file, prompt="Support"))

    return run


def test_the_last_of_several_system_prompts_is_the_text(service, imported):
    said = imported("First.", "Second.")
    assert [one["content"] for one in service.prompts.values()] == ["Second."]
    assert "begin with 2 different system prompts. They became one text after the other of 'Support'" in said
    assert "Warning: 'Support' keeps its text" in imported("Third.")
    assert [one["content"] for one in service.prompts.values()] == ["Second."]


def test_a_service_that_keeps_no_mark_is_said_to_optimize_what_stands_in(service, imported):
    said = imported(None)
    stand_in = "(The text of Support is not known yet.)"
    assert [one["content"] for one in service.prompts.values()] == [stand_in]
    assert f"does not know that, and would optimize the placeholder: {stand_in!r}" in said
    imported("First.")
    assert [one["content"] for one in service.prompts.values()] == ["First."]
