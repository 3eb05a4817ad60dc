"""Judge a deployed text by logged conversations: harmful, verified, not fixed, regressed, or nothing yet.

Two questions are asked while the text is live, as judged conversations arrive.

*Does it do harm?* At every look (`promptlift.stats.production`) six production metrics are compared with
those of the previous text: task completion, sentiment, quality, abandonment, response time and length. Over
all looks together, a harmless text is declared harmful in at most 4 % of cases.

*Did it fix what failed?* At 30, 60 and 120 conversations, and at every doubling while there is no verdict,
failures are compared with those before, as `promptlift.stats.deployment.deployment_verdict` does. Once the
fix is verified, every later look tests whether failures are rising again, compared with earlier conversations
of the same text.

Each failed conversation counts under one issue, its worst; titles that mean the same are one issue, as in the
views of a prompt. Those whose issue was not seen before the change count under "Other failures". So the
issues together comprise all failures, however a judge phrases them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from promptlift.stats.deployment import CHECKPOINTS, IssueCounts, check_number, deployment_verdict
from promptlift.stats.production import look_level, look_number, metric_changes, windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from promptlift.stats.deployment import DeploymentStatus
    from promptlift.stats.production import MetricChange, MetricName

__all__ = ["OTHER", "Finding", "JudgedPeriod", "count_issues", "issue_id", "judge"]

OTHER = "Other failures"
ISSUES_NAMED = 10
# A verified fix is compared with at least this many of its own earlier conversations.
_FEWEST_EARLIER = CHECKPOINTS[0]

_SAID = {
    "task_completion": ("task completion fell", "{:.1f} %"),
    "sentiment": ("sentiment fell", "{:+.2f}"),
    "quality": ("quality fell", "{:.1f}"),
    "abandonment": ("abandonment rose", "{:.1f} %"),
    "response_time": ("response time rose", "{:.1f} s"),
    "length": ("length rose", "{:.1f} messages"),
}


class JudgedPeriod(NamedTuple):
    """One logged conversation according to its insights; ``issue`` is the group of the worst issue of a failed conversation."""

    conversation_id: str
    started_at: int
    completed: bool
    sentiment: float
    issue: str | None
    quality: float | None = None
    abandoned: bool = False
    response_seconds: float | None = None
    messages: int | None = None
    analyser: str | None = None


_FIELDS: dict[MetricName, str] = {
    "task_completion": "completed",
    "sentiment": "sentiment",
    "quality": "quality",
    "abandonment": "abandoned",
    "response_time": "response_seconds",
    "length": "messages",
}
# Values from a judge. Judges differ, so they are compared only where the same judge judged.
_BY_JUDGE = ("task_completion", "sentiment", "quality")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a look.

    Attributes
    ----------
    status
        ``pending``, ``verified``, ``not_fixed`` or ``regressed``: status of the fix, not of the metrics.
    reduction_percent
        Reduction of all failures together, from before the change to ``after``.
    issues
        Failures before and after by issue.
    reason
        The reason, in words and numbers; ``None`` if there is nothing new.
    after
        The conversations after the change on which the finding is based.
    metrics
        Every production metric; empty before the first look.
    """

    status: DeploymentStatus
    reduction_percent: float
    issues: tuple[IssueCounts, ...]
    reason: str | None
    after: tuple[JudgedPeriod, ...]
    metrics: tuple[MetricChange, ...] = ()

    @property
    def harmed(self) -> tuple[MetricChange, ...]:
        """The metrics that became worse, which cause an automatically deployed version to be rolled back."""
        return tuple(change for change in self.metrics if change.is_harm)


def issue_id(title: str) -> str:
    """Return the id of an issue; the same title always has the same id."""
    return f"iss_{hashlib.sha256(title.casefold().encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def count_issues(before: Sequence[JudgedPeriod], after: Sequence[JudgedPeriod]) -> tuple[IssueCounts, ...]:
    """Count failed conversations by issue, in descending order of frequency before the change; the rest under `OTHER`."""
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


def _values(side: Sequence[JudgedPeriod], analyser: str | None) -> Mapping[MetricName, NDArray[np.float64]]:
    other = np.array([one.analyser != analyser for one in side])
    values: dict[MetricName, NDArray[np.float64]] = {}
    for name, field in _FIELDS.items():
        # Unknown values become NaN.
        values[name] = np.array([getattr(one, field) for one in side], np.float64)
        if name in _BY_JUDGE:
            values[name][other] = np.nan
    return values


