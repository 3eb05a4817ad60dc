"""The known truth is true: rates, positions and texts are what they say, and the stub answers by them."""

from __future__ import annotations

import known_truth
import numpy as np
import pytest
from known_truth import CaseFile
from model_stub import TruthModel
from scipy.stats import binomtest, chisquare

from promptlift.service.optimizations.checks import problems_of
from support.stub_endpoint import Asked

CELLS = 6_000


def outcomes(case: CaseFile) -> np.ndarray:
    """Every arm of a run on many cells, three of them a persona."""
    return np.array(
        [
            [
                known_truth.completes(case.of_arm(arm), cell, f"p{cell // 3}")
                for arm in range(case.variants + 1)
            ]
            for cell in range(CELLS)
        ]
    )


@pytest.mark.parametrize("effect", [0.0, 0.05, 0.10, 0.20])
def test_arms_complete_as_often_as_their_case_file_says(effect):
    case = known_truth.draw_case(41, 3, effect)
    seen = outcomes(case).mean(axis=0)
    rates = [case.of_arm(arm).rate for arm in range(4)]
    assert seen == pytest.approx(rates, abs=0.03)
    assert max(rates) - rates[0] == pytest.approx(effect)
    assert sum(rate > rates[0] for rate in rates) == (effect > 0)


def test_identical_arms_differ_by_chance_and_share_their_cells():
    seen = outcomes(known_truth.draw_case(7, 2, 0.0))
    original, one, other = seen.T
    for a, b in ((original, one), (original, other), (one, other)):
        assert 0.15 < (a != b).mean() < 0.45
        # Cells are easy or difficult for all arms, which is what pairing pays by.
        assert 0.1 < np.corrcoef(a, b)[0, 1] < 0.5
    assert binomtest(int((one & ~original).sum()), int((one != original).sum())).pvalue > 1e-3


def test_every_position_is_the_better_one_as_often():
    for variants in (2, 3, 4, 5):
        seen = [known_truth.draw_case(run, variants, 0.1).better_arm for run in range(2_000)]
        assert chisquare([seen.count(arm) for arm in range(1, variants + 1)]).pvalue > 1e-3


@pytest.mark.parametrize("run", range(len(known_truth.PROMPTS)))
def test_every_variant_passes_the_checks_of_the_engine(run):
    original = known_truth.prompt_text(known_truth.draw_case(run, 5, 0.1))
    written: list[str] = []
    for arm in range(1, 6):
        text = known_truth.variant_text(original, arm)
        assert problems_of(text, original=original, others=written) == ()
        assert CaseFile.read(text) == CaseFile.read(original).of_arm(arm)
        written.append(text)


def asked(purpose: str, said: str) -> Asked:
    body = {"messages": [{"role": "user", "content": said}]}
    return Asked("POST", "/v1/chat/completions", {"x-promptlift-purpose": purpose}, body)


def test_what_it_does_not_understand_is_refused_and_counted():
    model = TruthModel()
    assert [model(asked(one, "hello")).status for one in ("agent", "judge", "poems")] == [400] * 3
    assert model.not_understood == 3


def test_an_arm_that_is_given_away_is_counted():
    model = TruthModel()
    line = known_truth.draw_case(1, 2, 0.0).of_arm(1).line()
    assert model(asked("judge", f"{line} Reply 00000000: outcome yes.")).status == 200
    assert (model.leaks, model.purposes) == (1, {"judge": 1})
