"""Judges of one's own: making versions, reading them and their verdicts, deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.service import clock
from promptlift.service.errors import not_found
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, judges, verdicts
from promptlift.service.store.tables.runs import JudgeRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.judges import JudgeCreate, JudgeOrigin
    from promptlift.schema.queries import VerdictsQuery
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

_CHANGED: Final = ("question", "rubric", "examples", "llm_model")


def create(database: Database, caller: Caller, body: JudgeCreate) -> tuple[dict[str, Any], bool]:
    """Make a judge, or a new version of the judge of this name; says whether anything is new.

    The same text again gives the version that there is: a cell that is run twice makes one judge.
    """
    values = {
        "question": body.question.strip(),
        "rubric": (body.rubric or "").strip() or None,
        "examples": [one.to_wire() for one in body.examples or []],
        "llm_model": body.llm_model,
    }
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        newest = judges.find_named(connection, caller.account_id, body.name)
        if newest is not None and all(getattr(newest, name) == values[name] for name in _CHANGED):
            return _view(connection, newest), False
        row = add_version(connection, caller.account_id, newest, name=body.name, origin="written", **values)
        return _view(connection, row), True


def add_version(
    connection: Connection, account_id: str, newest: JudgeRow | None, *, origin: JudgeOrigin, **values: Any
) -> JudgeRow:
    """Add a version after the newest one, or the first of a new judge, and return its row."""
    row = JudgeRow(
        id=new_id("jdv"),
        account_id=account_id,
        judge_id=new_id("jdg") if newest is None else newest.judge_id,
        version=1 if newest is None else newest.version + 1,
        origin=origin,
        created_at=clock.now(),
        **values,
    )
    return judges.add(connection, row)


def page(
    database: Database, caller: Caller, *, judge_id: str | None = None, limit: int, offset: int
) -> dict[str, Any]:
    """Return one page of judges in their newest versions, or of the versions of one judge.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    with database.read() as connection:
        if judge_id is not None:
            find(connection, caller, judge_id)
        rows, total = judges.page(
            connection, caller.account_id, judge_id=judge_id, limit=limit, offset=offset
        )
        counts = judges.version_counts(connection, [row.judge_id for row in rows])
        answered = judges.verdict_counts(connection, [row.id for row in rows])
        data = [_wire(row, counts[row.judge_id], answered[row.id]) for row in rows]
    return {"data": data, "pagination": {"total": total, "limit": limit, "offset": offset}}


def get(database: Database, caller: Caller, judge_id: str, version: int | None) -> dict[str, Any]:
    """Return a version of a judge, the newest without ``version``.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    with database.read() as connection:
        return _view(connection, find(connection, caller, judge_id, version=version))


def find(
    connection: Connection,
    caller: Caller,
    judge_id: str,
    *,
    version: int | None = None,
    lock: bool = False,
) -> JudgeRow:
    """Return a version of a judge of the account.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    row = judges.find(connection, caller.account_id, judge_id, version=version, lock=lock)
    if row is None:
        raise not_found("Judge")
    return row


def delete(database: Database, caller: Caller, judge_id: str) -> dict[str, Any]:
    """Delete a judge with its versions, verdicts and runs.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    with database.write() as connection:
        if not judges.remove(connection, caller.account_id, judge_id):
            raise not_found("Judge")
    return {"success": True, "message": "Judge deleted"}


def verdict_page(database: Database, caller: Caller, judge_id: str, query: VerdictsQuery) -> dict[str, Any]:
    """Return one page of verdicts.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    with database.read() as connection:
        row = find(connection, caller, judge_id, version=query.version)
        rows, total = verdicts.page(
            connection,
            caller.account_id,
            judge_id=row.judge_id,
            judge_row_id=None if query.all_versions else row.id,
            prompt_id=query.linked_id,
            limit=query.limit,
            offset=query.offset,
        )
    data = [_verdict(one) for one in rows]
    return {"data": data, "pagination": {"total": total, "limit": query.limit, "offset": query.offset}}


def _view(connection: Connection, row: JudgeRow) -> dict[str, Any]:
    count = judges.version_counts(connection, [row.judge_id])[row.judge_id]
    return _wire(row, count, judges.verdict_counts(connection, [row.id])[row.id])


def _wire(row: JudgeRow, versions: int, answered: int) -> dict[str, Any]:
    return {
        "id": row.judge_id,
        "name": row.name,
        "version": row.version,
        "question": row.question,
        "rubric": row.rubric,
        "examples": row.examples,
        "llmModel": row.llm_model,
        "origin": row.origin,
        "versions": versions,
        "verdicts": answered,
        "createdAt": clock.iso(row.created_at),
    }


def _verdict(row: AnyRow) -> dict[str, Any]:
    return {
        "id": f"{row.judge_row_id}.{row.conversation_id}",
        "conversationId": row.conversation_id,
        "promptId": row.prompt_id,
        "status": row.status,
        "judge": row.name,
        "judgeVersion": row.version,
        "verdict": row.verdict,
        "reason": row.reason,
        "analyser": row.analyser,
        "problem": row.problem,
        "startedAt": clock.iso(row.started_at),
        "createdAt": clock.iso(row.created_at),
        "judgedAt": clock.iso(row.judged_at),
    }
