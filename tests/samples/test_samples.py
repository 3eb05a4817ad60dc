"""The bundled sample: what is in it, that it is recent, and that the built-in analyser sees how each one ended."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

from promptlift import samples
from promptlift.schema.conversations import ConversationCreate
from promptlift.schema.prompts import PromptCreate
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.lexicon.judge import LexiconJudge

ENDING = date(2026, 3, 10)


@pytest.fixture(scope="module")
def all_conversations():
    return {key: samples.conversations(key, ending=ENDING) for key in samples.prompt_keys()}


def test_prompts_and_conversations_are_valid_bodies(all_conversations):
    assert [PromptCreate.model_validate(one).name[-2:] for one in samples.prompts()] == ["v1", "v2"]
    with pytest.raises(ValueError, match="no sample prompt 'v3'; there are support-v1, support-v2"):
        samples.conversations("v3")
    for records in all_conversations.values():
        for record in records:
            assert set(record) == {"content", "status", "llmModel", "companyName", "idempotencyKey"}
            ConversationCreate.model_validate({**record, "promptId": "p"})
            transcript = parse_content(record["content"])
            ended = {"resolved"} if record["status"] != "in_progress" else set()
            assert set(transcript.metadata) == {"userId", "channel", "language", *ended}
            times = [message.timestamp for message in transcript.messages]
            assert times == sorted(times)


def test_each_version_has_120_to_160_conversations_of_every_status(all_conversations):
    for records in all_conversations.values():
        assert 120 <= len(records) <= 160
        assert set(Counter(record["status"] for record in records)) == {
            "completed",
            "abandoned",
            "in_progress",
        }
    keys = [record["idempotencyKey"] for records in all_conversations.values() for record in records]
    assert len(set(keys)) == len(keys)


def test_the_last_day_is_the_day_before_the_ending(all_conversations):
    days = Counter(
        parse_content(record["content"]).started_at.date()
        for records in all_conversations.values()
        for record in records
    )
    assert max(days) == ENDING - timedelta(days=1)
    assert min(days) == ENDING - timedelta(days=60)
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    last = max(parse_content(one["content"]).started_at.date() for one in samples.conversations("support-v2"))
    assert last >= yesterday


def test_the_analyser_gets_every_sample_right(all_conversations):
    judge = LexiconJudge()
    for records in all_conversations.values():
        for record in records:
            transcript = parse_content(record["content"])
            found = judge.judge(transcript)
            titles = [issue["title"] for issue in found.issues]
            if record["status"] == "in_progress":
                assert "Last user message was not answered" not in titles
            else:
                solved = transcript.metadata["resolved"]
                assert found.task_completed == solved
                assert not solved or not any(issue["severity"] == "high" for issue in found.issues)
