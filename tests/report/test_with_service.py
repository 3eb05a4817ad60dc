"""A report from a workspace on a real service."""

from __future__ import annotations

from datetime import date

import pytest

from promptlift import report, samples
from promptlift.local import log_samples, wait_for_insights
from promptlift.report.renderers.html import page
from support.report_numbers import document_of
from support.report_page import clock, cut_off, read_page
from support.service_process import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def prompt_ids(lift):
    ids = []
    for key, body in zip(samples.prompt_keys(), samples.prompts(), strict=True):
        named = {"name": body["name"], "content": body["content"], "objective": body["objective"]}
        prompt = lift.client.prompts.create(llm_model=body["llmModel"], **named)
        records = samples.conversations(key, ending=date(2026, 3, 10))[:30]
        without_keys = [{name: one[name] for name in one if name != "idempotencyKey"} for one in records]
        assert lift.log(without_keys, prompt_id=prompt.id).logged == 30
        ids.append(prompt.id)
    wait_until(
        lambda: all(lift.conversations(prompt_id=one, insights=True)["has_insights"].all() for one in ids),
        what="all conversations have insights",
    )
    return ids


def test_a_report_of_a_workspace_reads_only_the_transcripts_that_are_shown(
    lift, prompt_ids, tmp_path, monkeypatch
):
    asked = []
    get = lift.client.conversations.get
    monkeypatch.setattr(
        lift.client.conversations, "get", lambda one, **more: asked.append(one) or get(one, **more)
    )
    page = read_page(report.write(lift, prompt_ids[0], tmp_path / "one.html", clock=clock))
    assert len(asked) == 6
    assert "Support assistant v1" in page.text
    assert "Solve the customer's request in the chat" in page.text
    assert "30 conversations" in page.text
    assert "A word list judged these conversations" in page.text
    assert [tag for tag, _ in page.tags].count("article") == 6
    assert lift.client.config.base_url not in page.source


def test_prompts_are_compared_by_their_names(lift, prompt_ids, tmp_path):
    page = read_page(report.write(lift, prompt_ids, tmp_path / "two.html", clock=clock))
    assert "Support assistant v1 · Support assistant v2 · 60 conversations" in page.text
    assert "Support assistant v1 (n = 30)" in page.text
    sentence = lift.compare(*prompt_ids).sentence
    for number, one in enumerate(prompt_ids, 1):
        sentence = sentence.replace(one, f"Support assistant v{number}")
    assert sentence in page.text
    assert not any(one in page.text for one in prompt_ids)


@pytest.mark.usefixtures("needs_pdf")
def test_two_prompts_take_at_most_eight_pages_and_nothing_is_cut_off(lift):
    import weasyprint

    ids = list(log_samples(lift, ending=date(2026, 3, 10)).values())
    wait_for_insights(lift, ids, progress=False)
    lift.optimize(ids[0], mode="validation", variants=3, seed=12)
    made = document_of(lift, ids, clock=clock)
    assert {"differences", "optimizations", "examples"} <= {one.name for one in made.sections}
    pages = weasyprint.HTML(string=page(made, paged=True)).render().pages
    assert 4 <= len(pages) <= 8
    assert not cut_off(pages)


def test_the_newest_experiment_of_a_prompt_has_a_section(lift):
    prompt = lift.create_prompt("Live support", "first", llm_model="gpt-4o").id
    lift.update_prompt(prompt, content="second")
    lift.live(prompt, {"v1": 0.1}).stop()
    live = lift.live(prompt, {"v1": 0.5})
    said = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "On its way."}]
    records = [
        {"messages": said, "source_id": str(unit), "metadata": lift.resolve(prompt, f"user-{unit}").metadata}
        for unit in range(40)
    ]
    assert lift.log(records, prompt_id=prompt).logged == 40
    wait_for_insights(lift, [prompt], progress=False)
    live.refresh()
    made = document_of(lift, prompt, clock=clock)
    (section,) = (one for one in made.sections if one.name == "live")
    assert section.points == (f"No. 1, Live support, running: {live.sentence}.",)
    assert [row[1:4] for row in section.tables[0].rows] == [
        (arm.name, arm.weight, arm.units) for arm in live.state.arms
    ]
    assert "cannot be told without outcomes" in page(made)
    earlier = document_of(lift, prompt, clock=clock, period=("2026-03-01", "2026-03-09"))
    assert "live" not in {one.name for one in earlier.sections}
