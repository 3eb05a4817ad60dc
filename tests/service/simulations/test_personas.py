from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
import sys
from collections import Counter

import pytest

from promptlift.service.simulations.personas import SimulatedPersona, draw, library, library_by_id


def test_the_library_has_many_different_personas():
    assert len(library()) >= 40
    for texts in ([p.id for p in library()], [p.name for p in library()], [p.description for p in library()]):
        assert len(set(texts)) == len(library())
    assert {p.id for p in library()} == set(library_by_id())


def test_the_library_is_the_same_to_the_letter_as_stored_results_know_it():
    texts = json.dumps([(one.id, one.name, one.description) for one in library()])
    digest = hashlib.sha256(texts.encode()).hexdigest()
    assert digest == "d313c46b5743717a4a85257b325815b426e18918da6c1e06179313e3c49a3875"


@pytest.mark.slow
def test_the_library_is_read_when_it_is_needed():
    code = (
        "from promptlift.service.simulations import personas;"
        "before = personas.library.cache_info().currsize;"
        "personas.library_by_id(); print(before, personas.library.cache_info().currsize)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["0", "1"]


def test_descriptions_are_far_from_each_other():
    words = [set(re.findall(r"[a-z]{4,}", persona.description.lower())) for persona in library()]
    nearest = max(len(a & b) / len(a | b) for n, a in enumerate(words) for b in words[:n])
    assert nearest < 0.35


def test_nobody_is_drawn_twice_before_everybody_was_drawn_once():
    drawn = draw(library(), len(library()) * 2 + 5, random.Random(1))
    size = len(library())
    assert set(drawn[:size]) == set(drawn[size : 2 * size]) == set(library())
    assert len(set(drawn[2 * size :])) == 5


def test_the_same_seed_draws_the_same():
    assert draw(library(), 7, random.Random(5)) == draw(library(), 7, random.Random(5))
    assert draw(library(), 7, random.Random(5)) != draw(library(), 7, random.Random(6))


def test_no_place_of_the_pool_is_favoured():
    pool = [SimulatedPersona(str(n), str(n), "x") for n in range(5)]
    rng = random.Random(3)
    first = Counter(draw(pool, 2, rng)[0].id for _ in range(5_000))
    assert all(abs(count - 1_000) < 130 for count in first.values())


def test_nothing_can_be_drawn_from_an_empty_pool():
    with pytest.raises(ValueError, match="no persona"):
        draw([], 1, random.Random(1))
    assert draw([], 0, random.Random(1)) == []
