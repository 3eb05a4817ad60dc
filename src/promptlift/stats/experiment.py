"""The decision of an optimization as a pure state machine: which cells run next, and who wins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from promptlift.stats.budget import VERIFICATION_PASSES, VERIFICATION_PASSES_MAX, Design
from promptlift.stats.effect import lift
from promptlift.stats.evidence import LIKELIHOOD_RATIO, confidence_from_log, e_threshold
from promptlift.stats.passes import Cell, Outcome, PairTally, Pass, Searched, table_of_outcomes
from promptlift.stats.scores import GUARDRAIL_MARGINS, guardrail
from promptlift.stats.shrinkage import PRIOR_SD_POINTS
from promptlift.stats.verdict import (
    CLUSTERED,
    Confirmation,
    Progress,
    Verdict,
    dropped_warnings,
    variant_stats,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptlift.stats.budget import Mode
    from promptlift.stats.evidence import ConfidenceMode
    from promptlift.stats.pairs import PairAnalysis
    from promptlift.stats.passes import Measured, Stage
    from promptlift.stats.scores import Guardrail
    from promptlift.stats.verdict import Estimand, Reason, Status, VariantStats

_STATE_VERSION: Final = 1
_SETTINGS: Final = (
    "variant_count", "mode", "confidence_mode", "persona_count", "scenarios_per_simulation", "max_iterations",
    "seed", "estimand", "prior_sd_points", "verification_passes",
)  # fmt: skip
# Purposes of the random numbers of one pass, so that they are independent.
_ORDER, _TIES = 0, 1


class Experiment:
    """Screening picks one finalist, confirmation on fresh cells decides, verification measures how large the lift is.

    Run what `next_pass` returns and pass the outcomes to `record`, until `next_pass` returns ``None``.
    `verdict` is available at any time. There is no model, clock or database here; the same seed and the same
    outcomes give the same run. The data of the screening are never used to judge the finalist: choosing and
    judging on the same data is what makes winners too good to be true. For the same reason the pairs of the
    verification, which follows a win, do not decide.

    Parameters
    ----------
    variant_count
        Number of variants, excluding the original, 1 to 5. One variant needs no screening.
    mode
        ``exploratory`` (one or two screening passes, at most 8 or 9 passes of confirmation) or ``validation`` (successive
        halving, at most 16).
    confidence_mode
        ``low``, ``moderate`` or ``high``: a winner needs confidence 0.80, 0.90 or 0.95.
    persona_count, scenarios_per_simulation
        A pass has their product as number of cells.
    max_iterations
        Budget of the decision: in validation an iteration is two passes; see `screening_plan` and `confirm_passes`.
    seed
        Seed of the order of arms and of ties.
    estimand
        ``population``: every pass draws new personas. ``panel``: the same personas in every pass, each time
        with new scenarios; the result is valid only for them.
    prior_sd_points
        For the expected lift; see `prior_sd_from`.
    verification_passes
        Passes after a win, 0 to 12.
    searched
        The search that replaces the screening; then there may be any number of variants.
    screened
        Pairs of the search by variant. They are reported, but do not decide.

    Raises
    ------
    ValueError
        If a setting is unknown or out of range.

    Examples
    --------
    >>> run = Experiment(1, "exploratory", "moderate", seed=7)
    >>> while (step := run.next_pass()) is not None:
    ...     run.record(
    ...         Outcome(cell.number, arm, completed=arm == 1 or cell.number % 2 == 0)
    ...         for cell in step.cells
    ...         for arm in step.arms
    ...     )
    >>> verdict = run.verdict()
    >>> verdict.status, verdict.reason, verdict.winner, round(verdict.analysis.lift, 1)
    ('winner', 'threshold', 1, 100.0)
    """

    def __init__(
        self,
        variant_count: int = 3,
        mode: Mode = "exploratory",
        confidence_mode: ConfidenceMode = "moderate",
        persona_count: int = 5,
        scenarios_per_simulation: int = 3,
        max_iterations: int = 10,
        seed: int = 0,
        *,
        estimand: Estimand = "population",
        prior_sd_points: float = PRIOR_SD_POINTS,
        verification_passes: int = VERIFICATION_PASSES,
        searched: Searched | None = None,
        screened: Mapping[int, PairTally] | None = None,
    ) -> None:
        wholes: dict[str, tuple[object, int]] = {
            "variant_count": (variant_count, 1),
            "persona_count": (persona_count, 1),
            "scenarios_per_simulation": (scenarios_per_simulation, 1),
            "max_iterations": (max_iterations, 1),
            "seed": (seed, 0),
            "verification_passes": (verification_passes, 0),
        }
        for name, (value, least) in wholes.items():
            if not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")
        if not prior_sd_points >= 0.0:
            raise ValueError(f"prior_sd_points must be a number of at least 0, not {prior_sd_points!r}.")
        if verification_passes > VERIFICATION_PASSES_MAX:
            raise ValueError(
                f"verification_passes must be at most {VERIFICATION_PASSES_MAX}, not {verification_passes!r}."
            )
        self._searched = searched
        of = variant_count if searched is None else 1
        self._design = Design.of(of, mode, confidence_mode, max_iterations)
        if searched is not None:
            self._design = replace(self._design, keep=(), confirm_passes=searched.confirm_passes)
        if estimand not in {"population", "panel"}:
            raise ValueError(f"estimand must be population or panel, not {estimand!r}.")
        self.variant_count = int(variant_count)
        self.mode: Mode = mode
        self.confidence_mode: ConfidenceMode = confidence_mode
        self.persona_count = int(persona_count)
        self.scenarios_per_simulation = int(scenarios_per_simulation)
        self.max_iterations = int(max_iterations)
        self.seed = int(seed)
        self.estimand: Estimand = estimand
        self.prior_sd_points = prior_sd_points
        self.verification_passes = int(verification_passes)

        self._passes = 0
        self._conversations = 0
        self._status: Status = "running"
        self._reason: Reason | None = None
        self._active = list(range(1, self.variant_count + 1))
        self._screened_out: dict[int, int] = {}
        self._screen = {arm: PairTally() for arm in self._active} | dict(screened or {})
        self._confirmation: Confirmation | None = None
        self._verify_left = 0
        self._pending: Pass | None = None
        if searched is not None:
            self._take_over(searched)
        elif (
            not self._design.keep
        ):  # one variant, or a budget of one pass: then chance chooses the tested one
            self._confirm(1 + int(self._random(_TIES).integers(self.variant_count)))

    def _take_over(self, searched: Searched) -> None:
        """Continue from the end of a search; while it is unfinished nothing can be confirmed."""
        self._passes, self._conversations = searched.passes, searched.conversations
        if searched.finalist is None:
            return
        if not searched.confirm_passes:
            self._status, self._reason = "no_winner", "budget"
            return
        others = (arm for arm in self._active if arm != searched.finalist)
        self._screened_out = dict.fromkeys(others, searched.passes)
        self._confirm(searched.finalist)

    def next_pass(self) -> Pass | None:
        """Return which arms to run on which cells next: the same until `record`, ``None`` at the end."""
        if self._status != "running" and not self._verify_left:
            return None
        if self._confirmation is None and self._searched is not None:
            raise ValueError("the search is still under way: nothing can be confirmed.")
        if self._pending is None:
            self._pending = self._draw_pass()
        return self._pending

    def _draw_pass(self) -> Pass:
        stage = self._stage
        arms = (0, *(self._active if self._confirmation is None else (self._confirmation.arm,)))
        personas, scenarios = self.persona_count, self.scenarios_per_simulation
        passes, first_cell = (
            (0, 0) if self._searched is None else (self._searched.passes, self._searched.cells)
        )
        first_cell += (self._passes - passes) * personas * scenarios
        first_persona = 0 if self.estimand == "panel" else self._passes * personas
        draws = self._random(_ORDER).random((personas * scenarios, len(arms)))
        orders = draws.argsort(axis=1).tolist()
        cells = tuple(
            Cell(
                number=first_cell + at,
                persona=first_persona + at // scenarios,
                order=tuple([arms[place] for place in order]),
            )
            for at, order in enumerate(orders)
        )
        return Pass(self._passes + 1, stage, arms, cells)

    def _random(self, purpose: int) -> np.random.Generator:
        """Return the random generator of this pass, which is the same in a resumed run."""
        return np.random.default_rng((self.seed, self._passes, purpose))

    @property
    def _stage(self) -> Stage:
        if self._confirmation is None:
            return "screen"
        verified = self._confirmation.verification
        return "verify" if self._verify_left or verified.n or verified.dropped else "confirm"

    def record(self, outcomes: Iterable[Outcome]) -> None:
        """Record the outcomes of the pass that `next_pass` returned, and decide.

        All outcomes at once: an unfinished pass proves nothing, because conversations that end early differ
        from those that take long. Every arm of every cell has exactly one outcome; the order does not matter.

        Raises
        ------
        ValueError
            If the experiment has ended, or an outcome is missing, duplicate, not of this pass, or invalid.
            Nothing is recorded then.
        """
        step = self.next_pass()
        if step is None:
            raise ValueError(f"the experiment has ended ({self._reason}); nothing more can be recorded.")
        self._take(step.arms, *table_of_outcomes(step, outcomes))

    def _take(
        self, arms: Sequence[int], table: Sequence[Sequence[Measured]], personas: Sequence[int | str]
    ) -> None:
        stage, confirmation = self._stage, self._confirmation
        if confirmation is None:
            tallies = [self._screen[arm] for arm in arms[1:]]
        else:
            tallies = [confirmation.verification if stage == "verify" else confirmation.tally]
        for who, row in zip(personas, table, strict=True):
            # A NumPy number cannot be encoded as JSON.
            persona = who if isinstance(who, str) else int(who)
            original = row[0]
            for tally, measured in zip(tallies, row[1:], strict=True):
                tally.add(persona, measured, original)
        self._passes += 1
        self._conversations += len(table) * len(arms)
        self._pending = None
        if confirmation is None:
            self._leave_out()
        elif stage == "confirm":
            self._decide(confirmation)
        else:
            self._verify_left -= 1

    def _leave_out(self) -> None:
        """Keep the best variants after a screening pass; the last one kept is the finalist."""
        # Ties are broken by chance, so that no position is favoured.
        chance = self._random(_TIES).permutation(self.variant_count + 1)
        ranked = sorted(self._active, key=lambda arm: (self._screen[arm].merit, chance[arm]), reverse=True)
        keep = self._design.keep[self._passes - 1]
        self._screened_out.update(dict.fromkeys(ranked[keep:], self._passes))
        self._active = sorted(ranked[:keep])
        if self._passes == len(self._design.keep):
            self._confirm(ranked[0])

    def _confirm(self, arm: int) -> None:
        """Start the confirmation of a finalist with the rest of the budget."""
        self._confirmation = Confirmation(arm, self._design.confirm_passes)

    def _decide(self, confirmation: Confirmation) -> None:
        """Apply the stopping rules after a pass of confirmation: threshold, futility, budget, in this order."""
        tally = confirmation.tally
        confirmation.trace.append(confidence_from_log(self._design.log_e(tally)))
        confirmation.lift_trace.append(lift(*tally.counts))
        passes_left = confirmation.max_looks - confirmation.look
        if self._design.wins(tally, e_needed=self._e_needed):
            if any(rail.verdict == "harmed" for rail in self._guardrails(tally)):
                self._status, self._reason = "no_winner", "guardrail"
            else:
                self._status, self._reason = "winner", "threshold"
                self._verify_left = self.verification_passes
        elif self._design.gives_up(tally, pairs_left=passes_left * self._cells, e_needed=self._e_needed):
            self._status, self._reason = "no_winner", "futility"
        elif passes_left <= 0:
            self._status, self._reason = "no_winner", "budget"

    def stop(self) -> None:
        """End now. A known winner stays, without the rest of its verification; all data stay."""
        if self._status == "running":
            self._status, self._reason = "no_winner", "stopped"
        self._verify_left = 0
        self._pending = None

    @property
    def _cells(self) -> int:
        """Number of cells of a pass."""
        return self.persona_count * self.scenarios_per_simulation

    @property
    def _e_needed(self) -> float:
        return e_threshold(self.confidence_mode)

    def verdict(self) -> Verdict:
        """Return the current state: the decision, the numbers of every variant, progress, warnings."""
        last = self._confirmation
        analysis = self._analysis(last) if last is not None and last.look else None
        winner = last.arm if last is not None and self._status == "winner" else None
        needed = self._e_needed
        return Verdict(
            status=self._status,
            reason=self._reason,
            winner=winner,
            finalist=last.arm if last is not None else None,
            analysis=analysis,
            confidence_needed=needed / (1.0 + needed),
            trace=tuple(last.trace) if last is not None else (),
            lift_trace=tuple(last.lift_trace) if last is not None else (),
            variants=tuple(self._variant(arm) for arm in range(1, self.variant_count + 1)),
            verification=last.verified(estimand=self.estimand) if last is not None else None,
            confidence_method=LIKELIHOOD_RATIO,
            theta=self._design.theta,
            guardrails=self._guardrails(last.tally) if last is not None and last.look else (),
            progress=self._progress(),
            estimand=self.estimand,
            n_dropped=last.tally.dropped if last is not None else 0,
            n_dropped_verifying=last.verification.dropped if last is not None else 0,
            warnings=self._warnings(last, analysis),
        )

    def _analysis(self, confirmation: Confirmation) -> PairAnalysis:
        return confirmation.analysis(
            estimand=self.estimand, theta=self._design.theta, prior_sd_points=self.prior_sd_points
        )

    @staticmethod
    def _guardrails(tally: PairTally) -> tuple[Guardrail, ...]:
        return tuple(
            guardrail(name, tally.differences_by_persona(name), margin=margin)
            for name, margin in GUARDRAIL_MARGINS.items()
        )

    def _variant(self, arm: int) -> VariantStats:
        confirmation = self._confirmation
        if confirmation is not None and confirmation.arm == arm:
            return variant_stats(
                arm,
                confirmation.tally,
                stage="confirm",
                analysis=self._analysis(confirmation),
                prior_sd_points=self.prior_sd_points,
                is_finalist=True,
                screened_out_after=self._screened_out.get(arm),
            )
        left = self._screened_out.get(arm)
        looks = len(self._design.keep) if self._searched is None else self._searched.passes
        return variant_stats(
            arm,
            self._screen[arm],
            stage="screen",
            # Being dropped is a look that ended the data, so the interval is made for this many looks.
            look=max(left or min(self._passes, looks), 1),
            max_looks=max(looks, 1),
            prior_sd_points=self.prior_sd_points,
            screened_out_after=left,
        )

    def _progress(self) -> Progress:
        active, screening = self.variant_count, 0
        for keep in self._design.keep:
            screening += 1 + active
            active = keep
        verification = 2 * self._cells * self.verification_passes
        passes_max = len(self._design.keep) + self._design.confirm_passes + self.verification_passes
        most = self._cells * (screening + 2 * self._design.confirm_passes)
        if self._searched is not None:
            passes_max += self._searched.passes
            most = self._searched.most(pair_cells=self._cells)
        running = self._status == "running"
        return Progress(
            stage=self._stage,
            passes_done=self._passes,
            passes_max=passes_max,
            passes_left=passes_max - self._passes if running else self._verify_left,
            conversations_done=self._conversations,
            conversations_max=most + verification,
        )

    def _warnings(self, last: Confirmation | None, analysis: PairAnalysis | None) -> tuple[str, ...]:
        warnings: list[str] = []
        if last is not None:
            warnings += dropped_warnings(last.tally)
            warnings += [f"Verification: {said}" for said in dropped_warnings(last.verification)]
        if analysis is not None and analysis.clustered:
            warnings.append(CLUSTERED)
        if analysis is not None and analysis.n and analysis.lift is None:
            warnings.append("The original completed no task, so the lift in percent is not defined.")
        if not self._design.keep and self.variant_count > 1 and self._searched is None:
            warnings.append(f"One iteration is one pass: one of {self.variant_count} variants was tested.")
        if self.estimand == "panel":
            warnings.append("Fixed personas: the result holds for them, not for users in general.")
        return tuple(warnings)

    def to_state(self) -> dict[str, Any]:
        """Return the experiment as plain JSON, from which `from_state` continues exactly as this object would."""
        return {
            "version": _STATE_VERSION,
            "settings": {name: getattr(self, name) for name in _SETTINGS},
            "passes": self._passes,
            "conversations": self._conversations,
            "status": self._status,
            "reason": self._reason,
            "active": list(self._active),
            "screened_out": sorted([arm, after] for arm, after in self._screened_out.items()),
            "screen": [[arm, tally.to_state()] for arm, tally in self._screen.items()],
            "confirmation": None if self._confirmation is None else self._confirmation.to_state(),
            "verify_left": self._verify_left,
            **({} if self._searched is None else {"searched": self._searched.to_state()}),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild an experiment from `to_state`.

        Raises
        ------
        ValueError
            If the state has another version, or is incomplete.
        """
        version = state.get("version")
        if version != _STATE_VERSION:
            raise ValueError(
                f"the state has version {version!r}, and this promptlift reads version {_STATE_VERSION}."
            )
        try:
            searched = Searched.from_state(state["searched"]) if "searched" in state else None
            run = cls(**state["settings"], searched=searched)
            run._restore(state)
        except (KeyError, TypeError) as error:
            raise ValueError(f"the state is not complete: {error}.") from error
        return run

    def _restore(self, state: dict[str, Any]) -> None:
        self._passes = state["passes"]
        self._conversations = state["conversations"]
        self._status = state["status"]
        self._reason = state["reason"]
        self._active = list(state["active"])
        self._screened_out = dict(state["screened_out"])
        self._screen = {arm: PairTally.from_state(tally) for arm, tally in state["screen"]}
        saved = state["confirmation"]
        self._confirmation = None if saved is None else Confirmation.from_state(saved)
        self._verify_left = state["verify_left"]
