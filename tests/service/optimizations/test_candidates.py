"""Texts that were handed in: refused in words, or tested as they are; and the page that hands in what GEPA wrote."""

from __future__ import annotations

import re

import pytest

import promptlift
from benchmarks.prompt_world.model import WorldModel
from benchmarks.prompt_world.world import SETTLED, draw_world
from support.answering_model import AnsweringModel, serving
from support.searching import SMALL, world_prompt
from support.source_tree import ROOT

pytestmark = pytest.mark.slow

ORIGINAL = "You help {name} at [SHOP]. Never promise a refund."
TEXT = "You help {name}, and you say what comes next.\nNever promise a refund."
PAGE = ROOT / "notebooks" / "docs" / "optimizations.md"


def test_what_cannot_be_tested_is_refused_in_words(begin):
    caller = begin(None)
    prompt_id = caller.prompt(content=ORIGINAL)
    wrong = {
        (): {"candidates": "must not be empty"},
        (" ",): {"candidates[0].content": "must not be blank"},
        (None,): {"candidates[0].content": "must be a string"},
        ("{name}\x00",): {"candidates[0].content": "must not contain a NUL character"},
        ("{name} " * 80_000,): {"candidates[0].content": "must be at most 524288 bytes"},
        tuple(f"{{name}} {n}" for n in range(6)): {"candidates": "must have at most 5 entries"},
        (ORIGINAL + "\n",): {"candidates[0].content": "is the current text of the prompt"},
        (TEXT, "You help.", TEXT): {
            "candidates[1].content": "must keep the template variables: {name}",
            "candidates[2].content": "is the same text as candidates[0]",
        },
    }
    for texts, details in wrong.items():
        body = {"candidates": [{"content": text} for text in texts]}
        assert caller.start(prompt_id, **body, expect=400)["error"]["details"] == details
    for name, value in (("variantCount", 2), ("search", "on")):
        said = caller.start(prompt_id, candidates=[{"content": TEXT}], **{name: value}, expect=400)
        assert list(said["error"]["details"]) == [name]
    assert caller.ask("GET", "/optimizations")["data"] == []


def test_a_text_that_was_handed_in_is_tested_as_it_is_and_said_to_be(begin):
    model = AnsweringModel(better=0.4)
    caller = begin(model)
    caller.settings(**SMALL)
    prompt_id = caller.prompt(content=ORIGINAL)
    mine = f"Manner 1: {TEXT}"
    given = [{"content": mine, "name": "By hand"}, {"content": "You help {name} or {nobody}."}]
    made = caller.start(prompt_id, candidates=given)
    assert made["variantCount"] == 2
    found = caller.ended(made["id"])
    assert model.asked["variants"] == model.asked["reflection"] == 0
    variants = caller.variants(made["id"])
    assert [(one["name"], one["content"], one["source"]) for one in variants] == [
        ("Original", ORIGINAL, "prompt"),
        ("By hand", mine, "handed_in"),
        ("Candidate 2", given[1]["content"], "handed_in"),
    ]
    # Somebody is right to leave a word in brackets out, and is told that a rule is gone.
    first, second = (one for one in found["results"]["warnings"] if "was handed in" in one)
    assert first.startswith("“By hand”")
    assert "[SHOP]" in first
    assert "refund" not in first
    assert "{nobody}" in second
    assert "Never promise a refund" in second
    assert "candidates" not in found["settings"]


class PeersModel(WorldModel):
    """Answers a program that names no purpose: an assistant's turn, a verdict in words, or a whole prompt."""

    def _other(self, body):
        first = body["messages"][0]
        if first["role"] == "system":
            return self._agent(body)
        if first["content"].startswith("Does the answer"):
            return "Yes." if SETTLED in first["content"] else f"No. It said: {first['content']}"
        return super()._other(body)


def test_the_page_hands_in_what_gepa_wrote(begin, monkeypatch):
    world = draw_world("additive", 3)
    model = PeersModel(world)
    caller = begin(model)
    caller.settings(**SMALL | {"personaCount": 5, "scenariosPerSimulation": 3})
    prompt_id = world_prompt(caller, world)
    (code,) = re.findall(
        r"^```python\n(import gepa$.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    with (
        serving(model) as endpoint,
        promptlift.connect(caller.service.base_url, caller.service.key, progress=False) as lift,
    ):
        for name in ("BASE_URL", "API_KEY"):
            monkeypatch.setenv(f"OPENAI_{name}", endpoint[f"PROMPTLIFT_LLM_{name}"])
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        names = {"lift": lift, "prompt_id": prompt_id}
        exec(compile(code, PAGE.name, "exec"), names)
        done, found = names["done"], names["found"]
        table = lift.variants(done.id).set_index("name")
    written = found.best_candidate["prompt"]
    assert model.asked["other"] > 100
    assert table.loc["GEPA", ["content", "source"]].tolist() == [written, "handed_in"]
    assert world.gain(written) > 5
    assert table.loc["GEPA", "n"] >= 15
