"""Prompts and their versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, bindparam, cast, func, insert, or_, select, update

from promptlift.service.store import paging
from promptlift.service.store.tables import prompt_versions, prompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from promptlift.service.store.tables import AnyRow


def _living(account_id: str) -> tuple[ColumnElement[bool], ...]:
    return (prompts.c.account_id == account_id, prompts.c.deleted_at.is_(None))


def find(connection: Connection, account_id: str, prompt_id: str, *, lock: bool = False) -> AnyRow | None:
    """Return a prompt of the account, ``None`` when there is none of this id.

    With ``lock`` other transactions that lock it change neither its text nor its deployments until this one ends.
    SQLite has one writer at a time anyway.
    """
    statement = select(prompts).where(*_living(account_id), prompts.c.id == prompt_id)
    return connection.execute(statement.with_for_update() if lock else statement).one_or_none()


def names(connection: Connection, account_id: str) -> dict[str, str]:
    """Return the name of every prompt of the account by its id."""
    rows = connection.execute(select(prompts.c.id, prompts.c.name).where(*_living(account_id)))
    return {row.id: row.name for row in rows}


def page(
    connection: Connection,
    account_id: str,
    *,
    tags: Sequence[str] = (),
    status: str | None = None,
    limit: int,
    offset: int,
) -> tuple[Sequence[AnyRow], int]:
    """Return prompts newest first, and how many there are. With several tags a prompt needs one of them."""
    # unspecified: whether several tags mean any or all. Any, as in most lists of tags.
    wanted = [*_living(account_id), *paging.equal(prompts, status=status)]
    if tags:
        wanted.append(_has_one_of(connection.dialect.name, tags))
    return paging.page(connection, prompts, wanted, limit=limit, offset=offset)


def _has_one_of(dialect: str, tags: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that a prompt has one of these tags, which are kept as a JSON list."""
    if dialect == "sqlite":
        kept = func.json_each(prompts.c.tags).table_valued("value")
    else:
        elements = func.json_array_elements_text(cast(prompts.c.tags, JSON))
        kept = elements.table_valued("value").render_derived()
    return select(1).select_from(kept).where(kept.c.value.in_(tags)).correlate(prompts).exists()


def find_named(connection: Connection, account_id: str, name: str) -> AnyRow | None:
    """Return the prompt of the account with an id or a name, the oldest of several; ``None`` when there is none."""
    wanted = or_(prompts.c.id == name, prompts.c.name == name)
    statement = select(prompts).where(*_living(account_id), wanted).order_by(prompts.c.seq).limit(1)
    return connection.execute(statement).one_or_none()


def find_text(connection: Connection, account_id: str, content: str) -> AnyRow | None:
    """Return the prompt of the account with exactly this text, the newest of several; ``None`` when there is none."""
    wanted = (prompts.c.content == content, prompts.c.content_known)
    statement = select(prompts).where(*_living(account_id), *wanted).order_by(prompts.c.seq.desc()).limit(1)
    return connection.execute(statement).one_or_none()


def add(connection: Connection, values: dict[str, Any], *, live_from: int | None = None) -> None:
    """Add a prompt; its text is its first version, live since ``live_from`` or since the prompt was made."""
    connection.execute(insert(prompts).values(**values))
    add_version(
        connection,
        values["account_id"],
        values["id"],
        values["content"],
        "created",
        now=values["created_at"] if live_from is None else live_from,
        content_known=values.get("content_known", True),
    )


def change(connection: Connection, account_id: str, prompt_id: str, values: dict[str, Any]) -> None:
    """Change columns of a prompt."""
    connection.execute(
        update(prompts).where(*_living(account_id), prompts.c.id == prompt_id).values(**values)
    )


def add_version(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    content: str,
    origin: str,
    *,
    now: int,
    content_known: bool = True,
    optimization_id: str | None = None,
    variant_id: str | None = None,
) -> int:
    """Keep a text of a prompt and give its sequence number.

    ``origin`` says how it came: created, updated, applied, auto_deployed, rolled_back, restored.
    """
    result = connection.execute(
        insert(prompt_versions).values(
            account_id=account_id,
            prompt_id=prompt_id,
            content=content,
            content_known=content_known,
            origin=origin,
            optimization_id=optimization_id,
            variant_id=variant_id,
            created_at=now,
        )
    )
    key = result.inserted_primary_key
    assert key is not None  # noqa: S101 - one row was inserted
    return int(key[0])


def _versions_of(account_id: str, prompt_id: str) -> tuple[ColumnElement[bool], ...]:
    return (prompt_versions.c.account_id == account_id, prompt_versions.c.prompt_id == prompt_id)


def current_version(connection: Connection, account_id: str, prompt_id: str) -> AnyRow:
    """Return the current version: every change of the text adds one, so it is the newest."""
    return connection.execute(
        select(prompt_versions)
        .where(*_versions_of(account_id, prompt_id))
        .order_by(prompt_versions.c.seq.desc())
        .limit(1)
    ).one()


def fill_version(connection: Connection, seq: int, content: str, *, live_from: int | None) -> None:
    """Put the text of a prompt in the place of what stood in for it."""
    values: dict[str, Any] = {"content": content, "content_known": True}
    if live_from is not None:
        values["created_at"] = live_from
    connection.execute(update(prompt_versions).filter_by(seq=seq).values(**values))


def is_known(connection: Connection, prompt: AnyRow, content: str) -> bool:
    """Whether a text that becomes current was given by a user: what is known of the same text from before counts."""
    said = connection.scalar(
        select(prompt_versions.c.content_known)
        .where(*_versions_of(prompt.account_id, prompt.id), prompt_versions.c.content == content)
        .order_by(prompt_versions.c.seq.desc())
        .limit(1)
    )
    return bool(prompt.content_known if said is None else said)


def version(connection: Connection, account_id: str, prompt_id: str, seq: int) -> AnyRow | None:
    """Return one version of a prompt, ``None`` when the prompt has no such version."""
    return connection.execute(
        select(prompt_versions).where(*_versions_of(account_id, prompt_id), prompt_versions.c.seq == seq)
    ).one_or_none()


def versions(
    connection: Connection, account_id: str, prompt_id: str, *, limit: int, offset: int
) -> tuple[Sequence[AnyRow], int]:
    """Return versions of a prompt newest first, and how many there are."""
    wanted = _versions_of(account_id, prompt_id)
    return paging.page(connection, prompt_versions, wanted, limit=limit, offset=offset)


_STANDING = select(prompts.c.id).where(
    prompts.c.account_id == bindparam("account"),
    prompts.c.deleted_at.is_(None),
    prompts.c.id.in_(bindparam("ids", expanding=True)),
)


def standing(connection: Connection, account_id: str, prompt_ids: Sequence[str]) -> set[str]:
    """Return those of these prompts that the account has."""
    return set(connection.scalars(_STANDING, {"account": account_id, "ids": list(prompt_ids)}))
