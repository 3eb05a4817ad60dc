from __future__ import annotations

import pytest

from promptlift.errors import ConfigError
from promptlift.service.llm.settings import LlmSettings


def test_no_base_url_means_no_model():
    assert LlmSettings.from_env({"PROMPTLIFT_LLM_MODEL": "m", "PROMPTLIFT_LLM_BASE_URL": "  "}) is None


def test_the_environment_is_read():
    found = LlmSettings.from_env(
        {
            "PROMPTLIFT_LLM_BASE_URL": " https://models.example.org/v1/ ",
            "PROMPTLIFT_LLM_API_KEY": " k \n",
            "PROMPTLIFT_LLM_MODEL": "m",
            "PROMPTLIFT_LLM_AGENT_MODEL": "a",
            "PROMPTLIFT_LLM_TIMEOUT": " 600 ",
        }
    )
    assert found == LlmSettings("https://models.example.org/v1/chat/completions", "m", "k", "a", 600.0)
    assert "'k'" not in repr(found)
    assert LlmSettings("http://h/v1", "m").timeout == 120.0
    with pytest.raises(ConfigError, match="PROMPTLIFT_LLM_MODEL"):
        LlmSettings.from_env({"PROMPTLIFT_LLM_BASE_URL": "http://h/v1"})


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("models.example.org/v1", "must start with http"),
        ("http://", "must start with http"),
        ("http://[::1/v1", "not an address"),
        ("http://h:99999/v1", "not an address"),
        ("http://me:hunter2@h/v1", "PROMPTLIFT_LLM_API_KEY"),
        ("http://h/v1?key=1", "without \\?"),
    ],
)
def test_a_bad_address_is_refused(address, says):
    with pytest.raises(ConfigError, match=says) as error:
        LlmSettings(address, "m")
    assert "hunter2" not in str(error.value)


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it():
    with pytest.raises(ConfigError, match="PROMPTLIFT_LLM_API_KEY") as error:
        LlmSettings("http://h/v1", "m", "abc\ndef")
    assert "abc" not in str(error.value)


@pytest.mark.parametrize("text", ["0", "x", "4000", "nan"])
def test_a_time_limit_that_is_no_time_is_refused(text):
    variables = {
        "PROMPTLIFT_LLM_BASE_URL": "http://h/v1",
        "PROMPTLIFT_LLM_MODEL": "m",
        "PROMPTLIFT_LLM_TIMEOUT": text,
    }
    with pytest.raises(
        ConfigError, match="PROMPTLIFT_LLM_TIMEOUT must be a number of seconds from 1 to 3600"
    ):
        LlmSettings.from_env(variables)
