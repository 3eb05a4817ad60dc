"""The logs' own outcomes: listed, chosen once, and then the verdict of every conversation."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import ValidationError
from promptlift.local import wait_for_insights
from promptlift.schema.metadata import flat_metadata
from promptlift.schema.outcomes import parse_rule

THANKS = [
    {"role": "user", "content": "Where is my parcel?"},
    {"role": "assistant", "content": "It arrives tomorrow."},
    {"role": "user", "content": "Great, thank you, that solved it!"},
]


@pytest.fixture
def prompt(lift):
    made = lift.create_prompt("Rewarded", "You help customers.", llm_model="gpt-4o")
    yield made
    lift.client.prompts.delete(made.id)


def log(lift, prompt, rewards, first=0):
    """Log conversations that all look solved to a word list, with rewards that say otherwise."""
    records = [
        {
            "messages": THANKS,
            "source_id": f"r{first + number}",
            "metadata": {} if reward is None else {"scores": {"reward": {"value": str(reward)}}},
        }
        for number, reward in enumerate(rewards)
    ]
    lift.log(records, prompt_id=prompt.id)
    wait_for_insights(lift, [prompt.id], progress=False)


def test_the_outcome_of_the_logs_is_the_verdict_and_is_taken_back(lift, prompt):
    log(lift, prompt, [1.0] * 3 + [0.0] * 5 + [None] * 2)
    before = lift.conversations(prompt.id, insights=True)
    assert before.attrs["promptlift"]["basis"] == "words"
    assert before["task_completed"].sum() == 10

    lift.update_prompt(prompt.id, outcome="score.reward>=1")
    assert lift.client.prompts.get(prompt.id).outcome == "score.reward >= 1"
    table = lift.conversations(prompt.id, insights=True)
    assert table.attrs["promptlift"]["basis"] == "outcome"
    pd.testing.assert_series_equal(
        table["task_completed"], table["score.reward"].ge(1).astype("boolean"), check_names=False
    )
    row = analysis.completion(table).iloc[0]
    assert (row["n"], row["completed"], row["n_missing"]) == (8, 3, 2)
    view = lift.client.prompts.insights(prompt.id, days="all")
    assert view.metrics.task_completion.rate == 37.5
    assert lift.client.conversations.get(table["conversation_id"].iloc[0]).insights.judged_completed is True

    lift.update_prompt(prompt.id, outcome="")
    after = lift.conversations(prompt.id, insights=True)
    assert after["task_completed"].tolist() == before["task_completed"].tolist()
    assert after["basis"].astype("str").tolist() == before["basis"].astype("str").tolist()
    assert lift.client.prompts.insights(prompt.id, days="all").metrics.task_completion.rate == 100.0


def test_what_is_logged_later_and_a_score_that_comes_later_count_too(lift, prompt):
    lift.update_prompt(prompt.id, outcome="score.reward >= 1")
    log(lift, prompt, [1.0, None])
    log(lift, prompt, [0.0], first=2)
    table = lift.conversations(prompt.id, insights=True).set_index("source_id")["task_completed"]
    assert (table["r0"], table["r2"]) == (True, False)
    assert pd.isna(table["r1"])
    late = lift.conversations(prompt.id).set_index("source_id")["conversation_id"]["r1"]
    lift.client.conversations.update(late, metadata={"score.reward": 0})
    lift._wait_for_verdicts(prompt.id)
    assert not lift.conversations(prompt.id, insights=True).set_index("source_id")["task_completed"]["r1"]


def test_outcomes_lists_what_the_logs_say_and_how_to_read_it(lift, prompt):
    records = []
    for n in range(6):
        scores = {
            "reward": n % 2,
            "rating": n,
            "escalated": n < 2,
            "feedback": "good" if n else "bad",
            "channel": "web",
        }
        records.append({"messages": THANKS, "source_id": str(n), "metadata": scores})
    lift.log(records, prompt_id=prompt.id)
    found = lift.outcomes(prompt.id).set_index("column")
    assert found[["kind", "n", "rule", "n_true"]].fillna(-1).T.to_dict("list") == {
        "metadata.escalated": ["true or false", 6, "metadata.escalated", 2],
        "score.feedback": ["text", 6, "score.feedback", 5],
        "score.rating": ["number", 6, "", -1],
        "score.reward": ["number", 6, "score.reward >= 1", 3],
    }
    with pytest.raises(ValidationError, match=r"write a rule such as score\.reward >= 1"):
        lift.update_prompt(prompt.id, outcome="score.reward >= many")


@pytest.mark.parametrize(
    ("rule", "metadata", "verdict"),
    [
        ("resolved", {"score.resolved": "True"}, True),
        ("metadata.resolved", {"resolved": False}, False),
        ("resolved", {"resolved": "perhaps"}, None),
        ("resolved", {}, None),
        ("score.stars >= 4", {"score.stars": 4}, True),
        ("score.stars > 4", {"score.stars": "4"}, False),
        ("score.stars <= 2", {"score.stars": "many"}, None),
        ("match = C", {"score.match": "c"}, True),
        ("match == 'C'", {"score.match": "I"}, False),
        ("match != C", {"score.match": "I"}, True),
        ("stars = 4", {"stars": 4.0}, True),
    ],
)
def test_a_rule_reads_an_outcome(rule, metadata, verdict):
    assert parse_rule(rule).verdict(metadata) is verdict
    assert parse_rule(str(parse_rule(rule))) == parse_rule(rule)


@pytest.mark.parametrize(
    ("metadata", "flat"),
    [
        ({"reward": "1.0"}, {"score.reward": 1.0}),
        ({"scores": {"polite": "False"}}, {"score.polite": False}),
        ({"scores": {"polite": {"value": 3, "comment": "why"}}}, {"score.polite": 3, "score.polite.comment": "why"}),
        ({"score.match": "C"}, {"score.match": "C"}),
        ({"assessment": {"safe": {"value": True}}}, {"score.safe": True}),
        ({"feedback_rating": "positive"}, {"score.feedback": "positive"}),
        ({"score": "0.5"}, {"score.score": 0.5}),
        ({"score.n": "nan"}, {"score.n": "nan"}),
        ({"scored": "1"}, {"scored": "1"}),
    ],
)  # fmt: skip
def test_scores_have_one_name_and_a_type_whatever_they_are_nested_in(metadata, flat):
    assert flat_metadata(metadata) == flat
