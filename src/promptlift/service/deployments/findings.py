"""Judge a deployed text by logged conversations: verified, not fixed, regressed, or nothing yet.

Checks are due at 30, 60 and 120 judged conversations after the change. At each of them first the production metrics are
looked at: did task completion or sentiment fall? Two one-sided tests (Fisher's exact one for completion, Mann and
Whitney's for sentiment), adjusted by Holm, against the level of that look, so that over the three checks together a text
that harms nothing is held to be harmful in at most 5 % of cases. A drop of sentiment must also exceed the margin of the
guardrails: over many conversations a tiny one would be significant. Then failures are compared as
`promptlift.stats.deployment.deployment_verdict` does.

Each failed conversation counts under one issue, its worst; those whose issue was not seen before the change count
under "Other failures". So the issues together are all failures, whatever words a judge finds for them.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from promptlift.stats.deployment import CHECKPOINTS, IssueCounts, checkpoint, deployment_verdict
from promptlift.stats.guardrail import GUARDRAIL_MARGINS
from promptlift.stats.holm import holm
from promptlift.stats.looks import look_multipliers
from promptlift.stats.sentiment import score_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.stats.deployment import DeploymentStatus

__all__ = ["OTHER", "Finding", "Judged", "MetricDrop", "count_issues", "issue_id", "judge", "metric_drops"]

OTHER = "Other failures"
ISSUES_NAMED = 10


class Judged(NamedTuple):
    """One logged conversation as its insights see it; ``issue`` is the worst one of a failed conversation."""

    conversation_id: str
    started_at: int
    completed: bool
    sentiment: float
    issue: str | None


@dataclass(frozen=True, slots=True)
class MetricDrop:
    """One production metric that fell.

    Attributes
    ----------
    name
        ``task completion`` or ``sentiment``.
    before, after
        Its value: a fraction for completion, a mean score for sentiment.
    p
        One-sided, adjusted over the metrics.
    level
        What ``p`` must be below at this check.
    """

    name: str
    before: float
    after: float
    p: float
    level: float

    @property
    def is_harm(self) -> bool:
        """Whether it fell significantly, and by enough to matter."""
        enough = self.name != "sentiment" or self.after - self.before < GUARDRAIL_MARGINS["sentiment"]
        return self.after < self.before and self.p < self.level and enough


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    Attributes
    ----------
    reduction_percent
        Of all failures together; ``None`` without failures before.
    issues
        Failures before and after by issue.
    reason
        Why, in words and numbers; ``None`` while pending.
    harmed
        Whether a production metric fell, so that a version that was deployed automatically is rolled back.
    """

    status: DeploymentStatus
    reduction_percent: float | None
    issues: tuple[IssueCounts, ...]
    reason: str | None
    harmed: bool = False


def issue_id(title: str) -> str:
    """Return the id of an issue: the same title always has the same id."""
    return f"iss_{hashlib.sha256(title.casefold().encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def count_issues(before: Sequence[Judged], after: Sequence[Judged]) -> tuple[IssueCounts, ...]:
    """Count failed conversations by issue, the most frequent before first; the rest under `OTHER`."""
    failed_before = Counter(one.issue or OTHER for one in before if not one.completed)
    ordered = sorted(failed_before.items(), key=lambda pair: (pair[0] == OTHER, -pair[1], pair[0]))
    named = [title for title, _ in ordered if title != OTHER][:ISSUES_NAMED]
    failed_after = Counter(one.issue if one.issue in named else OTHER for one in after if not one.completed)
    rows = [
        IssueCounts(title, failed_before[title], len(before), failed_after[title], len(after))
        for title in named
    ]
    other = sum(failed_before.values()) - sum(row.before_fail for row in rows)
    if other or failed_after[OTHER] or not rows:
        rows.append(IssueCounts(OTHER, other, len(before), failed_after[OTHER], len(after)))
    return tuple(rows)


