"""A search of the embedded service in a rehearsal: what it writes, what a review makes of it, and a text by hand."""

from __future__ import annotations

import re

import pytest

from promptlift.local import wait_for_insights
from promptlift.schema.search import assembled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PROMPT = {
    "name": "Searched",
    "content": "You are the help desk of an invented shop.\nAnswer in {language}.\nNever promise a date.",
    "llm_model": "gpt-4o",
}
FAILED = (
    "Where is my parcel {n}? It is late.",
    "I am sorry, I cannot help you with that.",
    "That does not help me at all. Terrible.",
)
DONE = (
    "Where is my parcel {n}?",
    "It is at your neighbour's, the link says so.",
    "Great, thank you, that solved it!",
)


def conversations(lines, count):
    return [
        {"messages": [{"role": role, "content": line.format(n=n)} for role, line in zip(("user", "assistant", "user"), lines, strict=True)]}
        for n in range(count)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def opened(service):
    import promptlift

    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        yield lift


@pytest.fixture(scope="module")
def searched(opened):
    """A search in a rehearsal, in which cures help."""
    prompt = opened.create_prompt(**PROMPT)
    opened.log([*conversations(FAILED, 12), *conversations(DONE, 8)], prompt_id=prompt.id)
    wait_for_insights(opened, [prompt.id], progress=False)
    return opened.optimize(prompt.id, mode="exploratory", variants=3, seed=1, search="on", wait=False).wait(
        timeout=200
    )


def test_edits_quote_conversations_and_say_what_became_of_them(opened, searched):
    edits = searched.edits()
    assert len(edits) >= 3
    assert edits["symptom"].str.startswith("Rehearsal: ").all()
    assert edits["state"].notna().all()
    assert edits.attrs["promptlift"]["rehearsal"] is True
    logged = opened.conversations(searched.prompt_id, content=True).set_index("conversation_id")["content"]
    simulated = searched.simulations(content=True).set_index("simulation_id")["content"]
    for ids, quotes in zip(edits["conversation_ids"], edits["quotes"], strict=True):
        for one, quote in zip(ids, quotes, strict=True):
            # Verbatim, and in whole words.
            said = (logged if one in logged.index else simulated)[one]
            assert re.search(rf"(?<!\w){re.escape(quote)}(?!\w)", said)


def test_each_candidate_is_the_original_with_its_edits(opened, searched):
    candidates = opened.client.optimizations.variants(searched.id).data
    original = next(one.content for one in candidates if one.is_original)
    generations = {one.generation for one in candidates}
    assert generations >= {0, 1, 2}
    for one in candidates:
        if not one.is_original:
            kept = [edit for edit in one.edits if edit.state == "kept"]
            assert assembled(original, kept) == one.content
            sentences = re.split(r"(?<=[.!?])\s+|\n+", one.content)
            assert len(sentences) == len(set(sentences))
            symptoms = one.rationale.removeprefix("Against: ").split("Rehearsal: ")[1:]
            assert len(symptoms) == len({symptom.strip() for symptom in symptoms}) > 0
