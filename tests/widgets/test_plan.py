"""A draw is labelled blind: nothing but what was said is sent, and each label says how wide the interval is."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import ConfigError
from promptlift.widgets.browser.widget import ConversationBrowser
from support.front_end import BrowserFrontEnd
from support.labelled import judged

SECRETS = (
    "SECRET-PROMPT",
    "SECRET-NAME",
    "SECRET-MODEL",
    "SECRET-SUMMARY",
    "SECRET-VARIANT",
    "SECRET-ID",
    "2026-10",
)


def drawn(n=120, *, by="prompt", size=2_000):
    """Conversations with everything that a labeller must not see, their truth, and a draw of them."""
    table, truth = judged(size)
    names = {one: f"SECRET-ID-{one}" for one in table["conversation_id"]}
    table["conversation_id"] = table["conversation_id"].map(names)
    truth.index = truth.index.map(names)
    table["prompt"] = "SECRET-NAME " + table["prompt"]
    table["llm_model"], table["summary"], table["metadata.variant"] = SECRETS[2:5]
    asked = {"role": "user", "timestamp": "2026-10-01T10:00:00Z"}
    answer = {"role": "assistant", "content": "It is on its way.", "model": "SECRET-MODEL", "tokens": 7}
    prompt = {"role": "system", "content": "SECRET-PROMPT: you help."}
    table["content"] = [
        json.dumps({"messages": [prompt, asked | {"content": f"Where is parcel {at}?"}, answer], "metadata": {"variant": "SECRET-VARIANT"}})
        for at in range(size)
    ]  # fmt: skip
    return table, truth, analysis.label_plan(table, by=by, n=n)


def front(plan, **options):
    return BrowserFrontEnd(ConversationBrowser(plan, **options))


def answer(there, plan, truth, count):
    known = {*there.widget.labels["conversation_id"]}
    for place, one in enumerate(plan["conversation_id"].head(count)):
        if one not in known:
            there.label(place, "task_completed", "yes" if truth[one] else "no")


def test_what_a_labeller_must_not_see_is_never_sent():
    _, truth, plan = drawn()
    others = pd.DataFrame(
        {"conversation_id": plan["conversation_id"], "question": "q", "value": "y", "labeller": "SECRET-ID"}
    )
    there = front(plan, others=others)
    answer(there, plan, truth, 3)
    for place in range(0, 120, 30):
        there.go("open", place=place)
        assert "Where is parcel" in there.root.one(".plw-conversation")
        for shown in (there.everything(), there.html, repr(there.widget)):
            assert not [secret for secret in SECRETS if secret in shown]
    # Nor can it be found by searching for it.
    for words in ("SECRET", "parcel 7", "new"):
        there.search(text=words)
        assert there.found == "120 conversations"
    # Other verdicts of the judge change nothing that is sent.
    other = plan.copy()
    facts = dict(plan.attrs["promptlift"])
    facts["stratum_of"] = {one: place ^ 1 for one, place in facts["stratum_of"].items()}
    other.attrs["promptlift"] = facts
    one, two = front(plan), front(other)
    assert one.everything() == two.everything()
    assert one.html == two.html


@pytest.mark.slow
@pytest.mark.parametrize("by", [None, "prompt"])
def test_after_each_label_it_says_how_wide_the_interval_is(by):
    table, truth, plan = drawn(by=by)
    there = front(plan)
    before = "No interval yet: at least 20 are needed." if by is None else "No interval yet (2 of 2 groups): "
    assert there.progress.startswith(f"0 of 120 labelled: {before}")
    answer(there, plan, truth, 3)
    assert " more are needed" in there.progress
    answer(there, plan, truth, 120)
    # It is the interval that the corrected rate then has; of several groups the widest, and none is named.
    rows = analysis.completion(table, by=by, labels=there.widget.labels)
    half = 50 * (rows["rate_corrected_high"] - rows["rate_corrected_low"]).max()
    rate = "the rate" if by is None else "each rate"
    assert there.progress == f"120 of 120 labelled: {rate} is known to ±{half:.1f} points"


def test_a_draw_is_continued_where_it_was_left():
    _, truth, plan = drawn(40)
    before = front(plan)
    answer(before, plan, truth, 5)
    again = front(plan, labels=before.widget.labels)
    assert again.progress.startswith("5 of 40 labelled")
    assert (again.place, again.widget.left) == (5, 35)
    again.go("first")
    assert again.go("unlabelled") == 5
    labels = again.widget.labels
    assert list(labels["chance"]) == list(plan["chance"].head(5))
    assert set(labels["draw_id"]) == set(plan["draw_id"])


def logged(lift, name, n):
    """Conversations of a new prompt."""
    prompt = lift.client.prompts.create(name=name, content="c", llm_model="gpt-4o-mini").id
    talk = [("system", "SECRET-PROMPT"), ("user", "hi"), ("assistant", "ok")]
    messages = [{"role": role, "content": text} for role, text in talk]
    lift.log([{"messages": messages, "source_id": str(one)} for one in range(n)], prompt_id=prompt)
    return prompt, sorted(lift.conversations(prompt)["conversation_id"])


def test_a_workspace_keeps_the_labels_and_reads_the_transcripts(lift, tmp_path):
    prompt, ids = logged(lift, tmp_path.name, 30)
    table = pd.DataFrame(
        {"conversation_id": ids, "status": "completed", "task_completed": [True, False] * 15}
    )
    plan = analysis.label_plan(table, n=20)
    there = front(plan, labels=lift, labeller="ann")
    there.go("open", place=3)
    assert there.root.texts(".plw-who") == ["user", "assistant"]
    assert "SECRET" not in there.everything()
    there.label(0, "task_completed", "yes")
    there.label(1, "task_completed", "no")
    there.label(1, "task_completed", "no")
    there.note(2, "odd")
    kept = lift.labels(prompt_id=prompt)
    assert [(row.conversation_id, row.question, row.value, row.labeller) for row in kept.itertuples()] == [
        (plan["conversation_id"][2], "note", "odd", "ann"), (plan["conversation_id"][0], "task_completed", "yes", "ann"),
    ]  # fmt: skip
    assert list(kept["chance"]) == [plan["chance"][2], plan["chance"][0]]
    assert set(kept["draw_id"]) == set(plan["draw_id"])
    again = front(plan, labels=lift, labeller="ann")
    assert again.progress.startswith("1 of 20")
    ours, theirs = (one.widget.labels.drop(columns="labelled_at") for one in (there, again))
    pd.testing.assert_frame_equal(theirs, ours)
    # Somebody else starts from the beginning.
    assert front(plan, labels=lift, labeller="ben").progress.startswith("0 of 20")


def test_a_label_that_could_not_be_saved_is_saved_with_the_next(lift, tmp_path, monkeypatch):
    prompt, _ = logged(lift, tmp_path.name, 4)
    there = front(lift.conversations(prompt), labels=lift, labeller="ann")

    def refused(*_args, **_options):
        raise ConfigError("The service is away.")

    with monkeypatch.context() as lost:
        lost.setattr(lift.labels, "add", refused)
        there.label(0, "task_completed", "yes")
        assert "Not saved yet" in there.notice
    assert lift.labels(prompt_id=prompt).empty
    there.label(1, "sentiment", "negative")
    assert there.notice == ""
    assert sorted(lift.labels(prompt_id=prompt)["value"]) == ["negative", "yes"]
    assert lift.labels(prompt_id=prompt)["chance"].isna().all()


def test_a_plan_of_two_questions_is_refused():
    _, _, plan = drawn(40)
    with pytest.raises(ConfigError, match="more than once"):
        ConversationBrowser(pd.concat([plan.assign(question="q")] * 2))
    plan.loc[3, "question"] = "polite?"
    with pytest.raises(ConfigError, match="one question"):
        ConversationBrowser(plan)
