from __future__ import annotations

import hashlib
import json
import random

from promptlift.service.simulations.personas import draw, library


def test_the_library_is_the_same_to_the_letter_as_stored_results_know_it():
    assert len({one.id for one in library()}) == len({one.description for one in library()}) == len(library())
    texts = json.dumps([(one.id, one.name, one.description) for one in library()])
    digest = hashlib.sha256(texts.encode()).hexdigest()
    assert digest == "d313c46b5743717a4a85257b325815b426e18918da6c1e06179313e3c49a3875"


def test_nobody_is_drawn_twice_before_everybody_was_drawn_once():
    drawn = draw(library(), len(library()) * 2 + 5, random.Random(1))
    size = len(library())
    assert set(drawn[:size]) == set(drawn[size : 2 * size]) == set(library())
    assert len(set(drawn[2 * size :])) == 5
    assert draw(library(), 7, random.Random(5)) == draw(library(), 7, random.Random(5))
    assert draw(library(), 7, random.Random(5)) != draw(library(), 7, random.Random(6))
