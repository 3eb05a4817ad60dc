"""Look at the live texts in production: verdicts, events, rollbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.deployments import current_version, evidence, transitions
from promptlift.service.deployments.findings import judge
from promptlift.service.store import deployments, production, prompts
from promptlift.stats.production import look_number

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind
    from promptlift.service.deployments.evidence import Evidence
    from promptlift.service.deployments.findings import Finding
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow
    from promptlift.service.store.tables.prompts import PromptRow

_EVENTS: dict[str, EventKind] = {
    "verified": "deployment.verified",
    "not_fixed": "deployment.not_fixed",
    "regressed": "deployment.regressed",
}


def due(database: Database, *, prompt_ids: set[str] | None = None) -> list[AnyRow]:
    """Return the live deployments for which enough new conversations were judged for their next look.

    Parameters
    ----------
    prompt_ids
        Look at these only; ``None`` looks at all.
    """
    with database.read() as connection:
        return [
            row
            for row in production.watched(connection)
            if (prompt_ids is None or row.prompt_id in prompt_ids)
            and look_number(evidence.count(connection, row)) > look_number(row.checked)
        ]


def news(database: Database, *, after: int | None) -> tuple[set[str], int]:
    """Return the prompts with insights newer than an event, and the number of the newest event.

    Parameters
    ----------
    after
        ``None`` asks for the number only.
    """
    with database.read() as connection:
        newest = production.last_event(connection)
        if after is None or newest <= after:
            return set(), newest
        return production.prompts_with_news(connection, after=after), newest


def check(database: Database, deployment: AnyRow) -> None:
    """Look at one deployment, and keep what was found with its event in one transaction."""
    with database.read() as connection:
        gathered = evidence.gather(connection, deployment)
    finding = judge(
        gathered.before,
        gathered.after,
        count=gathered.count,
        verification=deployment.verification,
        verified_at=evidence.kept(deployment).get("verifiedAt", 0),
        last_count=deployment.checked,
    )
    with database.write() as connection:
        prompt = prompts.find(connection, deployment.account_id, deployment.prompt_id, lock=True)
        if prompt is not None:
            _keep(connection, deployment, prompt, gathered, finding, now=clock.now())


def _keep(
    connection: Connection,
    deployment: AnyRow,
    prompt: PromptRow,
    gathered: Evidence,
    finding: Finding,
    *,
    now: int,
) -> None:
    # unspecified: harm of a text that a person applied. That person decides; the reason and the metrics say it.
    back = bool(finding.harmed) and deployment.origin == "auto"
    # A text that is taken back has no verdict any more, but one that was verified is told to be regressing.
    news = finding.status != deployment.verification and (not back or finding.status == "regressed")
    document = {**evidence.kept(deployment), "metrics": evidence.metrics_document(finding.metrics)}
    values: dict[str, Any] = {"checked": max(gathered.count, deployment.checked)}
    if finding.reason is not None:
        values["reason"] = finding.reason
    if news:
        values["verification"] = finding.status
        if finding.status == "verified":
            # From here on it is asked whether failures are rising again.
            document["verifiedAt"] = gathered.count
    if back:
        values |= {"state": "rolled_back", "rolled_back_at": now, "reason": f"Rolled back. {finding.reason}"}
        document = {**evidence.figures(connection, deployment), **document}
    values["production"] = document
    # Superseded or judged by another process in the meantime: nothing of this is kept.
    if not deployments.change(connection, deployment, now=now, **values):
        return
    if back:
        _roll_back(connection, deployment, prompt, now=now)
    if news and finding.status in _EVENTS:
        evidence.emit(connection, _EVENTS[finding.status], deployment, prompt, gathered, finding, now=now)


def _roll_back(connection: Connection, deployment: AnyRow, prompt: PromptRow, *, now: int) -> None:
    mine = deployment.account_id, deployment.prompt_id
    before = prompts.version(connection, *mine, deployment.previous_version_seq)
    if before is None or before.content == prompt.content:
        return
    seq = current_version.replace(
        connection,
        prompt,
        before.content,
        origin="rolled_back",
        now=now,
        optimization_id=deployment.optimization_id,
        variant_id=deployment.variant_id,
    )
    earlier = deployments.superseded_version(connection, *mine, before.seq)
    if earlier is not None:
        # It was deployed itself, and is live again.
        reason = "Live again, because the version after it was rolled back"
        transitions.live_again(connection, earlier, seq, now=now, reason=reason)
