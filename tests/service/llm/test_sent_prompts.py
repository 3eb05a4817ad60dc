"""Whatever is rearranged in the code, a language model is asked in the same words, to the byte."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from promptlift.schema.transcript import Message, Transcript
from promptlift.service.optimizations.variants import STRATEGIES, RejectedDraft, VariantsRequest
from promptlift.service.simulations.personas import SimulatedPersona
from promptlift.service.simulations.scenarios import ScenariosRequest
from promptlift.service.simulations.tasks import PromptText, Scenario
from support.scripted_model import ScriptedModel, in_turn, model_tasks

PROMPT = PromptText(
    'You help the guests of {{hotel}}. Never give refunds over 30 days; say "one moment, please".\u2028Be kind.',
    objective="Guests find what they look for. ",
)
PERSONA = SimulatedPersona(
    "per_1", "In a\nhurry", "Writes short messages\u2028and gives up after three answers."
)
SCENARIO = Scenario("Late check-out", "can i stay until 2?\x85", "Stay until 2.", "conversation")
TALK = Transcript(
    messages=[
        Message(role="user", content="I want a refund.\u2028Now."),
        Message(role="assistant", content="x" * 30_000),
        Message(role="user", content="Thanks for nothing."),
    ]
)


def write_variants(tasks, *, again):
    request = VariantsRequest(
        prompt=PROMPT,
        strategies=STRATEGIES[:2],
        intent={"targetImprovements": ["fewer refunds", "kinder"], "hypothesis": "Kindness helps."},
        failures=["Refund refused (4 of 9 failures)", "The guest\nleft."],
        general={"organizationName": "Hotel", "preferredLLM": "gpt-4o", "tone": " "},
        accepted=["First"] if again else [],
        problems=["Too short."] if again else [],
        drafts=[RejectedDraft(STRATEGIES[0].name, "A draft.", ["said so"])] if again else [],
        seed=3,
    )
    tasks.write_variants(request)


def write_scenarios(tasks, *, again):
    request = ScenariosRequest(
        prompt=PROMPT,
        wanted=3,
        examples=[SCENARIO],
        titles=["Late check-out", "Early\ncheck-in"] if again else [],
        people=[PERSONA],
        empty_answers=int(again),
        seed=4,
    )
    tasks.write_scenarios(request)


def speak(tasks, *, again):
    messages = [("user", "Hi."), ("assistant", "")] if again else []
    tasks.speak_as_persona(persona=PERSONA, scenario=SCENARIO, messages=messages, seed=5)


def answer(tasks, *, again):
    messages = [("user", "Hi."), ("assistant", ""), ("user", "And?")] if again else [("user", "Hi.")]
    tasks.answer_as_assistant(prompt=PROMPT, content="Be kind.", messages=messages)


def judge(tasks, *, again):
    tasks.judge(TALK, objective="Help. " if again else None, exclusions='names, "dates"' if again else None)


JUDGEMENT = {
    "sentiment": "neutral",
    "sentimentScore": 0,
    "taskCompleted": True,
    "quality": 50,
    "topics": [],
    "summary": "Nothing happened.",
    "issues": [],
}


@pytest.mark.parametrize(
    ("ask", "answered", "digests"),
    [
        (write_variants, {"variants": []}, ("23ebcb4f18fd3619", "7e9a13c1b1f805a4")),
        (write_scenarios, {"scenarios": []}, ("0e8afa5458183d13", "dcf4482043f723f0")),
        (speak, {}, ("bdb759a930c27ef6", "43b8a34732694a49")),
        (answer, {}, ("548429c8ab88b7f7", "ed4532c3dfebbfb6")),
        (judge, JUDGEMENT, ("871ff19a43b50ee9", "7af2b1708e2221cb")),
    ],
)
def test_a_model_is_asked_in_the_same_words(ask, answered, digests):
    model = ScriptedModel(in_turn(json.dumps(answered)))
    for again in (False, True):
        ask(model_tasks(model), again=again)
    assert tuple(_digest(request) for request in model.asked) == digests


def _digest(request) -> str:
    text = json.dumps(request.messages)
    if request.purpose == "judge":  # its mark is another one each time
        text = text.replace(re.search(r"BEGIN ([0-9a-f]{32})", text)[1], "mark")
    return hashlib.sha256(text.encode()).hexdigest()[:16]
