"""Topics of a prompt: found in the background, kept while a person changes them, and named by a model that assigns nothing."""

from __future__ import annotations

import json
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
from sqlalchemy import select, update

from promptlift.clustering import kept as clustering
from promptlift.clustering.kept import KeptTopics
from promptlift.schema.topics import Topic, TopicUpdate
from promptlift.service import clock
from promptlift.service.actions import topics as actions
from promptlift.service.actions.conversations import Reading
from promptlift.service.errors import ApiException
from promptlift.service.insights import topics as found_topics
from promptlift.service.insights.judge import OneByOne
from promptlift.service.insights.lexicon.judge import LexiconJudge
from promptlift.service.insights.topics import PlacedTopics, TopicJob
from promptlift.service.insights.worker import InsightJobs
from promptlift.service.simulations.scenarios import logged_scenarios
from promptlift.service.store import accounts, changes, conversation_counts, conversations, judging, topics
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables.conversations import ContentRow, ConversationRow, InsightsRow
from promptlift.service.store.tables.prompts import AtlasRow
from support.conversation_recount import assert_counts_are_a_recount
from support.databases import sqlite_only
from support.deployed import later
from support.stub_endpoint import completion
from support.topical import topical

N = 60


def log(world, contents):
    """Log conversations with these transcripts that the built-in rules judged; return their ids."""
    world.log(len(contents), at=later())
    with world.database.write() as connection:
        newest = select(ConversationRow.id).order_by(ConversationRow.seq.desc()).limit(len(contents))
        ids = [*connection.scalars(newest)][::-1]
        with conversation_counts.following(connection, ids):
            for one, content in zip(ids, contents, strict=True):
                connection.execute(
                    update(ContentRow)
                    .filter_by(conversation_id=one)
                    .values(content=zlib.compress(content.encode()))
                )
                mine = InsightsRow.conversation_id == one
                document = json.loads(connection.scalar(select(InsightsRow.document).where(mine)))
                values = {"by_words": True, "topic_number": 0}
                del document["topics"]
                values["document"] = json.dumps(document | {"analyser": "lexicon"})
                connection.execute(update(InsightsRow).where(mine).values(values))
    return ids


def names_of(world, ids):
    """Return the topic of conversations, as their insights have it."""
    with world.database.read() as connection:
        found = [conversations.find(connection, world.account, one) for one in ids]
        reading = Reading.of(connection, world.account, found)
    documents = (json.loads(orjson.dumps(reading.insights(one))) for one in found)
    return [next(iter(one["topics"]), None) for one in documents]


def kept(world):
    with world.database.read() as connection, Rows(connection) as rows:
        return topics.of_prompt(rows, world.prompt_id)


def change(world, topic, **changes):
    return world.ask(actions.update, world.prompt_id, TopicUpdate(topic=topic, **changes))


def renewed(world, job, contents=()):
    """Let a day go by, with one conversation or some."""
    log(world, [*contents] or topical("English", 1, seed=9)["content"].tolist())
    with world.database.write() as connection:
        connection.execute(update(AtlasRow).values(found_at=clock.now() - 2 * clock.DAY))
    job._look_at = 0.0
    job._look()


@pytest.mark.slow
def test_two_workers_find_the_same_topics_once_and_a_day_later_again(world):
    log(world, topical("English", N)["content"].tolist())
    jobs = [TopicJob(world.database) for _ in range(2)]
    # Both have found the first ones before either stores them.
    both = threading.Barrier(2)
    real = clustering.renew

    def renew(*given, **options):
        found = real(*given, **options)
        both.wait(60)
        return found

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as threads:
        patch.setattr(clustering, "renew", renew)
        for done in [threads.submit(job._find_due) for job in jobs]:
            done.result()
    first = kept(world)
    assert first.version == 1
    assert len(first.found.topics) >= 3
    # Without new conversations nothing is found anew.
    jobs[0]._look_at = 0.0
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
    real = clustering.renew

    def meanwhile(*given, **options):
        monkeypatch.setattr(clustering, "renew", real)
        change(world, third, merged_into=first)
        return real(*given, **options)

    monkeypatch.setattr(clustering, "renew", meanwhile)
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
    excluded = row.found.topics[1].words.split(" · ")[0]
    with world.database.write() as connection:
        settings = accounts.settings(connection, world.account)
        settings["general"]["excludedDataAndTopics"] = excluded
        accounts.save_settings(connection, world.account, settings)
    parts = [
        one for one in change(world, numbers[0], split=True)["topics"] if one.get("partOf") == numbers[0]
    ]
    assert len(parts) >= 2
    assert not [one for one in parts if excluded in one["name"] + one["words"]]
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


