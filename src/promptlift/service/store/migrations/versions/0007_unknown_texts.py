"""Whether the text of a prompt is known: an import makes prompts whose text nobody gave."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_TABLES = ("prompts", "prompt_versions")
# What imports wrote as the text of a prompt until now.
_PLACEHOLDER = "The text of this prompt is not known. It was made by the import of "


def upgrade() -> None:
    """Bring the tables to this version."""
    for name in _TABLES:
        # Not in a batch: with this default SQLite's would copy and drop the table, which others refer to.
        op.add_column(
            name, sa.Column("content_known", sa.Boolean(), server_default=sa.true(), nullable=False)
        )
        table = sa.table(name, sa.column("content", sa.Text()), sa.column("content_known", sa.Boolean()))
        # LIKE would ignore case on one database and not on the other.
        beginning = sa.func.substr(table.c.content, 1, len(_PLACEHOLDER))
        op.execute(table.update().where(beginning == _PLACEHOLDER).values(content_known=sa.false()))


def downgrade() -> None:
    """Bring the tables back to the version before."""
    for name in _TABLES:
        op.drop_column(name, "content_known")
