from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from vaderSentiment import vaderSentiment

from promptlift.service.insights.lexicon.vader import vader

ORIGINAL = vaderSentiment.SentimentIntensityAnalyzer()


def awkward_words():
    """Words that VADER treats specially, and a sample of its list."""
    special = [
        word
        for phrase in (*vaderSentiment.SPECIAL_CASES, *vaderSentiment.BOOSTER_DICT)
        for word in phrase.split()
    ]
    rules = [
        "so",
        "this",
        "doubt",
        "without",
        "never",
        "least",
        "at",
        "very",
        "no",
        "or",
        "nor",
        "but",
        "kind",
        "of",
    ]
    marks = ["!", "??", "????", ":)", "GREAT", "VERY", "NOT", "isn't", "table", "The", "😁", "💔", "…"]
    listed = random.Random(7).sample(sorted(ORIGINAL.lexicon), 120)
    return sorted({*special, *vaderSentiment.NEGATE, *rules, *marks, *listed})


@settings(deadline=None)
@given(st.lists(st.sampled_from(awkward_words()), max_size=14), st.sampled_from([" ", "  ", " \n", ""]))
def test_the_score_is_the_original_s(words, between):
    text = between.join(words)
    assert vader().compound(text) == ORIGINAL.polarity_scores(text)["compound"]
