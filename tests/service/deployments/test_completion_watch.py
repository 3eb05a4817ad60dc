"""Prompts that fall below their line: told once, taken back after recovery, never by a word list."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from promptlift.schema.prompts import PromptUpdate
from promptlift.service import clock
from promptlift.service.actions import prompts
from promptlift.service.deployments import completion_watch
from promptlift.service.deployments.completion_watch import look
from promptlift.service.settings import ServiceSettings
from promptlift.service.store.tables import prompts as table
from promptlift.service.work import BackgroundWork
from support.deployed import World
from support.service_process import wait_until

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def world(database):
    """A prompt that has had a line from its beginning, ten days ago."""
    made = World(database)
    with database.write() as connection:
        connection.execute(update(table).values(alert_below=0.8))
    return made


def log_days(world, first, failed, **fields):
    """Log 20 conversations a day, so many of them failed."""
    for day, count in enumerate(failed, start=first):
        world.log(20, failed=count, at=world.started // clock.DAY * clock.DAY + day * clock.DAY, **fields)


def dropped(world):
    look(world.database)
    return [payload for kind, payload in world.events() if kind == "quality.dropped"]


@both
def test_a_drop_is_told_once_and_again_only_after_a_recovery(world):
    log_days(world, 0, [4, 3, 4])
    assert dropped(world) == []
    log_days(world, 3, [10, 11])
    (event,) = dropped(world)
    assert event == {
        "promptId": world.prompt_id,
        "promptName": "Support",
        "alertBelow": 0.8,
        "completionRate": pytest.approx(19 / 40),
        "conversations": 40,
        "since": clock.iso((world.started // clock.DAY + 3) * clock.DAY),
        "basis": "model",
    }
    log_days(world, 5, [10])
    assert len(dropped(world)) == 1
    log_days(world, 6, [0, 0, 0])
    assert len(dropped(world)) == 1
    log_days(world, 9, [20])
    assert len(dropped(world)) == 2


def test_a_new_line_counts_from_its_day_and_0_ends_the_watch(world):
    log_days(world, 0, [14] * 5)
    world.ask(prompts.update, world.prompt_id, PromptUpdate(alert_below=0.7))
    assert dropped(world) == []
    # Today's conversations are the first that count.
    world.log(20, failed=20, at=clock.now())
    assert len(dropped(world)) == 1
    world.ask(prompts.update, world.prompt_id, PromptUpdate(name="Renamed", alert_below=0.7))
    assert len(dropped(world)) == 1
    world.ask(prompts.update, world.prompt_id, PromptUpdate(alert_below=0))
    assert world.ask(prompts.get, world.prompt_id)["alertBelow"] is None
    world.ask(prompts.update, world.prompt_id, PromptUpdate(alert_below=0.6))
    assert world.ask(prompts.get, world.prompt_id)["alertBelow"] == 0.6
    (_, again) = dropped(world)
    assert (again["promptName"], again["alertBelow"]) == ("Renamed", 0.6)


def test_many_watched_prompts_need_more_evidence_each(world):
    log_days(world, 0, [9])
    others = [world.add_prompt() for _ in range(99)]
    with world.database.write() as connection:
        connection.execute(update(table).where(table.c.id.in_(others)).values(alert_below=0.8))
    log_days(world, 1, [8])
    assert dropped(world) == []
    with world.database.write() as connection:
        connection.execute(update(table).where(table.c.id.in_(others)).values(alert_below=None))
    assert len(dropped(world)) == 1


def test_a_word_list_raises_no_alarm(world):
    log_days(world, 0, [20] * 5, basis="words")
    assert dropped(world) == []


def test_conversations_of_others_and_a_deleted_prompt_do_not_matter(world):
    log_days(world, 0, [20] * 3, prompt_id=world.add_prompt())
    assert dropped(world) == []
    log_days(world, 0, [20] * 3)
    world.ask(prompts.delete, world.prompt_id)
    assert dropped(world) == []


def test_the_worker_looks_by_itself(world, tmp_path, monkeypatch):
    monkeypatch.setattr(completion_watch, "LOOK_SECONDS", 0.05)
    log_days(world, 0, [20] * 3)
    background = BackgroundWork(world.database, ServiceSettings(data=tmp_path, api_key=None))
    background.start()
    try:
        wait_until(lambda: "quality.dropped" in world.kinds(), what="the drop was told")
    finally:
        background.stop()
    assert world.kinds().count("quality.dropped") == 1
