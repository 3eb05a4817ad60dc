"""Topics are found in the logs, in any language, named in their own words, and not where there are none."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.analysis.atlas.topics import kept_atlas
from promptlift.errors import FrameError
from promptlift.schema.topics import Topic
from support.topical import TEMPLATES, WEEKS, agreement, asked, conversation, table_of, topical, weeks

# The shortest words of the templates, which say nothing of a topic.
GRAMMAR = {"my", "the", "of", "and", "its", "any", "for", "has", "mein", "dem", "den", "und", "für", "der", "del", "con", "mi", "el", "la", "su"}  # fmt: skip
SAFE = "<script>alert(1)</script>"


@pytest.mark.parametrize("language", list(TEMPLATES))
def test_topics_are_found_and_named_in_any_language(language):
    table = topical(language, 60)
    found = analysis.atlas(table)
    assert list(found.table) == ["cluster", "name", "n", "share", "share_low", "share_high", "stability", "typical", "borderline"]  # fmt: skip
    v, ari = agreement(table["truth"], found.assignments["cluster"].fillna(0))
    assert v >= 0.9
    assert ari >= 0.9
    texts = " ".join(table["content"]).casefold()
    words = [word for name in found.table["name"] for word in name.replace(" · ", " ").split(" ")]
    assert words
    assert all(word.casefold() in texts for word in words)
    assert not {word.casefold() for word in words} & GRAMMAR


@pytest.mark.parametrize("seed", range(3))
def test_none_is_named_where_words_are_shuffled(seed):
    found = analysis.atlas(topical("English", 120, seed=seed, shuffled=True))
    assert found.table.empty
    assert found.assignments["cluster"].isna().all()
    assert "No topics were found" in found.sentence
    assert "No topics were found" in found._repr_html_()


def test_topics_of_a_third_are_found_where_the_rest_has_none():
    table, rest = topical("English", 40, seed=1), topical("English", 80, seed=51, shuffled=True)
    found = analysis.atlas(table_of([*table["content"], *rest["content"]]))
    assert min(agreement(table["truth"], found.assignments["cluster"].fillna(0)[:40])) >= 0.9


@pytest.mark.slow
def test_a_rare_topic_is_found_whole():
    rng = np.random.default_rng(5)
    common = [
        conversation(*(("user", one) for one in asked("English", topic, rng)))
        for topic in ("refund", "password", "delivery")
        for _ in range(330)
    ]
    rare = [conversation(*(("user", one) for one in asked("English", "subscription", rng))) for _ in range(8)]
    found = analysis.atlas(table_of([*common, *rare])).assignments["cluster"].fillna(0).to_numpy(int)
    (mode,) = set(found[-8:])
    assert (found == mode).sum() == 8


def test_same_seed_same_topics():
    table = topical("English", 40)
    one, other = analysis.atlas(table), analysis.atlas(table)
    pd.testing.assert_frame_equal(one.table, other.table)
    pd.testing.assert_frame_equal(one.assignments, other.assignments)


def test_customers_addresses_numbers_and_single_letters_name_no_topic():
    table = topical("English", 80)
    customers = {"refund": "Omar", "password": "Amelia", "delivery": "Noah", "subscription": "Mia"}
    texts = [
        text.replace(
            '"content": "',
            f'"content": "it is {customers[topic]} of ca, {topic[:3]}mail@postbox.org, who asks, ',
            1,
        ).replace("my", f"my {17 * at}")
        for at, (text, topic) in enumerate(zip(table["content"], table["truth"], strict=True))
    ]
    names = analysis.atlas(table.assign(content=texts)).table["name"].str.lower()
    words = {word for name in names for word in name.replace(" · ", " ").split(" ")}
    assert words
    assert not any(letter.isdigit() for word in words for letter in word)
    addresses = {f"{topic[:3]}mail" for topic in customers}
    assert not words & {*(name.lower() for name in customers.values()), "ca", *addresses}


def test_a_name_has_phrases_as_they_are_written_and_no_identifiers():
    table = topical("English", 80)
    texts = table["content"].str.replace(
        "refund|money|payment", "Visa gift card of omar_rossi_1241", regex=True
    )
    names = analysis.atlas(table.assign(content=texts)).table["name"]
    assert names.str.contains("gift card", regex=False).any()
    assert not names.str.lower().str.contains("omar|rossi", regex=True).any()


def test_a_topic_has_what_its_conversations_have():
    table = topical("English", 80)
    refund = table["truth"].eq("refund")
    table = table.assign(
        task_completed=pd.array(~refund, dtype="boolean"), basis="outcome", sentiment_score=refund.astype(float) - 0.5,
        cost=np.where(refund, 3.0, 1.0), latency_ms=200.0, created_at=pd.date_range("2026-01-01", periods=80, tz="UTC"),
    )  # fmt: skip
    found = analysis.atlas(table)
    row = found.table[found.table["rate"].eq(0.0)].iloc[0]
    assert (row["n"], row["n_known"]) == (refund.sum(), refund.sum())
    assert row["share"] == pytest.approx(refund.mean())
    assert row["share_low"] < row["share"] < row["share_high"]
    assert row["rate_high"] > 0.0
    assert (row["cost"], row["latency_ms"], row["sentiment"]) == (3.0, 200.0, 1.0)
    assert row["first_seen"] == table["created_at"][refund].min()
    assert row["last_seen"] == table["created_at"][refund].max()
    assert row["stability"] > 0.8
    refunds = set(table["conversation_id"][refund])
    assert len(row["typical"]) == len(row["borderline"]) == 2
    assert {*row["typical"], *row["borderline"]} <= refunds
    sentence = found.table.attrs["promptlift"]["sentences"][row.name]
    assert "0% (0% to" in sentence
    assert "completed their task" in sentence


def test_words_that_judged_are_named():
    table = topical("English", 40).assign(task_completed=True, basis="words")
    said = analysis.atlas(table).table.attrs["promptlift"]
    assert said["basis"] == "words"
    assert all("of what a word list can see" in sentence for sentence in said["sentences"])


def test_a_topic_that_was_renamed_meanwhile_has_a_number_of_its_own():
    topics = [["delivery"]] * 3 + [["refund"]] * 2 + [["password"]]
    table = table_of([""] * 6, topics=pd.array(topics, dtype="object"))
    now = datetime.now(UTC)
    known = [
        Topic(id=at, name=name, words=name, found_at=now) for at, name in ((2, "delivery"), (4, "return"))
    ]
    found = kept_atlas(table, known, level=0.95)
    numbers = found.table.set_index("name")["cluster"]
    assert numbers["delivery"] == 2
    assert not {numbers["refund"], numbers["password"]} & {2, 4}
    assert numbers.is_unique
    assert found.assignments["cluster"].tolist() == found.assignments["name"].map(numbers).tolist()


@pytest.mark.slow
def test_changes_say_new_vanished_grown_and_shrunk():
    rng = np.random.default_rng(0)
    weeks = {"refund": (60, 0), "delivery": (0, 60), "password": (70, 20), "subscription": (20, 70)}
    contents, dates, truth = [], [], []
    for topic, sizes in weeks.items():
        for start, n in zip(("2026-01-01", "2026-01-08"), sizes, strict=True):
            contents += [
                conversation(*(("user", one) for one in asked("German", topic, rng))) for _ in range(n)
            ]
            dates += list(pd.Timestamp(start, tz="UTC") + pd.to_timedelta(rng.uniform(0.1, 6.9, n), unit="D"))
            truth += [topic] * n
    found = analysis.atlas(table_of(contents, created_at=dates))
    change = found.changes(periods=WEEKS)
    topic = pd.Series(truth).groupby(found.assignments["cluster"]).agg(lambda some: some.mode()[0])
    seen = {(topic[row["cluster"]], row["change"]) for row in change.to_dict("records")} - {
        (one, "unclear") for one in weeks
    }
    assert seen == {
        ("refund", "vanished"),
        ("delivery", "new"),
        ("password", "shrunk"),
        ("subscription", "grown"),
    }
    assert set(change["name"]) == set(found.table["name"])
    assert (change["p_holm"] >= change["p"]).all()
    by_window = found.changes(window="7D")
    assert {"new", "grown"} <= set(by_window["change"])
    assert "new_versions" not in by_window
    n, clear = len(by_window), by_window["change"].ne("unclear").sum()
    assert by_window.attrs["promptlift"]["summary"].startswith(f"{clear} of {n} topics changed clearly: ")
    went_live = ["2026-01-03", "2026-01-09", "2026-01-15", "2025-12-31"]
    versions = pd.DataFrame({"number": [1, 3, 4, 2], "created_at": pd.to_datetime(went_live, utc=True)})
    marked = found.changes(periods=WEEKS, versions=versions)
    assert marked["new_versions"].tolist() == [[3]] * len(marked)
    assert marked.attrs["promptlift"]["summary"].endswith(" Version 3 went live on 2026-01-09.")


@pytest.mark.slow
def test_growth_of_five_points_is_found_and_nothing_where_nothing_changed():
    rng = np.random.default_rng(0)
    shares = np.r_[0.1, np.full(9, 0.1)]
    grown = np.r_[0.15, np.full(9, 0.85 / 9)]
    found = [weeks(shares, grown, 2_000, rng).changes(periods=WEEKS) for _ in range(8)]
    assert sum(change.set_index("cluster")["change"][1] == "grown" for change in found) >= 7
    same = [weeks(shares, shares, 2_000, rng).changes(periods=WEEKS) for _ in range(25)]
    assert sum(change["change"].ne("unclear").any() for change in same) <= 3


def test_more_than_the_sample_are_placed(monkeypatch):
    from promptlift.clustering import grouping

    monkeypatch.setattr(grouping, "SAMPLE", 60)
    monkeypatch.setattr(grouping, "_AT_ONCE", 7)
    table = topical("English", 400)
    found = analysis.atlas(table)
    assert found.table["n"].sum() == 400
    assert agreement(table["truth"], found.assignments["cluster"].fillna(0))[1] >= 0.9


@pytest.fixture
def many():
    table = topical("English", 200).assign(task_completed=True, basis="outcome", cost=np.arange(200.0))
    table["conversation_id"] = pd.Series([f"c{17 * at % 200:03d}" for at in range(200)], dtype="str")
    return table


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_an_engine_gives_the_topics_of_pandas(engines, engine, many):
    expected = analysis.atlas(many.sort_values("conversation_id", ignore_index=True))
    found = analysis.atlas(engines.table(many, engine))
    pd.testing.assert_frame_equal(found.table, expected.table)
    pd.testing.assert_frame_equal(found.assignments, expected.assignments)
    assert "content" not in found.conversations
    name = found.table["name"][0]
    assert len(analysis.conversations_of(found.table, found.conversations, name)) == found.table["n"][0]


@pytest.mark.slow
def test_an_engine_has_the_texts_in_another_table_and_gives_few_of_many(engines, many, monkeypatch):
    from promptlift.analysis.atlas import topics
    from promptlift.clustering import grouping

    texts = pd.concat([many[["conversation_id", "content"]], table_of(["of another"])])
    apart = analysis.atlas(many.drop(columns="content"), contents=engines.table(texts, "duckdb"))
    whole = analysis.atlas(many)
    pd.testing.assert_frame_equal(apart.table, whole.table)
    pd.testing.assert_frame_equal(apart.conversations, whole.conversations.drop(columns="content"))

    monkeypatch.setattr(grouping, "SAMPLE", 60)
    monkeypatch.setattr(topics, "SAMPLE", 60)
    placed = analysis.atlas(engines.table(many, "duckdb")).assignments["cluster"].fillna(0)
    assert agreement(many.sort_values("conversation_id")["truth"], placed)[1] >= 0.9
    with pytest.raises(ValueError, match="more than once"):
        analysis.atlas(engines.table(pd.concat([many, many.head(1)]), "duckdb"))


HOSTILE = {
    "empty": conversation(("user", "")),
    "one word": conversation(("user", "refund")),
    "long": conversation(("user", "delivery " * 55_000)),
    "emoji": conversation(("user", "😀🎉 🏳️‍🌈" * 50)),
    "right to left": conversation(("user", "أين طلبي ومتى يصل؟ \u202e" * 20)),
    "code": conversation(("user", "for (int i=0;i<n;i++) { a[i] = b[i] ? NULL : '\\0'; }" * 20)),
    "markup": conversation(("user", f"{SAFE} refund")),
    "not readable": '{"messages": 3}',
    "surrogate": json.dumps({"messages": [{"role": "user", "content": "\ud800"}]}),
    "only the assistant": conversation(("assistant", "hello")),
    "missing": None,
}


@pytest.mark.slow
def test_hostile_texts_cost_only_themselves():
    table = topical("English", 80)
    texts = [*HOSTILE.values()]
    flood = [conversation(("user", f"{SAFE} buy cheap pills now"))] * 150
    mixed = table_of([*table["content"], *texts, *flood])
    found = analysis.atlas(mixed)
    assert found.assignments["conversation_id"].tolist() == mixed["conversation_id"].tolist()
    labels = found.assignments["cluster"].fillna(0).to_numpy(int)
    assert agreement(table["truth"], labels[:80])[0] >= 0.85
    (flooded,) = set(labels[-150:])
    assert flooded not in set(labels[:80])
    for name in ("empty", "emoji", "not readable", "only the assistant", "missing"):
        assert labels[80 + list(HOSTILE).index(name)] == 0, name
    assert "<script>" not in found._repr_html_()


@pytest.mark.parametrize("texts", [[], ["hello"], ["hello"] * 200, [""] * 50, ["a b c"] * 100], ids=str)
def test_nothing_to_find_is_said(texts):
    found = analysis.atlas(
        table_of(
            [conversation(("user", text)) for text in texts], created_at=pd.Timestamp("2026-01-01", tz="UTC")
        )
    )
    assert found.table.empty
    assert len(found.assignments) == len(texts)
    assert ("too few" in found.sentence) == (len(texts) < 30)


def test_a_table_without_texts_is_refused_with_what_to_read():
    with pytest.raises(FrameError, match=r"content=True"):
        analysis.atlas(pd.DataFrame({"conversation_id": ["a"]}))
