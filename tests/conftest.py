"""Real parts for tests: a service process over a real socket, and a PostgreSQL cluster."""

from __future__ import annotations

import itertools
import signal
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import hypothesis
import pytest

from support.object_store import running_object_store
from support.postgres_cluster import cluster, new_postgres_database, reason_to_skip
from support.service_process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from promptlift.workspace import Workspace
    from support.object_store import ObjectStore


# A shell that runs the tests in the background has them, and the programs they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine takes its time; tests say nothing about speed.
hypothesis.settings.register_profile("promptlift", deadline=None)
hypothesis.settings.load_profile("promptlift")


# Fixtures that start a process, a browser or PostgreSQL: tests that use one are slow.
_SLOW_FIXTURES = {
    "begin",
    "certificate",
    "database_of_service",
    "lab",
    "lift",
    "migrated_postgres_url",
    "object_store",
    "postgres_url",
    "service",
    "start_service",
    "tooled",
}
# Folders whose tests start processes themselves.
_SLOW_FOLDERS = {"agreement", "benchmarks", "browser", "cli", "local", "notebooks", "truth"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import the slow folders when slow tests are left out."""
    left_out = config.getoption("markexpr") == "not slow"
    return True if left_out and collection_path.name in _SLOW_FOLDERS else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what starts a process, a browser or PostgreSQL; what else takes over a second says so itself."""
    for item in items:
        parameters = getattr(item, "callspec", None)
        starts = (
            _SLOW_FIXTURES & set(getattr(item, "fixturenames", ())) or item.path.parent.name in _SLOW_FOLDERS
        )
        values = () if parameters is None else parameters.params.values()
        on_postgresql = any(isinstance(value, str) and value == "postgresql" for value in values)
        measures = item.get_closest_marker("benchmark") is not None
        if starts or on_postgresql or measures or item.path.suffix == ".ipynb":
            item.add_marker("slow")


@pytest.fixture(scope="session")
def user_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's data folder while the tests run."""
    return tmp_path_factory.mktemp("user-data")


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, user_data: Path) -> None:
    """No test sees the settings of the developer's shell, and none writes into the user's data folder."""
    import os

    for name in list(os.environ):
        if name.startswith("PROMPTLIFT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PROMPTLIFT_DATA", str(user_data))


@pytest.fixture(autouse=True)
def _figures_close() -> Iterator[None]:
    """No test sees a figure of another one."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A running service that all tests share: ``base_url``, ``key``."""
    running = ServiceProcess(tmp_path_factory.mktemp("service")).start()
    yield running
    assert running.process is not None
    running.process.terminate()
    running.process.wait(timeout=30)


@pytest.fixture
def start_service(tmp_path: Path) -> Iterator[Callable[..., ServiceProcess]]:
    """Start services with a plan, environment or database of their own; they end with the test."""
    numbers = itertools.count(1)
    with ExitStack() as ends:

        def start(
            plan: str = "enterprise",
            env: Mapping[str, str] | None = None,
            database: str | None = None,
            data: Path | None = None,
            open_files: int | None = None,
            options: Sequence[str] = (),
        ) -> ServiceProcess:
            folder = data if data is not None else tmp_path / f"service-{next(numbers)}"
            made = ServiceProcess(
                folder, plan=plan, env=env or {}, database=database, open_files=open_files, options=options
            )
            ends.callback(lambda: made.process and made.kill())
            return made.start()

        yield start


@pytest.fixture
def lift(service: ServiceProcess) -> Iterator[Workspace]:
    """A workspace on the shared service."""
    import promptlift

    with promptlift.connect(service.base_url, service.key, progress=False) as workspace:
        yield workspace


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    """An object store that speaks the protocol of S3; all tests share it, each with buckets of its own."""
    with running_object_store() as running:
        yield running


@pytest.fixture(scope="session")
def _postgres_server() -> Iterator[str]:
    reason = reason_to_skip()
    if reason is not None:
        pytest.skip(reason)
    with cluster() as url:
        yield url


@pytest.fixture
def postgres_url(_postgres_server: str) -> Iterator[str]:
    """Address of a fresh, empty PostgreSQL database."""
    with new_postgres_database(_postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def _postgres_template(_postgres_server: str) -> Iterator[str]:
    from support.databases import migrate

    with new_postgres_database(_postgres_server) as url:
        migrate(url)
        yield url.rpartition("/")[2]


@pytest.fixture
def migrated_postgres_url(_postgres_server: str, _postgres_template: str) -> Iterator[str]:
    """Address of a PostgreSQL database with empty tables."""
    with new_postgres_database(_postgres_server, like=_postgres_template) as url:
        yield url
