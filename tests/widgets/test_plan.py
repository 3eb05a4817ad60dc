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
    table["content"] = [
        json.dumps(
            {
                "messages": [
                    {"role": "system", "content": "SECRET-PROMPT: you help."},
                    {
                        "role": "user",
                        "content": f"Where is parcel {place}?",
                        "timestamp": "2026-10-01T10:00:00Z",
                    },
                    {
                        "role": "assistant",
                        "content": "It is on its way.",
                        "model": "SECRET-MODEL",
                        "tokens": 7,
                    },
                ],
                "metadata": {"variant": "SECRET-VARIANT"},
            }
        )
        for place in range(size)
    ]
    return table, truth, analysis.label_plan(table, by=by, n=n)


def front(plan, **options):
    return BrowserFrontEnd(ConversationBrowser(plan, **options))


def answer(there, plan, truth, count):
    known = {*there.widget.labels["conversation_id"]}
    for place, one in enumerate(plan["conversation_id"].head(count)):
        if one in known:
            continue
        there.label(place, "task_completed", "true" if truth[one] else "false")


def test_what_a_labeller_must_not_see_is_never_sent():
    _, truth, plan = drawn()
    there = front(plan)
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


def test_other_verdicts_of_the_judge_change_nothing_that_is_sent():
    _, _, plan = drawn()
    other = plan.copy()
    facts = dict(plan.attrs["promptlift"])
    facts["stratum_of"] = {one: place ^ 1 for one, place in facts["stratum_of"].items()}
    other.attrs["promptlift"] = facts
    one, two = front(plan), front(other)
    for there in (one, two):
        there.go("open", place=5)
    assert one.everything() == two.everything()
    assert one.html == two.html


@pytest.mark.slow
def test_after_each_label_it_says_how_wide_the_interval_is():
    table, truth, plan = drawn(by=None)
    there = front(plan)
    assert there.progress == "0 of 120 labelled: No interval yet: at least 10 of either outcome are needed."
    answer(there, plan, truth, 3)
    assert there.progress.startswith("3 of 120 labelled: No interval yet: ")
    assert "more of" in there.progress
    widths = []
    for count in (60, 120):
        answer(there, plan, truth, count)
        widths.append(there.progress.partition(": ")[2])
    numbers = [
        float(words.removeprefix("the rate is known to ±").removesuffix(" points")) for words in widths
    ]
    assert numbers[1] < numbers[0]
    # It is the interval that the corrected rate then has.
    row = analysis.completion(table, labels=there.widget.labels).iloc[0]
    half = 100 * (row["rate_corrected_high"] - row["rate_corrected_low"]) / 2
    assert numbers[1] == pytest.approx(half, abs=0.051)
    assert there.progress.startswith("120 of 120 labelled")


@pytest.mark.slow
def test_of_several_groups_the_widest_counts_and_none_is_named():
    table, truth, plan = drawn(200)
    there = front(plan)
    answer(there, plan, truth, 200)
    said = there.progress.partition(": ")[2]
    rows = analysis.completion(table, by="prompt", labels=there.widget.labels)
    half = 50 * (rows["rate_corrected_high"] - rows["rate_corrected_low"]).max()
    assert said == f"each rate is known to ±{half:.1f} points"


def test_a_draw_is_gone_on_with_where_it_was_left(tmp_path):
    _, truth, plan = drawn(40)
    file = tmp_path / "labels.csv"
    answer(front(plan, labels=file), plan, truth, 5)
    again = front(plan, labels=file)
    assert again.progress.startswith("5 of 40 labelled")
    assert again.place == 5
    again.go("first")
    assert again.go("unlabelled") == 5
    labels = again.widget.labels
    assert list(labels["chance"]) == list(plan["chance"].head(5))
    assert set(labels["draw_id"]) == set(plan["draw_id"])


