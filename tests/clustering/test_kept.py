"""Topics that stay the same from day to day."""

from __future__ import annotations

import numpy as np
import pytest

from promptlift.clustering.kept import KeptTopics, renew
from promptlift.clustering.vectors import opening, turns_of
from support.topical import TEMPLATES, topical

pytestmark = pytest.mark.slow


def days(language, n, more):
    """Return the conversations of one day, those of that day and the next, and what they are truly about."""
    table = topical(language, n + more)
    return table["content"].tolist()[:n], table["content"].tolist(), table["truth"].to_numpy()


@pytest.mark.parametrize("language", TEMPLATES)
def test_conversations_keep_their_topic_on_the_next_day(language):
    first, both, truth = days(language, 160, 40)
    one = renew(first, None)
    other = renew(both, one.kept, first=20)
    before, after = (np.array(found.kept.topics_of(both)) for found in (one, other))
    assert np.mean(before == after) >= 0.95
    for number in one.kept.numbers:
        about = truth[after == number]
        assert np.unique(about, return_counts=True)[1].max() >= 0.9 * len(about)


def test_what_was_kept_is_read_back_and_found_the_same_again():
    texts = topical("English", 120)["content"].tolist()
    found, again = (renew(texts, None) for _ in range(2))
    assert found.kept.to_bytes() == again.kept.to_bytes()
    read = KeptTopics.from_bytes(found.kept.to_bytes())
    assert read.topics_of(texts) == found.kept.topics_of(texts)
    assert read.topics_of(["", "User: xylophone", "{"]) == [0, 0, 0]


@pytest.mark.parametrize("anew", [False, True])
def test_a_new_topic_gets_a_new_number_and_one_that_is_over_vanishes(anew):
    table = topical("English", 300)
    texts = {topic: some["content"].tolist() for topic, some in table.groupby("truth")}
    refund, password, delivery, subscription = (
        texts[topic] for topic in ("refund", "password", "delivery", "subscription")
    )
    one = renew([*refund, *password, *delivery], None)
    other = renew([*refund, *password, *subscription], one.kept, anew=anew, first=20)
    old, new = (
        {
            text: max(set(numbers := found.kept.topics_of(some)), key=numbers.count)
            for text, some in texts.items()
        }
        for found in (one, other)
    )
    assert old["refund"] == new["refund"]
    assert old["password"] == new["password"]
    assert new["subscription"] not in one.kept.numbers
    assert old["delivery"] not in other.kept.numbers


def test_a_topic_that_is_held_stays_and_its_conversations_make_no_other():
    table = topical("English", 300)
    texts = {topic: some["content"].tolist() for topic, some in table.groupby("truth")}
    everything = table["content"].tolist()
    one = renew(everything, None)
    numbers = one.kept.topics_of(texts["delivery"])
    held = max(set(numbers), key=numbers.count)
    # On a day when nobody asks for it, and found together with others on the day after.
    quiet = renew([*texts["refund"], *texts["password"]], one.kept, held=[held], anew=True, first=20)
    back = renew(everything, quiet.kept, held=[held], anew=True, first=40)
    for found in (quiet, back):
        assert np.mean(np.array(found.kept.topics_of(texts["delivery"])) == held) >= 0.9
    assert held not in {topic.number for topic in back.found}


def test_a_topic_is_split_by_what_differs_within_and_joined_again():
    table = topical("English", 200)
    texts = table["content"].tolist()
    one = renew(texts, None)
    space = one.kept.space
    whole = one.kept.joined(9, one.kept.numbers).reaching(
        space.points([opening(turns_of(text)) for text in texts])
    )
    kept, parts = whole.split(9, texts, first=20)
    assert len(parts) >= 2
    assert {part.number for part in parts} == set(kept.numbers)
    for number in kept.numbers:
        about = table["truth"][np.array(kept.topics_of(texts)) == number]
        assert about.value_counts(normalize=True).iloc[0] >= 0.8
    assert kept.joined(9, kept.numbers).numbers == (9,)
