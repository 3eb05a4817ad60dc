"""Lists and views of conversations, which are read from kept counts, beside plain queries of the rows."""

from __future__ import annotations

import itertools
import json
import statistics
from collections import Counter

import pytest
from sqlalchemy import select

from promptlift.service import clock
from promptlift.service.store import aggregates, conversations
from promptlift.service.store.tables import conversations as table
from promptlift.service.store.tables import insights, prompts
from support.asking import query_of

STATUSES = ("completed", "abandoned", "in_progress")


def state(database):
    """All conversations with their insights."""
    with database.read() as connection:
        return connection.execute(
            select(table, insights.c.sentiment, insights.c.sentiment_score, insights.c.task_completed)
            .add_columns(insights.c.basis, insights.c.document, insights.c.topic_number)
            .select_from(table.outerjoin(insights, insights.c.conversation_id == table.c.id))
            .order_by(table.c.seq)
        ).all()


def assert_counts_are_a_recount(database, *, since=None):
    """Every figure is what the rows say, over all time and since a time."""
    for account, mine in itertools.groupby(
        sorted(state(database), key=lambda row: row.account_id), key=lambda row: row.account_id
    ):
        rows = list(mine)
        of_prompts = {
            one: [row for row in rows if row.prompt_id == one] for one in {row.prompt_id for row in rows}
        }
        with database.read() as connection:
            assert_lists_are_plain_queries(connection, account, rows, of_prompts)
            assert_days_are_plain_queries(connection, account, of_prompts, since)
            for begin in {None, since}:
                assert_views_are_plain_queries(connection, account, of_prompts, begin)


def is_judged(row):
    return row.document is not None and row.status != "in_progress" and row.task_completed is not None


def assert_lists_are_plain_queries(connection, account, rows, of_prompts):
    for prompt, status, has_insights in itertools.product(
        (None, *of_prompts), (None, *STATUSES), (None, True, False)
    ):
        expected = [
            row.id
            for row in reversed(rows if prompt is None else of_prompts[prompt])
            if status in (None, row.status) and has_insights in (None, row.has_insights)
        ]
        for offset in {0, max(0, len(expected) - 9), len(expected) + 1}:
            query = query_of(
                prompt_id=prompt, status=status, has_insights=has_insights, limit=20, offset=offset
            )
            page, total = conversations.page(connection, account, query)
            assert ([row.id for row in page], total) == (expected[offset : offset + 20], len(expected))


def near_mean(values, **tolerance):
    return pytest.approx(sum(values) / len(values), **tolerance) if values else None


def assert_views_are_plain_queries(connection, account, of_prompts, since):
    """Every figure of the views, computed from the rows by the definitions of the views."""
    deleted = set(connection.scalars(select(prompts.c.id).where(prompts.c.deleted_at.is_not(None))))
    fleet = {}
    for prompt, whole in of_prompts.items():
        mine = [row for row in whole if since is None or row.started_at >= since]
        scored = [row for row in mine if row.document is not None]
        judged = [row for row in mine if is_judged(row)]
        if judged and prompt not in deleted:
            fleet[prompt] = (len(judged), sum(row.task_completed for row in judged))
        totals = aggregates.totals(connection, account, prompt, since=since)
        counted = {
            "total": len(mine),
            "completed": sum(row.status == "completed" for row in mine),
            "abandoned": sum(row.status == "abandoned" for row in mine),
            "judged": len(judged),
            "task_completed": sum(row.task_completed for row in judged),
            **{
                f"by_{name}": sum(row.basis == name for row in judged)
                for name in ("outcome", "learned", "words")
            },
            **{
                name: sum(row.sentiment == name for row in scored)
                for name in ("positive", "neutral", "negative")
            },
            "scored_by_words": sum(
                json.loads(row.document).get("analyser") in ("lexicon", "mixed") for row in scored
            ),
        }
        assert {name: getattr(totals, name) for name in counted} == counted
        scores = [row.sentiment_score for row in scored]
        assert totals.sentiment == near_mean(scores, rel=0, abs=1e-9)
        if len(scores) > 1:
            assert totals.sentiment_sd == pytest.approx(statistics.stdev(scores), rel=0, abs=1e-4)
        waits = [row.response_seconds for row in mine if row.response_seconds is not None]
        assert totals.response_seconds == near_mean(waits, rel=1e-12, abs=1e-9)
        assert totals.message_count == near_mean([row.message_count for row in mine])
        assert_issues_are_plain_queries(connection, account, prompt, scored, since)
        ended = Counter(row.user_turns for row in judged)
        missed = Counter(row.user_turns for row in judged if not row.task_completed)
        steps = aggregates.failures_by_turns(connection, account, prompt, since=since or -(10**14))
        assert steps == [(turns, count, missed[turns]) for turns, count in sorted(ended.items())]
        times = [row.started_at for row in mine]
        dated = aggregates.dated(connection, account, prompt, since=since)
        assert dated == ((min(times), max(times)) if times else None)
    assert aggregates.completion_by_prompt(connection, account, since=since) == fleet


def assert_issues_are_plain_queries(connection, account, prompt, scored, since):
    together, summed = Counter(), Counter()
    for row in scored:
        found = {"issues": [], "topics": [], **json.loads(row.document)}
        number = "" if row.topic_number is None else str(row.topic_number)
        alike = prompt, row.llm_model or "", *(found["topics"][:1] or [number])
        key = alike, frozenset(one["title"] for one in found["issues"])
        together[key, "scored"] += 1
        together[key, "judged"] += is_judged(row)
        together[key, "failed"] += is_judged(row) and not row.task_completed
    for one in aggregates.issue_sets(connection, account, prompt_id=prompt, since=since):
        for name in ("scored", "judged", "failed"):
            summed[(one.stratum, frozenset(one.titles)), name] += getattr(one, name)
    assert summed == together


def assert_days_are_plain_queries(connection, account, of_prompts, since):
    """Also where some conversations began after the day that counts as today."""
    days = {row: row.started_at // clock.DAY * clock.DAY for rows in of_prompts.values() for row in rows}
    today = max(days.values()) if since is None else since // clock.DAY * clock.DAY
    last, found = aggregates.completion_by_day(connection, account, list(of_prompts), days=3, today=today)
    assert last == max((day for day in days.values() if day <= today), default=None)
    for prompt, rows in of_prompts.items():
        judged = [row for row in rows if is_judged(row)]
        counts = found[prompt]
        assert (counts.total, counts.scored) == (len(rows), sum(row.document is not None for row in rows))
        assert (counts.judged, counts.completed) == (len(judged), sum(row.task_completed for row in judged))
        by_day = {}
        for row in judged:
            if last is not None and last - 2 * clock.DAY <= days[row] <= last:
                n, done = by_day.get(days[row], (0, 0))
                by_day[days[row]] = (n + 1, done + row.task_completed)
        assert {day: both for day, both in counts.days.items() if any(both)} == by_day
