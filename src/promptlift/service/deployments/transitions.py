"""The transitions of a winner: staged, tested, live or rejected, according to the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from promptlift.schema.deployments import ProductionCheck, VariantDeployment
from promptlift.service import clock
from promptlift.service.deployments import evidence
from promptlift.service.deployments.current_version import LivePrompt, version_id
from promptlift.service.store import deployments, optimizations, prompts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from promptlift.service.store.tables.runs import DeploymentRow, OptimizationRow, VariantRow


class _Plan(NamedTuple):
    """The first state of a winner's deployment, its origin if it goes live, and the reason for a rejection or a remark."""

    state: str
    origin: str
    reason: str | None = None


_NO_PROOF = "A rehearsal proves nothing about a real prompt"
_STAGED = _Plan("staged", "approval")
_STAGED_REHEARSAL = _STAGED._replace(
    reason=f"{_NO_PROOF}; its winner goes live only if a person accepts that"
)
_REHEARSED = _Plan("rejected", "auto", f"{_NO_PROOF}, so its winner is never deployed automatically")
_CHANGED = _Plan(
    "rejected",
    "auto",
    "The prompt was changed while the optimization ran: the winner was compared with a version that is no longer current",
)


def tests_before_deploying(settings: Mapping[str, Any], *, rehearsal: bool) -> bool:
    """Return whether the settings require a regression test before a winner is deployed automatically."""
    automatic = settings.get("autoDeploy") or {}
    return not rehearsal and bool(automatic.get("enabled") and automatic.get("requireRegressionPass", True))


def _plan(optimization: OptimizationRow, *, unchanged: bool) -> _Plan | None:
    """Decide what happens to a winner right after its optimization; ``None`` for nothing.

    A rehearsed winner is never deployed automatically. It may be staged: only a person who accepts that it was a rehearsal
    can approve it.

    Parameters
    ----------
    unchanged
        Whether the text with which the winner was compared is still live.
    """
    settings, rehearsal = optimization.settings, optimization.rehearsal
    waiting = _STAGED_REHEARSAL if rehearsal else _STAGED
    staged = waiting if settings.get("deploymentMode") == "semi-automatic" else None
    # unspecified: deploymentMode when autoDeploy is on. autoDeploy takes precedence, or it would do nothing
    # in the default mode "manual"; so it does in "semi-automatic" too. "semi-automatic" asks a person only if
    # nothing may go live automatically.
    if not (settings.get("autoDeploy") or {}).get("enabled"):
        return staged
    if rehearsal:
        return staged or _REHEARSED
    if not unchanged:
        return staged or _CHANGED
    return _Plan("testing" if tests_before_deploying(settings, rehearsal=rehearsal) else "live", "auto")


def on_completed(
    connection: Connection, optimization: OptimizationRow, *, winner: VariantRow | None, now: int
) -> None:
    """Start the deployment of a winner as the settings require, in the transaction that completes the optimization."""
    if winner is None:
        return
    prompt = prompts.find(connection, optimization.account_id, optimization.prompt_id, lock=True)
    if prompt is None:
        return
    original = optimizations.variants(connection, optimization.id)[0]
    plan = _plan(optimization, unchanged=prompt.content == original.content)
    if plan is None:
        return
    if plan.state == "live":
        LivePrompt(connection, prompt, now=now).go_live(optimization, winner, origin="auto")
        return
    deployments.add(connection, optimization, winner.id, now=now, **plan._asdict())


def shown(connection: Connection, optimization_id: str) -> VariantDeployment | None:
    """Return the live deployment of an optimization, or else its newest, in its API form; ``None`` if there is none."""
    rows = deployments.of_optimization(connection, optimization_id)
    if not rows:
        return None
    row = rows[0]
    return row.shown(
        VariantDeployment,
        applied_at=None if row.applied_at is None else clock.to_datetime(row.applied_at),
        version_id=version_id(row.version_seq),
        previous_version_id=version_id(row.previous_version_seq),
        regression_test=row.regression,
        production=_production(connection, row),
        rolled_back_at=None if row.rolled_back_at is None else clock.to_datetime(row.rolled_back_at),
    )


def _production(connection: Connection, row: DeploymentRow) -> ProductionCheck | None:
    """Return the current figures while the version is live; afterwards its last figures."""
    if row.state == "live":
        return evidence.figures(connection, row)
    shown = row.kept.model_fields_set & ProductionCheck.model_fields.keys()
    return ProductionCheck(**{name: getattr(row.kept, name) for name in shown}) if shown else None
