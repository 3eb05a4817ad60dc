"""Check the current version against production: a verdict, an event, a rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptlift.service import clock
from promptlift.service.deployments import current_version, evidence
from promptlift.service.deployments.findings import judge
from promptlift.service.store import deployments, production, prompts
from promptlift.stats.deployment import CHECKPOINTS, checkpoint

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind
    from promptlift.service.deployments.evidence import Evidence
    from promptlift.service.deployments.findings import Finding
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

_EVENTS: dict[str, EventKind] = {
    "verified": "deployment.verified",
    "not_fixed": "deployment.not_fixed",
    "regressed": "deployment.regressed",
}


def due(database: Database, *, prompt_ids: set[str] | None = None) -> list[AnyRow]:
    """Return the live deployments for which enough new conversations were judged for their next check.

    Parameters
    ----------
    prompt_ids
        Look at these only; ``None`` looks at all.
    """
    with database.read() as connection:
        return [
            row
            for row in production.watched(connection, below=CHECKPOINTS[-1])
            if (prompt_ids is None or row.prompt_id in prompt_ids)
            and (checkpoint(_new(connection, row)) or 0) > (checkpoint(row.checked) or 0)
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


def _new(connection: Connection, row: AnyRow) -> int:
    return production.count(
        connection,
        row.account_id,
        row.prompt_id,
        since=evidence.since(row),
        most=CHECKPOINTS[-1],
    )


def check(database: Database, deployment: AnyRow) -> None:
    """Check one deployment, and keep what was found with its event in one transaction."""
    with database.read() as connection:
        gathered = evidence.gather(connection, deployment)
    finding = judge(gathered.before, gathered.after, verified=deployment.verification == "verified")
    with database.write() as connection:
        prompt = prompts.find(connection, deployment.account_id, deployment.prompt_id, lock=True)
        if prompt is not None:
            _keep(connection, deployment, prompt, gathered, finding, now=clock.now())


def _keep(
    connection: Connection,
    deployment: AnyRow,
    prompt: AnyRow,
    gathered: Evidence,
    finding: Finding,
    *,
    now: int,
) -> None:
    values: dict[str, Any] = {"checked": len(gathered.after)}
    news = finding.status != deployment.verification and finding.status in _EVENTS
    if news:
        values |= {"verification": finding.status, "reason": finding.reason}
    if news and finding.status == "verified":
        last = max(one.started_at for one in gathered.after)
        # From here on it is asked whether it gets worse again, with checks of their own.
        values |= {"checked": 0, "production": orjson.dumps({"verifiedUntil": last}).decode()}
    # unspecified: a regression of a text that a person applied. That person decides; the event informs them.
    back = finding.harmed and deployment.origin == "auto"
    if back:
        values |= {
            "state": "rolled_back",
            "rolled_back_at": now,
            "production": orjson.dumps(evidence.figures(connection, deployment)).decode(),
            "reason": f"Rolled back. {finding.reason}",
        }
    # Superseded or judged by another process in the meantime: nothing of this is kept.
    if not deployments.change(connection, deployment, now=now, **values):
        return
    if back:
        _roll_back(connection, deployment, prompt, now=now)
    if news:
        evidence.emit(connection, _EVENTS[finding.status], deployment, prompt, gathered, finding, now=now)


def _roll_back(connection: Connection, deployment: AnyRow, prompt: AnyRow, *, now: int) -> None:
    before = prompts.version(
        connection, deployment.account_id, deployment.prompt_id, deployment.previous_version_seq
    )
    if before is not None and before.content != prompt.content:
        current_version.replace(
            connection,
            prompt,
            before.content,
            origin="rolled_back",
            now=now,
            optimization_id=deployment.optimization_id,
            variant_id=deployment.variant_id,
        )
