"""Labels on both databases: kept, read and gone with their conversation."""

from __future__ import annotations

import pytest

from promptlift.schema.judges import LabelCreate
from promptlift.schema.queries import LabelsQuery
from promptlift.service.actions import labels
from promptlift.service.errors import ApiException
from promptlift.service.store import accounts, conversation_updates
from service.store.test_changes import judged
from support.asking import ask
from support.databases import sqlite_only


@pytest.fixture
def caller(filled):
    filled.add_conversations("cnv_1", "cnv_2")
    judged(filled, "cnv_1", "cnv_2")
    return accounts.Caller(filled.account, "enterprise", "key_1")


def body(*ids, **values):
    rows = [
        {"conversationId": one, "question": "q", "value": "yes", "labeller": "ann", **values} for one in ids
    ]
    return LabelCreate.model_validate({"labels": rows}, by_alias=True, by_name=False)


def keep(filled, caller, labelled):
    return ask(labels.keep, filled.database, caller, body=labelled)


def listed(filled, caller, **query):
    return ask(labels.page, filled.database, caller, query=LabelsQuery.model_validate(query))["data"]


def test_labels_are_kept_changed_and_removed(filled, caller):
    once = keep(filled, caller, body("cnv_1", "cnv_2", chance=0.125))
    assert keep(filled, caller, body("cnv_1", "cnv_2", chance=0.125)) == once
    assert listed(filled, caller) == once["data"][::-1]
    keep(filled, caller, body("cnv_1", value="no"))
    assert [(one["value"], one["chance"]) for one in listed(filled, caller, conversationId="cnv_1")] == [
        ("no", 0.125)
    ]
    keep(filled, caller, body("cnv_1", value=None))
    assert [one["conversationId"] for one in listed(filled, caller)] == ["cnv_2"]
    with pytest.raises(ApiException):
        keep(filled, caller, body("cnv_1", "cnv_none"))
    assert len(listed(filled, caller)) == 1


@sqlite_only
def test_labels_go_with_their_conversation(filled, caller):
    keep(filled, caller, body("cnv_1", "cnv_2"))
    with filled.database.write() as connection:
        conversation_updates.delete_conversations(connection, before=10**15, after_seq=0)
    assert listed(filled, caller) == []
