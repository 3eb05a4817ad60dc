"""The end of a regression test: the winner goes live or is rejected, with the event, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service.deployments import transitions
from promptlift.service.deployments.verified_lift import keep_regression_lift
from promptlift.service.store import deployments, events, optimizations, prompts

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.service.deployments.regression_test import Summary
    from promptlift.service.store.tables import AnyRow

_PAYLOAD = ("name", "passed", "delta")


def end(connection: Connection, deployment: AnyRow, summary: Summary, *, now: int) -> None:
    """Keep the result of a test that this process still leases, and deploy or reject the variant."""
    prompt = prompts.find(connection, deployment.account_id, deployment.prompt_id, lock=True)
    deployment = deployments.get(connection, deployment.id)
    if prompt is None or deployment.state != "testing":
        return
    _emit(connection, deployment, summary, now=now)
    values: dict[str, Any] = {
        "regression": summary.document,
        "worker": None,
    }
    optimization = optimizations.get(connection, deployment.optimization_id)
    variant = next(
        one for one in optimizations.variants(connection, optimization.id) if one.id == deployment.variant_id
    )
    if summary.pooled is not None:
        dropped = summary.document["pairs"]["dropped"]
        keep_regression_lift(connection, optimization, variant, summary.pooled, dropped=dropped)
    if not summary.passed:
        deployments.change(connection, deployment, now=now, state="rejected", reason=summary.reason, **values)
        return
    transitions.go_live(
        connection, prompt, optimization, variant, origin="auto", now=now, waiting=deployment, **values
    )


def _emit(connection: Connection, deployment: AnyRow, summary: Summary, *, now: int) -> None:
    document = summary.document
    payload = {
        "optimizationId": deployment.optimization_id,
        "promptId": deployment.prompt_id,
        "variantId": deployment.variant_id,
        "passed": summary.passed,
        "summary": document["summary"],
        "scenarios": [{name: one[name] for name in _PAYLOAD} for one in document["scenarios"]],
    }
    events.write(
        connection,
        [
            events.row(
                "regression_test.completed",
                deployment.account_id,
                deployment.optimization_id,
                payload,
                now=now,
            )
        ],
    )