def judge(
    before: Sequence[JudgedPeriod],
    after: Sequence[JudgedPeriod],
    *,
    count: int | None = None,
    verification: DeploymentStatus = "pending",
    verified_at: int = 0,
    last_count: int = 0,
) -> Finding:
    """Judge the current version at a look.

    Parameters
    ----------
    before, after
        Conversations before and after the change, oldest first.
    count
        Number of all conversations after the change, including those too old to be in ``after``.
    verification
        The verdict on the fix so far.
    verified_at
        Number of conversations after the change when it was verified.
    last_count
        Number of conversations at the last look.
    """
    count = len(after) if count is None else count
    look = look_number(count)
    issues = count_issues(before, after)
    nothing = Finding(verification, _percent(issues), issues, None, tuple(after))
    if not look or not before or not after:
        return nothing
    analyser = after[-1].analyser
    metrics = metric_changes(_values(before, analyser), _values(after, analyser), look=look)
    finding = replace(nothing, metrics=metrics)
    before, after = ([one for one in side if one.analyser == analyser] for side in (before, after))
    if finding.harmed:
        finding = _with_harm(finding, before, after)
    if verification == "verified":
        return (
            finding
            if finding.harmed
            else _still_verified(finding, before, after, look - look_number(verified_at))
        )
    # Looks between the checks test only the metrics.
    if verification == "pending" and check_number(count) > check_number(last_count):
        return _checked(finding, before, after)
    return finding


def _with_harm(finding: Finding, before: Sequence[JudgedPeriod], after: Sequence[JudgedPeriod]) -> Finding:
    """Describe which metrics became worse. A verified fix that does harm is regressing."""
    window = max(change.window for change in finding.harmed)
    recent = tuple(after[max(0, len(after) - window) :])
    issues = count_issues(before, recent)
    words = "; ".join(_said(change, len(finding.after)) for change in finding.harmed)
    return replace(
        finding,
        status="regressed" if finding.status == "verified" else finding.status,
        reduction_percent=_percent(issues),
        issues=issues,
        reason=f"Worse in production than before the change: {words}",
        after=recent,
    )


def _checked(finding: Finding, before: Sequence[JudgedPeriod], after: Sequence[JudgedPeriod]) -> Finding:
    """Judge a fix without a verdict by its failures."""
    issues = count_issues(before, after)
    verdict = deployment_verdict(
        issues,
        # unspecified: the deadline. The last check, where there was something to fix.
        deadline_passed=len(after) >= CHECKPOINTS[-1] and any(row.before_fail for row in issues),
    )
    said = {"verified": "Failures fell by more than half", "not_fixed": "Failures did not fall by half"}
    if verdict not in said:
        return finding
    failed_before, failed_after = _failed(issues)
    words = f"{said[verdict]}: {failed_before} conversations failed before, {failed_after} after"
    return replace(
        finding,
        status=verdict,
        reduction_percent=_percent(issues),
        issues=issues,
        # Harm takes precedence.
        reason=finding.reason or words,
        after=tuple(after),
    )


def _still_verified(
    finding: Finding, before: Sequence[JudgedPeriod], after: Sequence[JudgedPeriod], look: int
) -> Finding:
    """Test whether failures of a verified fix are rising again, comparing the latest conversations with earlier ones."""
    if look < 1:
        return finding
    for size, share in windows(len(after))[1:]:
        earlier, recent = after[: len(after) - size], after[len(after) - size :]
        if len(earlier) < _FEWEST_EARLIER:
            continue
        rows = count_issues(earlier, recent)
        # All conversations together are not a window here, so their share of the error goes to the windows.
        verdict = deployment_verdict(
            rows, previously_verified=True, worse_level=2.0 * share * look_level(look)
        )
        if verdict == "regressed":
            was, now = _failed(rows)
            issues = count_issues(before, recent)
            return replace(
                finding,
                status="regressed",
                reduction_percent=_percent(issues),
                issues=issues,
                reason=f"Failures are rising again: {was} earlier conversations failed, {now} of the latest",
                after=tuple(recent),
            )
    return finding


def _failed(issues: Sequence[IssueCounts]) -> tuple[str, str]:
    """Return the failed conversations on both sides, as "4 of 60"."""
    before, after = sum(row.before_fail for row in issues), sum(row.after_fail for row in issues)
    return f"{before} of {issues[0].before_n}", f"{after} of {issues[0].after_n}"


def _percent(issues: Sequence[IssueCounts]) -> float:
    """Return the reduction of the failure rate in percent; 0 while there is nothing to compare."""
    before, after = sum(row.before_fail for row in issues), sum(row.after_fail for row in issues)
    n0, n1 = issues[0].before_n, issues[0].after_n
    if not n0 or not n1 or not (before or after):
        return 0.0
    # unspecified: the reduction where nothing failed before. Zero counts as half a failure, so that the
    # reduction is defined.
    return 100.0 * (1.0 - (after / n1) / ((before or 0.5) / n0))


def _said(change: MetricChange, total: int) -> str:
    after = f"{change.n_after} after" if change.window == total else f"the latest {change.n_after}"
    words = worsened(change.metric, change.before or 0.0, change.after or 0.0)
    return f"{words} ({change.n_before} conversations before, {after}, p = {change.p:.4f})"


def worsened(metric: MetricName, was: float, now: float) -> str:
    """Return how a metric became worse, such as "quality fell from 70.0 to 60.0"."""
    words, form = _SAID[metric]
    scale = 100.0 if form.endswith("%") else 1.0
    return f"{words} from {form.format(scale * was)} to {form.format(scale * now)}"
