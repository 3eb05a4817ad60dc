"""Judge a deployed text by logged conversations: harmful, verified, not fixed, regressed, or nothing yet.

Two questions are asked while the text is live, as judged conversations arrive.

*Does it do harm?* At every look (`promptlift.stats.production`) six production metrics are compared with
those of the previous text: task completion, sentiment, quality, abandonment, response time and length. Over
all looks together, a harmless text is declared harmful in at most 4% of cases.

*Did it fix what failed?* At 30, 60 and 120 conversations, and at every doubling while there is no verdict,
failures are compared with those before, as `promptlift.stats.deployment.fix_status` does. Once the
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
from typing import TYPE_CHECKING

import numpy as np

from promptlift.stats.deployment import CHECKPOINTS, FailureCounts, check_number, fix_status, worsening
from promptlift.stats.production import METRICS, look_level, look_number, metric_changes, windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from promptlift.service.store.deployments import JudgedConversation
    from promptlift.stats.deployment import DeploymentStatus
    from promptlift.stats.production import MetricChange, MetricName

    # Failures by the title of their issue, the most frequent before the change first.
    Issues = Mapping[str, FailureCounts]

OTHER = "Other failures"
ISSUES_NAMED = 10
# A verified fix is compared with at least this many of its own earlier conversations.
_FEWEST_EARLIER = CHECKPOINTS[0]

_SAID = {
    "task_completion": ("task completion fell", "{:.1f}%"),
    "sentiment": ("sentiment fell", "{:+.2f}"),
    "quality": ("quality fell", "{:.1f}"),
    "abandonment": ("abandonment rose", "{:.1f}%"),
    "response_time": ("response time rose", "{:.1f} s"),
    "length": ("length rose", "{:.1f} messages"),
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
    issues: Issues
    reason: str | None
    after: tuple[JudgedConversation, ...]
    metrics: tuple[MetricChange, ...] = ()

    @property
    def harmed(self) -> tuple[MetricChange, ...]:
        """The metrics that became worse, which cause an automatically deployed version to be rolled back."""
        return tuple(change for change in self.metrics if change.is_harm)


def issue_id(title: str) -> str:
    """Return the id of an issue; the same title always has the same id."""
    return f"iss_{hashlib.sha256(title.casefold().encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def count_issues(before: Sequence[JudgedConversation], after: Sequence[JudgedConversation]) -> Issues:
    """Count failed conversations by issue, in descending order of frequency before the change; the rest under `OTHER`."""
    failed_before = Counter(one.issue or OTHER for one in before if not one.task_completion)
    ordered = sorted(failed_before, key=lambda title: (title == OTHER, -failed_before[title], title))
    named = [title for title in ordered if title != OTHER][:ISSUES_NAMED]
    failed_after = Counter(
        one.issue if one.issue in named else OTHER for one in after if not one.task_completion
    )
    other = failed_before.total() - sum(failed_before[title] for title in named)
    failed_before[OTHER] = other
    shown = [*named, OTHER] if other or failed_after[OTHER] or not named else named
    return {
        title: FailureCounts(failed_before[title], len(before), failed_after[title], len(after))
        for title in shown
    }


def all_failures(issues: Issues) -> FailureCounts:
    """Return the failures of all issues together."""
    counts = [*issues.values()]
    before, after = sum(one.before_fail for one in counts), sum(one.after_fail for one in counts)
    return FailureCounts(before, counts[0].before_n, after, counts[0].after_n)


def _values(
    side: Sequence[JudgedConversation], analyser: str | None
) -> Mapping[MetricName, NDArray[np.float64]]:
    other = np.array([one.analyser != analyser for one in side])
    values: dict[MetricName, NDArray[np.float64]] = {}
    for metric in METRICS:
        # Unknown values become NaN.
        mine = values[metric.name] = np.array([getattr(one, metric.name) for one in side], np.float64)
        if metric.name in _BY_JUDGE:
            mine[other] = np.nan
    return values


def judge(
    before: Sequence[JudgedConversation],
    after: Sequence[JudgedConversation],
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
    nothing = Finding(verification, issues, None, tuple(after))
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


def _with_harm(
    finding: Finding, before: Sequence[JudgedConversation], after: Sequence[JudgedConversation]
) -> Finding:
    """Describe which metrics became worse. A verified fix that does harm is regressing."""
    window = max(change.window for change in finding.harmed)
    recent = tuple(after[max(0, len(after) - window) :])
    issues = count_issues(before, recent)
    words = "; ".join(_said(change, len(finding.after)) for change in finding.harmed)
    return replace(
        finding,
        status="regressed" if finding.status == "verified" else finding.status,
        issues=issues,
        reason=f"Worse in production than before the change: {words}",
        after=recent,
    )


def _checked(
    finding: Finding, before: Sequence[JudgedConversation], after: Sequence[JudgedConversation]
) -> Finding:
    """Judge a fix without a verdict by its failures."""
    issues = count_issues(before, after)
    failed = all_failures(issues)
    # unspecified: the deadline. The last check, where there was something to fix.
    deadline_passed = len(after) >= CHECKPOINTS[-1] and failed.before_fail > 0
    status = fix_status(failed, deadline_passed=deadline_passed)
    if status == "pending":
        return finding
    said = "Failures fell by more than half" if status == "verified" else "Failures did not fall by half"
    words = f"{said}: {failed.before_fail} of {failed.before_n} conversations failed before, {failed.after_fail} of {failed.after_n} after"
    return replace(
        finding,
        status=status,
        issues=issues,
        # Harm takes precedence.
        reason=finding.reason or words,
        after=tuple(after),
    )


def _still_verified(
    finding: Finding, before: Sequence[JudgedConversation], after: Sequence[JudgedConversation], look: int
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
        if worsening([*rows.values()]) < 2.0 * share * look_level(look):
            was = all_failures(rows)
            return replace(
                finding,
                status="regressed",
                issues=count_issues(before, recent),
                reason=f"Failures are rising again: {was.before_fail} of {was.before_n} earlier conversations failed, {was.after_fail} of the latest {was.after_n}",
                after=tuple(recent),
            )
    return finding


def _said(change: MetricChange, total: int) -> str:
    after = f"{change.n_after} after" if change.window == total else f"the latest {change.n_after}"
    words = worsened(change.metric, change.before or 0.0, change.after or 0.0)
    return f"{words} ({change.n_before} conversations before, {after}, p = {change.p:.4f})"


def worsened(metric: MetricName, was: float, now: float) -> str:
    """Return how a metric became worse, such as "quality fell from 70.0 to 60.0"."""
    words, form = _SAID[metric]
    scale = 100.0 if form.endswith("%") else 1.0
    return f"{words} from {form.format(scale * was)} to {form.format(scale * now)}"
