"""Plan an optimization: what it would cost and what it could find, without a model call."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from promptlift.display.static_html import element, facts, paragraph, root
from promptlift.errors import ConfigError
from promptlift.schema.inert import one_line
from promptlift.schema.limits import VARIANTS_MAX, VARIANTS_MIN
from promptlift.schema.optimizations import TextLength, length_in_words
from promptlift.schema.search import CIRCULAR
from promptlift.workspace.conversations import ConversationTables
from promptlift.workspace.optimizing.optimizations import handed_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from promptlift.schema.settings import OptimizationSettings
    from promptlift.stats.budget import Mode, PlannedSpending
    from promptlift.stats.evidence import ConfidenceMode
    from promptlift.workspace.conversations import Time

__all__ = ["CIRCULAR", "OptimizationPlan", "sentence_of"]


_FEW: Final = 20


@dataclass(frozen=True)
class OptimizationPlan:
    """What an optimization would cost and what it could find.

    Attributes
    ----------
    mode, confidence_mode, variants, search
        What is planned; ``search`` is ``on`` or ``off``.
    spending
        The most conversations of ``search`` (the screening, where there is no search), ``confirmation`` and
        ``verification``, which comes on top and only after a win; ``pairs`` of the confirmation.
    points_findable
        The smallest gain in points that the confirmation finds with 80%; ``None`` where it finds none.
    points, points_low, points_high
        How many points more often conversations in which nothing went wrong complete than all, with their interval; ``None`` without judged
        conversations.
    enough
        Whether the gain may be as large as what can be found: whether its one-sided upper bound of 90% is. ``None`` where too
        little is known.
    sentence
        The same in words.
    headroom
        The table of ``analysis.headroom``: how conversations with each issue end.
    """

    mode: str
    confidence_mode: str
    variants: int
    search: Literal["on", "off"]
    spending: PlannedSpending
    points_findable: float | None
    points: float | None
    points_low: float | None
    points_high: float | None
    enough: bool | None
    sentence: str
    headroom: pd.DataFrame = field(repr=False)

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        first = "search" if self.search == "on" else "screening"
        rows = [
            (first, f"at most {self.spending.search:,} conversations"),
            ("confirmation", f"at most {self.spending.confirmation:,} conversations"),
            ("verification, after a win", f"{self.spending.verification:,} conversations"),
        ]
        return str(root(paragraph(element("b", one_line(self.sentence, 1_000))), facts(rows)))


def sentence_of(
    spending: PlannedSpending,
    *,
    mode: str,
    findable: float | None,
    gain: tuple[float, float, float] | None,
    enough: bool | None,
    judged: int,
    circular: bool = False,
) -> str:
    """Return what an optimization would cost and find, in words.

    Parameters
    ----------
    findable
        The smallest gain that it finds with 80%, in points.
    gain
        The points of `OptimizationPlan`, with their interval; ``None`` where nothing was counted.
    enough
        Whether the gain may be as large as the smallest one that it finds.
    judged
        Logged conversations that this rests on.
    circular
        Whether one judgement gave both their issues and their failures.
    """
    parts = [f"{spending.confirmation:,} for the confirmation"]
    if spending.search:
        parts.insert(0, f"{spending.search:,} for the {'search' if spending.searches else 'screening'}")
    cost = f"{mode.capitalize()}: at most {spending.most:,} conversations ({' and '.join(parts)})"
    if spending.verification:
        cost += f", after a win {spending.verification:,} more that verify the lift"
    finds = "Whatever the gain, this is too little to find it with 80%"
    if findable is not None:
        finds = f"A gain of {findable:.1f} point{'' if findable == 1 else 's'} or more is found with 80%"
    too_little = findable is not None and enough is False
    could = CIRCULAR if circular and judged else _headroom(gain, judged, too_little=too_little)
    return f"{cost}. {finds}. {could}"


def _headroom(gain: tuple[float, float, float] | None, judged: int, *, too_little: bool) -> str:
    if gain is None:
        return "No logged conversations were judged, so what could be gained is not known."
    points, low, high = gain
    of = f"By {judged:,} judged conversation{'' if judged == 1 else 's'}"
    most = (
        f"those in which nothing went wrong complete {points:.1f} points ({low:.1f} to {high:.1f}) more often than all, "
        "and more is not to be expected"
    ).replace("-", "−")
    if too_little:
        return (
            f"{of}, {most}: most likely below what this budget can find, so a run will hardly name a winner."
        )
    few = "; these are few, so it says little" if judged < _FEW else ""
    return f"{of}, {most}{few}."


class Planning(ConversationTables):
    """Plans of optimizations."""

    def plan_optimization(
        self,
        prompt_id: str,
        *,
        mode: Mode | None = None,
        variants: int | None = None,
        confidence_mode: ConfidenceMode | None = None,
        search: Literal["on", "off"] | None = None,
        candidates: Sequence[str] | Mapping[str, str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
    ) -> OptimizationPlan:
        """Estimate what an optimization would cost and what it could find. Nothing is started and no model is called.

        The logged conversations with their insights are read, and the account's settings.

        Parameters
        ----------
        prompt_id
            A prompt's name or id.
        mode, variants, search
            As for :meth:`optimize`. Default: the account's settings. Without a conversation that failed, or with a single
            variant, there is no search.
        candidates
            As for :meth:`optimize`: as many variants as there are texts, and no search.
        confidence_mode
            ``low``, ``moderate`` or ``high``. Default: the account's setting.
        since, until
            Only conversations of this period, as for :meth:`conversations`.

        Returns
        -------
        OptimizationPlan
            Conversations of search, confirmation and verification at most; the smallest gain that they find; what mending
            everything that goes wrong could give; and a sentence that says whether that is enough.

        Raises
        ------
        ConfigError
            When an argument is out of range.
        NotFound
            When there is no such prompt; the message has near names.

        Examples
        --------
        >>> print(lift.plan_optimization("Support assistant", mode="validation"))  # doctest: +SKIP
        """
        # The statistics and pandas load when they are used.
        from promptlift.analysis.headroom import headroom  # noqa: PLC0415
        from promptlift.analysis.mentions import weighs  # noqa: PLC0415
        from promptlift.stats.budget import planned_spending  # noqa: PLC0415

        settings = self.client.settings.get().optimization
        simulation = settings.simulation
        mode = settings.optimization_strategy if mode is None else mode
        count = settings.variants_per_generation if variants is None else variants
        if candidates is not None:
            count, search = _of_candidates(len(handed_in(candidates)), variants, search)
        confidence = simulation.confidence_mode if confidence_mode is None else confidence_mode
        chosen = _chosen_search(settings, search)
        conversations = self.conversations(prompt_id, insights=True, since=since, until=until)
        failed = bool(conversations["task_completed"].eq(False).any())
        try:
            spending = planned_spending(
                count,
                mode,
                personas=simulation.persona_count,
                scenarios=simulation.scenarios_per_simulation,
                iterations=settings.max_iterations,
                verification_passes=settings.verification_passes,
                search=chosen == "on" and failed,
            )
            table = headroom(conversations, mode=mode, confidence_mode=confidence, pairs=spending.pairs)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        whole = cast("dict[str, Any]", table.iloc[0].to_dict())
        ends = (float(whole["points"]), float(whole["points_low"]), float(whole["points_high"]))
        gain = None if not whole["total"] or any(map(math.isnan, ends)) else ends
        points, low, high = gain or (None, None, None)
        findable = None if math.isnan(whole["points_findable"]) else float(whole["points_findable"])
        enough = whole["enough"] if isinstance(whole["enough"], bool) else None
        sentence = sentence_of(
            spending,
            mode=mode,
            findable=findable,
            gain=gain,
            enough=enough,
            judged=int(whole["total"]),
            circular=not weighs(conversations),
        )
        search = "on" if spending.searches else "off"
        text = self.client.prompts.get(self._names.known_id(prompt_id)).content or ""
        # Half of the messages are answers.
        answers = float(conversations["n_turns"].mean()) / 2.0 if len(conversations) else None
        sentence += f" The prompt has {length_in_words(TextLength.of(text, answers=answers).model_dump())}."
        return OptimizationPlan(
            mode, confidence, count, search, spending, findable, points, low, high, enough, sentence, table
        )


def _chosen_search(settings: OptimizationSettings, search: str | None) -> str:
    """Return whether a search is wanted, ``on`` or ``off``."""
    # A service that names no such setting has no search.
    usual = settings.search if "search" in settings.model_fields_set else "off"
    chosen = usual if search is None else search
    if chosen not in ("on", "off"):
        raise ConfigError(f"search must be on or off, not {chosen!r}.")
    return chosen


def _of_candidates(count: int, variants: int | None, search: str | None) -> tuple[int, Literal["off"]]:
    """Return the number of variants and the search of a plan with candidates."""
    if not VARIANTS_MIN <= count <= VARIANTS_MAX:
        raise ConfigError(f"candidates must be {VARIANTS_MIN} to {VARIANTS_MAX} texts, not {count}.")
    if variants not in (None, count):
        raise ConfigError(f"variants must be the number of candidates, {count}, or left out.")
    if search == "on":
        raise ConfigError("search must be off, or left out: candidates are tested as they are.")
    return count, "off"
