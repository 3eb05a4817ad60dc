"""Prompts, their versions, actions and experiments, and the personas of the account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, bindparam, cast, func, or_, select, update

from promptlift.service import clock
from promptlift.service.identifiers import new_id
from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables import experiments, prompt_versions, prompts
from promptlift.service.store.tables.prompts import (
    ActionRow,
    ExperimentRow,
    PersonaRow,
    PromptRow,
    VersionRow,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Select


def living(account_id: str) -> Select[PromptRow]:
    """Return the query for the prompts of an account."""
    return wanted(PromptRow, account_id=account_id).filter_by(deleted_at=None)


def find(connection: Connection, account_id: str, prompt_id: str, *, lock: bool = False) -> PromptRow | None:
    """Return a prompt of the account, ``None`` if there is none with this id.

    With ``lock``, no other transaction that locks it changes its text or deployments until this one ends.
    SQLite has one writer at a time anyway.
    """
    query = living(account_id).filter_by(id=prompt_id)
    # FOR NO KEY UPDATE, as of accounts: rows of its conversations check their foreign key meanwhile.
    return Rows(connection).find(query.with_for_update(key_share=True) if lock else query)


def found(rows: Rows, account_id: str, prompt_id: str, noun: str, *, lock: bool = False) -> PromptRow:
    """Return a prompt of the account as `find` does.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, with the noun of the naming scheme.
    """
    query = living(account_id).filter_by(id=prompt_id)
    return rows.found(query.with_for_update(key_share=True) if lock else query, noun)


def names(connection: Connection, account_id: str) -> dict[str, str]:
    """Return the name of every prompt of the account by its id."""
    rows = connection.execute(living(account_id).with_only_columns(PromptRow.id, PromptRow.name))
    return {row.id: row.name for row in rows}


def listed(
    dialect: str, account_id: str, *, tags: Sequence[str] = (), status: str | None = None
) -> Select[PromptRow]:
    """Return the query for prompts, newest first. With several tags, a prompt needs one of them."""
    # unspecified: whether several tags mean any or all. Any, as in most lists of tags.
    query = newest(PromptRow, account_id=account_id, status=status).filter_by(deleted_at=None)
    return query.where(_has_one_of(dialect, tags)) if tags else query


def _has_one_of(dialect: str, tags: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that a prompt has one of these tags, which are stored as a JSON list."""
    if dialect == "sqlite":
        kept = func.json_each(prompts.c.tags).table_valued("value")
    else:
        elements = func.json_array_elements_text(cast(prompts.c.tags, JSON))
        kept = elements.table_valued("value").render_derived()
    return select(1).select_from(kept).where(kept.c.value.in_(tags)).correlate(prompts).exists()


def watched(connection: Connection) -> Sequence[PromptRow]:
    """Return the prompts of all accounts that have a completion rate to watch."""
    watching = wanted(PromptRow, deleted_at=None).where(PromptRow.alert_below.is_not(None))
    return Rows(connection).all(watching.order_by(PromptRow.seq))


def find_named(connection: Connection, account_id: str, name: str) -> PromptRow | None:
    """Return the prompt of the account with an id or a name, the oldest of several; ``None`` if there is none."""
    named = living(account_id).where(or_(PromptRow.id == name, PromptRow.name == name))
    return Rows(connection).find(named.order_by(PromptRow.seq).limit(1))


def find_text(connection: Connection, account_id: str, content: str) -> PromptRow | None:
    """Return the prompt of the account with exactly this text, the newest of several; ``None`` if there is none."""
    known = living(account_id).where(PromptRow.content == content, PromptRow.content_known)
    return Rows(connection).find(known.order_by(PromptRow.seq.desc()).limit(1))


def add(rows: Rows, row: PromptRow, *, live_from: datetime | None = None) -> PromptRow:
    """Add a prompt and return it; its text is its first version, live since ``live_from`` or since the prompt's creation."""
    rows.insert(row)
    now = clock.from_datetime(live_from or row.created_at)
    add_version(rows.core, row, row.content, "created", now=now, content_known=row.content_known)
    return row


def change(connection: Connection, account_id: str, prompt_id: str, values: Mapping[str, object]) -> None:
    """Change columns of a prompt."""
    connection.execute(
        update(prompts).filter_by(account_id=account_id, id=prompt_id, deleted_at=None).values(**values)
    )


def add_version(
    connection: Connection,
    prompt: PromptRow,
    content: str,
    origin: str,
    *,
    now: int,
    **known: str | bool | None,
) -> int:
    """Store a text of a prompt and return its sequence number.

    Parameters
    ----------
    origin
        How it came about: created, updated, applied, auto_deployed, rolled_back, restored.
    known
        Other columns: content_known, optimization_id, variant_id.
    """
    of = {"account_id": prompt.account_id, "prompt_id": prompt.id}
    row = VersionRow(**of, content=content, origin=origin, created_at=now, **known)
    Rows(connection).insert(row)
    return row.seq


def current_version(connection: Connection, account_id: str, prompt_id: str) -> VersionRow:
    """Return the current version: every change of the text adds one, so it is the newest."""
    versions = newest(VersionRow, account_id=account_id, prompt_id=prompt_id)
    return Rows(connection).scalars(versions.limit(1)).one()


