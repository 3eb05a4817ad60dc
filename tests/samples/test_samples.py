"""The bundled sample: what is in it, that it is recent, and that the generator makes it byte for byte."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
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


@pytest.mark.slow
def test_the_generator_does_not_depend_on_the_hash_seed():
    code = "import hashlib, make_samples; print(hashlib.sha256(''.join(make_samples.build().values()).encode()).hexdigest())"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_the_prompts_are_valid_bodies():
    bodies = [PromptCreate.model_validate(prompt) for prompt in samples.prompts()]
    assert [body.name for body in bodies] == ["Support assistant v1", "Support assistant v2"]
    assert all(
        body.objective and body.content != bodies[1 - index].content for index, body in enumerate(bodies)
    )


def test_the_conversations_are_valid_bodies(all_conversations):
    for records in all_conversations.values():
        for record in records:
            assert set(record) == {"content", "status", "llmModel", "companyName", "idempotencyKey"}
            ConversationCreate.model_validate({**record, "promptId": "p"})
            transcript = parse_content(record["content"])
            assert {m.role for m in transcript.messages} <= {"user", "assistant"}
            assert transcript.messages[0].role == "user"
            ended = {"resolved"} if record["status"] != "in_progress" else set()
            assert set(transcript.metadata) == {"userId", "channel", "language", *ended}
            times = [message.timestamp for message in transcript.messages]
            assert times == sorted(times)
            for message in transcript.messages:
                assert (
                    (message.tokens is not None)
                    == (message.role == "assistant")
                    == (message.model is not None)
                )


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
    assert [day for day in (ENDING - timedelta(days=n) for n in range(1, 61)) if day not in days] == [
        ENDING - timedelta(days=13)
    ]


def test_without_an_ending_the_sample_ends_yesterday():
    before = datetime.now(UTC).date()
    last = max(
        parse_content(record["content"]).started_at.date() for record in samples.conversations("support-v2")
    )
    after = datetime.now(UTC).date()
    assert before - timedelta(days=1) <= last <= after - timedelta(days=1)


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


def test_the_second_version_really_solves_more(talks):
    solved = {"v1": [], "v2": []}
    for key, talk in talks:
        solved[key.split("-")[1]].append(talk.solved)
    rates = {version: sum(values) / len(values) for version, values in solved.items()}
    assert rates["v2"] - rates["v1"] > 0.15


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


def test_it_does_not_read_like_a_few_templates(all_conversations):
    openings = Counter(
        parse_content(record["content"]).messages[0].content
        for records in all_conversations.values()
        for record in records
    )
    # 14 topics with 8 openings each, filled with orders, articles, towns and ways of typing.
    assert len(openings) > 180
    assert openings.most_common(1)[0][1] <= 6


def test_every_opening_has_a_question_a_good_and_a_bad_end():
    assert len(WRITER.TOPICS) >= 12
    for topic in WRITER.TOPICS:
        sections = WRITER.fragments(topic)
        assert [len(sections[mood]) for mood in WRITER.MOODS] == [3, 2, 3]
        for name in ("ask", "good", "bad"):
            for opening in range(1, 9):
                assert WRITER.fitting(sections[name], opening), f"{topic}: {name} for {opening}"


def test_an_unknown_key_names_the_known_ones():
    with pytest.raises(ValueError, match="no sample prompt 'v3'; there are support-v1, support-v2"):
        samples.conversations("v3")


@pytest.mark.slow
def test_it_loads_no_heavy_library():
    code = "import sys, promptlift.samples; print({'pandas', 'httpx', 'matplotlib'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "set()"
