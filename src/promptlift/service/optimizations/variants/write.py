"""Ask a model for variants of a prompt, each made different on purpose, and keep those that may be tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import PromptliftError
from promptlift.schema.limits import NAME_CHARS
from promptlift.service.insights.exclusions import Exclusions, read_exclusions
from promptlift.service.llm.failures import LlmBadAnswer
from promptlift.service.llm.hostile_text import storable_line, storable_text
from promptlift.service.optimizations.tasks import RejectedDraft, VariantsRequest
from promptlift.service.optimizations.variants.checks import problems_of, problems_of_wording
from promptlift.service.optimizations.variants.logged_words import Repeated
from promptlift.service.optimizations.variants.request import owners_words
from promptlift.service.optimizations.variants.strategies import Strategy, choose_strategies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from promptlift.service.optimizations.tasks import Failure, OptimizationTasks, WrittenDrafts
    from promptlift.service.optimizations.variants.logged_words import LoggedWords
    from promptlift.service.simulations.tasks import PromptText

__all__ = ["ROUNDS", "VariantText", "VariantsFailed", "Written", "given_variants", "write_variants"]

ROUNDS: Final = 3
"""Number of times that a variant is requested at most."""

RATIONALE_CHARS: Final = 2_000
PROBLEM_CHARS: Final = 1_500
WORDS_SHOWN: Final = 40
# One answer should not have to be longer than this: variants of a long prompt are asked for in several.
ANSWER_CHARS: Final = 24_000


class VariantsFailed(PromptliftError):
    """Not one usable variant was written. The message is the reason."""


@dataclass(frozen=True, slots=True)
class VariantText:
    """A variant that may be tested. All texts are hostile.

    Attributes
    ----------
    name
        One line, different from every other one.
    content
        The whole text.
    rationale
        Why it should work better, as the model says; may be empty.
    """

    name: str
    content: str
    rationale: str


@dataclass(frozen=True, slots=True)
class Written:
    """Variants of a model.

    Attributes
    ----------
    variants
        At least one, at most as many as were asked for.
    problems
        When there are fewer: why the last try of each missing one was not accepted. Of those that were handed in: what would
        not be accepted of a model.
    """

    variants: tuple[VariantText, ...]
    problems: tuple[str, ...]


def given_variants(candidates: Sequence[Mapping[str, Any]], original: str, said: LoggedWords) -> Written:
    """Return texts that were handed in as variants; what a written one may not do is only a problem to be told."""
    work = _Work([])
    for number, one in enumerate(candidates, start=1):
        place = _Place(Strategy(f"Candidate {number}", ""))
        name = work.free_name(storable_line(one.get("name") or "", NAME_CHARS - 8) or place.strategy.name)
        text = one["content"]
        place.variant = VariantText(name, text, "It was handed in, and is tested as it is.")
        if found := [*problems_of_wording(text, original), *said.repeated(text).problems()]:
            place.problem = f"“{name}” was handed in and is tested as it is. {' '.join(found)}"
        work.places.append(place)
    return work.written()


def write_variants(
    tasks: OptimizationTasks,
    *,
    prompt: PromptText,
    count: int,
    intent: Mapping[str, Any] | None,
    failures: Sequence[Failure],
    general: Mapping[str, Any],
    seed: int,
    said: LoggedWords | None = None,
) -> Written:
    """Write ``count`` variants, each by its own named strategy.

    One call asks for all of them, or several for a prompt so long that one answer could not hold them. What the checks
    do not accept (see ``checks``) is asked for again with the reasons, in at most ``ROUNDS`` rounds.

    Parameters
    ----------
    intent
        ``targetImprovements`` and ``hypothesis`` of the request, ``None`` without.
    failures
        What went wrong in real conversations, the most important first.
    general
        The account's general settings as the API names them.
    seed
        The requests depend on it, the other arguments and the model's answers alone.
    said
        Words of logged conversations, which no variant may repeat; ``None`` checks nothing of the kind.

    Raises
    ------
    VariantsFailed
        Not one variant can be used.
    LlmUnavailable, LlmRefused
        The model cannot be asked.
    """
    strategies = choose_strategies(
        count, prompt=prompt, has_failures=bool(failures), has_intent=any((intent or {}).values()), seed=seed
    )
    work = _Work(
        [_Place(strategy) for strategy in strategies],
        said=said,
        exclusions=read_exclusions(general.get("excludedDataAndTopics")),
        asked_for="\n".join(owners_words(prompt, intent, {})),
    )
    for round_ in range(ROUNDS):
        open_places = [place for place in work.places if place.variant is None]
        for group in _groups(open_places, prompt, smaller=work.misfit):
            request = VariantsRequest(
                prompt=prompt,
                strategies=[place.strategy for place in group],
                intent=intent or {},
                failures=failures,
                general=general,
                accepted=[variant.name for variant in work.variants()],
                problems=[place.problem for place in group if place.problem],
                drafts=[place.draft for place in group if place.draft is not None],
                seed=seed + round_,
            )
            work.calls += 1
            try:
                answer = tasks.write_variants(request)
            except LlmBadAnswer as error:
                work.misfit = True
                work.refuse(group, str(error))
            else:
                work.take(group, answer, prompt.content)
    return work.written()


@dataclass(slots=True)
class _Place:
    """One variant to write."""

    strategy: Strategy
    variant: VariantText | None = None
    problem: str = ""
    draft: RejectedDraft | None = None


@dataclass(slots=True)
class _Work:
    places: list[_Place]
    calls: int = 0
    misfit: bool = field(default=False)
    said: LoggedWords | None = None
    exclusions: Exclusions = field(default_factory=Exclusions)
    # What the owner wrote into the prompt or asked for may stay, whatever is excluded from analysis.
    asked_for: str = ""

    def variants(self) -> list[VariantText]:
        return [place.variant for place in self.places if place.variant is not None]

    def refuse(self, group: Sequence[_Place], reason: str) -> None:
        for place in group:
            place.problem = f"{place.strategy.name}: {reason}"[:PROBLEM_CHARS]

    def take(self, group: Sequence[_Place], written: WrittenDrafts, original: str) -> None:
        drafts, mark = written
        if len(drafts) < len(group):
            self.refuse(group[len(drafts) :], "It was not written.")
        for place, answer in zip(group, drafts, strict=False):
            content = _bare(answer.content, original)
            others = [variant.content for variant in self.variants()]
            problems = list(problems_of(content, original=original, others=others, mark=mark))
            if self.exclusions.new_in(content, self.asked_for):
                problems.append("It brings in data or topics that the organization excludes.")
            repeated = Repeated() if self.said is None else self.said.repeated(content)
            words = repeated.problems()
            if problems or words:
                self.refuse([place], " ".join((*problems, *words)))
                place.draft = None if problems else _draft(place.strategy, content, repeated)
                continue
            name = self.free_name(storable_line(answer.name, NAME_CHARS - 8) or place.strategy.name)
            place.variant = VariantText(
                name, content, storable_text(answer.rationale, RATIONALE_CHARS).strip()
            )
            place.problem = ""

    def free_name(self, name: str) -> str:
        """Return a name, changed where another variant has it."""
        taken = {variant.name for variant in self.variants()}
        if name not in taken:
            return name
        return next(other for n in range(2, 100) if (other := f"{name} ({n})") not in taken)

    def written(self) -> Written:
        variants = tuple(self.variants())
        problems = tuple(place.problem for place in self.places if place.problem)
        if not variants:
            raise VariantsFailed(
                f"The language model wrote no variant that can be tested, in {self.calls} requests. "
                f"{problems[0] if problems else ''}"
            )
        return Written(variants, problems)


def _draft(strategy: Strategy, content: str, repeated: Repeated) -> RejectedDraft:
    words = [*repeated.runs, *repeated.particulars]
    return RejectedDraft(strategy.name, content, words[:WORDS_SHOWN])


def _groups(places: Sequence[_Place], prompt: PromptText, *, smaller: bool) -> Iterator[Sequence[_Place]]:
    """Group the places that one answer can hold; one at a time once an answer did not fit."""
    size = 1 if smaller else max(1, ANSWER_CHARS // max(len(prompt.content), 1))
    for start in range(0, len(places), size):
        yield places[start : start + size]


def _bare(content: str, original: str) -> str:
    """Take a code fence away that the model put around the whole text, and begin with the blanks of the original."""
    text = content.strip()
    lines = text.split("\n")
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1] == "```"
    if fenced and not original.strip().startswith("```"):
        text = "\n".join(lines[1:-1]).strip()
    blanks = original[: len(original) - len(original.lstrip())]
    return f"{blanks}{text}" if text else text
