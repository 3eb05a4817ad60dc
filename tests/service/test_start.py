"""A service that cannot start says why, and what to do."""

from __future__ import annotations

import socket

import pytest

from promptlift.errors import ConfigError, ServiceStartError
from promptlift.service.server import serve
from promptlift.service.settings import ServiceSettings


def never(_ready):
    pytest.fail("the service says that it is ready")


def test_a_port_that_is_taken_is_told_with_the_way_out(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServiceStartError) as caught:
            serve(ServiceSettings(port=port, data=tmp_path), on_ready=never)
    assert str(caught.value) == (
        f"Cannot listen on 127.0.0.1:{port} (Address already in use); "
        "choose another with --port, or --port 0 for any free one"
    )


def test_an_address_that_is_not_of_this_machine_is_told(tmp_path):
    with pytest.raises(ServiceStartError, match=r"Cannot listen on 192\.0\.2\.1:0 "):
        serve(ServiceSettings(host="192.0.2.1", port=0, data=tmp_path), on_ready=never)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"plan": "gold"}, "The plan must be one of free, pro, enterprise, not 'gold'"),
        ({"port": 65_536}, "The port must be from 0 to 65535, not 65536"),
        ({"port": -1}, "The port must be from 0 to 65535, not -1"),
        ({"api_key": "short"}, "at least 16 printable ASCII characters"),
        ({"api_key": "with a line\nbreak in it"}, "at least 16 printable ASCII characters"),
        ({"colour": "red"}, "Unknown setting: colour"),
    ],
)
def test_a_setting_that_cannot_be_right_is_told(tmp_path, values, problem):
    with pytest.raises(ConfigError, match=problem):
        ServiceSettings.from_env({}, data=tmp_path, **values)


def test_settings_come_from_the_environment_and_arguments_win(tmp_path):
    environ = {
        "PROMPTLIFT_DATA": str(tmp_path),
        "PROMPTLIFT_DATABASE_URL": "postgresql://me:pw@db/x",
        "PROMPTLIFT_API_KEY": "k" * 20,
        "PROMPTLIFT_MODELS": "a, b,,",
        "PROMPTLIFT_ALLOW_PRIVATE_NETWORKS": "yes",
    }
    settings = ServiceSettings.from_env(environ, port=0, plan=None)
    assert (settings.data, settings.plan, settings.models) == (tmp_path, None, ("a", "b"))
    assert settings.allow_private_networks
    assert settings.resolved_database_url == "postgresql+psycopg://me:pw@db/x"
    assert "pw" not in repr(settings)
    assert "k" * 20 not in repr(settings)
    other = ServiceSettings.from_env(environ, database_url="sqlite:///x.db")
    assert other.resolved_database_url == "sqlite:///x.db"
    assert (
        ServiceSettings(data=tmp_path).resolved_database_url
        == f"sqlite:///{tmp_path.resolve()}/promptlift.db"
    )
