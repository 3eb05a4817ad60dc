"""Custom judges: creating versions, reading them and their verdicts, deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.schema import endpoints
from promptlift.schema.judges import Judge, JudgeVerdict
from promptlift.schema.model import Done, Page
from promptlift.service import clock
from promptlift.service.call import Call, answers, known_model
from promptlift.service.errors import not_found
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, judges
from promptlift.service.store.rows import Rows, counts, newest
from promptlift.service.store.tables.runs import JudgeRow, VerdictRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.judges import JudgeCreate, JudgeOrigin
    from promptlift.schema.queries import PageQuery, VerdictsQuery, VersionQuery
    from promptlift.service.store.accounts import Caller

_CHANGED: Final = ("question", "rubric", "examples", "llm_model")


@answers(endpoints.JUDGES_CREATE, check=known_model)
def create(call: Call[JudgeCreate]) -> Judge:
    """Create a judge, or a new version of the judge with this name; the status shows whether anything is new.

    The same text again returns the existing version: running a cell twice creates one judge.
    """
    body = call.body
    values = {
        "question": body.question.strip(),
        "rubric": (body.rubric or "").strip() or None,
        "examples": [one.to_wire() for one in body.examples or []],
        "llm_model": body.llm_model,
    }
    with call.write() as rows:
        accounts.lock(rows.core, call.account_id)
        known = rows.find(newest(JudgeRow, account_id=call.account_id, name=body.name).limit(1))
        if known is not None and all(getattr(known, name) == values[name] for name in _CHANGED):
            call.status = 200
            return _shown(rows.core, known)
        row = add_version(rows.core, call.account_id, known, name=body.name, origin="written", **values)
        return _shown(rows.core, row)


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
        created_at=clock.moment(),
        **values,
    )
    Rows(connection).insert(row)
    return row


@answers(endpoints.JUDGES_LIST)
def page(call: Call[None, PageQuery]) -> Page[Judge]:
    """Return one page of judges in their newest versions."""
    with call.read() as rows:
        some, total = rows.page(judges.newest_versions(call.account_id), call.query)
        return Page[Judge](data=_all_shown(rows.core, some), pagination=call.query.of(total))


@answers(endpoints.JUDGES_VERSIONS)
def versions(call: Call[None, PageQuery]) -> Page[Judge]:
    """Return one page of the versions of a judge, newest first."""
    with call.read() as rows:
        judge = find(rows.core, call.caller, call.id)
        some, total = rows.page(
            newest(JudgeRow, account_id=call.account_id, judge_id=judge.judge_id), call.query
        )
        return Page[Judge](data=_all_shown(rows.core, some), pagination=call.query.of(total))


@answers(endpoints.JUDGES_GET)
def get(call: Call[None, VersionQuery]) -> Judge:
    """Return a version of a judge, by default the newest."""
    with call.read() as rows:
        return _shown(rows.core, find(rows.core, call.caller, call.id, version=call.query.version))


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


@answers(endpoints.JUDGES_DELETE)
def delete(call: Call) -> Done:
    """Delete a judge with its versions, verdicts and runs."""
    with call.write() as rows:
        if not judges.remove(rows.core, call.account_id, call.id):
            raise not_found("Judge")
    return Done(success=True, message="Judge deleted")


@answers(endpoints.JUDGES_VERDICTS, links=("promptId",))
def verdict_page(call: Call[None, VerdictsQuery]) -> Page[JudgeVerdict]:
    """Return one page of verdicts."""
    query = call.query
    with call.read() as rows:
        judge = find(rows.core, call.caller, call.id, version=query.version)
        found, total = judges.verdict_page(rows.core, judge, query)
    return Page[JudgeVerdict](data=found, pagination=query.of(total))


def _shown(connection: Connection, row: JudgeRow) -> Judge:
    return _all_shown(connection, [row])[0]


def _all_shown(connection: Connection, rows: Sequence[JudgeRow]) -> list[Judge]:
    versions = counts(connection, JudgeRow.judge_id, [row.judge_id for row in rows])
    verdicts = counts(
        connection, VerdictRow.judge_row_id, [row.id for row in rows], VerdictRow.verdict.is_not(None)
    )
    return [
        row.shown(Judge, id=row.judge_id, versions=versions[row.judge_id], verdicts=verdicts[row.id])
        for row in rows
    ]
