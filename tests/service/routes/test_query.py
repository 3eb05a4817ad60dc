"""Query parameters: defaults, lists of words, and the names by which parameters go."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from starlette.datastructures import QueryParams

from promptlift.schema import limits, queries
from promptlift.schema.naming import SCHEMES
from promptlift.service.routes.messages import validated


def read(text, model=queries.ConversationsQuery):
    return validated(model, dict(QueryParams(text)), {})


def test_without_parameters_there_are_defaults_and_no_problem():
    query = read("")
    assert (query.limit, query.offset) == (limits.LIST_LIMIT_DEFAULT, 0)
    assert (query.prompt_id, query.linked_id, query.status, query.has_insights) == (None,) * 4
    assert (query.include_insights, query.include_content) == (False, False)
    assert read("", queries.PromptsQuery).tags == ()
    assert read("", queries.InsightsQuery).days == "30"
    assert read("", queries.ConversationQuery).include_insights is True
    assert read("promptId=").linked_id is None


def test_words_are_between_commas_and_each_counts_once():
    assert read("tags=a,%20b%20,,a,c%20d", queries.PromptsQuery).tags == ("a", "b", "c d")


@pytest.mark.parametrize(
    "tags",
    [
        ("a,b",),
        ('say "hi"',),
        ('"',),
        ('"a"', "b"),
        ('","', ",", '",'),
        ("a", "b,c", "d"),
        (" a ", '  "b'),
        ('"a,b" c', 'x"'),
    ],
)
def test_words_with_commas_and_quotes_come_back_as_they_were_written(tags):
    written = queries.PromptsQuery.to_wire({"tags": tags}, SCHEMES["prompt"])["tags"]
    assert read(f"tags={quote(written)}", queries.PromptsQuery).tags == tags


def test_quotes_that_close_nothing_are_text():
    text = quote('a"b,"c d')
    assert read(f"tags={text}", queries.PromptsQuery).tags == ('a"b', '"c d')


def test_parameters_go_by_the_names_of_the_api_and_others_are_ignored():
    assert read("has_insights=nonsense&novel=1").has_insights is None
    assert read("promptId=&agentId=a1").linked_id == "a1"
    assert read("promptId=p1&agentId=a1").linked_id == "p1"
