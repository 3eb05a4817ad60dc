"""Counts of conversations, so that lists and the views of a prompt need not read all of them."""

# ruff: noqa: S608 - the names in the statements are those above

from __future__ import annotations

import hashlib
from itertools import groupby, pairwise
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_STATUSES = ("completed", "abandoned", "in_progress")
_BLOCK = 4_096
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_SPANS = (_MINUTE, _HOUR, _DAY, 30 * _DAY)
_FRACTION = 10**10
_BLOCK_COLUMNS = [name for status in _STATUSES for name in (status, f"{status}_with_insights")]
_SUMS = (
    *("total", "completed", "abandoned", "messages", "responses", "response_seconds", "response_fractions"),
    *("judged", "task_completed", "positive", "neutral", "negative", "sentiment_fractions"),
)
_TURNS = ("judged", "failed")
_SEVERITIES = ("high", "medium", "low")
_ISSUES = (*_SEVERITIES, "failed")
_KEY = ("account_id", "prompt_id", "span", "start")
_ROWS_AT_ONCE = 5_000


def upgrade() -> None:
    """Bring the tables to this version, and count what is there."""
    _create_tables()
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.create_index(
            "ix_conversations_account_id_status_has_insights_seq",
            ["account_id", "status", "has_insights", "seq"],
        )
        batch_op.create_index(
            "ix_conversations_account_id_prompt_id_status_has_insights_seq",
            ["account_id", "prompt_id", "status", "has_insights", "seq"],
        )
    _index_judging("judging = 'pending' OR judging = 'claimed'")
    connection = op.get_bind()
    _count_blocks(connection)
    _count_sums(connection)
    _count_turns(connection)
    _count_issues(connection)
    if connection.dialect.name == "postgresql":
        for table in ("blocks", "sums", "turns", "issues"):
            op.execute(f"ANALYZE conversation_{table}")


def downgrade() -> None:
    """Bring the tables back to the version before."""
    _index_judging("judging IN ('pending', 'claimed')")
    op.drop_index("ix_conversations_account_id_prompt_id_status_has_insights_seq", "conversations")
    op.drop_index("ix_conversations_account_id_status_has_insights_seq", "conversations")
    for table in ("issues", "turns", "sums", "blocks"):
        op.drop_table(f"conversation_{table}")


def _index_judging(condition: str) -> None:
    op.drop_index("ix_conversations_judging", "conversations")
    op.create_index(
        "ix_conversations_judging",
        "conversations",
        ["judging", "judge_after"],
        sqlite_where=sa.text(condition),
        postgresql_where=sa.text(condition),
    )


def _create_tables() -> None:
    def numbers(*names: str, kind: type[sa.types.TypeEngine[int]] = sa.BigInteger) -> list[sa.Column[int]]:
        return [sa.Column(name, kind(), nullable=False) for name in names]

    def create(name: str, key: tuple[str, ...], *columns: sa.Column[Any]) -> None:
        op.create_table(
            name,
            sa.Column("account_id", sa.String(length=64), nullable=False),
            sa.Column("prompt_id", sa.String(length=64), nullable=False),
            *columns,
            sa.PrimaryKeyConstraint(*key, name=op.f(f"pk_{name}")),
            sqlite_with_rowid=False,
        )

    create(
        "conversation_blocks",
        ("account_id", "prompt_id", "block"),
        *numbers("block"),
        *numbers(*_BLOCK_COLUMNS, kind=sa.Integer),
    )
    create("conversation_sums", _KEY, *numbers("span", "start", *_SUMS))
    create(
        "conversation_turns",
        (*_KEY, "user_turns"),
        *numbers("span", "start"),
        *numbers("user_turns", kind=sa.Integer),
        *numbers(*_TURNS),
    )
    create(
        "conversation_issues",
        (*_KEY, "issue"),
        *numbers("span", "start"),
        sa.Column("issue", sa.String(length=32), nullable=False),
        sa.Column("title", sa.LargeBinary(), nullable=False),
        *numbers(*_ISSUES),
    )


def _start(column: str, span: int) -> str:
    """Return the start of the span that a time lies in; a time before 1970 is negative."""
    return f"{column} - ({column} % {span} + {span}) % {span}"


def _count_blocks(connection: sa.Connection) -> None:
    counts = [
        f"SUM(CASE WHEN status = '{status}' AND {wanted} THEN 1 ELSE 0 END)"
        for status in _STATUSES
        for wanted in ("NOT has_insights", "has_insights")
    ]
    connection.execute(
        sa.text(
            f"INSERT INTO conversation_blocks (account_id, prompt_id, block, {', '.join(_BLOCK_COLUMNS)}) "
            f"SELECT account_id, prompt_id, seq / {_BLOCK}, {', '.join(counts)} FROM conversations "
            f"GROUP BY account_id, prompt_id, seq / {_BLOCK}"
        )
    )
    connection.execute(
        sa.text(
            f"INSERT INTO conversation_blocks (account_id, prompt_id, block, {', '.join(_BLOCK_COLUMNS)}) "
            f"SELECT account_id, '', block, {', '.join(f'SUM({name})' for name in _BLOCK_COLUMNS)} "
            "FROM conversation_blocks GROUP BY account_id, block"
        )
    )


