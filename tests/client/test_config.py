from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import promptlift
from promptlift.client import UnencryptedConnection, configure
from promptlift.client.config import normalise_base_url
from promptlift.client.secret import Secret
from promptlift.errors import ConfigError

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://localhost:8000", "http://localhost:8000/api/v1"),
        ("http://localhost:8000/", "http://localhost:8000/api/v1"),
        (" https://host/api/v1/ \n", "https://host/api/v1"),
        ("https://host/api", "https://host/api/v1"),
        ("https://host/behind/a/proxy", "https://host/behind/a/proxy/api/v1"),
        ("https://host/behind/api/v1", "https://host/behind/api/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/api/v1"),
    ],
)
def test_every_spelling_of_an_address_becomes_the_versioned_one(given, used):
    assert normalise_base_url(given) == used


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("localhost:8000", "must begin with http"),
        ("ftp://host", "must begin with http"),
        ("https://", "names no host"),
        ("https://ho st/", "names no host"),
        ("https://bücher.example", "must be in ASCII"),
        ("https://host:99999", "cannot be read"),
        ("https://user:pw@host", "user name or password"),
        ("https://host/api/v1?x=1", "query or fragment"),
        ("   ", "No service address"),
    ],
)
def test_a_bad_address_is_told_before_any_request(address, says):
    with pytest.raises(ConfigError, match=says):
        configure(address, KEY, environ={})


def test_what_is_missing_is_named_with_what_to_do_next():
    with pytest.raises(ConfigError, match=r"PROMPTLIFT_BASE_URL.*promptlift\.local"):
        configure(environ={})
    with pytest.raises(ConfigError, match=r"PROMPTLIFT_API_KEY.*keys create"):
        configure("http://localhost:1", environ={})
    with pytest.raises(ConfigError, match="'prompt' or 'agent'"):
        configure("https://host", KEY, scheme="bot", environ={})
    environ = {"PROMPTLIFT_BASE_URL": "https://env", "PROMPTLIFT_API_KEY": "env-key"}
    of_environment, given = configure(environ=environ), configure("https://arg", "arg-key", environ=environ)
    assert (of_environment.base_url, of_environment.key) == ("https://env/api/v1", Secret("env-key"))
    assert (given.base_url, given.key) == ("https://arg/api/v1", Secret("arg-key"))


@pytest.mark.parametrize("bad", ["sk secret", "sk\r\nX-Evil: 1", "sk-schlüssel", "sk\x00", "“sk”"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(bad):
    with pytest.raises(ConfigError, match="Copy it again") as refused:
        configure("https://host", bad, environ={})
    assert bad not in str(refused.value)
    assert configure("https://host", f" {KEY}\n", environ={}).key == Secret(KEY)  # a line break of copying


@pytest.mark.parametrize(
    "address",
    [
        "http://10.0.0.7:8000",
        "http://remote.example",
        "http://[2001:db8::1]",
        "http://localhost.evil.example",
    ],
)
def test_a_key_that_would_travel_in_the_clear_is_warned_of(address):
    with pytest.warns(UnencryptedConnection, match="unencrypted.*Use https") as caught:
        promptlift.connect(address, KEY)
    assert caught[0].filename == __file__  # the line that the user can change
    assert KEY not in str(caught[0].message)


@pytest.mark.parametrize(
    "address",
    [
        "https://remote.example",
        "http://localhost:8000",
        "http://127.8.9.1:1",
        "http://[::1]:8000",
        "http://app.localhost",
    ],
)
def test_nothing_is_warned_of_where_nobody_can_listen(address):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        promptlift.connect(address, KEY)
    assert caught == []


def test_a_secret_shows_nowhere():
    secret = Secret(KEY)
    config = configure("https://host", KEY, environ={})
    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>9}", repr(config), str({"k": secret})):
        assert KEY not in text
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.deepcopy(secret)
    with pytest.raises(TypeError):
        vars(secret)