def test_a_workspace_keeps_the_labels_and_reads_the_transcripts(lift, tmp_path):
    prompt = lift.client.prompts.create(name=f"P {tmp_path.name}", content="c", llm_model="gpt-4o-mini").id
    lift.log(
        [
            {
                "messages": [
                    {"role": "system", "content": "SECRET-PROMPT"},
                    {"role": "user", "content": f"hi {n}"},
                    {"role": "assistant", "content": "ok"},
                ]
            }
            for n in range(30)
        ],
        prompt_id=prompt,
    )
    ids = sorted(lift.conversations(prompt)["conversation_id"])
    table = pd.DataFrame(
        {"conversation_id": ids, "status": "completed", "task_completed": [True, False] * 15}
    )
    plan = analysis.label_plan(table, n=20)
    there = front(plan, labels=lift, labeller="ann")
    there.go("open", place=3)
    assert there.root.texts(".plw-who") == ["user", "assistant"]
    assert "SECRET" not in there.everything()
    there.label(0, "task_completed", "true")
    there.label(1, "task_completed", "false")
    there.label(1, "task_completed", "false")
    there.note(2, "odd")
    kept = lift.labels(prompt_id=prompt)
    assert [(row.conversation_id, row.question, row.value, row.labeller) for row in kept.itertuples()] == [
        (plan["conversation_id"][2], "note", "odd", "ann"), (plan["conversation_id"][0], "task_completed", "yes", "ann"),
    ]  # fmt: skip
    assert list(kept["chance"]) == [plan["chance"][2], plan["chance"][0]]
    assert set(kept["draw_id"]) == set(plan["draw_id"])
    again = front(plan, labels=lift, labeller="ann")
    assert again.progress.startswith("1 of 20")
    assert again.widget.labels.set_index("conversation_id").loc[plan["conversation_id"][0], "task_completed"]
    # Somebody else begins anew.
    assert front(plan, labels=lift, labeller="ben").progress.startswith("0 of 20")


def test_a_label_that_could_not_be_kept_is_kept_with_the_next(lift, tmp_path, monkeypatch):
    prompt = lift.client.prompts.create(name=f"P {tmp_path.name}", content="c", llm_model="gpt-4o-mini").id
    lift.log([{"content": f"User: hi {n}\nAssistant: ok"} for n in range(4)], prompt_id=prompt)
    there = front(lift.conversations(prompt), labels=lift, labeller="ann")
    with monkeypatch.context() as lost:
        lost.setattr(lift.labels, "add", refused)
        there.label(0, "task_completed", "true")
        assert "Not kept yet" in there.notice
    assert lift.labels(prompt_id=prompt).empty
    there.label(1, "sentiment", "negative")
    assert there.notice == ""
    assert sorted(lift.labels(prompt_id=prompt)["value"]) == ["negative", "yes"]
    assert lift.labels(prompt_id=prompt)["chance"].isna().all()


def refused(*_args, **_options):
    raise ConfigError("The service is away.")


def test_a_plan_of_two_questions_is_refused():
    _, _, plan = drawn(40)
    plan.loc[3, "question"] = "polite?"
    with pytest.raises(ConfigError, match="one question"):
        ConversationBrowser(plan)
    with pytest.raises(ConfigError, match="more than once"):
        ConversationBrowser(pd.concat([plan.assign(question="q")] * 2))


def test_what_several_people_said_stands_side_by_side_but_not_in_a_plan():
    table, _, plan = drawn(40)
    ids = list(plan["conversation_id"][:2])
    labels = pd.DataFrame(
        {"conversation_id": one, "question": "task_completed", "value": value, "labeller": who}
        for one, who, value in (
            (ids[0], "ann", True),
            (ids[0], "ben", "no"),
            (ids[1], "ann", "yes"),
            (ids[1], "ben", "yes"),
        )
    )
    there = front(table[table["conversation_id"].isin(ids)], others=labels)
    said = {}
    for place in (0, 1):
        there.go("open", place=place)
        facts = there.facts
        said[facts["Id"]] = facts["task_completed"]
    assert said == {ids[0]: "ann: yes · ben: no (disputed)", ids[1]: "ann: yes · ben: yes"}
    blind = front(plan, others=labels)
    assert "disputed" not in blind.everything()
