"""Issues of a period, grouped by meaning, with the completion that they go with losing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from promptlift.schema.basis import may_weigh
from promptlift.schema.insights import SEVERITIES, TopIssue
from promptlift.service.actions.views.completion import percent, points
from promptlift.service.insights.issue_groups import count_titles, group_titles
from promptlift.service.store.conversation_counts import issues_of
from promptlift.stats.differences import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptlift.schema.insights import Issue
    from promptlift.service.insights.exclusions import Exclusions
    from promptlift.service.store.aggregates import IssueSet, JudgedConversation, Totals

TITLES: Final = 10
EXAMPLES: Final = 3
# Points of completion that make an impact high or medium.
_HIGH: Final = 20.0
_MEDIUM: Final = 5.0


class Outcomes:
    """How conversations ended, by stratum: prompt, model and first topic."""

    def __init__(self) -> None:
        self.judged = Counter[tuple[str, str, str]]()
        self.failed = Counter[tuple[str, str, str]]()

    def add(self, together: IssueSet) -> None:
        """Count ended conversations, and those of them whose task was not completed."""
        self.judged[together.stratum] += together.judged
        self.failed[together.stratum] += together.failed


@dataclass(slots=True)
class IssueGroup:
    """Issues of one meaning, and the conversations with at least one of them.

    Attributes
    ----------
    name
        Name of the group.
    everyone
        How all conversations ended, with and without the issue.
    outcomes
        How conversations with the issue ended.
    titles
        How many conversations have each title.
    by_prompt
        Conversations by prompt.
    """

    name: str
    everyone: Outcomes
    outcomes: Outcomes = field(default_factory=Outcomes)
    titles: Counter[str] = field(default_factory=Counter)
    by_prompt: Counter[str] = field(default_factory=Counter)

    @property
    def frequency(self) -> int:
        """Number of conversations with the issue."""
        return self.by_prompt.total()

    @property
    def judged(self) -> int:
        """Number of ended conversations with the issue."""
        return self.outcomes.judged.total()

    @property
    def failed(self) -> int:
        """Number of those that did not complete their task."""
        return self.outcomes.failed.total()


def find_issues(
    sets: Sequence[IssueSet], known: Mapping[str, str], exclusions: Exclusions
) -> list[IssueGroup]:
    """Group the issues of conversations by meaning, the most frequent group first.

    A conversation with several issues of one group counts once. Insights older than the setting may contain
    data that is excluded now: such titles are left out.
    """
    counts = count_titles(sets)
    for title in [title for title in counts if exclusions.found_in(title)]:
        del counts[title]
    groups = group_titles(counts, known=known)
    everyone = Outcomes()
    found = {name: IssueGroup(name, everyone) for name in groups.values()}
    for title, count in counts.items():
        found[groups[title]].titles[title] = count
    having = cache(lambda titles: [found[name] for name in {groups[one] for one in titles if one in groups}])
    for together in sets:
        everyone.add(together)
        for issue in having(together.titles):
            issue.outcomes.add(together)
            issue.by_prompt[together.stratum[0]] += together.scored
    shown = (issue for issue in found.values() if not exclusions.found_in(issue.name))
    return sorted(shown, key=lambda issue: (-issue.frequency, issue.name))


@dataclass(frozen=True, slots=True)
class IssueEffect:
    """Completion with an issue and without it, in percent, and how they differ among conversations of the same prompt, model and topic.

    An observation: whatever makes a task hard also causes issues. The difference is in percentage points with
    a 95% interval (Mantel and Haenszel, with Sato's variance); ``clear`` if the interval excludes 0 and
    neither group is too small for a verdict.
    """

    with_it: float
    without: float
    change: float
    low: float
    high: float
    clear: bool

    @property
    def impact(self) -> str:
        """``high``, ``medium`` or ``low``, one level lower if the effect is not clear."""
        # unspecified: values of impact other than "high", and their meaning.
        grade = 2 if self.change <= -_HIGH else 1 if self.change <= -_MEDIUM else 0
        return SEVERITIES[max(0, grade - (not self.clear))]


def effect(issue: IssueGroup, figures: Totals) -> IssueEffect | None:
    """Compare conversations with an issue to those without it.

    ``None`` if no stratum has conversations with and without it, or if the judge that found the issue also
    decided which conversations failed.
    """
    if not may_weigh(figures.basis):
        return None
    with_it, everyone = issue.outcomes, issue.everyone
    alike = [one for one, n in with_it.judged.items() if 0 < n < everyone.judged[one]]
    if not alike:
        return None
    n1 = [with_it.judged[one] for one in alike]
    x1 = [n - with_it.failed[one] for n, one in zip(n1, alike, strict=True)]
    n0 = [everyone.judged[one] - with_it.judged[one] for one in alike]
    x0 = [n - everyone.failed[one] + with_it.failed[one] for n, one in zip(n0, alike, strict=True)]
    from promptlift.stats.differences import stratified_difference  # noqa: PLC0415 - few views contrast issues

    found = stratified_difference(x1, n1, x0, n0)
    clear = min(sum(n1), sum(n0)) >= FEWEST and not found.low <= 0.0 <= found.high
    others = figures.judged - issue.judged
    done = figures.task_completed - issue.judged + issue.failed
    return IssueEffect(
        with_it=points((issue.judged - issue.failed) / issue.judged),
        without=points(done / others),
        change=points(found.difference),
        low=points(found.low),
        high=points(found.high),
        clear=clear,
    )


def gain(issue: IssueGroup, figures: Totals) -> tuple[float, float, float] | None:
    """Return by how many points all conversations complete less often than those without the issue.

    Among conversations of the same model and topic, with the ends of the 95% interval; ``None`` if the issue
    is not associated with failures.
    """
    found = effect(issue, figures)
    if found is None or found.change >= 0.0:
        return None
    share = issue.judged / figures.judged
    return -share * found.change, -share * found.high, -share * found.low


def costliest(
    issues: Iterable[IssueGroup], figures: Totals
) -> list[tuple[IssueGroup, tuple[float, float, float]]]:
    """Return the issues associated with failures and the points of each, in descending order."""
    found = [(issue, lost) for issue in issues if (lost := gain(issue, figures)) is not None]
    return sorted(found, key=lambda pair: (-pair[1][0], pair[0].name))


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation that has an issue, its severity there, and a quotation."""

    conversation_id: str
    failed: bool
    severity: str
    quote: str | None


def find_examples(
    issues: Sequence[IssueGroup], rows: Iterable[JudgedConversation], exclusions: Exclusions
) -> dict[str, list[Example]]:
    """Return the recent conversations of each issue, failed ones with a quotation first.

    Parameters
    ----------
    rows
        The newest judged conversations.
    exclusions
        Words and data that must not be quoted.
    """
    names = {title: issue.name for issue in issues for title in issue.titles}
    found: dict[str, list[Example]] = {}
    for conversation_id, completed, document in rows:
        # The worst of a group comes first.
        worst: dict[str, Issue] = {}
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
    """Return an issue in its API form."""
    found = effect(issue, figures)
    # If nothing can be compared: the most frequent severity of its recent conversations, the higher on a tie.
    severities = Counter(one.severity for one in examples)
    severity = max(reversed(SEVERITIES), key=lambda name: severities[name]) if examples else "medium"
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
