"""The history of a prompt's text, and the actions that change it: applying a variant, restoring a version, undoing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.schema.model import Page, to_wire_time
from promptlift.schema.naming import SCHEMES
from promptlift.schema.optimizations import ApplyAnswer
from promptlift.schema.prompts import Action, PromptVersion, RestoreAnswer, UndoAnswer
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.deployments.current_version import LivePrompt, version_id, version_seq
from promptlift.service.errors import ApiException, invalid, invalid_state, not_found
from promptlift.service.store import optimizations, prompts
from promptlift.service.store.rows import newest
from promptlift.service.store.tables.prompts import ActionRow, VersionRow
from promptlift.service.store.tables.runs import OptimizationRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.optimizations import ApplyRequest
    from promptlift.schema.prompts import RestoreRequest, UndoRequest
    from promptlift.schema.queries import ActionsQuery, PageQuery
    from promptlift.service.store.tables.runs import VariantRow


@answers(endpoints.PROMPTS_VERSIONS)
def page(call: Call[None, PageQuery]) -> Page[PromptVersion]:
    """Return one page of the versions of a prompt, newest first."""
    with call.read() as rows:
        prompt = call.prompt(rows)
        some, total = rows.page(
            newest(VersionRow, account_id=call.account_id, prompt_id=prompt.id), call.query
        )
    first = total - call.query.offset
    return Page[PromptVersion](
        data=[_shown(row, number=first - at, total=total) for at, row in enumerate(some)],
        pagination=call.query.of(total),
    )


def _shown(row: VersionRow, *, number: int, total: int) -> PromptVersion:
    return row.shown(
        PromptVersion,
        id=version_id(row.seq),
        number=number,
        content=row.content if row.content_known else None,
        # Every change of the text adds a version.
        is_live=number == total,
        created_at=clock.to_datetime(row.created_at),
    )


@answers(endpoints.PROMPTS_RESTORE)
def restore(call: Call[RestoreRequest]) -> RestoreAnswer:
    """Restore the text of an earlier version, byte for byte, as a new version.

    A text that is already current stays unchanged, without a new version.
    """
    body, account_id = call.body, call.account_id
    seq = version_seq(body.version_id)
    with call.write() as rows:
        prompt = call.prompt(rows, lock=True)
        former = None if seq is None else prompts.version(rows.core, account_id, prompt.id, seq)
        if former is None:
            raise ApiException(
                "NOT_FOUND",
                "Version not found",
                details={"versionId": f"is not a version of this {call.scheme.name}; see its versions"},
            )
        now = clock.now()
        live = LivePrompt(rows.core, prompt, now=now)
        changed = former.content != prompt.content
        if changed:
            live.check_version(body.if_version_id)
        made = live.restore(former.content)
        action_id = live.log("restore", made, note=body.note)
    return RestoreAnswer(
        success=True,
        prompt_id=prompt.id,
        version_id=version_id(made),
        previous_version_id=version_id(live.before.seq),
        changed=changed,
        action_id=action_id,
        message="The version is current again" if changed else "The text was already current",
    )


@answers(endpoints.OPTIMIZATIONS_APPLY)
def apply(call: Call[ApplyRequest]) -> ApplyAnswer:
    """Make a variant or a text the current version.

    Without ``variantId`` the winner is applied. Applying a staged variant is its approval. The original can
    be applied too, which restores its text. A text that is already live stays unchanged, without a second
    version.
    """
    body, account_id = call.body, call.account_id
    if body.content is not None and body.variant_id is not None:
        raise invalid({"content": "is for a text that is not a variant's; leave out content or variantId"})
    with call.write() as rows:
        connection, optimization = rows.core, call.found(rows, OptimizationRow, "Optimization")
        variant = _applicable(connection, optimization, body) if body.content is None else None
        if optimization.rehearsal and not body.accept_rehearsal:
            # unspecified: rehearsals. None of their texts goes live unless a person permits it.
            raise invalid_state(
                "The optimization was a rehearsal: a built-in model stood in for the language model, so its numbers say "
                "nothing about a real prompt. Pass acceptRehearsal to apply its text all the same",
                details={"acceptRehearsal": "needed, because the optimization was a rehearsal"},
            )
        noun = SCHEMES["prompt"].noun
        prompt = prompts.found(rows, account_id, optimization.prompt_id, noun, lock=True)
        now = clock.now()
        live = LivePrompt(connection, prompt, now=now)
        changed = prompt.content != (body.content if variant is None else variant.content)
        if changed:
            live.check_version(body.if_version_id)
        seq = live.before.seq
        if variant is not None:
            seq = live.apply(optimization, variant)
        elif changed and body.content is not None:
            seq = live.apply_text(body.content, optimization)
        variant_id = None if variant is None else variant.id
        action_id = live.log(
            "apply", seq, note=body.note, optimization_id=optimization.id, variant_id=variant_id
        )
    name = "The text" if variant is None else variant.name
    text = name if variant is None else f"The text of {name}"
    return ApplyAnswer(
        success=True,
        prompt_id=prompt.id,
        applied_variant_id=variant_id,
        message=f"{name} is live now" if changed else f"{text} was live already",
        version_id=version_id(seq),
        previous_version_id=version_id(live.before.seq),
        changed=changed,
        action_id=action_id,
    )


def _applicable(connection: Connection, optimization: OptimizationRow, body: ApplyRequest) -> VariantRow:
    """Return the variant to apply.

    Raises
    ------
    ApiException
        ``INVALID_STATE`` when the optimization is not completed or has no winner to apply;
        ``VALIDATION_ERROR`` under ``variantId`` for a variant of another optimization.
    """
    if optimization.status != "completed":
        raise invalid_state(
            f"The optimization is {optimization.status}; a variant can be applied once it is completed",
            details={"status": optimization.status},
        )
    wanted = body.variant_id
    if wanted is None and optimization.results is not None:
        wanted = optimization.results.results.winning_variant_id
    if wanted is None:
        # unspecified: applying without variantId where nothing won. Nothing is chosen on the user's behalf.
        raise invalid_state(
            "The optimization ended without a winner, so there is no variant to apply by default; pass variantId",
            details={"variantId": "needed, because there is no winner"},
        )
    for variant in optimizations.variants(connection, optimization.id):
        if variant.id == wanted:
            return variant
    raise invalid({"variantId": "is not a variant of this optimization"}, "No such variant")


@answers(endpoints.ACTIONS_LIST)
def actions_page(call: Call[None, ActionsQuery]) -> Page[Action]:
    """Return one page of actions, newest first."""
    query = call.query
    which = {"prompt_id": query.linked_id, "optimization_id": query.optimization_id}
    with call.read() as rows:
        some, total = rows.page(newest(ActionRow, account_id=call.account_id, **which), query)
    data = [
        row.shown(
            Action,
            from_version_id=version_id(row.from_version_seq),
            to_version_id=version_id(row.to_version_seq),
        )
        for row in some
    ]
    return Page[Action](data=data, pagination=query.of(total))


@answers(endpoints.ACTIONS_UNDO)
def undo(call: Call[UndoRequest]) -> UndoAnswer:
    """Restore the text from before an action, byte for byte, as a new version."""
    with call.write() as rows:
        row = call.found(rows, ActionRow, "Action")
        prompt = prompts.found(rows, call.account_id, row.prompt_id, SCHEMES["prompt"].noun, lock=True)
        # Read again: it may have been undone while this waited for the prompt.
        rows.refresh(row)
        before_seq = _undoable(row)
        now = clock.now()
        live = LivePrompt(rows.core, prompt, now=now)
        live.check_version(version_id(row.to_version_seq))
        before = prompts.version(rows.core, call.account_id, prompt.id, before_seq)
        if before is None:
            raise not_found("Version")
        made = live.restore(before.content)
        what = {"optimization_id": row.optimization_id, "variant_id": row.variant_id, "undoes": row.id}
        undoing = live.log("undo", made, note=call.body.note, **what)
        row.undone_by, row.undone_at = undoing, clock.to_datetime(now)
    return UndoAnswer(
        success=True,
        prompt_id=prompt.id,
        action_id=undoing,
        version_id=version_id(made),
        previous_version_id=version_id(live.before.seq),
        message="The previous text is current again",
    )


def _undoable(row: ActionRow) -> int:
    """Return the version to restore, or refuse an action that cannot be undone."""
    if row.kind == "stop":
        raise invalid_state("A stop cannot be undone; start a new optimization", details={"kind": row.kind})
    if row.undone_by is not None and row.undone_at is not None:
        raise invalid_state(
            "The action was undone already",
            details={"undoneBy": row.undone_by, "undoneAt": to_wire_time(row.undone_at)},
        )
    if row.from_version_seq is None or row.from_version_seq == row.to_version_seq:
        raise invalid_state(
            "The action changed no text, so there is nothing to undo",
            details={"toVersionId": version_id(row.to_version_seq)},
        )
    return row.from_version_seq
