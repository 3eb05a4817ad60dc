"""Issues of a period, grouped by meaning, with what conversations that have them lose."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from promptlift.schema.basis import may_weigh
from promptlift.schema.insights import TopIssue
from promptlift.service.actions.views.completion import percent, points
from promptlift.service.insights.issue_groups import group_titles
from promptlift.service.store.conversation_counts import SEVERITIES, issues_of
from promptlift.stats.differences import FEWEST, score_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptlift.service.insights.exclusions import Exclusions
    from promptlift.service.store.aggregates import IssueSet, JudgedConversation, Totals
    from promptlift.service.store.conversation_counts import KeptIssue

TITLES: Final = 10
EXAMPLES: Final = 3
# Points of completion that make an impact high or medium.
_HIGH: Final = 20.0
_MEDIUM: Final = 5.0


@dataclass(slots=True)
class IssueGroup:
    """Issues of one meaning, and the conversations that have any of them.

    Attributes
    ----------
    name
        Of the group.
    titles
        How many conversations have each title.
    judged, failed
        Conversations that have ended, and those that ended with the task not completed.
    by_prompt
        Conversations by prompt.
    """

    name: str
    titles: Counter[str] = field(default_factory=Counter)
    judged: int = 0
    failed: int = 0
    by_prompt: Counter[str] = field(default_factory=Counter)

    @property
    def frequency(self) -> int:
        """Conversations that have it."""
        return self.by_prompt.total()


def find_issues(
    sets: Sequence[IssueSet], known: Mapping[str, str], exclusions: Exclusions
) -> list[IssueGroup]:
    """Group the issues of conversations by meaning, the most frequent group first.

    A conversation with several issues of one group counts once. Insights that are older than the setting may name what
    is excluded now: such titles are left out.
    """
    counts = Counter[str]()
    for together in sets:
        for title in together.titles:
            counts[title] += together.scored
    for title in [title for title in counts if exclusions.found_in(title)]:
        del counts[title]
    groups = group_titles(counts, known=known)
    found: dict[str, IssueGroup] = {}
    for together in sets:
        titles = [title for title in together.titles if title in counts]
        for title in titles:
            found.setdefault(groups[title], IssueGroup(groups[title])).titles[title] += together.scored
        for name in {groups[title] for title in titles}:
            issue = found[name]
            issue.judged += together.judged
            issue.failed += together.failed
            issue.by_prompt[together.prompt_id] += together.scored
    shown = (issue for issue in found.values() if not exclusions.found_in(issue.name))
    return sorted(shown, key=lambda issue: (-issue.frequency, issue.name))


@dataclass(frozen=True, slots=True)
class IssueEffect:
    """Completion with an issue less completion without it, in percentage points with a 95 % interval.

    An observation: what makes a task hard also makes issues. ``clear`` where the interval leaves out 0 and neither group is
    too small for a verdict.
    """

    with_it: float
    without: float
    change: float
    low: float
    high: float
    clear: bool

    @property
    def impact(self) -> str:
        """``high``, ``medium`` or ``low``, one less where it is not clear."""
        # unspecified: values of impact but "high", and what they mean.
        grade = 0 if self.change <= -_HIGH else 1 if self.change <= -_MEDIUM else 2
        return SEVERITIES[min(2, grade + (not self.clear))]


def effect(issue: IssueGroup, figures: Totals) -> IssueEffect | None:
    """Compare conversations with and without an issue.

    ``None`` where there are none of either, and where whoever found the issue also said which conversations failed.
    """
    if not may_weigh(figures.basis):
        return None
    judged, failed = figures.judged - issue.judged, figures.judged - figures.task_completed - issue.failed
    if not issue.judged or judged <= 0:
        return None
    done, others = issue.judged - issue.failed, judged - failed
    low, high = score_interval(done, issue.judged, others, judged)
    rates = done / issue.judged, others / judged
    clear = min(issue.judged, judged) >= FEWEST and not low <= 0.0 <= high
    change = points(rates[0] - rates[1])
    return IssueEffect(points(rates[0]), points(rates[1]), change, points(low), points(high), clear)


def gain(issue: IssueGroup, figures: Totals) -> tuple[float, float, float] | None:
    """Return how many points of completion conversations without an issue are above all.

    With the ends of the 95 % interval; ``None`` where the issue goes with no failures.
    """
    found = effect(issue, figures)
    if found is None or found.change >= 0.0:
        return None
    share = issue.judged / figures.judged
    return -share * found.change, -share * found.high, -share * found.low


def costliest(
    issues: Iterable[IssueGroup], figures: Totals
) -> list[tuple[IssueGroup, tuple[float, float, float]]]:
    """Return the issues that go with failures and the points of each, the most first."""
    found = [(issue, lost) for issue in issues if (lost := gain(issue, figures)) is not None]
    return sorted(found, key=lambda pair: (-pair[1][0], pair[0].name))


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation that has an issue, how grave it is there, and what was said."""

    conversation_id: str
    failed: bool
    severity: str
    quote: str | None


def find_examples(
    issues: Sequence[IssueGroup], rows: Iterable[JudgedConversation], exclusions: Exclusions
) -> dict[str, list[Example]]:
    """Return the recent conversations of each issue, those that failed and have a quotation first.

    Parameters
    ----------
    rows
        The newest judged conversations.
    exclusions
        What must not be quoted.
    """
    names = {title: issue.name for issue in issues for title in issue.titles}
    found: dict[str, list[Example]] = {}
    for conversation_id, completed, document in rows:
        # The worst of a group stands first.
        worst: dict[str, KeptIssue] = {}
        for one in issues_of(document):
            if (name := names.get(one["title"])) is not None:
                worst.setdefault(name, one)
        for name, one in worst.items():
            quote = one.get("evidence")
            said = None if quote is None else exclusions.clean(quote)
            found.setdefault(name, []).append(Example(conversation_id, not completed, one["severity"], said))
    for some in found.values():
        some.sort(key=lambda one: (not one.failed, one.quote is None))
    return found


def issue_view(issue: IssueGroup, figures: Totals, examples: Sequence[Example]) -> TopIssue:
    """Return an issue as the API has it."""
    found = effect(issue, figures)
    # Where nothing can be compared: the severity that most of its recent conversations have, the graver of two.
    severities = Counter(one.severity for one in examples)
    severity = max(SEVERITIES, key=lambda name: severities[name]) if examples else "medium"
    return TopIssue(
        issue=issue.name,
        frequency=issue.frequency,
        impact=severity if found is None else found.impact,
        titles=[title for title, _ in issue.titles.most_common(TITLES)],
        share=percent(issue.frequency, figures.scored),
        judged=issue.judged,
        failed=issue.failed,
        completion_with=found and found.with_it,
        completion_without=found and found.without,
        impact_points=found and found.change,
        impact_points_low=found and found.low,
        impact_points_high=found and found.high,
        quote=next((one.quote for one in examples if one.quote), None),
        conversation_ids=[one.conversation_id for one in examples[:EXAMPLES]],
    )
