"""Real parts for tests: a service process over a real socket, and a PostgreSQL cluster."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from support import fork_server
from support.object_store import running_object_store
from support.postgres_cluster import cluster, new_postgres_database, reason_to_skip
from support.service_process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from promptlift.workspace import Workspace
    from support.object_store import ObjectStore


# A shell that runs the tests in the background has them, and the programs they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine takes its time; tests say nothing about speed. More examples: --hypothesis-profile=thorough.
for profile, examples in (("quick", 20), ("thorough", 1000)):
    hypothesis.settings.register_profile(profile, deadline=None, max_examples=examples)

fork_server.install()
os.environ["SPARK_CONF_DIR"] = str(Path(__file__).parent / "support" / "spark")

# What collecting imports and makes stays until the end: no time is spent looking for garbage in it.
gc.disable()


# Fixtures that start a process, a browser or PostgreSQL: tests that use one are slow.
_SLOW_FIXTURES = {
    "begin",
    "certificate",
    "lab",
    "lift",
    "migrated_postgres_url",
    "object_store",
    "postgres_url",
    "service",
    "start_service",
    "tooled",
}
# Engines that prove again what DuckDB proves.
_SLOW_ENGINES = {
    "arrow", "as_arrow", "as_arrow_backed_pandas", "as_lazy_polars", "as_polars", "ibis on duckdb", "ibis on sqlite",
    "lazy", "lazy polars", "polars", "pyarrow", "spark",
}  # fmt: skip
# Folders whose tests start processes themselves.
_SLOW_FOLDERS = {"agreement", "benchmarks", "browser", "cli", "local", "notebooks", "truth"}
_SLOW_FILE = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)


@contextmanager
def _rules_of(item: pytest.Item) -> Iterator[None]:
    """Refuse to start a process in a test that is not marked slow."""
    with ExitStack() as rules:
        if item.get_closest_marker("slow") is None:
            rules.enter_context(fork_server.no_starts())
        if item.get_closest_marker("cold") is not None:
            rules.enter_context(fork_server.cold_starts())
        yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Keep the rules in what a test needs; what others needed before may end after it, with processes of its own."""
    with _rules_of(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Keep the rules in the test itself."""
    with _rules_of(item):
        return (yield)


def pytest_unconfigure() -> None:
    """Leave no process behind."""
    fork_server.end()


def pytest_configure(config: pytest.Config) -> None:
    """Give property tests few examples, and the processes of the tests one fork server."""
    if not config.getoption("--hypothesis-profile"):
        hypothesis.settings.load_profile("quick")
    shared = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if shared and not _slow_is_left_out(config):
        fork_server.share()


def _slow_is_left_out(config: pytest.Config) -> bool:
    return config.getoption("markexpr") == "not slow"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import benchmarks that nobody names, nor slow folders and files when slow tests are left out."""
    expression = config.getoption("markexpr")
    if collection_path == Path(__file__).with_name("benchmarks"):
        named = any("benchmarks" in argument for argument in config.args)
        return None if named or expression == "benchmark" else True
    if not _slow_is_left_out(config):
        return None
    if collection_path.suffix == ".py":
        return True if _SLOW_FILE.search(collection_path.read_text(encoding="utf-8")) else None
    return True if collection_path.name in _SLOW_FOLDERS else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs a process, a browser, PostgreSQL or another engine than DuckDB."""
    for item in items:
        parameters = getattr(item, "callspec", None)
        starts = (
            _SLOW_FIXTURES & set(getattr(item, "fixturenames", ())) or item.path.parent.name in _SLOW_FOLDERS
        )
        values = () if parameters is None else parameters.params.values()
        names = {value if isinstance(value, str) else getattr(value, "__name__", "") for value in values}
        elsewhere = "postgresql" in names or _SLOW_ENGINES & names
        measures = item.get_closest_marker("benchmark") is not None
        if starts or elsewhere or measures or item.path.suffix == ".ipynb":
            item.add_marker("slow")
    # The longest files first and the quick ones last, so that no processor waits for another one at the end.
    crashing, slow = (
        {item.path for item in items if item.get_closest_marker(mark) is not None}
        for mark in ("crash", "slow")
    )
    items.sort(key=lambda item: (item.path not in crashing, item.path not in slow))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run three processes on two processors: a third of their time slow tests wait, for services, browsers and leases."""
    processors = os.cpu_count() or 1
    return processors if _slow_is_left_out(config) else max(2, processors * 3 // 2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give the tests in the browser to one process, which has JupyterLab and a kernel then, and those of Spark and its Java to one."""
    from xdist.scheduler import LoadFileScheduling

    class _Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith("tests/browser/"):
                return "browser"
            return "spark" if "spark" in nodeid.partition("::")[2] else super()._split_scope(nodeid)

    return _Files(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but seldom, and only in what the tests themselves make."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Close all figures, so that no test sees one of another test."""
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees the settings of the developer's shell, and none writes into the user's data folder."""
    with pytest.MonkeyPatch.context() as environment:
        for name in list(os.environ):
            if name.startswith("PROMPTLIFT_"):
                environment.delenv(name)
        environment.setenv("PROMPTLIFT_DATA", str(tmp_path_factory.mktemp("user-data")))
        yield


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
