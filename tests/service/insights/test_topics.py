"""Topics of a prompt: found in the background, kept while a person changes them, and named by a model that assigns nothing."""

from __future__ import annotations

import json
import threading

import pytest
from sqlalchemy import update

from promptlift.clustering.kept import KeptTopics
from promptlift.schema.topics import TopicUpdate
from promptlift.service import clock
from promptlift.service.actions import topics as actions
from promptlift.service.errors import ApiException
from promptlift.service.insights import topics as found_topics
from promptlift.service.insights.topics import TopicJob
from promptlift.service.store import SQLAlchemyError, accounts, topics
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables.conversations import ContentRow, ConversationRow
from promptlift.service.store.tables.prompts import AtlasRow
from support.databases import sqlite_only
from support.deployed import later
from support.stub_endpoint import completion
from support.topical import topical

N = 60


def log(world, contents):
    """Log judged conversations with these transcripts."""
    world.log(len(contents), at=later())
    with world.database.write() as connection:
        ids = [
            *connection.scalars(
                ConversationRow.__table__.select()
                .with_only_columns(ConversationRow.id)
                .order_by(ConversationRow.seq)
            )
        ]
        for one, content in zip(ids[-len(contents) :], contents, strict=True):
            connection.execute(
                update(ContentRow).filter_by(conversation_id=one).values(content=content.encode())
            )


def kept(world):
    with world.database.read() as connection, Rows(connection) as rows:
        return topics.of_prompt(rows, world.prompt_id)


def change(world, topic, **changes):
    return world.ask(actions.update, world.prompt_id, TopicUpdate(topic=topic, **changes))


def renewed(world, job):
    """Let a day go by, with one conversation."""
    log(world, topical("English", 1, seed=9)["content"].tolist())
    with world.database.write() as connection:
        connection.execute(update(AtlasRow).values(found_at=clock.now() - 2 * clock.DAY))
    job._everywhere_at = 0.0
    job._look()


@pytest.mark.slow
def test_two_workers_find_the_same_topics_once_and_a_day_later_again(world):
    log(world, topical("English", N)["content"].tolist())
    jobs = [TopicJob(world.database) for _ in range(2)]
    problems = []

    def look(job):
        try:
            job._look()
        except SQLAlchemyError as error:
            problems.append(error)

    threads = [threading.Thread(target=look, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = kept(world)
    assert first.version == 1
    assert len(problems) <= 1
    assert len(first.found.topics) >= 3
    # Without new conversations nothing is found anew.
    jobs[0]._everywhere_at = 0.0
    jobs[0]._look()
    assert kept(world).version == 1
    renewed(world, jobs[0])
    again = kept(world)
    assert (again.version, again.judged) == (2, N + 1)
    assert [one.id for one in again.found.topics] == [one.id for one in first.found.topics]
    assert [one.name for one in again.found.topics] == [one.name for one in first.found.topics]


@pytest.mark.slow
@sqlite_only
def test_what_a_person_changed_is_kept_by_later_runs_even_if_it_changed_meanwhile(world, monkeypatch):
    log(world, topical("English", N)["content"].tolist())
    job = TopicJob(world.database)
    job._look()
    first, second, third = [one.id for one in kept(world).found.topics][:3]
    change(world, first, name="Refunds", pinned=True)
    change(world, second, excluded=True)
    real = found_topics.renew

    def meanwhile(*given, **options):
        monkeypatch.setattr(found_topics, "renew", real)
        change(world, third, merged_into=first)
        return real(*given, **options)

    monkeypatch.setattr(found_topics, "renew", meanwhile)
    renewed(world, job)
    assert kept(world).judged == N
    job._look()
    found = {one.id: one for one in kept(world).found.topics}
    assert kept(world).judged == N + 1
    assert (found[first].name, found[first].named_by, found[first].pinned) == ("Refunds", "person", True)
    assert (found[second].excluded, found[third].merged_into) == (True, first)


@pytest.mark.slow
def test_a_topic_is_split_and_joined_again(world):
    log(world, topical("English", N)["content"].tolist())
    job = TopicJob(world.database)
    job._look()
    row = kept(world)
    numbers = [one.id for one in row.found.topics]
    # As if they had been found as one.
    one = KeptTopics.from_bytes(row.space).joined(numbers[0], numbers)
    reach = KeptTopics(one.space, one.numbers, one.centres, 0 * one.reach - 1)
    found = row.found.model_copy(update={"topics": [row.found.topics[0]]})
    with world.database.write() as connection:
        connection.execute(update(AtlasRow).values(space=reach.to_bytes(), found=found))
    parts = [
        one for one in change(world, numbers[0], split=True)["topics"] if one.get("partOf") == numbers[0]
    ]
    assert len(parts) >= 2
    assert {one["id"] for one in parts}.isdisjoint(numbers)
    renewed(world, job)
    assert {one["id"] for one in parts} <= {
        one.id for one in kept(world).found.topics if one.vanished_at is None
    }
    joined = change(world, numbers[0], split=False)["topics"]
    assert [one["id"] for one in joined if one.get("vanishedAt") is None and one.get("partOf") is None] == [
        numbers[0]
    ]
    assert not [one for one in joined if one.get("partOf")]
    with pytest.raises(ApiException, match="Topic not found"):
        change(world, 999, pinned=True)


@pytest.mark.slow
@sqlite_only
def test_a_model_names_topics_on_one_line_and_what_is_excluded_is_in_no_name(world, talk):
    with world.database.write() as connection:
        settings = accounts.settings(connection, world.account)
        settings["general"]["excludedDataAndTopics"] = "refund, swordfish"
        accounts.save_settings(connection, world.account, settings)
    log(world, topical("English", N)["content"].tolist())
    said = []

    def answers(request):
        lines = [
            json.loads(line)
            for line in request.body["messages"][1]["content"].splitlines()
            if line.startswith("{")
        ]
        said.append(request.body["messages"][1]["content"])
        names = ["two\nlines\u202e", "swordfish", *(f"topic {one['number']}" for one in lines[2:])]
        named = [
            {"number": one["number"], "name": name, "summary": "They want it."}
            for one, name in zip(lines, names, strict=True)
        ]
        return completion(json.dumps({"topics": [*named, {"number": 999, "name": "none", "summary": ""}]}))

    _, client = talk(answers)
    TopicJob(world.database, client)._look()
    found = kept(world).found.topics
    assert (found[0].name, found[0].named_by) == ("two lines", "model")
    assert found[1].named_by == "words"
    assert found[0].summary == "They want it."
    assert "refund" not in " ".join(one.name + one.words for one in found) + said[0]
    assert 999 not in {one.id for one in found}
