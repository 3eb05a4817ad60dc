"""The bundled sample: what is in it, that it is recent, and that the generator makes it byte for byte."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from promptlift import samples
from promptlift.schema.conversations import ConversationCreate
from promptlift.schema.prompts import PromptCreate
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.lexicon.judge import LexiconJudge

ENDING = date(2026, 3, 10)


def load_writer():
    path = Path(__file__).with_name("make_samples.py")
    spec = importlib.util.spec_from_file_location("make_samples", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_samples"] = module
    spec.loader.exec_module(module)
    return module


WRITER = load_writer()


@pytest.fixture(scope="module")
def talks():
    return [(line["key"], talk) for line, talk in WRITER.sample_conversations()]


@pytest.fixture(scope="module")
def all_conversations():
    return {key: samples.conversations(key, ending=ENDING) for key in samples.prompt_keys()}


def test_the_generator_makes_the_committed_files_byte_for_byte_and_they_are_small():
    built = WRITER.build()
    for path, text in built.items():
        assert path.read_bytes() == text.encode("utf-8"), path.name
    assert WRITER.CONVERSATIONS.stat().st_size < 400_000
    assert sum(path.stat().st_size for path in built) < 500_000


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


def test_the_analyser_gets_every_sample_right(all_conversations, talks):
    told = dict(talks)
    judge = LexiconJudge()
    for records in all_conversations.values():
        for record in records:
            talk = told[record["idempotencyKey"].removeprefix("sample-")]
            found = judge.judge(parse_content(record["content"]))
            titles = [issue.title for issue in found.issues]
            if record["status"] == "in_progress":
                assert "Last user message was not answered" not in titles
            else:
                assert found.task_completed == talk.solved
                assert not talk.solved or not any(issue.severity == "high" for issue in found.issues)


def test_no_two_conversations_are_alike_and_the_exports_are_others(all_conversations):
    told = [
        tuple(message.content for message in parse_content(record["content"]).messages)
        for records in all_conversations.values()
        for record in records
    ]
    exported = [
        tuple(m["content"] for m in json.loads(line)["messages"][1:])
        for line in WRITER.CHAT_EXPORT.read_text("utf-8").splitlines()
    ]
    assert len(set(told)) == len(told)
    assert len(exported) == 60
    assert not set(told) & set(exported)


def test_every_opening_has_a_question_a_good_and_a_bad_end():
    assert len(WRITER.TOPICS) >= 12
    for topic in WRITER.TOPICS:
        sections = WRITER.fragments(topic)
        assert [len(sections[mood]) for mood in WRITER.MOODS] == [3, 2, 3]
        for name in ("ask", "good", "bad"):
            for opening in range(1, 9):
                assert WRITER.fitting(sections[name], opening), f"{topic}: {name} for {opening}"
