"""A million conversations: what a page of a list and a view of a prompt cost in SQL, beside plain queries over the rows.

``python -m pytest -m benchmark tests/benchmarks/test_store_speed.py -m benchmark -s`` prints the figures; PROMPTLIFT_BENCHMARK_ROWS
takes another number of rows. The baseline, in the same run, is the plain way: count, then skip with OFFSET; and sums
over the rows. No test asserts a time. What they assert is that both ways say the same.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import case, func, select

from promptlift.service import clock
from promptlift.service.actions.views.issues import find_issues
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.store import aggregates, conversation_counts, conversations
from promptlift.service.store.database import Database
from promptlift.service.store.tables import conversations as table
from promptlift.service.store.tables import insights
from support.asking import query_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy import Connection

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3_600)]

# Read when the tests are collected: fixtures take the developer's settings away.
ROWS = int(os.environ.get("PROMPTLIFT_BENCHMARK_ROWS", "1000000"))
DAYS = 90
SMALL_PROMPTS = 100
BIG = "prm_big"
LIMIT = 100
REPEATS = 7
COUNTED_AT_ONCE = 20_000
STATUSES = (None, "completed", "abandoned", "in_progress")
TITLES = tuple(f"Issue number {number} that came up" for number in range(25))


@dataclass(frozen=True)
class Filled:
    """A database with a million conversations, and how many seconds it took to count them."""

    database: Database
    account: str
    counted: float


def _rows(count: int, now: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(1)
    for seq in range(1, count + 1):
        judged = chance.random() < 0.95
        started_at = now - int(chance.random() * DAYS * clock.DAY)
        yield {
            "seq": seq,
            "id": f"cnv_{seq:020x}",
            "account_id": "acc_1",
            "prompt_id": BIG if chance.random() < 0.9 else f"prm_{chance.randrange(SMALL_PROMPTS):03d}",
            "status": chance.choices(STATUSES[1:], (85, 10, 5))[0],
            "llm_model": "gpt-4o",
            "created_at": started_at,
            "started_at": started_at,
            "ended_at": started_at + 60_000,
            "message_count": 10,
            "user_turns": chance.randrange(1, 8),
            "response_seconds": chance.random() * 20,
            "has_insights": judged,
            "judging": "done" if judged else "failed",
            "generation": 1,
            "judge_after": started_at,
            "judge_attempts": 0,
        }


def _insights(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    chance = random.Random(2)
    for row in rows:
        if not row["has_insights"]:
            continue
        score, done = chance.uniform(-1, 1), chance.random() < 0.7
        sentiment = "positive" if score > 0.3 else "negative" if score < -0.3 else "neutral"
        issues = [
            {
                "title": title,
                "severity": chance.choice(("high", "medium", "low")),
                "evidence": "some words of it",
            }
            for title in chance.sample(TITLES, chance.choice((0, 0, 1, 1, 2)))
        ]
        found = {"sentiment": sentiment, "summary": "x" * 150, "topics": ["a", "b"], "issues": issues}
        document = json.dumps(found, separators=(",", ":"))
        yield {
            "conversation_id": row["id"],
            "generation": 1,
            "sentiment": sentiment,
            "sentiment_score": score,
            "task_completed": done,
            "basis": "model",
            "document": document,
            **conversation_counts.counted_of(document),
        }


def _insert(connection: Connection, name: str, rows: Iterable[dict[str, Any]]) -> None:
    """The fastest way in of each database."""
    rows = iter(rows)
    first = next(rows)
    columns = ", ".join(first)
    values = (tuple(row.values()) for row in itertools.chain([first], rows))
    cursor: Any = connection.connection.cursor()
    if connection.dialect.name == "sqlite":
        cursor.executemany(f"INSERT INTO {name} ({columns}) VALUES ({', '.join('?' * len(first))})", values)
    else:
        with cursor.copy(f"COPY {name} ({columns}) FROM STDIN") as copy:
            for row in values:
                copy.write_row(row)


def _fill(database: Database) -> float:
    """Fill the tables, count the conversations, and return how many seconds the counting took."""
    database.migrate()
    now = clock.now()
    names = [BIG, *(f"prm_{number:03d}" for number in range(SMALL_PROMPTS))]
    rest = {"account_id": "acc_1", "name": "n", "content": "c", "llm_model": "gpt-4o", "tags": []}
    rest |= {"status": "active", "created_at": now, "updated_at": now}
    account = {
        "id": "acc_1",
        "name": "n",
        "email": "e",
        "plan": "enterprise",
        "settings": "{}",
        "created_at": 0,
    }
    with database.write() as connection:
        _insert(connection, "accounts", [account])
        _insert(connection, "prompts", ({"id": name, **rest} for name in names))
        rows = list(_rows(ROWS, now))
        _insert(connection, "conversations", rows)
        _insert(connection, "insights", _insights(rows))
        if not database.is_sqlite:
            connection.exec_driver_sql(f"SELECT setval('conversations_seq_seq', {ROWS})")
    started = time.perf_counter()
    for at in range(0, ROWS, COUNTED_AT_ONCE):
        some = rows[at : at + COUNTED_AT_ONCE]
        with database.write() as connection:
            conversation_counts.add(connection, [row["id"] for row in some])
    taken = time.perf_counter() - started
    if not database.is_sqlite:
        with database.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    return taken


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('store-speed') / 'promptlift.db'}"
    else:
        server = request.getfixturevalue("_postgres_server")
        url = server.replace("postgresql://", "postgresql+psycopg://")
    database = Database(url)
    yield Filled(database, "acc_1", _fill(database))
    database.close()


def _milliseconds(
    filled: Filled, query: Callable[[Connection], Any], repeats: int = REPEATS
) -> tuple[float, Any]:
    """The median of some runs and what the last one gave; of several, the first is not counted."""
    taken: list[float] = []
    found = None
    for _ in range(repeats + (repeats > 1)):
        started = time.perf_counter()
        with filled.database.read() as connection:
            found = query(connection)
        taken.append(1_000 * (time.perf_counter() - started))
    return statistics.median(taken[-repeats:]), found


def _plain_page(connection: Connection, wanted: dict[str, Any], offset: int) -> tuple[list[str], int]:
    """The baseline: count what there is, and skip what comes before the page."""
    conditions = [table.c.account_id == "acc_1"]
    conditions += [table.c[name] == value for name, value in wanted.items() if value is not None]
    total = connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0
    page = select(table.c.id).where(*conditions).order_by(table.c.seq.desc()).limit(LIMIT).offset(offset)
    return list(connection.scalars(page)), total


def _page(connection: Connection, filters: dict[str, Any], offset: int) -> tuple[list[str], int]:
    query = query_of(limit=LIMIT, offset=offset, **filters)
    rows, total = conversations.page(connection, "acc_1", query)
    return [row.id for row in rows], total


@pytest.mark.parametrize("prompt_id", [None, BIG, "prm_001"])
@pytest.mark.parametrize("has_insights", [None, True, False])
@pytest.mark.parametrize("status", STATUSES)
def test_any_page_beside_count_and_offset(
    filled: Filled, *, prompt_id: str | None, has_insights: bool | None, status: str | None
) -> None:
    wanted = {"prompt_id": prompt_id, "has_insights": has_insights, "status": status}
    _, (_, total) = _milliseconds(filled, lambda connection: _page(connection, wanted, 0), repeats=1)
    said = []
    for place, offset in (("first", 0), ("middle", total // 2), ("last", max(0, total - LIMIT))):
        ours, found = _milliseconds(filled, lambda connection, at=offset: _page(connection, wanted, at))
        plain, expected = _milliseconds(
            filled, lambda connection, at=offset: _plain_page(connection, wanted, at), repeats=1
        )
        assert found == expected
        said.append(f"{place} page {ours:.1f} ms (plain {plain:.1f}, ratio {plain / ours:.0f})")
    print(f"\n{filled.database._writer.dialect.name} {wanted} of {total:,}: {'; '.join(said)}")


def test_a_full_read_costs_the_same_for_every_page(filled: Filled) -> None:
    wanted = {"prompt_id": BIG, "has_insights": True, "status": None}
    with filled.database.read() as connection:
        _, total = _page(connection, wanted, 0)
    tenths = []
    seen = 0
    for tenth in range(10):
        taken = []
        for offset in range(tenth * total // 10 // LIMIT * LIMIT, (tenth + 1) * total // 10, LIMIT * 20):
            one, (ids, _) = _milliseconds(
                filled, lambda connection, at=offset: _page(connection, wanted, at), repeats=1
            )
            taken.append(one)
            seen += len(ids)
        tenths.append(statistics.median(taken))
    print(
        f"\n{filled.database._writer.dialect.name}: a page in each tenth of {total:,} rows: "
        f"{', '.join(f'{one:.2f}' for one in tenths)} ms; dearest to cheapest {max(tenths) / min(tenths):.2f}"
    )
    assert seen > 0


def _plain_totals(connection: Connection, since: int | None) -> tuple[int, int, float]:
    ended = table.c.status != "in_progress"
    conditions = [table.c.account_id == "acc_1", table.c.prompt_id == BIG]
    if since is not None:
        conditions.append(table.c.started_at >= since)
    row = connection.execute(
        select(
            func.count(),
            func.count(case((ended & insights.c.task_completed, 1))),
            func.avg(insights.c.sentiment_score),
        )
        .select_from(table.outerjoin(insights, insights.c.conversation_id == table.c.id))
        .where(*conditions)
    ).one()
    return row[0], row[1], row[2]


def _plain_issues(connection: Connection, since: int | None) -> list[tuple[str, int]]:
    conditions = [table.c.account_id == "acc_1", table.c.prompt_id == BIG]
    if since is not None:
        conditions.append(table.c.started_at >= since)
    documents = connection.scalars(
        select(insights.c.document)
        .join(table, table.c.id == insights.c.conversation_id)
        .where(*conditions)
        .execution_options(yield_per=1_000)
    )
    seen: dict[str, int] = {}
    for document in documents:
        for issue in json.loads(document)["issues"]:
            seen[issue["title"]] = seen.get(issue["title"], 0) + 1
    return sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))[:10]


@pytest.mark.parametrize("days", [7, 30, 90, None])
def test_every_figure_of_a_view_beside_sums_over_the_rows(filled: Filled, days: int | None) -> None:
    since = None if days is None else clock.now() - days * clock.DAY

    def totals(connection: Connection) -> tuple[int, int, float | None]:
        found = aggregates.totals(connection, "acc_1", BIG, since=since)
        # One that is in progress has a completed task in neither way.
        return found.total, found.task_completed, found.sentiment

    def issues(connection: Connection) -> list[tuple[str, int]]:
        sets = aggregates.issue_sets(connection, "acc_1", prompt_id=BIG, since=since)
        return [(issue.name, issue.frequency) for issue in find_issues(sets, {}, read_exclusions(None))[:10]]

    ours, found = _milliseconds(filled, totals)
    plain, expected = _milliseconds(filled, lambda connection: _plain_totals(connection, since), repeats=1)
    assert found[:2] == expected[:2]
    assert found[2] == pytest.approx(expected[2], abs=1e-9)
    named, most = _milliseconds(filled, issues)
    read, expected_issues = _milliseconds(
        filled, lambda connection: _plain_issues(connection, since), repeats=1
    )
    assert most == expected_issues
    fleet, rates = _milliseconds(
        filled, lambda connection: aggregates.completion_by_prompt(connection, "acc_1", since=since)
    )
    assert rates[BIG][1] == found[1]
    print(
        f"\n{filled.database._writer.dialect.name}, {days or 'all'} days of {ROWS:,} rows: totals {ours:.1f} ms "
        f"(plain {plain:.0f}, ratio {plain / ours:.0f}), issues {named:.1f} ms (plain {read:.0f}, ratio "
        f"{read / named:.0f}), all {len(rates)} prompts {fleet:.1f} ms"
    )


def test_failing_steps_and_the_counting(filled: Filled) -> None:
    since = clock.now() - 30 * clock.DAY
    steps, found = _milliseconds(
        filled, lambda connection: aggregates.failures_by_turns(connection, "acc_1", BIG, since=since)
    )
    assert [turns for turns, _, _ in found] == list(range(1, 8))
    print(
        f"\n{filled.database._writer.dialect.name}: failing steps {steps:.1f} ms; counting {ROWS:,} rows "
        f"{filled.counted:.0f} s"
    )
