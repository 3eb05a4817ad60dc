"""Ramps: give a new text to more and more units while it harms nothing, and take it back as soon as it does."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from promptlift.schema.events import Deployment
from promptlift.schema.experiments import RampStep
from promptlift.service import clock
from promptlift.service.deployments.current_version import LivePrompt
from promptlift.service.deployments.findings import worsened
from promptlift.service.deployments.verified_lift import expected_of
from promptlift.service.store import SQLAlchemyError, events, optimizations, prompts
from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables.prompts import ExperimentRow, KeptExperiment
from promptlift.service.store.tables.runs import VariantRow

if TYPE_CHECKING:
    from promptlift.service.deployments.experiment_results import AssignedConversations
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.prompts import PromptRow
    from promptlift.stats.live import RampVerdict

_LOG = logging.getLogger(__name__)


def look(database: Database) -> None:
    """Look at every running ramp of all accounts, and take the step that is due."""
    with database.read() as connection:
        running = prompts.ramps(connection)
    for row in running:
        try:
            _look_at(database, row)
        except SQLAlchemyError:
            raise
        except Exception:  # noqa: BLE001 - logged
            # A defect in one ramp must not block the others.
            _LOG.exception("the ramp %s could not be looked at", row.id)


def _look_at(database: Database, seen: ExperimentRow) -> None:
    # Most services never have a ramp.
    from promptlift.service.deployments.experiment_results import AssignedConversations  # noqa: PLC0415
    from promptlift.stats.live import RAMP  # noqa: PLC0415

    with database.read() as connection:
        measured = AssignedConversations(connection, seen)
    verdict = measured.guardrails(1)
    # Where units of one arm are lost or added, "no harm" cannot be trusted.
    if verdict.action == "wait" or (verdict.action == "on" and measured.sample_ratio.is_off):
        return
    now, share = clock.now(), seen.kept.arms[1].weight
    with database.write() as connection, Rows(connection) as rows:
        prompt = prompts.find(connection, seen.account_id, seen.prompt_id, lock=True)
        row = rows.find(wanted(ExperimentRow, id=seen.id, status="running"))
        # Ended, or looked at by another process, in the meantime.
        if prompt is None or row is None or row.kept != seen.kept:
            return
        if verdict.action == "back":
            row.status, row.ended_at = "rolled_back", clock.to_datetime(now)
            row.reason = f"Rolled back at {share:.0%} of the units: {_harm(measured, verdict)}"
            _emit(rows, row, prompt, measured, now=now)
        elif (following := RAMP[RAMP.index(share) + 1]) < 1.0:
            old, new = row.kept.arms
            arms = [
                old.model_copy(update={"weight": 1.0 - following}),
                new.model_copy(update={"weight": following}),
            ]
            step = RampStep(share=following, since=clock.to_datetime(now))
            row.kept = KeptExperiment(arms=arms, ramp=[*(row.kept.ramp or ()), step])
        else:
            LivePrompt(connection, prompt, now=now).apply_arm(rows, row, 1, note="The ramp is at its end")
        rows.flush()


def _harm(measured: AssignedConversations, verdict: RampVerdict) -> str:
    said = []
    for name in verdict.harmed:
        originals = [old for _, old in measured.pairs(measured.metrics[name], 1)]
        was = sum(old.total for old in originals) / sum(old.n for old in originals)
        said.append(worsened(name, was, was + (verdict.differences[name].estimate or 0.0)))
    return "; ".join(said)


def _emit(
    rows: Rows, row: ExperimentRow, prompt: PromptRow, measured: AssignedConversations, *, now: int
) -> None:
    """Emit ``deployment.regressed``, with the completion of both versions since the start."""
    (before, failed_before), (after, failed_after) = (measured.failures(arm) for arm in (0, 1))
    variant = (
        rows.find(wanted(VariantRow, id=row.kept.arms[1].variant_id)) if row.kept.arms[1].variant_id else None
    )
    expected = {}
    if variant is not None:
        expected = expected_of(optimizations.get(rows.core, variant.optimization_id), variant.id)
    payload = Deployment(
        agent_id=prompt.id,
        agent_name=prompt.name,
        verification_status="regressed",
        reduction_percent=100.0 * (1.0 - failed_after / after / ((failed_before or 0.5) / before))
        if before and after
        else 0.0,
        pre_fix_conversation_count=before,
        post_fix_conversation_count=after,
        **expected,
    )
    events.add(rows.core, "deployment.regressed", row.account_id, row.id, payload, now=now)
