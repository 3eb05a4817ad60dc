"""Topics and failing endings on real conversations: agreement with known topics, failures named by one half and seen in the other, size."""

from __future__ import annotations

import json
import time
from functools import cache

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.analysis.atlas.why import contrast
from promptlift.analysis.segment_rows import task_numbers
from promptlift.clustering.grouping import Grouping, read_block
from promptlift.clustering.vectors import Space, ending, opening
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.lexicon.judge import LexiconJudge
from promptlift.stats.multiplicity import holm
from support.shared_data import load, needs_shared
from support.topical import WEEKS, agreement, table_of, topical, weeks

pytestmark = [needs_shared, pytest.mark.benchmark, pytest.mark.timeout(7200)]

SERVICES, AGENTS = ("sgd-service", "uss-sgd"), ("tau2-airline", "tau2-retail", "taubench-airline")
# The topics of these conversations are not theirs: agents called the tool that the topic names in 23%, others in 60 to 93%.
MISLABELLED = "toolorchestra-gpt-5"
# Least V-measure and adjusted Rand index: the prototype's of EVIDENCE.md where it has the set, else what it has on these conversations.
FLOORS = {
    "one service": (0.97, 0.9), "sgd-service": (0.84, 0.65), "uss-sgd": (0.79, 0.66), "tau2-airline": (0.4, 0.22),
    "tau2-retail": (0.5, 0.38), "taubench-airline": (0.4, 0.22), "mixed": (0.83, 0.65), "all mixed": (0.76, 0.51),
}  # fmt: skip
SEEDS = 8
DRAWS = 10
SHUFFLES = 50


@cache
def conversations(name: str) -> pd.DataFrame:
    """Conversations with their topic, task and outcome, as far as they are known."""
    records = load(name)
    contents = [json.dumps({"messages": record["messages"]}) for record in records]
    truths = [record["truth"] for record in records]
    return table_of(
        contents, truth=[truth["topic"] for truth in truths], n_topics=[len(truth.get("topics") or []) for truth in truths],
        task_id=[str(record["metadata"].get("taskId", record["sourceId"])) for record in records],
        run=[record["metadata"].get("run") for record in records],
        task_completed=pd.array([truth["taskCompleted"] for truth in truths], dtype="boolean"), basis="outcome",
    )  # fmt: skip


@cache
def labelled(name: str) -> pd.DataFrame:
    """Conversations whose topic is known; "mixed" has each task of an agent once, as the prototype's mixture had."""
    if name == "mixed":
        of_one = (conversations(one)[conversations(one)["run"].eq("gpt-4o")] for one in AGENTS[:2])
        table = pd.concat([conversations("sgd-service"), *of_one], ignore_index=True)
    elif name == "all mixed":
        table = pd.concat([conversations(one) for one in (*SERVICES, *AGENTS)], ignore_index=True)
    else:
        table = conversations("sgd-service" if name == "one service" else name)
    if name == "one service":
        table = table[table["n_topics"].eq(1)]
    table = table[table["truth"].notna() & table["run"].ne(MISLABELLED)].reset_index(drop=True)
    return table.assign(conversation_id=table.index.astype("str"))


def by_lists(content: str) -> str:
    return " + ".join(LexiconJudge().judge(parse_content(content)).topics)