@pytest.mark.slow
def test_conversations_get_their_topic_the_newest_first_and_only_those_whose_topic_changes(
    world, monkeypatch
):
    monkeypatch.setattr(found_topics, "_PLACED_AT_ONCE", 25)
    ids = log(world, topical("English", N)["content"].tolist())
    job = TopicJob(world.database)
    job._find_due()
    assert job._place_some(world.prompt_id)
    names = names_of(world, ids)
    assert (names[:-25], sum(name is None for name in names[-25:]) <= 3) == ([None] * (N - 25), True)
    # Another process continues where this one ended.
    monkeypatch.setattr(KeptTopics, "topics_of", counting := Counting(KeptTopics.topics_of))
    TopicJob(world.database)._look()
    assert counting.total == N - 25
    before = names_of(world, ids)
    assert before.count(None) <= 6
    assert not world.ask(actions.get, world.prompt_id)["placing"]
    with world.database.read() as connection:
        made = [*logged_scenarios(connection, world.account, ids[:9], known=set(), exclusions=None)]
    assert made
    assert {scenario.title for _, scenario in made}.isdisjoint(before)
    # A new name is there at once, without a change to any conversation; readers learn that all insights may differ.
    topic = kept(world).found.topics[0]
    with world.database.write() as connection:
        connection.execute(update(ConversationRow).values(updated_at=1))
    assert not change(world, topic.id, name="Refunds")["placing"]
    assert names_of(world, ids) == ["Refunds" if name == topic.name else name for name in before]
    change(world, topic.id, excluded=True)
    assert names_of(world, ids) == [None if name == topic.name else name for name in before]
    with world.database.read() as connection:
        assert {*connection.scalars(select(ConversationRow.updated_at))} == {1}
        assert changes.all_insights_since(connection, world.account, clock.now() - clock.HOUR)
    assert counting.total == N - 25
    assert_counts_are_a_recount(world.database)


class Counting:
    """A method that counts the conversations that it was given."""

    def __init__(self, real):
        self.real, self.total = real, 0

    def __get__(self, kept, _owner=None):
        return lambda contents: self(kept, contents)

    def __call__(self, kept, contents):
        self.total += len(contents)
        return self.real(kept, contents)


@pytest.mark.slow
@sqlite_only
def test_a_daily_run_reads_only_those_that_were_near_no_topic_or_one_that_vanished(world):
    table = topical("English", 4 * N)
    subscription = table["truth"] == "subscription"
    others = table["content"][~subscription].tolist()
    ids = log(world, others)
    job = TopicJob(world.database)
    job._look()
    before = names_of(world, ids)
    renewed(world, job)
    assert (kept(world).version, kept(world).waiting) == (2, None)
    assert names_of(world, ids) == before
    # They were near none when they were judged.
    new = table["content"][subscription].tolist()
    renewed(world, job, new)
    assert kept(world).version == 3
    with world.database.read() as connection:
        latest = [
            *connection.scalars(
                select(ConversationRow.id).order_by(ConversationRow.seq.desc()).limit(len(new))
            )
        ]
    names = names_of(world, latest)
    assert sum(one not in {*before, None} for one in names) >= 0.9 * len(new)
    after = names_of(world, ids)
    assert all(now == name for now, name in zip(after, before, strict=True) if name is not None)


@pytest.mark.slow
def test_a_conversation_that_is_judged_while_topics_change_gets_the_topic_after_the_change(
    world, monkeypatch
):
    contents = topical("English", N)["content"].tolist()
    ids = log(world, contents)
    job = TopicJob(world.database)
    job._look()
    (name,) = names_of(world, ids[:1])
    number = next(one.id for one in kept(world).found.topics if one.name == name)
    (new,) = log(world, contents[:1])
    with world.database.write() as connection:
        judging.ask_again(connection, world.account, conversation_id=new, now=clock.now())
        assert judging.LEASES.claim(connection, "one", limit=9, now=clock.now()) == [new]
    real = PlacedTopics.place
    row = kept(world)
    others = KeptTopics.from_bytes(row.space).without([number])

    def meanwhile(*given):
        placed = real(*given)
        monkeypatch.setattr(PlacedTopics, "place", real)
        with world.database.write() as connection:
            connection.execute(
                update(AtlasRow).values(
                    space=others.to_bytes(),
                    version=row.version + 1,
                    waiting={"numbers": [number], "below": None},
                )
            )
        job._look()
        return placed

    monkeypatch.setattr(PlacedTopics, "place", meanwhile)
    jobs = InsightJobs(world.database, OneByOne(LexiconJudge()), worker="one", at_a_time=1)
    jobs.work([new])
    jobs.stop()
    assert name not in names_of(world, [ids[0], new])
    assert_counts_are_a_recount(world.database)


@pytest.mark.slow
@sqlite_only
def test_a_topic_that_vanished_stays_known_while_others_are_merged_into_it_through_others(world, monkeypatch):
    ids = log(world, topical("English", N)["content"].tolist())
    job = TopicJob(world.database)
    job._look()
    monkeypatch.setattr(found_topics, "_VANISHED_MAX", 0)
    (name,) = names_of(world, ids[:1])
    found = kept(world).found.model_copy(deep=True)
    old = {"words": "old", "found_at": found.found_at, "vanished_at": found.found_at}
    found.topics += [
        Topic(id=100, name="Between", merged_into=101, **old),
        Topic(id=101, name="Money", **old),
        Topic(id=102, name="Nobody's", **old),
    ]
    with world.database.write() as connection:
        connection.execute(update(AtlasRow).values(found=found))
    change(world, next(one.id for one in found.topics if one.name == name), merged_into=100)
    renewed(world, job)
    assert {one.id for one in kept(world).found.topics if one.vanished_at is not None} == {100, 101}
    assert names_of(world, ids[:1]) == ["Money"]
