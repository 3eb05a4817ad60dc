"""What a customer said, from a logged conversation to the variants of an optimization: it does not get there."""

from __future__ import annotations

import json

import pytest

from promptlift.service.optimizations.logged_words import LoggedWords
from support.answering_model import PROMPT, AnsweringModel

pytestmark = pytest.mark.slow

SMALL = dict.fromkeys(("maxIterations", "personaCount", "scenariosPerSimulation", "maxTurns"), 1)
TALK = (
    "User: I'm Anna Petrova, my order 48213 was left beside the green bin again.\n"
    "Assistant: I cannot say anything about order 48213."
)


class CopyingModel(AnsweringModel):
    """Writes what it read in a conversation into its first variant, until it is told not to."""

    def __init__(self) -> None:
        super().__init__()
        self.stubborn = False
        self.asked_for_variants: list[str] = []

    def _variants(self, messages):
        said = json.dumps(messages, ensure_ascii=False)
        self.asked_for_variants.append(said)
        answer = super()._variants(messages)
        if self.stubborn or len(self.asked_for_variants) == 1:
            answer["variants"][0]["content"] += (
                "\nSome were left beside the green bin: ask Petrova about 48213."
            )
        return answer

    def _judge(self, messages):
        return {**super()._judge(messages), "summary": "Anna Petrova lost order 48213 twice and gave up."}


def test_names_do_not_reach_the_writer_and_what_it_copies_all_the_same_is_asked_for_again(begin):
    model = CopyingModel()
    caller = begin(model)
    caller.settings(**SMALL)
    prompt_id = caller.prompt()
    caller.log(prompt_id, [TALK])

    def optimized():
        made = caller.start(prompt_id, mode="exploratory", variantCount=2)
        found = caller.ended(made["id"])
        assert found["status"] == "completed", found["failure"]
        return [one["content"] for one in caller.variants(made["id"])], found["results"]["warnings"]

    texts, _ = optimized()
    first, again = model.asked_for_variants
    assert "(name) (name) lost order (number) twice and gave up." in first
    assert "Petrova" not in first
    assert "48213" not in first
    assert "from logged conversations" in again
    words = LoggedWords([PROMPT, "Find parcels"], [TALK])
    assert [words.problems(text) for text in texts] == [[], [], []]

    # A variant that keeps a customer's words is left out, and a warning says why.
    model.stubborn = True
    texts, warnings = optimized()
    assert len(texts) == 2
    (note,) = [one for one in warnings if "could be tested" in one]
    assert "Only 1 of 2 variants could be tested" in note
    assert "5 or more words in a row from logged conversations" in note
