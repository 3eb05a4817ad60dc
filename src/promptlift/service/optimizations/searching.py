"""The search of one optimization: each step is stored when done, so that another worker can continue; and its API form."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from promptlift.schema.inert import one_line
from promptlift.schema.search import CandidateSearch, Edit, EditEvidence, SearchPlan, Spending
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.reflection import Reflection, WrittenEdits
from promptlift.service.optimizations.variants import RATIONALE_CHARS, VariantText
from promptlift.service.search.edits import assemble
from promptlift.service.search.evidence import record_of, with_and_without
from promptlift.service.search.pool import ASSEMBLED, Search, Talk, Write
from promptlift.service.store import conversation_updates, optimizations, runs
from promptlift.stats.passes import Cell, Measured, PairTally, Pass, Searched

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.optimizations.run import OptimizationRun
    from promptlift.service.optimizations.terms import Terms
    from promptlift.service.search.evidence import Worth
    from promptlift.service.search.pool import Member
    from promptlift.stats import Experiment

TOO_SMALL: Final = "The budget pays for no generation beside a confirmation."


class Searching:
    """Search for a finalist.

    Parameters
    ----------
    run
        The run whose finalist it finds.
    kept
        The state of an unfinished search; without it, a new search starts.

    """

    def __init__(self, run: OptimizationRun, kept: Mapping[str, Any] | None = None) -> None:
        row, terms = run.row, run.terms
        self._run = run
        self._row = row
        self._budget = terms.budget
        self._reflection = Reflection(run)
        if kept is None:
            self._search = Search(
                conversations=self._budget.search,
                generations_max=self._budget.generations_max,
                first=row.variant_count,
                each=terms.settings["variantsPerGeneration"],
                seed=row.seed,
            )
            self._search.logged = self._reflection.logged_issues()
            kept = {"batches": 0, "shown": {}, "read": (), "refused": []}
        else:
            self._search = Search.from_json(kept["search"])
        self._batches: int = kept["batches"]
        self._shown: dict[str, int] = kept["shown"]
        # Logged conversations for the search; the others are for the decision.
        self._read: set[str] = set(kept["read"])
        self._refused: list[dict[str, Any]] = kept["refused"]

    # Start, and continue

    def begin(self, pool: Sequence[tuple[str, float]]) -> str | None:
        """Write the first generation, and store it with the original.

        Returns
        -------
        str or None
            Why there is no search: the budget is too small, or the model writes no valid edits. Nothing is
            stored then.
        """
        step = self._search.step()
        if not isinstance(step, Write) or not self._budget.fewest_passes:
            return TOO_SMALL
        # Half of the failures are kept for the decision. With what the search leaves of all, it would be on too easy
        # conversations, find less, and promise too little.
        groups = {weight: [name for name, of in pool if of == weight] for _, weight in pool}
        self._read = {name for names in groups.values() for name in names[::2]}
        rest = [one for one in pool if one[0] not in self._read]
        random.Random(f"{self._row.seed} decision").shuffle(rest)
        pool = [*(one for one in pool if one[0] in self._read), *rest]
        written = self._reflection.write(self._search, step, {}, self._read)
        if not written.children:
            return written.why_none
        with self._run.transaction() as connection:
            self._run.add_variants(connection, [self._run.original])
            runs.change(connection, self._row, pool=pool)
            self._take(connection, written)
        return None

    def to_finalist(self) -> None:
        """Carry out the rest of the search."""
        while (step := self._search.step()) is not None:
            if isinstance(step, Talk):
                self._talk(step)
            else:
                written = self._reflection.write(self._search, step, self._shown, self._read)
                if written.problem is not None and not written.children:
                    self._run.notes.append(f"The search ended early. {written.problem}")
                with self._run.transaction() as connection:
                    self._take(connection, written)
        with self._run.transaction() as connection:
            self._keep(connection, ended=True)

    def _take(self, connection: Connection, written: WrittenEdits) -> None:
        """Store the written candidates."""
        first = len(self._search.members)
        self._search.wrote(written.children, written.edits)
        new = self._search.members[first:]
        self._shown = dict(written.shown)
        last = len(self._search.members) - 1
        self._refused += [{**one, "candidate": last} for one in written.refused]
        texts = []
        for place, one in enumerate(new, start=1):
            edits = [self._search.edits[name] for name in one.edits]
            symptoms = " ".join(dict.fromkeys(edit.symptom for edit in edits if edit.symptom))
            texts.append(
                VariantText(
                    f"Candidate {one.generation}.{place}",
                    assemble(self._run.prompt.content, edits),
                    one_line(f"Against: {symptoms}", RATIONALE_CHARS),
                )
            )
        if texts:
            self._run.add_variants(connection, texts, first=first)
        self._keep(connection)

    # Conversations

    def _talk(self, step: Talk) -> None:
        batch = self._pass(step)
        with self._run.database.read() as connection:
            texts = [one.content for one in optimizations.variants(connection, self._row.id)]
        most = self._experiment(None, {}).verdict().progress.conversations_max
        self._run.hold(batch, texts, done=self._search.spent, most=most)
        with self._run.database.read() as connection:
            last = step.first_cell + step.cells - 1
            held = runs.outcomes(connection, self._row.id, cells=(step.first_cell, last))
        outcomes: dict[int, dict[int, bool | None]] = {}
        scores: dict[int, dict[int, float]] = {}
        wrong: dict[int, dict[int, Sequence[str]]] = {}
        for row in held:
            outcomes.setdefault(row.cell, {})[row.arm] = row.task_completed
            wrong.setdefault(row.cell, {})[row.arm] = self._reflection.wrong(row)
            if (score := self._run.terms.goal.score(row)) is not None:
                scores.setdefault(row.cell, {})[row.arm] = score
        self._search.talked(outcomes, scores, wrong)
        self._batches += 1
        with self._run.transaction() as connection:
            self._keep(connection)

    def _pass(self, step: Talk) -> Pass:
        """Return the next batch as a pass; with a panel, its personas take turns."""
        number = self._batches + 1
        terms = self._run.terms
        draws = np.random.default_rng((self._row.seed, number)).random((step.cells, len(step.arms)))
        cells = []
        for at, order in enumerate(draws.argsort(axis=1).tolist()):
            cell = step.first_cell + at
            persona = cell % len(terms.panel) if terms.panel else cell // terms.size["scenarios"]
            cells.append(Cell(cell, persona, tuple(step.arms[place] for place in order)))
        return Pass(number, "screen", step.arms, tuple(cells))

    # Stored state

    def _keep(self, connection: Connection, *, ended: bool = False) -> None:
        finalist = None
        tallies = self._tallies(connection)
        if ended and (found := self._search.finalist()) is not None:
            finalist = found.number
            found.state = "finalist"
        experiment = self._experiment(finalist, tallies)
        searched = self._search.to_json()
        # Conversations deleted meanwhile are no longer quoted.
        gone = self._read - conversation_updates.still_there(connection, self._read)
        conversation_updates.forget_in([*searched["edits"], *self._refused], gone)
        state = {
            "search": searched,
            "batches": self._batches,
            "shown": self._shown,
            "read": sorted(self._read),
            "refused": self._refused,
            "finalist": finalist,
        }
        lifecycle.keep(connection, self._row, experiment, self._run.notes, search=state)

    def _experiment(self, finalist: int | None, tallies: dict[int, PairTally]) -> Experiment:
        searched = Searched(
            finalist=finalist,
            passes=self._batches,
            cells=len(self._search.outcomes),
            conversations=self._search.spent,
            confirm_passes=self._budget.confirm_passes(
                spent=self._search.spent, generations=self._search.generation
            ),
            conversations_max=self._budget.conversations,
        )
        return self._run.terms.experiment(
            variants=max(len(self._search.members) - 1, 1),
            prior_sd_points=self._run.prior_sd_points,
            searched=searched,
            screened=tallies,
        )

    def _tallies(self, connection: Connection) -> dict[int, PairTally]:
        """Return the pairs of each candidate with the original, which are reported but do not decide."""
        if not self._search.outcomes:
            return {}
        goal = self._run.terms.goal
        tallies = {one.number: PairTally() for one in self._search.members[1:]}
        held = runs.outcomes(connection, self._row.id, stage="screen")
        for cell, rows in runs.by_cell(held).items():
            measured = {
                arm: Measured(row.task_completed, row.sentiment_score, row.quality, goal.score(row))
                for arm, row in rows.items()
            }
            if 0 in measured:
                for arm in tallies.keys() & measured.keys():
                    tallies[arm].add(cell, measured[arm], measured[0])
        return tallies


# In its API form

# Quantile of the normal distribution for an interval of 90%.
Z90: Final = 1.645
PRUNED: Final = "It does not earn its words according to all conversations of the search."


def plan_of(terms: Terms, state: Mapping[str, Any], held: Mapping[str, int]) -> SearchPlan:
    """Return the budgets and spending of the parts of an optimization with a search, in conversations."""
    budget, search = terms.budget, state["search"]
    passes = budget.confirm_passes(spent=search["spent"], generations=search["generation"])
    planned = {
        "search": budget.search,
        "confirmation": 2 * budget.pass_pairs * passes,
        "verification": 2 * budget.pass_pairs * terms.verification_passes,
    }
    stages = zip(planned.items(), ("screen", "confirm", "verify"), strict=True)
    return SearchPlan(
        **{part: Spending(planned=most, spent=held.get(stage, 0)) for (part, most), stage in stages},
        generations_max=search["generations_max"],
        generations=search["generation"],
    )


def candidates_of(state: Mapping[str, Any], ids: Sequence[str]) -> dict[int, dict[str, Any]]:
    """Return the fields that a search adds to each variant, by number.

    Parameters
    ----------
    ids
        Ids of the variants by number.
    """
    search = Search.from_json(state["search"])
    # In points of completion, even if a goal guides the search.
    known = search.worth(search.outcomes)
    kept = {}
    for name, edit in search.edits.items():
        record = with_and_without(search.outcomes, search.edits_of, name)
        effect = _points("effect", known.of([name])) if record.n else {}
        kept[name] = _edit(edit.to_json(), **record._asdict(), **effect, state="kept", reason=None)
    found = {}
    for member in search.members[: len(ids)]:
        without = _pruned(search, member)
        pruned = [kept[name].model_copy(update={"state": "pruned", "reason": PRUNED}) for name in without]
        refused = [
            _edit(one, state="refused", reason=one["reason"])
            for one in state["refused"]
            if one["candidate"] == member.number
        ]
        found[member.number] = {
            "generation": member.generation,
            "parent_variant_id": None if member.parent is None else ids[member.parent],
            "other_parent_variant_id": None if member.other_parent is None else ids[member.other_parent],
            "edits": [*(kept[name] for name in member.edits), *pruned, *refused],
            "search": _candidate(search, known, member) if member.number else None,
        }
    return found


def _points(name: str, worth: tuple[float, float]) -> dict[str, float]:
    """Return the fields of a worth in points, with the ends of its interval."""
    mean, sd = worth
    return {
        name: 100.0 * mean,
        f"{name}_low": 100.0 * (mean - Z90 * sd),
        f"{name}_high": 100.0 * (mean + Z90 * sd),
    }


def _pruned(search: Search, member: Member) -> list[str]:
    """Return the edits of the parent that a candidate put together from earlier edits lacks."""
    before = {name for one in search.members[: member.number] for name in one.edits}
    if member.parent is None or not before.issuperset(member.edits):
        return []
    return [name for name in search.members[member.parent].edits if name not in member.edits]


def _edit(found: Mapping[str, Any], **more: Any) -> Edit:
    names = ("id", "operation", "anchor", "text", "symptom", "cause")
    evidence = [EditEvidence(conversation_id=one, quote=quote) for one, quote in found["evidence"]]
    return Edit(**{name: found[name] for name in names}, evidence=evidence, **more)


def _candidate(search: Search, known: Worth, member: Member) -> CandidateSearch:
    record = record_of(search.outcomes, member.number, member.base)
    tested = bool(record.n) or member.reason == ASSEMBLED
    return CandidateSearch(
        pairs=record.n,
        **record._asdict(),
        **(_points("points", known.of(member.edits)) if tested else {}),
        conversations_spent=member.spent,
        state=member.state,
        reason=member.reason,
    )
