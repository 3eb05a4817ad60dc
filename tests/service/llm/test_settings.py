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
        }
    )
    assert found == LlmSettings("https://models.example.org/v1", "m", "k", "a")


def test_the_key_is_in_no_repr():
    assert "secret" not in repr(LlmSettings("http://h/v1", "m", "secret"))


def test_the_path_of_the_completions_is_cut_off():
    assert LlmSettings("http://h:8080/v1/chat/completions", "m").base_url == "http://h:8080/v1"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("models.example.org/v1", "must start with http"),
        ("ftp://h/v1", "must start with http"),
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


def test_a_missing_model_is_named():
    with pytest.raises(ConfigError, match="PROMPTLIFT_LLM_MODEL"):
        LlmSettings.from_env({"PROMPTLIFT_LLM_BASE_URL": "http://h/v1"})


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it():
    with pytest.raises(ConfigError, match="PROMPTLIFT_LLM_API_KEY") as error:
        LlmSettings("http://h/v1", "m", "abc\ndef")
    assert "abc" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.2/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://h/v1", False),
    ],
)
def test_loopback_is_known(address, here):
    assert LlmSettings(address, "m").on_this_machine is here


@pytest.mark.parametrize("text", ["0", "x", "-3", "4000", "nan"])
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


def test_the_time_limit_of_a_request_is_read():
    variables = {"PROMPTLIFT_LLM_BASE_URL": "http://h/v1", "PROMPTLIFT_LLM_MODEL": "m"}
    assert LlmSettings.from_env(variables).timeout == 120.0
    assert LlmSettings.from_env({**variables, "PROMPTLIFT_LLM_TIMEOUT": " 600 "}).timeout == 600.0
