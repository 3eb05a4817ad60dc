"""What people say of conversations: keeping it, and reading it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.errors import invalid
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.schema.labels import LabelCreate, LabelRequest
    from promptlift.schema.queries import LabelsQuery
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

    Row = dict[str, Any]
    Key = tuple[str, str, str]


def page(database: Database, caller: Caller, query: LabelsQuery) -> Row:
    """Return one page of labels, newest first."""
    with database.read() as connection:
        rows, total = labels.page(
            connection,
            caller.account_id,
            prompt_id=query.linked_id,
            conversation_id=query.conversation_id,
            optimization_id=query.optimization_id,
            question=query.question,
            labeller=query.labeller,
            draw_id=query.draw_id,
            limit=query.limit,
            offset=query.offset,
        )
    return {
        "data": [_wire(row._mapping) for row in rows],  # noqa: SLF001 - SQLAlchemy's public name
        "pagination": {"total": total, "limit": query.limit, "offset": query.offset},
    }


def keep(database: Database, caller: Caller, body: LabelCreate) -> Row:
    """Keep labels, all or none, and return them as they are kept.

    One that is there is replaced, so that the same request twice is the same as once; one without a value is removed.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` under the label whose conversation is not there.
    """
    asked = body.labels
    ids = {one.conversation_id for one in asked}
    with database.write() as connection:
        accounts.lock(connection, caller.account_id)
        places = labels.places(connection, caller.account_id, ids)
        missing = {
            f"labels[{index}].conversationId": "is not a conversation of this account"
            for index, one in enumerate(asked)
            if one.conversation_id not in places
        }
        if missing:
            raise invalid(
                missing, f"{len(missing)} of {len(asked)} labels are of no conversation of this account"
            )
        before = {
            key: dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
            for key, row in labels.of_conversations(connection, caller.account_id, ids).items()
        }
        after = _merged(asked, before, places, caller.account_id)
        labels.remove(
            connection, [before[key]["id"] for key, row in after.items() if row is None and key in before]
        )
        labels.add(connection, [row for key, row in after.items() if row is not None and key not in before])
        for key, row in after.items():
            if row is not None and key in before and row != before[key]:
                labels.change(connection, row["id"], row)
    kept = [after[_key(one)] for one in asked]
    return {"data": [None if row is None else _wire(row) for row in kept]}


def _key(one: LabelRequest) -> Key:
    return one.conversation_id, one.question, one.labeller


def _merged(
    asked: Sequence[LabelRequest],
    before: Mapping[Key, Row],
    places: Mapping[str, labels.Place],
    account_id: str,
) -> dict[Key, Row | None]:
    """Return each label that was asked for as it is to be; None where it is to be removed."""
    after: dict[Key, Row | None] = {}
    now = clock.now()
    for one in asked:
        key = _key(one)
        if not (one.value or "").strip():
            after[key] = None
            continue
        prompt_id, optimization_id = places[one.conversation_id]
        known = after.get(key) or before.get(key) or {"id": new_id("lbl"), "chance": None, "draw_id": None}
        # Asked for again without a time, it is the same label.
        same = known.get("value") == one.value
        labelled_at = known["labelled_at"] if same and one.labelled_at is None else now
        given: Row = {
            name: getattr(one, name) for name in ("chance", "draw_id") if name in one.model_fields_set
        }
        after[key] = {
            **known,
            **given,
            "account_id": account_id,
            "prompt_id": prompt_id,
            "conversation_id": one.conversation_id,
            "optimization_id": optimization_id,
            "question": one.question,
            "labeller": one.labeller,
            "value": one.value,
            "labelled_at": labelled_at if one.labelled_at is None else clock.from_datetime(one.labelled_at),
        }
    return after


def _wire(row: Mapping[Any, Any]) -> Row:
    return {
        "id": row["id"],
        # unspecified: which link an answer carries when the request names no scheme. Both.
        "promptId": row["prompt_id"],
        "agentId": row["prompt_id"],
        "conversationId": row["conversation_id"],
        "optimizationId": row["optimization_id"],
        "question": row["question"],
        "value": row["value"],
        "labeller": row["labeller"],
        "labelledAt": clock.iso(row["labelled_at"]),
        "chance": row["chance"],
        "drawId": row["draw_id"],
    }