def metric_drops(before: Sequence[Judged], after: Sequence[Judged], *, check: int) -> tuple[MetricDrop, ...]:
    """Test whether task completion and sentiment fell; nothing without conversations on both sides."""
    if not before or not after:
        return ()
    done = [sum(one.completed for one in side) for side in (before, after)]
    scores = [[one.sentiment for one in side] for side in (before, after)]
    sentiment = score_test(scores[1], scores[0])
    fell = (sentiment.cliffs_delta or 0.0) < 0.0
    raw = (
        _fewer_p(done[1], len(after), done[0], len(before)),
        sentiment.p / 2.0 if fell else 1.0 - sentiment.p / 2.0,
    )
    adjusted = holm(raw)
    level = 0.5 * math.erfc(look_multipliers(len(CHECKPOINTS))[check - 1] / math.sqrt(2.0))
    values = (
        ("task completion", done[0] / len(before), done[1] / len(after)),
        ("sentiment", sum(scores[0]) / len(before), sum(scores[1]) / len(after)),
    )
    return tuple(
        MetricDrop(name, was, now, float(p), level)
        for (name, was, now), p in zip(values, adjusted, strict=True)
    )


def _fewer_p(x1: int, n1: int, x0: int, n0: int) -> float:
    """Return Fisher's exact one-sided p-value that the first group completes less."""
    done, whole = x1 + x0, math.comb(n1 + n0, x1 + x0)
    ways = sum(math.comb(n1, x) * math.comb(n0, done - x) for x in range(max(0, done - n0), x1 + 1))
    return ways / whole


def judge(before: Sequence[Judged], after: Sequence[Judged], *, verified: bool) -> Finding:
    """Judge the current version.

    Parameters
    ----------
    before, after
        Conversations before and after the change; for a text that was verified, those on which it was verified and the
        later ones.
    verified
        Ask whether a verified text is getting worse again.
    """
    issues = count_issues(before, after)
    check = checkpoint(len(after))
    if check is None or not before:
        return Finding("pending", _percent(issues), issues, None)
    if not verified:
        drops = [drop for drop in metric_drops(before, after, check=check) if drop.is_harm]
        if drops:
            words = "; ".join(_said(drop, len(before), len(after)) for drop in drops)
            reason = f"Worse in production since the change: {words}"
            return Finding("regressed", _percent(issues), issues, reason, harmed=True)
    failures = sum(row.before_fail for row in issues)
    verdict = deployment_verdict(
        issues,
        previously_verified=verified,
        # unspecified: the deadline. The last check, where there was something to fix.
        deadline_passed=check == len(CHECKPOINTS) and failures > 0,
    )
    is_news = verdict.status != ("verified" if verified else "pending")
    return Finding(
        verdict.status, _percent(issues), issues, _why(verdict.status, issues) if is_news else None
    )


def _percent(issues: Sequence[IssueCounts]) -> float | None:
    before, after = sum(row.before_fail for row in issues), sum(row.after_fail for row in issues)
    n0, n1 = issues[0].before_n, issues[0].after_n
    return 100.0 * (1.0 - (after / n1) / (before / n0)) if before and n1 else None


def _said(drop: MetricDrop, n0: int, n1: int) -> str:
    if drop.name == "sentiment":
        values = f"from {drop.before:+.2f} to {drop.after:+.2f}"
    else:
        values = f"from {100 * drop.before:.1f} % to {100 * drop.after:.1f} %"
    return f"{drop.name} fell {values} ({n0} conversations before, {n1} after, p = {drop.p:.4f})"


def _why(status: DeploymentStatus, issues: Sequence[IssueCounts]) -> str:
    before, after = sum(row.before_fail for row in issues), sum(row.after_fail for row in issues)
    n0, n1 = issues[0].before_n, issues[0].after_n
    counts = f"{before} of {n0} conversations failed before, {after} of {n1} after"
    said = {
        "verified": "Failures fell by more than half",
        "not_fixed": "Failures did not fall by half",
        "regressed": "Failures are rising again",
    }
    return f"{said.get(status, status)}: {counts}"
