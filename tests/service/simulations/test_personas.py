from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from promptlift.schema import limits
from promptlift.service.simulations.personas import BY_ID, LIBRARY, Persona, draw


def test_the_library_has_many_different_personas():
    assert len(LIBRARY) >= 40
    for texts in ([p.id for p in LIBRARY], [p.name for p in LIBRARY], [p.description for p in LIBRARY]):
        assert len(set(texts)) == len(LIBRARY)
    assert {p.id for p in LIBRARY} == set(BY_ID)


@pytest.mark.parametrize("persona", LIBRARY, ids=lambda persona: persona.id)
def test_every_persona_tells_a_model_how_to_talk(persona):
    assert re.fullmatch(r"per_lib_[a-z]+(_[a-z]+)*", persona.id)
    assert len(persona.id) <= limits.KEY_CHARS
    assert 3 < len(persona.name) <= 60
    assert 120 <= len(persona.description) <= 600
    assert len(re.findall(r"[.!?](?:\s|$)", persona.description)) >= 3
    # Nothing in it may look like a marker, a role or a placeholder.
    assert not re.search(r"\[END\]|[{}<>]|\b(?:User|Assistant):", persona.description)


def test_descriptions_are_far_from_each_other():
    words = [set(re.findall(r"[a-z]{4,}", persona.description.lower())) for persona in LIBRARY]
    nearest = max(len(a & b) / len(a | b) for n, a in enumerate(words) for b in words[:n])
    assert nearest < 0.35


def test_nobody_is_drawn_twice_before_everybody_was_drawn_once():
    drawn = draw(LIBRARY, len(LIBRARY) * 2 + 5, random.Random(1))
    size = len(LIBRARY)
    assert set(drawn[:size]) == set(drawn[size : 2 * size]) == set(LIBRARY)
    assert len(set(drawn[2 * size :])) == 5


def test_the_same_seed_draws_the_same():
    assert draw(LIBRARY, 7, random.Random(5)) == draw(LIBRARY, 7, random.Random(5))
    assert draw(LIBRARY, 7, random.Random(5)) != draw(LIBRARY, 7, random.Random(6))


def test_no_place_of_the_pool_is_favoured():
    pool = [Persona(str(n), str(n), "x") for n in range(5)]
    rng = random.Random(3)
    first = Counter(draw(pool, 2, rng)[0].id for _ in range(5_000))
    assert all(abs(count - 1_000) < 130 for count in first.values())


def test_nothing_can_be_drawn_from_an_empty_pool():
    with pytest.raises(ValueError, match="no persona"):
        draw([], 1, random.Random(1))
    assert draw([], 0, random.Random(1)) == []
