"""Lists and views, which are read from kept counts, equal plain queries of the rows after any history."""

from __future__ import annotations

import json
import random
import threading

import pytest
from sqlalchemy import update

from promptlift.schema.conversations import ConversationUpdate
from promptlift.schema.limits import PLANS
from promptlift.service import clock
from promptlift.service.actions.logging.conversation_log import apply_updates
from promptlift.service.actions.logging.entries import Update, accept
from promptlift.service.store import aggregates, conversation_counts, judging
from promptlift.service.store.accounts import Caller
from promptlift.service.store.tables import conversations as table
from promptlift.service.store.tables import prompts
from support.conversation_recount import STATUSES, assert_counts_are_a_recount, state

from .conftest import NOW, Filled

TITLES = ("Slow", "slow", "Wrong ünï 😀", "NUL \x00 inside", 'quote " and \\', "long " * 1_000, "Ätherisch")
TOPICS = ([], ["orders"], ["refunds", "orders"])
PROMPTS = ("prm_1", "prm_2", "prm_3")


class History:
    """Random changes of conversations, each as the service makes it."""

    def __init__(self, filled: Filled, chance: random.Random) -> None:
        self.filled, self.chance, self.database = filled, chance, filled.database
        self.now = NOW
        self.made = 0
        for prompt in PROMPTS[1:]:
            filled.add_prompt(prompt)

    def a_time(self):
        """Most conversations lie near the edges of days, where a mistake would show; some before 1970."""
        chance = self.chance
        near = chance.choice([0, clock.SECOND, clock.HOUR, clock.DAY]) * chance.randint(-3, 3)
        return (
            chance.choice([NOW, NOW // clock.DAY * clock.DAY, -5 * clock.DAY]) + near + chance.randint(-2, 2)
        )

    def log(self):
        count = self.chance.choice([1, 3, 20])
        ids = [f"c{self.made + i}" for i in range(count)]
        self.made += count
        for one in ids:
            self.filled.add_conversations(
                one,
                prompt=self.chance.choice(PROMPTS),
                status=self.chance.choice(STATUSES),
                llm_model=self.chance.choice([None, "small", "large ü"]),
                started_at=self.a_time(),
                message_count=self.chance.randint(1, 9),
                user_turns=self.chance.randint(0, 3),
                response_seconds=self.chance.choice([None, 0.0, 0.1, 1 / 3, 1.7e9 + 0.1]),
                judge_after=0,
            )

    def insights_of(self, row):
        chance = self.chance
        issues = [
            {"title": title, "severity": chance.choice(("high", "medium", "low")), "evidence": None}
            for title in chance.choices(TITLES, k=chance.choice([0, 1, 2, 3]))
        ]
        return {
            "conversation_id": row.id,
            "generation": row.generation,
            "sentiment": chance.choice(("positive", "neutral", "negative")),
            "sentiment_score": chance.choice([-1.0, 1.0, 0.1, chance.uniform(-1, 1)]),
            # Conversations whose logs do not say how they ended have no verdict.
            "task_completed": chance.choice([True, True, False, None]),
            "basis": chance.choice(["outcome", "model", "words"]),
            "document": json.dumps({"issues": issues, "topics": chance.choice(TOPICS), "summary": "s"}),
        }

    def judge(self):
        with self.database.write() as connection:
            ids = judging.LEASES.claim(connection, "w", limit=self.chance.choice([1, 10]), now=NOW)
        with self.database.write() as connection:
            rows = judging.to_judge(connection, ids, "w")
            judging.keep(connection, "w", [self.insights_of(row) for row in rows])

    def fail(self):
        with self.database.write() as connection:
            for one in judging.LEASES.claim(connection, "w", limit=1, now=NOW):
                judging.give_up(connection, "w", one, problem="no sense")

    def regenerate(self):
        with self.database.write() as connection:
            judging.ask_again(connection, self.filled.account, prompt_id=self.chance.choice(PROMPTS), now=NOW)

    def delete_prompt(self):
        with self.database.write() as connection:
            values = {"deleted_at": self.chance.choice([None, NOW])}
            connection.execute(update(prompts).where(prompts.c.id == "prm_3").values(**values))

    def content(self):
        """A text with times, so that everything that is seen from it changes with it."""
        messages = [
            {"role": self.chance.choice(("user", "assistant")), "content": "hello", "timestamp": wire}
            for wire in sorted(clock.iso(abs(self.a_time())) for _ in range(self.chance.randint(1, 5)))
        ]
        return json.dumps({"messages": messages})

    def change(self):
        """Updates of conversations: their status, or their text with all that is seen from it."""
        chance = self.chance
        ids = chance.sample([f"c{i}" for i in range(self.made)], k=min(self.made, chance.choice([1, 5])))
        caller = Caller(self.filled.account, PLANS["enterprise"], "key_1")
        updates = []
        for one in ids:
            text = self.content() if chance.random() < 0.5 else None
            shape = None if text is None else accept(text)
            status = chance.choice((*STATUSES, None))
            given = {"content": text, "status": status}
            body = ConversationUpdate(**{name: value for name, value in given.items() if value is not None})
            updates.append(Update(caller, one, body, shape))
        with self.database.write() as connection:
            apply_updates(connection, updates, now=0)

    def go_on(self, steps):
        changes = [self.log, self.judge, self.judge, self.judge, self.fail, self.regenerate]
        changes += [self.delete_prompt, self.change, self.change]
        for _ in range(steps):
            self.chance.choice(changes)()


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks so small that a short history has many."""
    monkeypatch.setattr(conversation_counts, "BLOCK", 7)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.slow
def test_counts_equal_a_recount_after_any_history(filled):
    chance = random.Random(filled.database.is_sqlite)
    history = History(filled, chance)
    history.log()
    for _ in range(5):
        history.go_on(12)
        since = chance.choice([row.started_at for row in state(filled.database)])
        since += chance.choice([-1, 0, 1, 30_000])
        assert_counts_are_a_recount(filled.database, since=since)


def test_a_sum_that_everything_was_taken_from_is_zero_again(filled):
    """Sums of floats would keep a rest, and a huge value would take small ones with it for good."""
    filled.add_conversations("a", response_seconds=1e11 + 1 / 3)
    filled.add_conversations("b", response_seconds=0.1)
    with filled.database.write() as connection, conversation_counts.following(connection, ["a"]):
        connection.execute(update(table).where(table.c.id == "a").values(response_seconds=None))
    with filled.database.read() as connection:
        found = aggregates.totals(connection, filled.account, "prm_1")
    assert found.response_seconds == 0.1
    assert_counts_are_a_recount(filled.database)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.slow
def test_writers_at_once_count_everything_and_never_wait_in_a_circle(filled):
    """Each writer of many logs, judges and changes conversations of all prompts in an order of its own."""
    failures = []

    def write(number):
        try:
            history = History.__new__(History)
            history.filled, history.database, history.chance = filled, filled.database, random.Random(number)
            history.made = 0
            for turn in range(6):
                ids = [f"w{number}-{turn}-{i}" for i in range(4)]
                for one, prompt in zip(ids, random.Random(turn).choices(PROMPTS, k=4), strict=True):
                    filled.add_conversations(one, prompt=prompt, started_at=history.a_time(), judge_after=0)
                with filled.database.write() as connection:
                    mine = judging.LEASES.claim(connection, f"w{number}", limit=6, now=NOW)
                with filled.database.write() as connection:
                    rows = judging.to_judge(connection, mine, f"w{number}")
                    judging.keep(connection, f"w{number}", [history.insights_of(row) for row in rows])
                shuffled = history.chance.sample(ids, k=3)
                with (
                    filled.database.write() as connection,
                    conversation_counts.following(connection, shuffled),
                ):
                    for one in shuffled:
                        status = history.chance.choice(STATUSES)
                        connection.execute(update(table).where(table.c.id == one).values(status=status))
        except Exception as error:  # noqa: BLE001 - told below
            failures.append(error)

    for prompt in PROMPTS[1:]:
        filled.add_prompt(prompt)
    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failures == []
    assert len(state(filled.database)) == 6 * 6 * 4
    assert_counts_are_a_recount(filled.database)
