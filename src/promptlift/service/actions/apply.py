"""Applying a variant of an optimization, or a text composed from its edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.schema.naming import SCHEMES
from promptlift.schema.optimizations import ApplyAnswer
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.deployments.current_version import LivePrompt, version_id
from promptlift.service.errors import ApiException, invalid
from promptlift.service.store import optimizations, prompts
from promptlift.service.store.tables.runs import OptimizationRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.optimizations import ApplyRequest
    from promptlift.service.store.tables.runs import VariantRow


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
        action_id = prompts.log_action(
            connection,
            account_id,
            prompt.id,
            "apply",
            now=now,
            note=body.note,
            optimization_id=optimization.id,
            variant_id=None if variant is None else variant.id,
            from_version_seq=live.before.seq,
            to_version_seq=seq,
        )
    name = "The text" if variant is None else variant.name
    text = name if variant is None else f"The text of {name}"
    return ApplyAnswer(
        success=True,
        prompt_id=prompt.id,
        applied_variant_id=None if variant is None else variant.id,
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
        ``INVALID_STATE`` when the optimization is not completed, has no winner to apply, or was a rehearsal
        that the request does not accept; ``VALIDATION_ERROR`` under ``variantId`` for a variant of another
        optimization.
    """
    if optimization.status != "completed":
        raise ApiException(
            "INVALID_STATE",
            f"The optimization is {optimization.status}; a variant can be applied once it is completed",
            details={"status": optimization.status},
        )
    variant = _wanted(connection, optimization, body.variant_id)
    if optimization.rehearsal and not body.accept_rehearsal:
        # unspecified: rehearsals. None of their variants goes live unless a person permits it.
        raise ApiException(
            "INVALID_STATE",
            "The optimization was a rehearsal: a built-in model stood in for the language model, so its numbers say nothing "
            "about a real prompt. Pass acceptRehearsal to apply the variant all the same",
            details={"acceptRehearsal": "needed, because the optimization was a rehearsal"},
        )
    return variant


def _wanted(connection: Connection, optimization: OptimizationRow, variant_id: str | None) -> VariantRow:
    winner = None if optimization.results is None else optimization.results.results.winning_variant_id
    wanted = winner if variant_id is None else variant_id
    if wanted is None:
        # unspecified: applying without variantId where nothing won. Nothing is chosen on the user's behalf.
        raise ApiException(
            "INVALID_STATE",
            "The optimization ended without a winner, so there is no variant to apply by default; pass variantId",
            details={"variantId": "needed, because there is no winner"},
        )
    for variant in optimizations.variants(connection, optimization.id):
        if variant.id == wanted:
            return variant
    raise invalid({"variantId": "is not a variant of this optimization"}, "No such variant")