def _count_sums(connection: sa.Connection) -> None:
    # PostgreSQL rounds where SQLite cuts off.
    whole = (
        "CAST(c.response_seconds AS INTEGER)"
        if connection.dialect.name == "sqlite"
        else "CAST(FLOOR(c.response_seconds) AS BIGINT)"
    )
    ended = "i.conversation_id IS NOT NULL AND c.status <> 'in_progress'"
    counts = (
        "COUNT(*)",
        "SUM(CASE WHEN c.status = 'completed' THEN 1 ELSE 0 END)",
        "SUM(CASE WHEN c.status = 'abandoned' THEN 1 ELSE 0 END)",
        "SUM(c.message_count)",
        "COUNT(c.response_seconds)",
        f"COALESCE(SUM({whole}), 0)",
        f"COALESCE(SUM(CAST(ROUND((c.response_seconds - {whole}) * {_FRACTION}) AS BIGINT)), 0)",
        f"SUM(CASE WHEN {ended} THEN 1 ELSE 0 END)",
        f"SUM(CASE WHEN {ended} AND i.task_completed THEN 1 ELSE 0 END)",
        *(
            f"SUM(CASE WHEN i.sentiment = '{name}' THEN 1 ELSE 0 END)"
            for name in ("positive", "neutral", "negative")
        ),
        f"COALESCE(SUM(CAST(ROUND(i.sentiment_score * {_FRACTION}) AS BIGINT)), 0)",
    )
    start = _start("c.started_at", _MINUTE)
    connection.execute(
        sa.text(
            f"INSERT INTO conversation_sums (account_id, prompt_id, span, start, {', '.join(_SUMS)}) "
            f"SELECT c.account_id, c.prompt_id, {_MINUTE}, {start}, {', '.join(counts)} "
            "FROM conversations c LEFT JOIN insights i ON i.conversation_id = c.id "
            f"GROUP BY c.account_id, c.prompt_id, {start}"
        )
    )
    _count_longer_spans(connection, "conversation_sums", (), _SUMS)


def _count_turns(connection: sa.Connection) -> None:
    start = _start("c.started_at", _MINUTE)
    connection.execute(
        sa.text(
            "INSERT INTO conversation_turns (account_id, prompt_id, span, start, user_turns, judged, failed) "
            f"SELECT c.account_id, c.prompt_id, {_MINUTE}, {start}, c.user_turns, COUNT(*), "
            "SUM(CASE WHEN i.task_completed THEN 0 ELSE 1 END) "
            "FROM conversations c JOIN insights i ON i.conversation_id = c.id WHERE c.status <> 'in_progress' "
            f"GROUP BY c.account_id, c.prompt_id, {start}, c.user_turns"
        )
    )
    _count_longer_spans(connection, "conversation_turns", ("user_turns",), _TURNS)


def _count_issues(connection: sa.Connection) -> None:
    """Count issues here and not in SQL: they are in documents, which may hold what PostgreSQL cannot take apart."""
    start = _start("c.started_at", _MINUTE)
    rows = connection.execute(
        sa.text(
            f"SELECT c.account_id, c.prompt_id, {start} AS start, i.task_completed, i.document "
            "FROM conversations c JOIN insights i ON i.conversation_id = c.id "
            "WHERE i.document NOT LIKE '%\"issues\":[]%' "
            f"ORDER BY c.account_id, c.prompt_id, {start}"
        ).execution_options(yield_per=_ROWS_AT_ONCE)
    )
    found: list[tuple[Any, ...]] = []
    for (account_id, prompt_id, minute), some in groupby(rows, key=lambda row: tuple(row[:3])):
        counts: dict[str, list[int]] = {}
        for row in some:
            issues = orjson.loads(row.document).get("issues") or ()
            for title, severity in {issue["title"]: issue["severity"] for issue in issues}.items():
                values = counts.setdefault(title, [0] * len(_ISSUES))
                if severity in _SEVERITIES:
                    values[_SEVERITIES.index(severity)] += 1
                values[-1] += not row.task_completed
        found.extend((account_id, prompt_id, minute, title, *values) for title, values in counts.items())
        if len(found) >= _ROWS_AT_ONCE:
            _keep_issues(connection, found)
            found.clear()
    _keep_issues(connection, found)
    _count_longer_spans(connection, "conversation_issues", ("issue", "title"), _ISSUES)


def _keep_issues(connection: sa.Connection, found: list[tuple[Any, ...]]) -> None:
    if found:
        connection.execute(
            sa.text(
                "INSERT INTO conversation_issues "
                "(account_id, prompt_id, span, start, issue, title, high, medium, low, failed) VALUES "
                f"(:account_id, :prompt_id, {_MINUTE}, :start, :issue, :title, :high, :medium, :low, :failed)"
            ),
            [
                {
                    "account_id": account_id,
                    "prompt_id": prompt_id,
                    "start": minute,
                    "issue": hashlib.md5(title.encode(), usedforsecurity=False).hexdigest(),
                    "title": title.encode(),
                    **dict(zip(_ISSUES, values, strict=True)),
                }
                for account_id, prompt_id, minute, title, *values in found
            ],
        )


def _count_longer_spans(
    connection: sa.Connection, table: str, keys: tuple[str, ...], counts: tuple[str, ...]
) -> None:
    """Each length of span from the one before."""
    for shorter, longer in pairwise(_SPANS):
        start = _start("start", longer)
        connection.execute(
            sa.text(
                f"INSERT INTO {table} ({', '.join((*_KEY, *keys, *counts))}) "
                f"SELECT {', '.join(('account_id', 'prompt_id', str(longer), start, *keys))}, "
                f"{', '.join(f'SUM({name})' for name in counts)} "
                f"FROM {table} WHERE span = {shorter} "
                f"GROUP BY {', '.join(('account_id', 'prompt_id', start, *keys))}"
            )
        )
