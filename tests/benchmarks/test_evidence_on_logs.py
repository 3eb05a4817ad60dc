"""Whether intervals on real logs cover the truth, and nothing is named on a word list: the figures of measured.md.

``python -m pytest -m benchmark tests/benchmarks/test_evidence_on_logs.py -s`` prints the table in Markdown.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pytest

from analysis.test_basis import DIRECTION
from benchmarks.real_logs import log_everything, wait_for_insights
from benchmarks.tables import markdown
from benchmarks.test_segments_on_agents import TASK, conversations, members, rest_of, with_outcomes
from promptlift import analysis
from promptlift.analysis.mentions import ANY_ISSUE
from support.shared_data import CONVERSATION_FILES, needs_shared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.workspace import Workspace

pytestmark = [needs_shared, pytest.mark.benchmark, pytest.mark.timeout(7200)]

KNOWN = ("tau2-airline", "tau2-retail", "taubench-airline", "sgd-service", "uss-sgd")
DRAWS = 60
PAIRS = 500
# Of either arm of a planted pair.
ARM = 150
PLANTED = 10.0


def named_arms(table: pd.DataFrame) -> pd.DataFrame:
    """Name in ``arm`` what can be compared: models where there are several, else trials, else topics."""
    if len(table["llm_model"].unique()) > 1:
        arm = table["llm_model"].astype("str")
    elif "metadata.trial" in table:
        arm = table["metadata.trial"].astype("str")
    else:
        arm = pd.Series([topics[0] if topics else None for topics in table["topics"]], table.index)
        arm = arm.where(arm.isin(arm.value_counts().index[:4]))
    return table.assign(arm=arm)


def drawn(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Draw as many conversations with replacement, each as a conversation of its own."""
    at = rng.integers(len(table), size=len(table))
    return table.iloc[at].assign(conversation_id=[f"c{one}" for one in range(len(at))]).reset_index(drop=True)


