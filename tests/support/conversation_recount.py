"""A recount of conversations from their rows, beside the counts that the service keeps."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict

from sqlalchemy import select

from promptlift.service import clock
from promptlift.service.store import conversation_counts
from promptlift.service.store.tables import conversations as table
from promptlift.service.store.tables import insights
from promptlift.service.store.tables.conversations import (
    conversation_blocks,
    conversation_issue_sets,
    conversation_sums,
    conversation_turns,
)

STATUSES = ("completed", "abandoned", "in_progress")
_DAY = ("account_id", "prompt_id", "start")
KEYS = {
    conversation_blocks: ("account_id", "prompt_id", "block"),
    conversation_sums: _DAY,
    conversation_turns: (*_DAY, "user_turns"),
    conversation_issue_sets: (*_DAY, "issue_set"),
}


def state(database):
    """All conversations with their insights."""
    with database.read() as connection:
        return connection.execute(
            select(table, insights.c.sentiment, insights.c.sentiment_score, insights.c.task_completed)
            .add_columns(insights.c.basis, insights.c.document, insights.c.topic_number)
            .select_from(table.outerjoin(insights, insights.c.conversation_id == table.c.id))
            .order_by(table.c.seq)
        ).all()


def kept(database, counts):
    """The rows of a table of counts that are not all zero, by key."""
    keys = KEYS[counts]
    texts = ("issues", "llm_model", "topic")
    names = [column.name for column in counts.c if column.name not in (*keys, *texts)]
    with database.read() as connection:
        rows = connection.execute(select(counts)).mappings().all()
    found = {tuple(row[key] for key in keys): [row[name] for name in names] for row in rows}
    return {key: values for key, values in found.items() if any(values)}


def recount(rows):
    """Blocks, turns and issues counted from the rows, in the form of `kept`; and of each day how many there are and their verdicts."""
    blocks = defaultdict(lambda: [0] * 6)
    totals, turns = defaultdict(lambda: [0] * 7), defaultdict(lambda: [0, 0])
    issues = defaultdict(lambda: [0] * 3)
    for row in rows:
        for prompt in (row.prompt_id, ""):
            key = row.account_id, prompt, row.seq // conversation_counts.BLOCK
            blocks[key][2 * STATUSES.index(row.status) + row.has_insights] += 1
        ended = row.status != "in_progress" and row.task_completed is not None
        basis = [ended and row.basis == one for one in ("outcome", "learned", "words")]
        insights = {"issues": [], "topics": [], "analyser": None, **json.loads(row.document or "{}")}
        number = "" if row.topic_number is None else str(row.topic_number)
        by_words = insights["analyser"] in ("lexicon", "mixed")
        days = [
            (row.account_id, row.prompt_id, start)
            for start in (row.started_at // clock.DAY * clock.DAY, conversation_counts.ALL_TIME)
        ]
        for key in days:
            for at, counts in enumerate((True, ended, ended and row.task_completed, *basis, by_words)):
                totals[key][at] += counts
        if row.document is None:
            continue
        for key in days if ended else ():
            turns[*key, row.user_turns][0] += 1
            turns[*key, row.user_turns][1] += not row.task_completed
        together = sorted({one["title"] for one in insights["issues"]})
        written = json.dumps(together, ensure_ascii=False, separators=(",", ":"))
        alike = "\0".join((written, row.llm_model or "", *(insights["topics"][:1] or [number])))
        for key in days:
            values = issues[*key, hashlib.md5(alike.encode(), usedforsecurity=False).hexdigest()]
            for at, counts in enumerate((1, ended, ended and not row.task_completed)):
                values[at] += counts
    return dict(blocks), dict(totals), dict(turns), dict(issues)


def assert_counts_are_a_recount(database):
    """Every count of conversations is what the rows say; a count of nothing may be left as a row of zeros."""
    blocks, totals, turns, issues = recount(state(database))
    assert kept(database, conversation_blocks) == blocks
    sums = kept(database, conversation_sums)
    names = [column.name for column in conversation_sums.c if column.name not in KEYS[conversation_sums]]
    shown = [
        names.index(one)
        for one in (
            "total",
            "judged",
            "task_completed",
            "by_outcome",
            "by_learned",
            "by_words",
            "scored_by_words",
        )
    ]
    assert {key: [values[at] for at in shown] for key, values in sums.items()} == totals
    assert kept(database, conversation_turns) == turns
    assert kept(database, conversation_issue_sets) == issues
