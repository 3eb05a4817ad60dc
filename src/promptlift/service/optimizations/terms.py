"""The request and budget of an optimization, read once from its row."""

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
        Settings at the time of the request, flat.
    intent
        Improvements that its owner wants; empty if none are given.
    """

    def __init__(self, row: OptimizationRow) -> None:
        self._row = row
        self.settings = row.settings
        self.intent = row.intent or {}

    @property
    def shown(self) -> dict[str, Any]:
        """The settings to show; the general ones are private to the account's judge."""
        return {name: value for name, value in self.settings.items() if name not in ("general", "candidates")}

    @property
    def candidates(self) -> Sequence[Mapping[str, Any]]:
        """Submitted texts; empty if a model writes them."""
        found: Sequence[Mapping[str, Any]] = self.settings.get("candidates", ())
        return found

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """Targets for which the judge checks each conversation."""
        return targets_of(self.intent)

    @cached_property
    def goal(self) -> Goal:
        """The goal by which candidates and finalists are chosen."""
        return Goal.of(self.settings.get("goal"), self.targets)

    @cached_property
    def panel(self) -> tuple[str, ...]:
        """Ids of the requested personas; empty if they are drawn for each pass."""
        return tuple(self._row.persona_ids or ())

    @property
    def size(self) -> dict[str, int]:
        """Personas and scenarios of a pass, and the maximum number of iterations."""
        settings = self.settings
        return {
            "personas": len(self.panel) or settings["personaCount"],
            "scenarios": settings["scenariosPerSimulation"],
            "iterations": settings["maxIterations"],
        }

    def wants_search(self, *, failed: bool) -> bool:
        """Return whether to search, if the budget suffices.

        Parameters
        ----------
        failed
            Whether a logged conversation failed.
        """
        return failed and self._row.variant_count > 1 and self.settings.get("search", "off") == "on"

    def spending(self, *, failed: bool) -> PlannedSpending:
        """Return the maximum that it may spend; ``failed`` as in ``wants_search``."""
        row = self._row
        return planned_spending(
            row.variant_count, row.mode, **self.size, search=self.wants_search(failed=failed)
        )

    @cached_property
    def budget(self) -> SearchBudget:
        """The budgets of search and confirmation."""
        return SearchBudget.of(variants=self._row.variant_count, mode=self._row.mode, **self.size)

    @property
    def verification_passes(self) -> int:
        """Passes that follow a win."""
        if tests_before_deploying(self.settings, rehearsal=self._row.rehearsal):
            # unspecified: whether to measure pairs that those of the regression test will replace. No: they
            # would be wasted.
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
            Actual number of variants, if the model wrote fewer than requested.
        searched, screened
            Parameters of a search; see ``Experiment``.
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
