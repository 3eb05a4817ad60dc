"""What an optimization was asked for and may spend, read once from its row."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from promptlift.service.deployments.transitions import tests_before_deploying
from promptlift.service.optimizations.goal import Goal, targets_of
from promptlift.stats import Experiment
from promptlift.stats.budget import SearchBudget, planned_spending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.store.tables.runs import OptimizationRow
    from promptlift.stats.budget import PlannedSpending
    from promptlift.stats.passes import PairTally, Searched


class Terms:
    """The terms of one optimization.

    Attributes
    ----------
    settings
        As they were when it was asked for, flat.
    intent
        What its owner wants to improve; empty without.
    """

    def __init__(self, row: OptimizationRow) -> None:
        self._row = row
        self.settings = row.settings
        self.intent = row.intent or {}

    @property
    def shown(self) -> dict[str, Any]:
        """The settings that are shown; the general ones are private to the account's judge."""
        return {name: value for name, value in self.settings.items() if name not in ("general", "candidates")}

    @property
    def candidates(self) -> Sequence[Mapping[str, Any]]:
        """Texts that were handed in; none where a model writes them."""
        found: Sequence[Mapping[str, Any]] = self.settings.get("candidates", ())
        return found

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """What the judge is asked of each conversation."""
        return targets_of(self.intent)

    @cached_property
    def goal(self) -> Goal:
        """What candidates and finalists are chosen by."""
        return Goal.of(self.settings.get("goal"), self.targets)

    @cached_property
    def panel(self) -> tuple[str, ...]:
        """Ids of the personas that were named; none where they are drawn for each pass."""
        return tuple(self._row.persona_ids or ())

    @property
    def size(self) -> dict[str, int]:
        """Personas and scenarios of a pass, and iterations at most."""
        settings = self.settings
        return {
            "personas": len(self.panel) or settings["personaCount"],
            "scenarios": settings["scenariosPerSimulation"],
            "iterations": settings["maxIterations"],
        }

    def wants_search(self, *, failed: bool) -> bool:
        """Return whether it is to search, as far as its budget pays for that.

        Parameters
        ----------
        failed
            Whether a logged conversation failed.
        """
        return failed and self._row.variant_count > 1 and self.settings.get("search", "off") == "on"

    def spending(self, *, failed: bool) -> PlannedSpending:
        """Return the most that it may spend; ``failed`` as of ``wants_search``."""
        row = self._row
        return planned_spending(
            row.variant_count, row.mode, **self.size, search=self.wants_search(failed=failed)
        )

    @cached_property
    def budget(self) -> SearchBudget:
        """What search and confirmation may spend."""
        return SearchBudget.of(variants=self._row.variant_count, mode=self._row.mode, **self.size)

    @property
    def verification_passes(self) -> int:
        """Passes that follow a win."""
        if tests_before_deploying(self.settings, rehearsal=self._row.rehearsal):
            # unspecified: whether pairs are held that those of the regression test will replace. They would cost for nothing.
            return 0
        return int(self.settings["verificationPasses"])

    def experiment(
        self,
        *,
        variants: int | None = None,
        prior_sd_points: float = 10.0,
        searched: Searched | None = None,
        screened: Mapping[int, PairTally] | None = None,
    ) -> Experiment:
        """Return the experiment before its first pass.

        Parameters
        ----------
        variants
            How many there really are, where the model wrote fewer than asked for.
        searched, screened
            Of a search; see ``Experiment``.
        """
        row = self._row
        return Experiment(
            variants or row.variant_count,
            row.mode,
            self.settings["confidenceMode"],
            self.size["personas"],
            self.size["scenarios"],
            self.size["iterations"],
            row.seed,
            estimand="panel" if self.panel else "population",
            prior_sd_points=prior_sd_points,
            verification_passes=self.verification_passes,
            searched=searched,
            screened=screened,
        )
