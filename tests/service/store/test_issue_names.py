"""The model groups titles of issues: once each, by numbers only, account by account."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import update

from promptlift.service import clock
from promptlift.service.insights.issue_groups import GroupsAnswer, IssueNaming, merge
from promptlift.service.llm.port import ChatAnswer, LlmBadAnswer, LlmUnavailable
from promptlift.service.store import accounts, aggregates, events
from promptlift.service.store.tables.accounts import AccountRow
from support.databases import sqlite_only


class Model:
    """Answers with the groups that were set, and keeps what it was asked."""

    def __init__(self):
        self.groups = []
        self.asked = []
        self.failure = None

    def chat(self, messages, **wanted):
        assert wanted["purpose"] == "issues"
        lines = messages[1]["content"].splitlines()
        self.asked.append([json.loads(line)["title"] for line in lines if line.startswith("{")])
        if self.failure is not None:
            raise self.failure
        parsed = GroupsAnswer(groups=[{"members": group} for group in self.groups])
        return ChatAnswer("", parsed, 30, 12, "m")


@pytest.fixture
def model():
    return Model()


def judge(filled, conversation_id, *titles):
    """A conversation that a judge found these issues in."""
    filled.add_conversations(conversation_id, started_at=clock.now(), created_at=clock.now())
    issues = [{"title": title, "severity": "low", "evidence": None} for title in titles]
    filled.judge(conversation_id, document=json.dumps({"issues": issues}))
    with filled.database.write() as connection:
        data = {"conversationId": conversation_id}
        row = events.row("insights.generated", filled.account, conversation_id, data, now=clock.now())
        events.write(connection, [row])


def names_of(filled, account=None):
    with filled.database.read() as connection:
        return aggregates.names_of_issues(connection, account or filled.account)


@sqlite_only
def test_titles_that_the_model_joins_get_one_name_and_are_not_asked_again(filled, model):
    naming = IssueNaming(filled.database, model, "m")
    judge(filled, "c1", "Parcel never came", "Rude tone")
    judge(filled, "c2", "Parcel never came")
    judge(filled, "c3", "Delivery \x00 lost")
    model.groups = [[0, 1]]
    naming.step()
    assert model.asked == [["Parcel never came", "Delivery lost", "Rude tone"]]
    expected = {
        "Parcel never came": "Parcel never came",
        "Delivery \x00 lost": "Parcel never came",
        "Rude tone": "Rude tone",
    }
    assert names_of(filled) == expected
    naming.step()
    IssueNaming(filled.database, model, "m").step()
    assert len(model.asked) == 1
    judge(filled, "c4", "Shipment vanished")
    model.groups = [[2, 0]]
    naming.step()
    assert model.asked[1] == ["Parcel never came", "Rude tone", "Shipment vanished"]
    assert names_of(filled) == {**expected, "Shipment vanished": "Parcel never came"}
    with filled.database.read() as connection:
        assert accounts.used_in_period(connection, filled.account, "tokens", now=clock.now()) == 84


@sqlite_only
def test_a_model_that_does_not_answer_leaves_the_titles_for_the_next_time(filled, model):
    naming = IssueNaming(filled.database, model, "m")
    judge(filled, "c1", "Parcel never came", "Rude tone")
    for failure in (LlmUnavailable("away", tokens=3), LlmBadAnswer("nonsense", tokens=4)):
        model.failure = failure
        naming.step()
        assert names_of(filled) == {}
        judge(filled, f"after {failure}", "Rude tone")
    model.failure = None
    naming.step()
    assert set(names_of(filled)) == {"Parcel never came", "Rude tone"}
    with filled.database.read() as connection:
        assert accounts.used_in_period(connection, filled.account, "tokens", now=clock.now()) == 49


@sqlite_only
def test_an_account_without_tokens_left_asks_nothing(filled, model):
    with filled.database.write() as connection:
        row = update(AccountRow).filter_by(id=filled.account)
        connection.execute(row.values(limits={"tokens_per_month": 1}))
        accounts.add_usage(connection, filled.account, "tokens", 1, now=clock.now())
    judge(filled, "c1", "Parcel never came", "Rude tone")
    IssueNaming(filled.database, model, "m").step()
    assert (model.asked, names_of(filled)) == ([], {})


@sqlite_only
def test_no_title_of_another_account_is_asked_about_or_named(filled, model):
    with filled.database.write() as connection:
        other = accounts.create(connection, name="Two", email="two@example.test", plan="free")
    judge(filled, "c1", "Parcel never came", "Rude tone")
    IssueNaming(filled.database, model, "m").step()
    assert names_of(filled, other) == {}
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([[0, 2], [1, 3]], {"c": "a", "d": "b"}),
        # Groups that there are stay apart; the new one goes to the first of them.
        ([[0, 1, 2]], {"c": "a", "d": "d"}),
        ([[3, 2]], {"c": "c", "d": "c"}),
        # Numbers of nothing, twice the same, and a title in two groups.
        ([[2, 2, 99, -1], [2, 3]], {"c": "c", "d": "d"}),
        ([], {"c": "c", "d": "d"}),
    ],
)
def test_whatever_the_model_answers_only_new_titles_get_names_of_titles(groups, expected):
    assert merge(["a", "b"], ["c", "d"], groups) == expected
