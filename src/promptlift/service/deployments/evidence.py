"""The production evidence for a deployed text: conversations before and after it, and the events about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.errors import TranscriptError
from promptlift.schema.deployments import ProductionCheck, ProductionMetric
from promptlift.schema.events import AnswerComparison, Deployment, DeploymentIssue
from promptlift.schema.transcript import parse_content
from promptlift.service import clock
from promptlift.service.deployments.findings import Finding, all_failures, count_issues, issue_id
from promptlift.service.deployments.verified_lift import expected_of
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.issue_groups import group_titles
from promptlift.service.store import accounts, aggregates, deployments, events, optimizations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind
    from promptlift.service.insights.exclusions import Exclusions
    from promptlift.service.store.deployments import JudgedConversation
    from promptlift.service.store.tables.prompts import PromptRow
    from promptlift.service.store.tables.runs import DeploymentRow
    from promptlift.stats.production import MetricChange, MetricName

ANSWER_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """Judged conversations on both sides, oldest first.

    Attributes
    ----------
    count
        Number of all conversations after the change, including those too old to be in ``after``.
    """

    before: Sequence[JudgedConversation]
    after: Sequence[JudgedConversation]
    count: int


def count(connection: Connection, deployment: DeploymentRow) -> int:
    """Count the judged conversations after a change."""
    mine = deployment.account_id, deployment.prompt_id
    return aggregates.totals(connection, *mine, since=deployment.live_since).judged


def gather(connection: Connection, deployment: DeploymentRow) -> Evidence:
    """Read the conversations that an analysis compares, with their issues grouped as in the views of a prompt.

    A group is named by a title from before the change where it has one: these conversations stay, so the group
    has the same id in every analysis.
    """
    exclusions = _exclusions(connection, deployment.account_id)
    before, after = deployments.judged(connection, deployment, excluded=exclusions.found_in)
    counts = Counter({one.issue: 0 for one in after if one.issue is not None})
    counts.update(one.issue for one in before if one.issue is not None)
    groups = group_titles(counts, known=aggregates.names_of_issues(connection, deployment.account_id))
    names = {title: None if exclusions.found_in(name) else name for title, name in groups.items()}
    before, after = (
        [one._replace(issue=one.issue and names[one.issue]) for one in side] for side in (before, after)
    )
    return Evidence(before, after, count(connection, deployment))


def _exclusions(connection: Connection, account_id: str) -> Exclusions:
    """Return the exclusions that apply now: insights may be older than the setting."""
    return read_exclusions(accounts.settings(connection, account_id)["general"]["excludedDataAndTopics"])


def shown_metrics(metrics: Sequence[MetricChange]) -> list[ProductionMetric]:
    """Return the production metrics of an analysis in their API form, with shares in percent."""
    return [
        ProductionMetric(
            metric=change.metric,
            before=_in_unit(change.metric, change.before),
            after=_in_unit(change.metric, change.after),
            conversations_before=change.n_before,
            conversations=change.n_after,
            p=change.p,
            level=change.level,
            regressed=change.is_harm,
        )
        for change in metrics
    ]


def _in_unit(metric: MetricName, value: float | None) -> float | None:
    share = metric in ("task_completion", "abandonment")
    return 100.0 * value if share and value is not None else value


def figures(connection: Connection, deployment: DeploymentRow) -> ProductionCheck:
    """Return the current figures from production: task completion before and after in percent."""
    (before, done_before), (after, done_after) = deployments.figures(connection, deployment)
    return ProductionCheck(
        since=clock.to_datetime(deployment.live_since),
        conversations=after,
        completed_rate=100.0 * done_after / after if after else None,
        conversations_before=before,
        completed_rate_before=100.0 * done_before / before if before else None,
        # As of the last analysis.
        metrics=deployment.kept.metrics,
    )


def emit(
    connection: Connection,
    kind: EventKind,
    deployment: DeploymentRow,
    prompt: PromptRow,
    evidence: Evidence,
    finding: Finding | None,
    *,
    now: int,
) -> None:
    """Emit the event of a verdict.

    Parameters
    ----------
    finding
        ``None`` for ``deployment.confounded``, which has no reduction.
    """
    after = evidence.after if finding is None else finding.after
    issues = count_issues(evidence.before, after) if finding is None else finding.issues
    failures = all_failures(issues)
    payload = Deployment(
        agent_id=prompt.id,
        agent_name=prompt.name,
        verification_status=kind.partition(".")[2],
        # The conversations in which failures were counted: for a regressed text, the newest.
        post_fix_conversation_count=failures.after_n,
        pre_fix_conversation_count=failures.before_n,
        issues=[
            DeploymentIssue(
                issue_id=issue_id(title),
                title=title,
                before_fail_count=one.before_fail,
                after_fail_count=one.after_fail,
            )
            for title, one in issues.items()
        ],
        answer_comparison=_answers(
            connection,
            deployment.account_id,
            evidence.before[::-1],  # those nearest to the change first
            after,
            next(iter(issues)),
            good=kind == "deployment.verified",
        ),
        **expected_of(optimizations.get(connection, deployment.optimization_id), deployment.variant_id),
    )
    if finding is not None:
        payload.reduction_percent = failures.reduction_percent
    events.add(connection, kind, deployment.account_id, deployment.id, payload, now=now)


def _answers(
    connection: Connection,
    account_id: str,
    before_side: Sequence[JudgedConversation],
    after_side: Sequence[JudgedConversation],
    title: str,
    *,
    good: bool,
) -> AnswerComparison:
    """Return the last answer of a failed conversation before the change, and an answer after it that illustrates the verdict."""
    # unspecified: which answers are compared.
    exclusions = _exclusions(connection, account_id)
    failed = (lambda one: not one.task_completion and one.issue == title, lambda one: not one.task_completion)
    shows_verdict = (lambda one: one.task_completion,) if good else failed
    before, after = (
        "" if one is None else exclusions.clean(_last_answer(connection, one.id))
        for one in (_example(before_side, *failed), _example(after_side, *shows_verdict))
    )
    return AnswerComparison(before=before, after=after)


def _example(
    side: Sequence[JudgedConversation], *wanted: Callable[[JudgedConversation], bool]
) -> JudgedConversation | None:
    """Return the first conversation that meets the first condition, or else the next condition, or else any."""
    for fits in wanted:
        found = next((one for one in side if fits(one)), None)
        if found is not None:
            return found
    return side[0] if side else None


def _last_answer(connection: Connection, conversation_id: str) -> str:
    try:
        content = deployments.content(connection, conversation_id).decode("utf-8", "replace")
        messages = parse_content(content).messages
    except TranscriptError:
        return ""
    said = next((message.content for message in reversed(messages) if message.role == "assistant"), "")
    return said if len(said) <= ANSWER_CHARS else f"{said[: ANSWER_CHARS - 1]}…"
