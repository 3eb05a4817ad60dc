"""Count conversations by the issues that they have together, and the squares of sentiment scores; name groups of issues."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# As they were when this was written: the lengths of the spans in milliseconds, and the unit of sums of scores.
_SPANS = (60_000, 3_600_000, 86_400_000, 2_592_000_000)
_FRACTION = 10**10


def upgrade() -> None:
    """Bring the tables to this version."""
    names = ("account_id", "prompt_id")
    op.create_table(
        "conversation_issue_sets",
        *(sa.Column(name, sa.String(length=64), nullable=False) for name in names),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("span", "start")),
        sa.Column("issue_set", sa.String(length=32), nullable=False),
        sa.Column("issues", sa.LargeBinary(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("scored", "judged", "failed")),
        sa.PrimaryKeyConstraint(
            *names, "span", "start", "issue_set", name=op.f("pk_conversation_issue_sets")
        ),
        sqlite_with_rowid=False,
    )
    op.drop_table("conversation_issues")
    op.add_column(
        "conversation_sums",
        sa.Column("sentiment_squares", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
    )
    op.create_table(
        "issue_names",
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("issue", sa.String(length=32), nullable=False),
        sa.Column("title", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_issue_names_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("account_id", "issue", name=op.f("pk_issue_names")),
    )
    op.execute("INSERT INTO singleton_jobs (id) VALUES ('name_issues')")
    _count_again()


def _count_again() -> None:
    connection = op.get_bind()
    sets: dict[tuple[Any, ...], list[int]] = {}
    squares: dict[tuple[Any, ...], int] = {}
    rows = connection.execute(
        sa.text(
            "SELECT c.account_id, c.prompt_id, c.started_at, c.status, i.task_completed, i.sentiment_score, i.document "
            "FROM conversations c JOIN insights i ON i.conversation_id = c.id"
        )
    )
    for account_id, prompt_id, started_at, status, completed, score, document in rows:
        found = {issue["title"] for issue in json.loads(document).get("issues") or ()}
        issues = json.dumps(sorted(found), ensure_ascii=False, separators=(",", ":")).encode()
        ended = int(status != "in_progress")
        for span in _SPANS:
            start = account_id, prompt_id, span, started_at // span * span
            squares[start] = squares.get(start, 0) + round(score**2 * _FRACTION)
            if found:
                key = (*start, hashlib.md5(issues, usedforsecurity=False).hexdigest(), issues)
                counts = sets.setdefault(key, [0, 0, 0])
                for number, one in enumerate((1, ended, int(ended and not completed))):
                    counts[number] += one
    table = sa.table(
        "conversation_issue_sets",
        *(sa.column(name) for name in ("account_id", "prompt_id", "span", "start", "issue_set")),
        sa.column("issues", sa.LargeBinary()),
        *(sa.column(name) for name in ("scored", "judged", "failed")),
    )
    columns = table.c.keys()
    op.bulk_insert(table, [dict(zip(columns, (*key, *counts), strict=True)) for key, counts in sets.items()])
    update = sa.text(
        "UPDATE conversation_sums SET sentiment_squares = :squares WHERE account_id = :account_id "
        "AND prompt_id = :prompt_id AND span = :span AND start = :start"
    )
    keys = ("account_id", "prompt_id", "span", "start")
    for key, value in squares.items():
        connection.execute(update, {"squares": value, **dict(zip(keys, key, strict=True))})
