"""How many model calls run side by side, and how long a silent endpoint is waited for, as the operator says."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from promptlift.errors import ConfigError, PromptliftError
from promptlift.service.models import CALLS_AT_A_TIME, Models
from support.service_process import clean_environment

CONCURRENCY = "PROMPTLIFT_LLM_CONCURRENCY"
PATIENCE = "PROMPTLIFT_LLM_PATIENCE"
NOT_A_NUMBER = (
    "eight",
    "0x10",
    "nan",
    "-1",
    "",
    "inf",
    "9" * 400,
)


@pytest.mark.parametrize(
    ("text", "conversations"),
    [("1", 2), (" 8 ", 12), ("7", 11), ("256", 384), ("", 12), ("   ", 12)],
)
def test_the_concurrency_is_read(text, conversations):
    models = Models.from_env(None, {CONCURRENCY: text})
    assert models.conversations_at_a_time == conversations


def test_without_variables_the_defaults_hold():
    assert Models.from_env(None, {}).conversations_at_a_time == CALLS_AT_A_TIME + CALLS_AT_A_TIME // 2


@pytest.mark.parametrize("text", [*filter(None, NOT_A_NUMBER), "0", "257", "2.5", "1e2", "8.0"])
def test_a_concurrency_that_is_no_whole_number_of_calls_is_told(text):
    with pytest.raises(ConfigError) as caught:
        Models.from_env(None, {CONCURRENCY: text})
    assert str(caught.value) == f"{CONCURRENCY} must be a whole number from 1 to 256, not {text!r}"


@pytest.mark.parametrize("text", ["0", "0.5", "86400", " 60 ", ""])
def test_the_patience_is_read(text):
    assert Models.from_env(None, {PATIENCE: text}).rehearse


@pytest.mark.parametrize("text", [*filter(None, NOT_A_NUMBER), "86401", "-0.001"])
def test_a_patience_that_is_no_time_is_told(text):
    with pytest.raises(ConfigError) as caught:
        Models.from_env(None, {PATIENCE: text})
    assert str(caught.value) == f"{PATIENCE} must be a number of seconds from 0 to 86400, not {text!r}"


@pytest.mark.slow
def test_a_service_with_such_a_value_does_not_start_and_says_which_in_one_line(tmp_path):
    name, text = PATIENCE, "soon"
    command = [sys.executable, "-m", "promptlift", "serve", "--port", "0", "--data", str(tmp_path / "data")]
    environment = clean_environment({name: text, "COLUMNS": "400"})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode not in (0, -9)
    assert "ready at" not in done.stdout
    assert "Traceback" not in done.stderr
    assert f"{name} must be a" in done.stderr
    assert repr(text) in done.stderr


def test_the_environment_of_the_process_is_read_too(monkeypatch):
    monkeypatch.setenv(CONCURRENCY, "0")
    assert os.environ[CONCURRENCY] == "0"
    with pytest.raises(ConfigError):
        Models.from_env(None)


def test_a_run_that_was_asked_for_with_a_model_fails_without_one_and_says_what_to_set():
    with pytest.raises(PromptliftError, match=r"Set PROMPTLIFT_LLM_BASE_URL and PROMPTLIFT_LLM_MODEL again"):
        Models(None).tasks(rehearsal=False, seed=1)


def test_a_rehearsal_goes_on_without_a_model():
    assert Models(None).tasks(rehearsal=True, seed=1).calls == 0
