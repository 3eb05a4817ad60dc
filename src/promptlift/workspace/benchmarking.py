"""Benchmarks from a notebook: started, waited for, read as tables, and asked which arm is the cheapest."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from promptlift.client.api.group import given
from promptlift.client.reads.read_list import RowsRead
from promptlift.errors import ConfigError
from promptlift.schema import endpoints
from promptlift.schema.benchmarks import Benchmark, ScenarioSet
from promptlift.workspace.runs import ResumableRun, may_have_worked, part
from promptlift.workspace.session import Room, Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    Row = dict[str, Any]
    Prices = Mapping[str, Mapping[str, float]]

__all__ = ["BenchmarkRun", "Benchmarks"]


@dataclass(frozen=True)
class CheapestChoice:
    """The cheapest arm of a benchmark that is not worse than the reference by a margin or more.

    Attributes
    ----------
    arm, name, llm_model
        The arm; ``None`` when no arm qualifies.
    cost_per_conversation
        By the prices; ``None`` without them.
    cost_basis
        ``price``, or ``tokens`` where an arm that qualifies has no price.
    sentence
        The answer in words, with what it rests on.
    table
        All arms with their numbers.
    """

    arm: int | None
    name: str | None
    llm_model: str | None
    cost_per_conversation: float | None
    cost_basis: str | None
    sentence: str
    table: pd.DataFrame = field(repr=False)

    def __str__(self) -> str:
        return self.sentence


def choose(table: pd.DataFrame, *, reference: int | str | None, within: float) -> CheapestChoice:
    """Return the conclusion from a table of arms, with its sentence.

    Parameters
    ----------
    table
        What ``bench.arms()`` returns for this reference and this margin.
    reference
        Number of the arm to compare with, or ``"best"``.
    within
        The margin, in percentage points.
    """
    facts = table.attrs["promptlift"]
    rows = table.to_dict("records")
    against = next((row["name"] for row in rows if row["is_reference"]), None)
    than = "every other arm" if reference == "best" else repr(against)
    chosen = next((row for row in rows if row["is_cheapest"]), None)
    if chosen is None:
        return CheapestChoice(None, None, None, None, None, _nobody(rows, than, within), table)
    cost = chosen["cost_per_conversation"]
    basis = str(chosen["cost_basis"])
    known = cost if basis == "price" and cost == cost else None  # noqa: PLR0124 - NaN
    return CheapestChoice(
        arm=int(chosen["arm"]),
        name=chosen["name"],
        llm_model=chosen["llm_model"] if isinstance(chosen["llm_model"], str) else None,
        cost_per_conversation=known,
        cost_basis=basis,
        sentence=_answer(chosen, rows, than, facts, known),
        table=table,
    )


def _nobody(rows: Sequence[Mapping[Any, Any]], than: str, within: float) -> str:
    if not any(row["n"] for row in rows):
        return "Nothing is measured yet."
    return (
        f"No arm is shown to be less than {within:g} points worse than {than}. "
        "More scenarios can prove it: lift.benchmark(…, scenario_set=…, scenarios=…)."
    )


def _answer(
    chosen: Mapping[Any, Any],
    rows: Sequence[Mapping[Any, Any]],
    than: str,
    facts: Mapping[str, Any],
    cost: float | None,
) -> str:
    qualified = [row for row in rows if row["acceptable"]]
    price = (
        f"{cost:.4g} a conversation"
        if cost is not None
        else "by its tokens, because not every arm has a price"
    )
    if chosen["is_reference"]:
        why = f"it is the reference, and no other arm that is shown to be less than {facts['margin']:g} points worse costs less"
        if len(qualified) == 1:
            why = f"it is the reference, and no other arm is shown to be less than {facts['margin']:g} points worse"
    else:
        why = (
            f"{chosen['difference']:+.1f} points against the reference ({chosen['difference_low']:+.1f} to "
            f"{chosen['difference_high']:+.1f}, {chosen['n_pairs']} pairs), less than {facts['margin']:g} points worse than {than} "
            f"(p {chosen['not_worse_p']:.2g}, adjusted)"
        )
    ended = "" if facts["final"] else " The benchmark has not completed."
    rehearsal = " This is a rehearsal: it says nothing about real prompts." if facts["rehearsal"] else ""
    return f"{chosen['name']!r} is the cheapest ({price}): {why}.{ended}{rehearsal}"


class BenchmarkRun(ResumableRun[Benchmark]):
    """A benchmark: the same fixed scenarios for several prompts, versions, variants or models.

    The methods :meth:`arms` and :meth:`conversations` return tables; ``bench.state.arms`` has the arms as the service sent them.
    """

    _noun = "benchmark"
    _group = "benchmarks"
    _unit = "simulated conversations"
    _call = "lift.benchmarks[{}]"
    _endpoint = endpoints.BENCHMARKS_GET

    def _counts(self, state: Row) -> tuple[Any, Any]:
        return part(state, "progress", "conversationsDone"), part(state, "progress", "conversationsTotal")

    def delete(self) -> None:
        """Delete the benchmark with its conversations. Its scenario set stays."""
        self.client.benchmarks.bulk(job_ids=[self.id])

    def arms(
        self,
        *,
        reference: int | str | None = None,
        margin: float | None = None,
        level: float | None = None,
        prices: Prices | None = None,
    ) -> pd.DataFrame:
        """Return the arms with scores, costs and their difference to the reference, one row each.

        Parameters
        ----------
        reference
            Number of an arm, or ``"best"``; by default 0, the baseline.
        margin
            Percentage points; a smaller loss does not matter. By default 5.
        level
            Level of the intervals and decisions; by default 0.95.
        prices
            Prices by model; by default those it was started with.

        Returns
        -------
        DataFrame
            arm, name, prompt (as in ``lift.messages``), llm_model, n, n_dropped, task_completion (a fraction) with task_completion_low and
            task_completion_high, sentiment, quality, turns, input_tokens, output_tokens, tokens_estimated,
            cost_per_conversation, cost_per_completed, reference, n_pairs, n11, n10, n01, n00, difference with
            difference_low and difference_high (percentage points), p, p_holm, verdict, not_worse, not_worse_p,
            is_reference, acceptable, is_cheapest, cost_basis.
        """
        found = self.client.benchmarks.get(self.id, reference=reference, margin=margin, level=level)
        table: pd.DataFrame = importlib.import_module("promptlift.analysis").benchmark(found, prices=prices)
        table.attrs["promptlift"]["table"] = "benchmark_arms"
        return self._named(table)

    def conversations(self, *, arm: int | None = None, content: bool = False) -> pd.DataFrame:
        """Return the simulated conversations, one row each. Offered by the embedded service.

        Parameters
        ----------
        arm
            Only of this arm.
        content
            Add the transcripts.

        Returns
        -------
        DataFrame
            simulation_id, benchmark_id, cell, arm, arm_name, persona_id, persona, scenario, opening, goal, scenario_source, status,
            task_completed, sentiment, sentiment_score, quality, turns, ended_by, input_tokens, output_tokens, error, created_at;
            with ``content`` also content.
        """
        return self._offered(
            "benchmark_conversations",
            endpoints.BENCHMARKS_CONVERSATIONS,
            self.id,
            {"arm": arm, "include_content": content or None},
            filters={"benchmark_id": self.id, "arm": arm},
            unit="simulated conversations read",
            content=content,
        )

    def cheapest(
        self,
        *,
        within: float = 5.0,
        reference: int | str | None = None,
        prices: Prices | None = None,
        level: float = 0.95,
    ) -> CheapestChoice:
        """Return the cheapest arm that is not worse than the reference by ``within`` points or more.

        That an arm is not worse is proven on the same cells (non-inferiority, a score test for pairs), adjusted over the arms
        by Holm: the chance that any claim is wrong is at most ``1 - level``. An arm of which too little is known does
        not qualify.

        Parameters
        ----------
        within
            Percentage points of task completion; a smaller loss does not matter.
        reference
            Number of an arm (by default 0, the baseline), or ``"best"``: then an arm has to be not worse than every other one.
        prices
            Prices by model, as for ``lift.benchmark``; by default those it was started with.
        level
            How sure to be.

        Returns
        -------
        CheapestChoice
            Printed, it is the answer in a sentence; ``table`` has all arms.

        Examples
        --------
        ``print(bench.cheapest(within=5))``
        """
        table = self.arms(reference=reference, margin=within, level=level, prices=prices)
        return choose(table, reference=reference, within=within)


class Benchmarks(Room):
    """The benchmarks of the account: ``lift.benchmarks()`` is their table, ``lift.benchmarks[benchmark_id]`` one of them."""

    def __getitem__(self, benchmark_id: str) -> BenchmarkRun:
        return BenchmarkRun(self._lift, self.client.benchmarks.get(benchmark_id))

    def __call__(self) -> pd.DataFrame:
        """Return the benchmarks of the account, one row each, newest first.

        Returns
        -------
        DataFrame
            benchmark_id, name, status, arm_count, scenario_count, conversations_done, conversations_total,
            scenario_set_id, scenario_set_version, scenario_set, failure, rehearsal, created_at, started_at, completed_at.
        """
        return self._offered("benchmarks", endpoints.BENCHMARKS_LIST)


class Benchmarking(Session):
    """Benchmarks, and what they and simulations are made of."""

    @cached_property
    def benchmarks(self) -> Benchmarks:
        """The benchmarks of the account."""
        return Benchmarks(self)

    def benchmark(
        self,
        prompts: str | Sequence[str] | None = None,
        *,
        models: Sequence[str] | None = None,
        versions: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
        arms: Sequence[Mapping[str, Any]] | None = None,
        scenario_set: str | ScenarioSet | Mapping[str, Any] | None = None,
        scenarios: int | None = None,
        name: str | None = None,
        objective: str | None = None,
        prices: Prices | None = None,
        max_turns: int | None = None,
        seed: int | None = None,
        wait: bool = True,
    ) -> BenchmarkRun:
        """Compare prompts, versions, variants or models on a fixed set of scenarios, and wait for the end.

        Every arm talks once in every cell: a scenario with its persona. The first arm is the baseline. Interrupting the
        waiting does not stop the benchmark.

        Parameters
        ----------
        prompts
            Names or ids of prompts. Their current texts are the first arms.
        models
            Models to run each prompt on; by default its own.
        versions
            Versions of the one prompt (``lift.versions``), compared with its current text.
        variants
            Ids of variants (``lift.variants``), of any optimization.
        arms
            Arms in full instead, each a dict with ``prompt_id``, ``name``, ``version_id``, ``variant_id``, ``llm_model``.
        scenario_set
            A set to use again (``lift.scenarios()`` lists them): its id or a :class:`~promptlift.schema.benchmarks.ScenarioSet`, whose
            version counts. By default a new set is made; a dict says of what: ``source`` is ``conversations``, ``model`` or
            ``both`` (logged ones first), ``conversation_ids`` the logged conversations to take its scenarios from.
        scenarios
            How many scenarios a new set has (default 50); with ``scenario_set``, the set grows to so many and becomes a new
            version.
        name
            For lists and pictures.
        objective
            What all conversations are judged by; by default the objective of the first arm's prompt.
        prices
            Prices by model, such as ``{"gpt-4o": {"input": 2.5, "output": 10.0}}``: of a million tokens, in any currency.
        max_turns
            Turns of a conversation at most; by default the account's setting.
        seed
            The same seed, scenario set and model answers give the same result.
        wait
            Whether to wait for the end; if not, :meth:`BenchmarkRun.wait` does.

        Returns
        -------
        BenchmarkRun
            Its ``arms()`` are for ``plots.benchmark``. When somebody stopped it, a warning says why.

        Raises
        ------
        RunFailed
            When it failed; the message says why.
        ConfigError
            When there is nothing to compare.
        """
        fields = given(
            scenario_set=_scenario_set(scenario_set, scenarios), name=name, objective=objective,
            prices=prices and {model: dict(price) for model, price in prices.items()}, max_turns=max_turns, seed=seed,
        )  # fmt: skip
        wanted = self._arms(prompts, models, versions, variants) if arms is None else [*map(dict, arms)]
        if not wanted:
            raise ConfigError('Name prompts to compare, such as lift.benchmark(["Support", "Support 2"]).')
        hint = "It may have been started all the same: see lift.benchmarks()."
        with may_have_worked("the benchmark was started", hint):
            begun = self.client.benchmarks.create(arms=wanted, **fields)
        run = BenchmarkRun(self, begun)
        return run.wait() if wait else run

    def scenarios(self, scenario_set_id: str | None = None, *, version: int | None = None) -> pd.DataFrame:
        """Return the scenarios of a set, or all sets, one row each. Offered by the embedded service.

        Parameters
        ----------
        scenario_set_id
            The set. Without it, the table has every version of every set, newest first.
        version
            By default the newest.

        Returns
        -------
        DataFrame
            Of a set: cell (its number), scenario, opening, goal, scenario_source, persona_id, persona, conversation_id. Of all
            sets: scenario_set_id, scenario_set_version, scenario_set (its name), source, scenario_count, prompt_id, ready,
            created_at.
        """
        if scenario_set_id is None:
            return self._offered("scenario_sets", endpoints.SCENARIO_SETS_LIST)

        def read() -> RowsRead:
            found = self.client.scenario_sets.get(scenario_set_id, version=version)
            rows = [one.to_wire() for one in found.scenarios or []]
            return RowsRead(rows, len(rows), 1, complete=True)

        filters = {"scenario_set_id": scenario_set_id, "version": version}
        return self._table("scenarios", read, filters)

    def personas(self) -> pd.DataFrame:
        """Return the personas that simulated conversations can be held with, one row each. Offered by the embedded service.

        Returns
        -------
        DataFrame
            persona_id, name, description, built_in, created_at: the account's own first.

        Raises
        ------
        NotFound
            When the service does not offer this.
        """
        return self._offered("personas", endpoints.PERSONAS_LIST)

    def _arms(
        self,
        prompts: str | Sequence[str] | None,
        models: Sequence[str] | None,
        versions: Sequence[str] | None,
        variants: Sequence[str] | None,
    ) -> list[Row]:
        named = [prompts] if isinstance(prompts, str) else prompts or []
        ids = [self._names.known_id(one) for one in named]
        if versions is not None and len(ids) != 1:
            raise ConfigError(
                "Versions belong to one prompt: name it, such as lift.benchmark('Support', versions=[…])."
            )
        texts: list[Row] = [{"prompt_id": one} for one in ids]
        texts += [{"prompt_id": ids[0], "version_id": one} for one in versions or []]
        texts += [{"variant_id": one} for one in variants or []]
        if models is None:
            return texts
        return [{**text, "llm_model": model} for text in texts for model in models]


def _scenario_set(named: str | ScenarioSet | Mapping[str, Any] | None, scenarios: int | None) -> Row | None:
    """Return the scenarios that a request asks for; ``None`` leaves them to the service."""
    if isinstance(named, ScenarioSet):
        named = {"id": named.id, "version": named.version}
    elif isinstance(named, str):
        named = {"id": named}
    return {**given(count=scenarios), **(named or {})} or None