def of_points(table: pd.DataFrame, known: int) -> dict[str, list[np.ndarray]]:
    """Partition the same points by k-means that is told their number, with each seed, and by HDBSCAN where it is installed."""
    from scipy.cluster.vq import kmeans2

    _, points = Space.fit(read_block(table["content"], opening)[0], np.random.default_rng(0))
    found = {"k told": [kmeans2(points, known, minit="++", seed=seed)[1] for seed in range(SEEDS)]}
    try:
        from sklearn.cluster import HDBSCAN
    except ModuleNotFoundError:
        return found
    return {
        **found,
        "HDBSCAN": [HDBSCAN(min_cluster_size=max(5, len(table) // 100), copy=True).fit_predict(points)],
    }


@pytest.mark.filterwarnings("ignore:One of the clusters is empty")
def test_known_topics_are_found():
    print("\nset (n, topics): V / ARI")
    for name, (least_v, least_ari) in FLOORS.items():
        table = labelled(name)
        found = [analysis.atlas(table, seed=seed) for seed in range(SEEDS)]
        measured = [agreement(table["truth"], one.assignments["cluster"].fillna(0)) for one in found]
        v, ari = np.mean(measured, axis=0)
        others = {"lists": [table["content"].map(by_lists)], **of_points(table, table["truth"].nunique())}
        compared = {
            key: np.mean([agreement(table["truth"], one) for one in some], axis=0)
            for key, some in others.items()
        }
        beside = ", ".join(f"{key} {one:.2f} / {two:.2f}" for key, (one, two) in compared.items())
        counts = " ".join(str(len(one.table)) for one in found)
        print(
            f"{name} ({len(table)}, {table['truth'].nunique()}): {v:.2f} / {ari:.2f} (k {counts}); {beside}",
            flush=True,
        )
        assert v >= least_v
        assert ari >= least_ari


def test_what_one_half_names_fails_in_the_other_too():
    named = again = less = 0
    for name in (*AGENTS, *SERVICES):
        table = conversations(name)
        table = table[table["task_completed"].notna()].reset_index(drop=True)
        here = np.zeros(3, int)
        for draw in range(DRAWS):
            rng = np.random.default_rng(draw)
            tasks = rng.permutation(table["task_id"].unique())
            first = table["task_id"].isin(tasks[: len(tasks) // 2]).to_numpy()
            for side in (first, ~first):
                here += seen_again(table[side], table[~side], rng)
        print(
            f"{name}: {here[0]} named, {here[1]} fail more often in the other half, {here[2]} clearly less",
            flush=True,
        )
        named, again, less = np.array([named, again, less]) + here
    print(f"all: {named} named, {again / named:.0%} again, {less} clearly less")
    assert again >= 0.9 * named
    assert less == 0


def seen_again(one: pd.DataFrame, other: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Count the endings that one half names, those that fail more often in the other, and those that clearly fail less."""
    contents = [half["content"].array for half in (one, other)]
    failed = [~half["task_completed"].to_numpy(bool) for half in (one, other)]
    tasks = [task_numbers(half["task_id"]) for half in (one, other)]
    by_topic, places = Grouping.of(contents[0], opening, rng)
    topics = [places.labels, by_topic.place(contents[1]).labels]
    by_ending, places = Grouping.of(contents[0], ending, rng, within=topics[0])
    groups = [places.labels, by_ending.place(contents[1], topics[1]).labels]
    tests = [
        [contrast(groups[half] == group, failed[half], topics[half], tasks[half]) for group in range(by_ending.clusters.count)]
        for half in range(2)
    ]  # fmt: skip
    tested = [pair for pair in zip(*tests, strict=True) if pair[0] is not None]
    adjusted = holm([mine.p for mine, _ in tested])
    named = [
        theirs
        for (mine, theirs), p in zip(tested, adjusted, strict=True)
        if mine.points > 0 and p < 0.05 and theirs
    ]
    return np.array([len(named), sum(one.points > 0 for one in named), sum(one.high < 0 for one in named)])


def test_shuffled_logs_have_no_topics():
    named = [
        len(analysis.atlas(topical("English", 150, seed=seed, shuffled=True)).table)
        for seed in range(SHUFFLES)
    ]
    print(f"\nshuffled: topics named in {sum(map(bool, named))} of {SHUFFLES}")
    assert not any(named)


def test_stable_topics_are_found_again_on_four_of_five():
    for name in ("sgd-service", "uss-sgd", "tau2-airline", "taubench-airline", "mixed"):
        table = labelled(name)
        whole = analysis.atlas(table)
        stable = whole.table.loc[whole.table["stability"].ge(0.8), "cluster"]
        assert len(stable) >= 2
        agreements = []
        for draw in range(1, 4):
            drawn = table.sample(frac=0.8, random_state=draw).sort_index().reset_index(drop=True)
            part = analysis.atlas(drawn, seed=draw).assignments
            part = part.set_index("conversation_id")["cluster"].fillna(0)
            full = whole.assignments.set_index("conversation_id")["cluster"].loc[part.index]
            kept = full.isin(stable)
            agreements.append(agreement(full[kept], part[kept])[1])
        ari = np.mean(agreements)
        print(f"{name}: {len(stable)} of {len(whole.table)} topics are stable, ARI {ari:.2f}", flush=True)
        assert ari >= 0.8


def test_changes_are_true():
    rng = np.random.default_rng(0)

    def shares(first: float = 0.0) -> np.ndarray:
        rest = rng.dirichlet(np.full(11, 2.0))
        return np.r_[first, (1.0 - first) * rest]

    named = 0
    for _ in range(400):
        usual = shares(0.08)
        named += weeks(usual, usual, 2_000, rng).changes(periods=WEEKS)["change"].ne("unclear").any()
    print(f"\nno change: {named / 400:.1%} of 400 weeks name one")
    assert named <= 28  # of a binomial with 5%, 97%
    # At 2,000 a week and a dozen topics, Holm's first step is z = 2.87. The power of a growth from p to q = p + 5 points is the
    # normal probability below (0.05 - 2.87 (2 m (1 - m) / 2,000)^½) / ((p (1 - p) + q (1 - q)) / 2,000)^½, with m the mean of p and q:
    # 97% at 10%, 90% at 15%, 82% at 20%, 70% at 30%. In the last two, 5.5 and 6.2 points have 90%; tested is what has 97%.
    for first, growth in ((0.02, 0.05), (0.05, 0.05), (0.1, 0.05), (0.15, 0.057), (0.2, 0.063), (0.3, 0.07)):
        found = 0
        for _ in range(100):
            usual = shares(first)
            grown = np.r_[first + growth, usual[1:] * (1.0 - growth - first) / (1.0 - first)]
            change = weeks(usual, grown, 2_000, rng).changes(periods=WEEKS).set_index("cluster")["change"]
            found += change[1] == "grown"
        print(f"from {first:.0%} to {first + growth:.1%}: found in {found} of 100 weeks", flush=True)
        assert found >= 90


@pytest.mark.parametrize(("n", "draws"), [(3_000, 10), (20_000, 2)])
def test_a_rare_topic_and_twenty_thousand(n, draws):
    rows = pd.concat([conversations(name)["content"] for name in SERVICES], ignore_index=True)
    rare = conversations("tau2-retail")["content"]
    planted = n // 200
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        texts = [
            thinned(str(one), rng) for one in (*rng.choice(rows, n - planted), *rng.choice(rare, planted))
        ]
        started, processor = time.monotonic(), time.process_time()
        labels = analysis.atlas(table_of(texts)).assignments["cluster"].fillna(0).to_numpy(int)
        seconds, used = time.monotonic() - started, time.process_time() - processor
        mode = np.bincount(labels[-planted:]).argmax()
        found = (labels[-planted:] == mode).sum()
        recall, precision = found / planted, found / (labels == mode).sum()
        print(
            f"{n}: {seconds:.1f} s, {used:.1f} s of processor; rare recall {recall:.2f}, precision {precision:.2f}",
            flush=True,
        )
        assert recall >= 0.95
        assert precision >= 0.9


def thinned(content: str, rng: np.random.Generator) -> str:
    """Leave out one word in seven, so that no two conversations are equal."""
    messages = json.loads(content)["messages"]
    for message in messages:
        words = message["content"].split(" ")
        message["content"] = " ".join(
            word for word, keep in zip(words, rng.random(len(words)) < 0.86, strict=True) if keep
        )
    return json.dumps({"messages": messages})
