"""How many model calls run side by side, and how long a silent endpoint is waited for, as the operator says."""

from __future__ import annotations

import pytest

from promptlift.errors import ConfigError, PromptliftError
from promptlift.service.models import Models

CONCURRENCY = "PROMPTLIFT_LLM_CONCURRENCY"
PATIENCE = "PROMPTLIFT_LLM_PATIENCE"
NOT_A_NUMBER = ("eight", "0x10", "nan", "-1", "inf", "9" * 400)


@pytest.mark.parametrize(
    ("name", "texts", "wanted"),
    [
        (CONCURRENCY, ("0", "257", "2.5", "1e2"), "a whole number from 1 to 256"),
        (PATIENCE, ("86401", "-0.001"), "a number of seconds from 0 to 86400"),
    ],
)
def test_what_is_no_such_number_is_told(monkeypatch, name, texts, wanted):
    for text in (*NOT_A_NUMBER, *texts):
        monkeypatch.setenv(name, text)
        with pytest.raises(ConfigError) as caught:
            Models.from_env(None)
        assert str(caught.value) == f"{name} must be {wanted}, not {text!r}"


def test_a_run_that_was_asked_for_with_a_model_fails_without_one_and_says_what_to_set():
    with pytest.raises(PromptliftError, match=r"Set PROMPTLIFT_LLM_BASE_URL and PROMPTLIFT_LLM_MODEL again"):
        Models(None).tasks(rehearsal=False, seed=1)
    assert Models(None).tasks(rehearsal=True, seed=1).calls == 0
