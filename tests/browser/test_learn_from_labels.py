"""One click after labelling: a judge learns from the labels, and the page says what it is worth."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.timeout(240)

CODE = """
import random
import pandas as pd
import promptlift
from promptlift import widgets
from promptlift.local import wait_for_insights

rng = random.Random(1)
lift = promptlift.connect(progress=False)
prompt = lift.create_prompt(f"Taught {rng.random()}", "You help.", llm_model="gpt-4o").id
truth = {f"l{at}": rng.random() < 0.6 for at in range(120)}
lift.log([
    {"source_id": one, "messages": [
        {"role": "user", "content": "Change my order."},
        {"role": "assistant", "content": '[tool call] change_order({"id": 1})'},
        {"role": "system", "content": f"[tool result] {'ok' if done else 'Error: not allowed'}"},
        {"role": "assistant", "content": "It is done."},
    ]}
    for one, done in truth.items()
], prompt_id=prompt)
wait_for_insights(lift, [prompt], progress=False)
df = lift.conversations(prompt, insights=True, content=True)
labelled = df.head(60)
lift.labels.add(pd.DataFrame({
    "conversation_id": labelled["conversation_id"], "task_completed": labelled["source_id"].map(truth).astype(bool),
}), labeller="ann")
browser = widgets.ConversationBrowser(df, labels=lift, labeller="ann")
browser
"""
BASES = "print(*sorted(set(lift.conversations(prompt, insights=True)['basis'].astype('str'))))"


def test_a_click_learns_and_says_what_was_learned(lab):
    from playwright.sync_api import expect

    notebook = lab.open([CODE], name="learn.ipynb")
    notebook.run_all()
    box = notebook.page.locator(".plw-browser")
    box.scroll_into_view_if_needed()
    assert notebook.evaluate(BASES) == "words"
    box.get_by_role("button", name="Learn from these labels").click()
    said = box.get_by_role("status").filter(has_text="Learned from 60 labels: ")
    expect(said).to_contain_text(re.compile(r"AUC"), timeout=60_000)
    notebook.screenshot("learned")
    assert notebook.evaluate(BASES) == "learned"
    assert notebook.problems() == []
