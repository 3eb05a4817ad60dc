"""What a search quotes from a conversation that is deleted while it runs does not come back."""

from __future__ import annotations

import json

import pytest

from benchmarks.prompt_world.model import WorldModel
from benchmarks.prompt_world.world import draw_world
from support.command_line import promptlift_command
from support.searching import SMALL, world_prompt

pytestmark = pytest.mark.slow

LONG_AGO = "2020-01-01T00:00:00Z"


class ForgettingModel(WorldModel):
    """Has the old transcripts deleted before the assistant says its first words."""

    data = None
    done = None

    def _agent(self, body):
        if self.data is not None:
            data, self.data = self.data, None
            self.done = promptlift_command("vacuum", "--keep", "400d", "--data", data)
        return super()._agent(body)


def test_a_conversation_that_is_deleted_during_a_search_is_quoted_no_more(begin, tmp_path):
    world = draw_world("additive", 3)
    model = ForgettingModel(world)
    caller = begin(model)
    caller.settings(**SMALL, verificationPasses=0)
    old = [
        json.dumps(
            {
                "messages": [
                    {"role": role, "content": text, "timestamp": LONG_AGO} for role, text in one.messages
                ]
            }
        )
        for one in world.log[:40]
    ]
    prompt_id = world_prompt(caller, world, logged=0, extra=old)
    model.data = tmp_path / "data"
    found = caller.ended(caller.start(prompt_id, variantCount=3)["id"])
    assert found["status"] == "completed", found["failure"]
    assert "Transcripts deleted: 40" in model.done.stdout, model.done.stderr
    evidence = [
        (one["conversationId"], one["quote"])
        for variant in caller.variants(found["id"])
        for edit in variant["edits"]
        for one in edit["evidence"]
    ]
    assert ("deleted", "") in evidence
    # What is left is from simulated conversations.
    held = {one["id"] for one in caller.simulations(found["id"])}
    assert {one for one, _ in evidence} <= held | {"deleted"}
