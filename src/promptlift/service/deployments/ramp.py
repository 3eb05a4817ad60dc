"""Ramps: give a new text to more and more units while it harms nothing, and take it back as soon as it does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from promptlift.schema.events import Deployment
from promptlift.schema.experiments import RampStep
from promptlift.service import clock
from promptlift.service.background.kind import each
from promptlift.service.deployments.current_version import LivePrompt
from promptlift.service.deployments.findings import worsened
from promptlift.service.deployments.verified_lift import expected_of
from promptlift.service.store import events, optimizations, prompts
from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables.prompts import ExperimentRow, KeptExperiment
from promptlift.service.store.tables.runs import VariantRow

if TYPE_CHECKING:
    from promptlift.service.deployments.experiment_results import AssignedConversations
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.prompts import PromptRow


def look(database: Database) -> None:
    """Look at every running ramp of all accounts, and take the step that is due."""
    with database.read() as connection:
        running = prompts.ramps(connection)
    each("the ramp", running, partial(_look_at, database))


def _look_at(database: Database, seen: ExperimentRow) -> None:
    # Most services never have a ramp.
    from promptlift.service.deployments.experiment_results import AssignedConversations  # noqa: PLC0415
    from promptlift.stats.live import RAMP  # noqa: PLC0415

    with database.read() as connection:
        measured = AssignedConversations.of(connection, seen)
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
            harm = [
                worsened(name, (one := verdict.differences[name]).original.mean, one.new.mean)
                for name in verdict.harmed
            ]
            row.reason = f"Rolled back at {share:.0%} of the units: {'; '.join(harm)}"
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


def _emit(
    rows: Rows, row: ExperimentRow, prompt: PromptRow, measured: AssignedConversations, *, now: int
) -> None:
    """Emit ``deployment.regressed``, with the completion of both versions since the last step."""
    failures = measured.failures(1)
    expected: dict[str, float | None] = {}
    variant = rows.find(wanted(VariantRow, id=row.kept.arms[1].variant_id or ""))
    if variant is not None:
        expected = expected_of(optimizations.get(rows.core, variant.optimization_id), variant.id)
    payload = Deployment(
        agent_id=prompt.id,
        agent_name=prompt.name,
        verification_status="regressed",
        reduction_percent=failures.reduction_percent,
        pre_fix_conversation_count=failures.before_n,
        post_fix_conversation_count=failures.after_n,
        **expected,
    )
    events.add(rows.core, "deployment.regressed", row.account_id, row.id, payload, now=now)
