"""The production evidence for a deployed text: conversations before and after it, and the events about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from promptlift.errors import TranscriptError
from promptlift.schema.transcript import parse_content
from promptlift.service import clock
from promptlift.service.deployments.findings import Finding, Judged, count_issues, issue_id
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.store import accounts, events, production

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind
    from promptlift.service.store.tables import AnyRow

ANSWER_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """Judged conversations on both sides, those nearest to the change first."""

    before: tuple[Judged, ...]
    after: tuple[Judged, ...]


def verified_until(deployment: AnyRow) -> int | None:
    """Start of the last conversation on which a deployment was verified."""
    kept = orjson.loads(deployment.production or "{}").get("verifiedUntil")
    return None if kept is None else int(kept)


def since(deployment: AnyRow) -> int:
    """From when on conversations count for the next check."""
    until = verified_until(deployment) if deployment.verification == "verified" else None
    return int(deployment.applied_at) if until is None else until + 1


def gather(connection: Connection, deployment: AnyRow) -> Evidence:
    """Read the conversations that a check compares.

    For a text that was verified, those on which it was verified are "before".
    """
    middle = since(deployment)
    first = middle == deployment.applied_at
    start = production.start_of_before(connection, deployment) if first else deployment.applied_at
    sides = (
        production.judged(
            connection,
            deployment.account_id,
            deployment.prompt_id,
            since=begin,
            until=end,
            nearest_to_end=end is not None,
        )
        for begin, end in ((start, middle), (middle, None))
    )
    before, after = (tuple(_judged(row) for row in rows) for rows in sides)
    return Evidence(before, after)


def _judged(row: AnyRow) -> Judged:
    issues = [] if row.task_completed else orjson.loads(row.document)["issues"]
    return Judged(
        row.id,
        row.started_at,
        row.task_completed,
        row.sentiment_score,
        issues[0]["title"] if issues else None,
    )


def figures(connection: Connection, deployment: AnyRow) -> dict[str, Any]:
    """Task completion in production before and after, in percent."""
    sides = (
        (production.start_of_before(connection, deployment), deployment.applied_at, True),
        (deployment.applied_at, None, False),
    )
    (before, done_before), (after, done_after) = (
        production.figures(
            connection,
            deployment.account_id,
            deployment.prompt_id,
            since=start,
            until=end,
            nearest_to_end=nearest,
        )
        for start, end, nearest in sides
    )
    return {
        "since": clock.iso(deployment.applied_at),
        "conversations": after,
        "completedRate": 100.0 * done_after / after if after else None,
        "conversationsBefore": before,
        "completedRateBefore": 100.0 * done_before / before if before else None,
    }


def emit(
    connection: Connection,
    kind: EventKind,
    deployment: AnyRow,
    prompt: AnyRow,
    evidence: Evidence,
    finding: Finding | None,
    *,
    now: int,
) -> None:
    """Write the event of a verdict.

    Parameters
    ----------
    finding
        ``None`` for ``deployment.confounded``, which has no reduction.
    """
    issues = count_issues(evidence.before, evidence.after) if finding is None else finding.issues
    payload: dict[str, Any] = {
        "agentId": prompt.id,
        "agentName": prompt.name,
        "verificationStatus": kind.partition(".")[2],
        "postFixConversationCount": len(evidence.after),
        "issues": [
            {
                "issueId": issue_id(row.issue),
                "title": row.issue,
                "beforeFailCount": row.before_fail,
                "afterFailCount": row.after_fail,
            }
            for row in issues
        ],
        "answerComparison": _answers(
            connection, deployment.account_id, evidence, issues[0].issue, good=kind == "deployment.verified"
        ),
    }
    if finding is not None:
        payload["reductionPercent"] = finding.reduction_percent
    events.write(connection, [events.row(kind, deployment.account_id, deployment.id, payload, now=now)])


def _answers(
    connection: Connection, account_id: str, evidence: Evidence, title: str, *, good: bool
) -> dict[str, str]:
    """Return the last answer of a failed conversation before, and one from after that shows the verdict."""
    # unspecified: which answers are compared.
    settings = accounts.settings(connection, account_id)
    exclusions = read_exclusions(settings["general"]["excludedDataAndTopics"])
    before = _example(
        evidence.before,
        lambda one: not one.completed and one.issue == title,
        lambda one: not one.completed,
    )
    if good:
        after = _example(evidence.after, lambda one: one.completed)
    else:
        after = _example(
            evidence.after,
            lambda one: not one.completed and one.issue == title,
            lambda one: not one.completed,
        )
    return {
        name: "" if one is None else exclusions.clean(_last_answer(connection, one.conversation_id))
        for name, one in (("before", before), ("after", after))
    }


def _example(side: Sequence[Judged], *wanted: Callable[[Judged], bool]) -> Judged | None:
    """Return the first conversation that fits the first condition, else the next condition, else any."""
    for fits in wanted:
        found = next((one for one in side if fits(one)), None)
        if found is not None:
            return found
    return side[0] if side else None


def _last_answer(connection: Connection, conversation_id: str) -> str:
    try:
        content = production.content(connection, conversation_id).decode("utf-8", "replace")
        messages = parse_content(content).messages
    except TranscriptError:
        return ""
    said = next((message.content for message in reversed(messages) if message.role == "assistant"), "")
    return said if len(said) <= ANSWER_CHARS else f"{said[: ANSWER_CHARS - 1]}…"
