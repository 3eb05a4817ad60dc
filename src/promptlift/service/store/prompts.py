"""Prompts and their versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import bindparam, func, insert, or_, select, update

from promptlift.service.store.tables import prompt_versions, prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from promptlift.service.store.tables import AnyRow


def _living(account_id: str) -> tuple[ColumnElement[bool], ...]:
    return (prompts.c.account_id == account_id, prompts.c.deleted_at.is_(None))


def find(connection: Connection, account_id: str, prompt_id: str) -> AnyRow | None:
    """A prompt of the account, ``None`` when there is none of this id."""
    return connection.execute(
        select(prompts).where(*_living(account_id), prompts.c.id == prompt_id)
    ).one_or_none()


def page(
    connection: Connection,
    account_id: str,
    *,
    tags: Sequence[str] = (),
    status: str | None = None,
    limit: int,
    offset: int,
) -> tuple[Sequence[AnyRow], int]:
    """Prompts newest first, and how many there are. With several tags a prompt needs one of them."""
    # unspecified: whether several tags mean any or all. Any, as in most lists of tags.
    wanted: list[ColumnElement[bool]] = [*_living(account_id)]
    if status is not None:
        wanted.append(prompts.c.status == status)
    if tags:
        # Tags are kept as a JSON list, so a tag in its quotes is found by its exact text. LIKE would take "A" for "a"
        # on one database and not on the other.
        position = func.instr if connection.dialect.name == "sqlite" else func.strpos
        wanted.append(or_(*(position(prompts.c.tags, orjson.dumps(tag).decode()) > 0 for tag in tags)))
    total = connection.scalar(select(func.count()).select_from(prompts).where(*wanted)) or 0
    rows = connection.execute(
        select(prompts).where(*wanted).order_by(prompts.c.seq.desc()).limit(limit).offset(offset)
    ).all()
    return rows, total


def add(connection: Connection, values: dict[str, Any]) -> None:
    """Add a prompt; its text is its first version."""
    connection.execute(insert(prompts).values(**values))
    add_version(
        connection, values["account_id"], values["id"], values["content"], "created", now=values["created_at"]
    )


def change(connection: Connection, account_id: str, prompt_id: str, values: dict[str, Any]) -> None:
    """Change columns of a prompt."""
    connection.execute(
        update(prompts).where(*_living(account_id), prompts.c.id == prompt_id).values(**values)
    )


def add_version(
    connection: Connection, account_id: str, prompt_id: str, content: str, origin: str, *, now: int
) -> None:
    """Keep a text of a prompt; ``origin`` says how it came: created, updated, applied, restored."""
    connection.execute(
        insert(prompt_versions).values(
            account_id=account_id, prompt_id=prompt_id, content=content, origin=origin, created_at=now
        )
    )


_STANDING = select(prompts.c.id).where(
    prompts.c.account_id == bindparam("account"),
    prompts.c.deleted_at.is_(None),
    prompts.c.id.in_(bindparam("ids", expanding=True)),
)


def standing(connection: Connection, account_id: str, prompt_ids: Sequence[str]) -> set[str]:
    """Which of these prompts the account has."""
    return set(connection.scalars(_STANDING, {"account": account_id, "ids": list(prompt_ids)}))
