"""Monitor the live texts in production: verdicts, events, rollbacks."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from promptlift.service import clock
from promptlift.service.background.kind import SingletonJob, each
from promptlift.service.deployments import evidence, ramp
from promptlift.service.deployments.current_version import LivePrompt
from promptlift.service.deployments.findings import judge
from promptlift.service.store import deployments, prompts
from promptlift.service.store.events import NewInsights
from promptlift.stats.production import look_number

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind
    from promptlift.service.deployments.evidence import Evidence
    from promptlift.service.deployments.findings import Finding
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.prompts import PromptRow
    from promptlift.service.store.tables.runs import DeploymentRow
    from promptlift.stats.deployment import DeploymentStatus

LOOK_SECONDS = 2.0
LOOK_EVERYWHERE_SECONDS = 60.0
_EVENTS: dict[str, EventKind] = {
    "verified": "deployment.verified",
    "not_fixed": "deployment.not_fixed",
    "regressed": "deployment.regressed",
}


def due(database: Database, *, prompt_ids: Collection[str] | None = None) -> list[DeploymentRow]:
    """Return the live deployments with enough newly judged conversations for their next look.

    Parameters
    ----------
    prompt_ids
        Prompts to look at; ``None`` for all.
    """
    with database.read() as connection:
        return [
            row
            for row in deployments.watched(connection)
            if (prompt_ids is None or row.prompt_id in prompt_ids)
            and look_number(evidence.count(connection, row)) > look_number(row.checked)
        ]


def check(database: Database, deployment: DeploymentRow) -> None:
    """Look at one deployment, and store the finding with its event in one transaction."""
    with database.read() as connection:
        gathered = evidence.gather(connection, deployment)
    finding = judge(
        gathered.before,
        gathered.after,
        count=gathered.count,
        verification=cast("DeploymentStatus", deployment.verification),
        verified_at=deployment.kept.verified_at,
        last_count=deployment.checked,
    )
    with database.write() as connection:
        prompt = prompts.find(connection, deployment.account_id, deployment.prompt_id, lock=True)
        if prompt is not None:
            _keep(connection, deployment, prompt, gathered, finding, now=clock.now())


def _keep(
    connection: Connection,
    deployment: DeploymentRow,
    prompt: PromptRow,
    gathered: Evidence,
    finding: Finding,
    *,
    now: int,
) -> None:
    # unspecified: harm of a text that a person applied. The person decides; the reason and the metrics report
    # it.
    back = bool(finding.harmed) and deployment.origin == "auto"
    # A rolled back text no longer has a verdict, but a verified one is reported as regressing.
    news = finding.status != deployment.verification and (not back or finding.status == "regressed")
    kept = deployment.kept.model_copy(update={"metrics": evidence.shown_metrics(finding.metrics)})
    values: dict[str, Any] = {"checked": max(gathered.count, deployment.checked)}
    if finding.reason is not None:
        values["reason"] = finding.reason
    if news:
        values["verification"] = finding.status
        if finding.status == "verified":
            # From now on, looks test whether failures are rising again.
            kept.verified_at = gathered.count
    if back:
        values |= {"state": "rolled_back", "rolled_back_at": now, "reason": f"Rolled back. {finding.reason}"}
        figures = dict(evidence.figures(connection, deployment))
        kept = kept.model_copy(
            update={name: figures[name] for name in figures.keys() - kept.model_fields_set}
        )
    values["production"] = kept
    # Superseded or judged by another process in the meantime: discard this finding.
    if not deployments.change(connection, deployment, now=now, **values):
        return
    if back:
        _roll_back(connection, deployment, prompt, now=now)
    if news and finding.status in _EVENTS:
        evidence.emit(connection, _EVENTS[finding.status], deployment, prompt, gathered, finding, now=now)


def _roll_back(connection: Connection, deployment: DeploymentRow, prompt: PromptRow, *, now: int) -> None:
    before = deployments.version_before(connection, deployment)
    if before is None or before.content == prompt.content:
        return
    live = LivePrompt(connection, prompt, now=now)
    seq = live.replace(
        before.content,
        origin="rolled_back",
        optimization_id=deployment.optimization_id,
        variant_id=deployment.variant_id,
    )
    earlier = deployments.superseded_version(connection, before)
    if earlier is not None:
        # The restored text had been deployed itself, and is live again.
        live.live_again(earlier, seq, reason="Live again, because the version after it was rolled back")


def look(database: Database, prompt_ids: Collection[str] | None = None) -> None:
    """Look at the live deployments that are due, of some prompts, or of all."""
    each("the deployment", due(database, prompt_ids=prompt_ids), partial(check, database))


class ProductionWatch(SingletonJob):
    """Check live versions whenever enough of their new conversations have been judged, and ramps every minute.

    Parameters
    ----------
    database
        The database with deployments and insights.
    """

    def __init__(self, database: Database) -> None:
        super().__init__("watch_deployments", self._look, every_seconds=LOOK_SECONDS, news_in="insights")
        self._database = database
        self._new_insights = NewInsights(database, from_now=True)
        self._everywhere_at = 0.0

    def _look(self) -> None:
        if not self.has_news():
            return
        # All periodically: another process's event may have a lower number and be committed later.
        everywhere = time.monotonic() >= self._everywhere_at
        if everywhere:
            ramp.look(self._database)
            self._everywhere_at = time.monotonic() + LOOK_EVERYWHERE_SECONDS
        with self._new_insights.taken() as found:
            look(self._database, None if everywhere else {prompt_id for _, prompt_id in found})
