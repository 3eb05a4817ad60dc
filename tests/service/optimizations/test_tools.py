"""Agents with tools over a real socket: what was logged is replayed, unless that is switched off."""

from __future__ import annotations

import json

import pytest

from support.answering_model import AnsweringModel

pytestmark = pytest.mark.slow

CALL = '[tool call] find_parcel({"id": 7})'
RESULT = '[tool result] {"status": "Lyon"}'
TALK = [
    {"role": "user", "content": "Where is parcel 7?"},
    {"role": "assistant", "content": CALL},
    {"role": "system", "content": RESULT},
    {"role": "assistant", "content": "It is solved: tomorrow."},
]


class Tooled(AnsweringModel):
    """An assistant that looks parcels up where it is told how."""

    def _agent(self, messages):
        if "You have tools: find_parcel" not in messages[0]["content"]:
            return "I cannot say."
        return "It is solved: tomorrow." if messages[-1] == {"role": "user", "content": RESULT} else CALL


def test_tools_are_simulated_unless_the_request_or_the_settings_switch_them_off(begin):
    caller = begin(Tooled())
    caller.settings(maxTurns=1, personaCount=2, scenariosPerSimulation=2, maxIterations=1)
    prompt_id = caller.prompt()
    caller.log(prompt_id, [json.dumps({"messages": TALK})])

    def said(**wanted):
        """The messages of each conversation after its opening."""
        made = caller.start(prompt_id, mode="exploratory", variantCount=1, search="off", **wanted)
        found = caller.ended(made["id"])
        assert found["status"] == "completed", found["failure"]
        held = caller.simulations(made["id"], includeContent="true")
        messages = [json.loads(one["content"])["messages"][1:] for one in held]
        return found["settings"]["simulateTools"], [
            [(one["content"], one.get("toolResult")) for one in talk] for talk in messages
        ]

    answered = [[(CALL, None), (RESULT, "replayed"), ("It is solved: tomorrow.", None)]]
    switched_on, talks = said()
    assert (switched_on, talks) == (True, answered * len(talks))
    assert said(simulateTools=False) == (False, [[("I cannot say.", None)]] * len(talks))
    refused = {"optimization": {"simulation": {"simulateTools": "no"}}}
    details = caller.ask("PATCH", "/settings", refused, expect=400)["error"]["details"]
    assert set(details) == {"optimization.simulation.simulateTools"}
    caller.settings(simulateTools=False)
    assert said() == (False, [[("I cannot say.", None)]] * len(talks))