def fill_version(connection: Connection, seq: int, content: str, *, live_from: int | None) -> None:
    """Replace a prompt's placeholder by its text."""
    values: dict[str, object] = {"content": content, "content_known": True}
    if live_from is not None:
        values["created_at"] = live_from
    connection.execute(update(prompt_versions).filter_by(seq=seq).values(**values))


def is_known(connection: Connection, prompt: PromptRow, content: str) -> bool:
    """Return whether a text that becomes current was given by a user, according to earlier versions with the same text."""
    same = newest(VersionRow, account_id=prompt.account_id, prompt_id=prompt.id, content=content)
    said = connection.scalar(same.with_only_columns(VersionRow.content_known).limit(1))
    return bool(prompt.content_known if said is None else said)


def version(connection: Connection, account_id: str, prompt_id: str, seq: int) -> VersionRow | None:
    """Return one version of a prompt, ``None`` when the prompt has no such version."""
    return Rows(connection).find(wanted(VersionRow, account_id=account_id, prompt_id=prompt_id, seq=seq))


_STANDING = select(prompts.c.id).where(
    prompts.c.account_id == bindparam("account"),
    prompts.c.deleted_at.is_(None),
    prompts.c.id.in_(bindparam("ids", expanding=True)),
)


def standing(connection: Connection, account_id: str, prompt_ids: Sequence[str]) -> set[str]:
    """Return which of these prompts the account has."""
    return set(connection.scalars(_STANDING, {"account": account_id, "ids": list(prompt_ids)}))


def living_personas(account_id: str) -> Select[PersonaRow]:
    """Return the query for the personas of an account, newest first."""
    return newest(PersonaRow, account_id=account_id).filter_by(deleted_at=None)


def personas_at(connection: Connection, account_id: str, at: datetime) -> Sequence[PersonaRow]:
    """Return the personas that the account had at a time, in order of creation."""
    there = (PersonaRow.created_at <= at) & (PersonaRow.deleted_at.is_(None) | (PersonaRow.deleted_at > at))
    query = wanted(PersonaRow, account_id=account_id).where(there).order_by(PersonaRow.seq)
    return Rows(connection).all(query)


def log_action(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    kind: str,
    *,
    now: int,
    note: str | None,
    **values: Any,
) -> str:
    """Record an action in the transaction that performs it; return its id.

    Parameters
    ----------
    kind
        ``apply``, ``stop``, ``restore`` or ``undo``.
    values
        Other columns: optimization_id, variant_id, from_version_seq, to_version_seq, undoes.
    """
    mine = {"id": new_id("act"), "account_id": account_id, "prompt_id": prompt_id, "kind": kind}
    row = ActionRow(**mine, note=note or None, created_at=clock.to_datetime(now), **values)
    Rows(connection).insert(row)
    return row.id


_NEWEST = (
    select(func.max(prompt_versions.c.seq))
    .where(prompt_versions.c.prompt_id == bindparam("id"))
    .correlate(None)
    .scalar_subquery()
)
# Built once, for it is executed for every text that is resolved.
_OFFERED = (
    select(
        prompts.c.content,
        prompts.c.content_known,
        prompts.c.llm_model,
        prompt_versions.c.seq,
        prompt_versions.c.variant_id,
        experiments.c.id.label("experiment_id"),
        experiments.c.kept,
    )
    .select_from(prompts)
    .join(prompt_versions, prompt_versions.c.seq == _NEWEST)
    .outerjoin(experiments, (experiments.c.prompt_id == prompts.c.id) & (experiments.c.status == "running"))
    .where(
        prompts.c.account_id == bindparam("account"),
        prompts.c.id == bindparam("id"),
        prompts.c.deleted_at.is_(None),
    )
)


def offered(connection: Connection, account_id: str, prompt_id: str) -> Any:
    """Return the current text of a prompt with its running experiment, ``None`` if there is no such prompt."""
    return connection.execute(_OFFERED, {"account": account_id, "id": prompt_id}).one_or_none()


def running_experiment(connection: Connection, prompt: PromptRow) -> ExperimentRow | None:
    """Return the running experiment of a prompt, if there is one."""
    mine = wanted(ExperimentRow, account_id=prompt.account_id, prompt_id=prompt.id, status="running")
    return Rows(connection).find(mine)


def ramps(connection: Connection) -> Sequence[ExperimentRow]:
    """Return the running ramps of all accounts."""
    running = Rows(connection).all(wanted(ExperimentRow, status="running").order_by(ExperimentRow.seq))
    return [row for row in running if row.kept.ramp]


def end_experiment(
    connection: Connection, experiment: ExperimentRow, status: str, *, now: int, **values: Any
) -> bool:
    """End a running experiment, and return whether it was running."""
    mine = update(ExperimentRow).where(ExperimentRow.id == experiment.id, ExperimentRow.status == "running")
    ended = {"status": status, "ended_at": clock.to_datetime(now), **values}
    return bool(connection.execute(mine.values(**ended)).rowcount)