def drawn_tasks(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Draw as many tasks with replacement, with all their conversations."""
    if TASK not in table:
        return drawn(table, rng)
    places = list(table.reset_index(drop=True).groupby(TASK).indices.values())
    chosen = [places[one] for one in rng.integers(len(places), size=len(places))]
    sample = table.iloc[np.concatenate(chosen)]
    tasks = np.repeat([f"t{one}" for one in range(len(chosen))], list(map(len, chosen)))
    ids = [f"c{one}" for one in range(len(sample))]
    return sample.assign(**{TASK: tasks, "conversation_id": ids}).reset_index(drop=True)


class Interval(NamedTuple):
    """An interval of a sample, and the truth of what it was drawn from."""

    of: str
    low: float
    high: float
    truth: float
    clear: bool


def interval(of: str, row: dict, name: str, truth: float, *, clear: bool | None = None) -> Interval:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return Interval(of, low, high, truth, low > 0.0 or high < 0.0 if clear is None else clear)


def compared(table: pd.DataFrame, sample: pd.DataFrame, pair: str | None, of: str) -> Iterator[Interval]:
    # Repeated trials of a task are no pairs.
    if pair is not None and (pair not in table or table.duplicated([pair, "arm"]).any()):
        return
    control = table["arm"].value_counts().index[0]
    options = {"by": "arm", "pair": pair, "control": control}
    truth = analysis.compare(table, **options).set_index("variant")["difference_points"]
    for row in analysis.compare(sample, **options).to_dict("records"):
        clear = row["verdict"] in ("winner", "worse")
        yield interval(of, row, "difference_points", truth[row["variant"]], clear=clear)


def segmented(table: pd.DataFrame, sample: pd.DataFrame) -> Iterator[Interval]:
    found = analysis.segments(sample.drop(columns="arm"))
    done = table["task_completed"].to_numpy(bool)
    for row in found.to_dict("records"):
        inside = members(table, row, found.attrs["promptlift"]["merged"])
        rest = rest_of(table, row, inside, len(sample))
        if inside.any() and rest.any():
            truth = 100.0 * (done[inside].mean() - done[rest].mean())
            clear = row["verdict"] != "unclear"
            yield interval("segment", row, "difference_points", truth, clear=clear)


IMPACTS = {"points": "gain without an issue", "difference_points": "contrast of an issue"}


def weighed(table: pd.DataFrame, truth: pd.DataFrame, sample: pd.DataFrame) -> Iterator[Interval]:
    has, its = Within(table), Within(sample)
    for row in analysis.headroom(sample, top=None).to_dict("records"):
        for name, of in IMPACTS.items():
            yield interval(of, row, name, truth[name][row["issue"]])
        yield interval("adjusted contrast", row, "adjusted_points", has.difference(its, row["issue"]))


class Within:
    """Conversations by model and first topic: what the contrast of an issue is adjusted for."""

    def __init__(self, table: pd.DataFrame) -> None:
        topic = [topics[0] if topics else "" for topics in table["topics"]]
        self.stratum = table["llm_model"].astype("str").str.cat(topic, sep=" ", na_rep="").to_numpy(object)
        self.done = table["task_completed"].to_numpy(bool)
        self.titles = [{issue["title"] for issue in issues} for issues in table["issues"]]

    def has(self, title: str) -> np.ndarray:
        return np.array([bool(one) if title == ANY_ISSUE else title in one for one in self.titles])

    def difference(self, sample: Within, title: str) -> float:
        """Return the true difference within strata, weighed as a sample has them."""
        mine, its = self.has(title), sample.has(title)
        total = weight = 0.0
        for stratum in set(sample.stratum):
            here, there = self.stratum == stratum, sample.stratum == stratum
            with_it, without = int((there & its).sum()), int((there & ~its).sum())
            share = with_it * without / (with_it + without)
            if share:
                total += share * (self.done[here & mine].mean() - self.done[here & ~mine].mean())
                weight += share
        return 100.0 * total / weight if weight else np.nan


def counted(name: str) -> dict[str, Counter[str]]:
    """Count the intervals on draws of the logs, those that cover the truth of all of them, and clear ones of the wrong sign."""
    table = named_arms(with_outcomes(conversations(name)))
    impacts = analysis.headroom(table, top=None).set_index("issue")
    rng, counts = np.random.default_rng(24), {}
    for _ in range(DRAWS):
        alone, by_task = drawn(table, rng), drawn_tasks(table, rng)
        found = [
            *compared(table, alone, None, "comparison"),
            *compared(table, by_task, TASK, "comparison in pairs of tasks"),
            *segmented(table, by_task),
            *weighed(table, impacts, alone),
        ]
        for one in found:
            if np.isnan([one.low, one.high, one.truth]).any():
                continue
            counts.setdefault(one.of, Counter()).update(
                n=1,
                # The truth is a sum of the same shares in another order.
                covered=int(one.low - 1e-9 <= one.truth <= one.high + 1e-9),
                clear=int(one.clear),
                wrong=int(one.clear and abs(one.truth) > 1e-9 and (one.low > 0.0) != (one.truth > 0.0)),
            )
    return counts


def test_intervals_on_real_logs_cover_the_truth_in_93_of_100_draws():
    everything: dict[str, Counter[str]] = {}
    cells = []
    for name in KNOWN:
        for of, count in counted(name).items():
            everything.setdefault(of, Counter()).update(count)
            cells.append([name, of, *_shown(count)])
    cells += [["all", of, *_shown(count)] for of, count in everything.items()]
    print(
        *markdown(
            ("logs", "interval of", "intervals", "cover the truth", "clear", "with the wrong sign"), cells
        ),
        sep="\n",
    )
    assert all(count["covered"] >= 0.93 * count["n"] for count in everything.values())


def _shown(count: Counter[str]) -> list[str]:
    return [
        f"{count['n']:,}",
        f"{count['covered'] / count['n']:.1%}",
        f"{count['clear']:,}",
        f"{count['wrong']:,}",
    ]


def test_nothing_is_clearly_the_wrong_way_round_in_500_planted_pairs():
    """Both arms are drawn from the same log; one of them completes ten points more often."""
    rng, named = np.random.default_rng(25), Counter[str]()
    for at in range(PAIRS):
        table = with_outcomes(conversations(KNOWN[at % len(KNOWN)]))
        done = table["task_completed"].to_numpy(bool)
        low = min(max(done.mean() - PLANTED / 200.0, 0.05), 0.95 - PLANTED / 100.0)
        arms = []
        for arm, rate in (("worse", low), ("better", low + PLANTED / 100.0)):
            chance = np.where(done, rate / done.sum(), (1.0 - rate) / (~done).sum())
            arms.append(table.iloc[rng.choice(len(table), ARM, p=chance)].assign(arm=arm))
        both = pd.concat(arms, ignore_index=True).assign(conversation_id=range(2 * ARM))
        named[analysis.compare(both, by="arm", control="worse")["verdict"].iloc[0]] += 1
    print(f"planted pairs of {ARM} and {ARM} conversations: {dict(named)}")
    assert named["worse"] == 0
    assert named["winner"] > 0


def test_nothing_is_named_on_a_word_list(lift: Workspace) -> None:
    """No direction, impact, cost or recommendation over all logs, in tables of the package and answers of the service."""
    for name in CONVERSATION_FILES:
        table = named_arms(conversations(name).drop(columns="truth"))
        if len(table["arm"].dropna().unique()) > 1:
            found = analysis.compare(table, by="arm")
            assert found["difference_points"].isna().all(), name
            assert set(found["verdict"]) == {""}, name
        assert analysis.segments(table).empty, name
        impacts = analysis.headroom(table, top=None)
        assert impacts["issue"][0] == ANY_ISSUE
        assert impacts[["enough", "adjusted_points", *IMPACTS]].isna().all(axis=None), name
    logged = log_everything(lift)
    wait_for_insights(lift)
    for prompt_id in logged:
        view = lift.client.agents.insights(prompt_id, days="all")
        assert view.top_issues
        assert {(one.impact_points, one.completion_with) for one in view.top_issues} == {(None, None)}
        assert (view.business_impact.first_issue, view.business_impact.cost) == (None, None)
        said = [*view.recommendations, repr(lift.plan_optimization(prompt_id, search="on"))]
        assert not [line for line in said if DIRECTION.search(line)]
