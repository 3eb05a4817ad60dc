"""Plan optimizations: budget, headroom and what the one can find of the other, without a model call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, cast

from promptlift.errors import ConfigError
from promptlift.schema.limits import VARIANTS_MAX, VARIANTS_MIN
from promptlift.workspace.conversations import ConversationTables
from promptlift.workspace.optimizing.optimizations import handed_in
from promptlift.workspace.optimizing.plan import OptimizationPlan, sentence_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from promptlift.schema.settings import OptimizationSettings
    from promptlift.stats.budget import Mode, PlannedSpending
    from promptlift.stats.evidence import ConfidenceMode
    from promptlift.workspace.conversations import Time


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
        spending = _spending(settings, mode, count, search=chosen == "on" and failed)
        table = _headroom(conversations, spending, mode, confidence)
        whole = cast("dict[str, Any]", table.iloc[0].to_dict())
        gain = _known_gain(whole) if whole["total"] else None
        points, low, high = gain or (None, None, None)
        findable = None if math.isnan(whole["points_findable"]) else float(whole["points_findable"])
        enough = whole["enough"] if isinstance(whole["enough"], bool) else None
        return OptimizationPlan(
            mode,
            confidence,
            count,
            "on" if spending.searches else "off",
            spending,
            findable,
            points,
            low,
            high,
            enough,
            sentence_of(
                spending,
                mode=mode,
                findable=findable,
                gain=gain,
                enough=enough,
                judged=int(whole["total"]),
                circular=not _weighs(conversations),
            ),
            table,
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


def _known_gain(headroom: dict[str, Any]) -> tuple[float, float, float] | None:
    """Return how much more often conversations without issues complete than all, in points with its ends; ``None`` where it is not known."""
    points, low, high = (float(headroom[name]) for name in ("points", "points_low", "points_high"))
    return None if any(map(math.isnan, (points, low, high))) else (points, low, high)


def _spending(settings: OptimizationSettings, mode: Mode, variants: int, *, search: bool) -> PlannedSpending:
    from promptlift.stats.budget import planned_spending  # noqa: PLC0415 - the statistics load when they are used

    simulation = settings.simulation
    try:
        return planned_spending(
            variants,
            mode,
            personas=simulation.persona_count,
            scenarios=simulation.scenarios_per_simulation,
            iterations=settings.max_iterations,
            verification_passes=settings.verification_passes,
            search=search,
        )
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _headroom(
    conversations: pd.DataFrame, spending: PlannedSpending, mode: Mode, confidence: ConfidenceMode
) -> pd.DataFrame:
    from promptlift.analysis.headroom import headroom  # noqa: PLC0415 - pandas loads when it is used

    try:
        return headroom(conversations, mode=mode, confidence_mode=confidence, pairs=spending.pairs)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _weighs(conversations: pd.DataFrame) -> bool:
    from promptlift.analysis.mentions import weighs  # noqa: PLC0415 - pandas loads when it is used

    return weighs(conversations)
