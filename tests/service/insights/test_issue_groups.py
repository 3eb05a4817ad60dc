"""Titles of one meaning are one group, and others stay apart, whatever order they come in."""

from __future__ import annotations

import itertools

import pytest

from promptlift.service.insights.issue_groups import group_titles

SAME = [
    ("Refund was denied", "refund request refused", "Refund denied."),
    ("Late delivery", "Delayed delivery", "Slow shipping"),
    ("Wrong price quoted", "Incorrect pricing quoted"),
    ("Hallucinated policy", "The assistant fabricated a policy"),
    ("Agent failed to verify identity", "Did not verify the identity"),
    ("User had to repeat the request", "Customer repeated their request"),
]
APART = [
    ("Refund was denied", "Refund was delayed"),
    ("User was rude", "Agent was rude"),
    ("Identity was verified", "Identity was not verified"),
    ("Order cancelled", "Order could not be cancelled"),
    ("Wrong address", "Wrong price"),
    ("返金が遅い", "返金されない"),
    ("The of and", "An issue"),
]


@pytest.mark.parametrize("titles", SAME, ids=lambda titles: titles[0])
def test_titles_of_one_meaning_are_one_group_named_by_the_most_frequent(titles):
    for order in itertools.permutations(titles):
        counts = {title: 10 - place for place, title in enumerate(order)}
        assert group_titles(counts) == dict.fromkeys(order, order[0])


@pytest.mark.parametrize("titles", APART, ids=lambda titles: titles[0])
def test_titles_of_other_meanings_stay_apart(titles):
    assert group_titles(dict.fromkeys(titles, 1)) == {title: title for title in titles}


def test_titles_that_are_alike_but_for_one_of_many_words_are_one_group():
    long = "Assistant quoted baggage allowance for premium cabin"
    longer = "Assistant quoted baggage allowance for premium cabin twice"
    assert group_titles({long: 2, longer: 1}) == {long: long, longer: long}
    negated = "Assistant quoted no baggage allowance for premium cabin"
    assert group_titles({long: 2, negated: 1})[negated] == negated


def test_a_group_that_a_model_named_takes_new_wordings_of_its_titles():
    known = {"Refund denied": "Money not returned"}
    counts = {"Refund was refused": 9, "Refund denied": 1, "Money not returned": 3}
    assert set(group_titles(counts, known=known).values()) == {"Money not returned"}
