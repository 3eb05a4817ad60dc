"""``python -m promptlift …`` in tests: forked from a process that has imported everything, at a tenth of a start's cost.

A forked process is a process like any other, with arguments, environment, folder, standard streams, signals and exit code
of its own; only its parent is the fork server. ``install`` changes what ``subprocess`` does with these commands, here and in
the processes that are forked. From nothing, as users do, a command is started inside ``cold_starts``, on other systems than
Linux, and where the environment differs in what is read at an import.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# With it, jsonschema builds a grammar of addresses in every process that imports it, which takes over two seconds.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
# Matrices of tests are small: a second thread of OpenBLAS only waits, and keeps a processor busy with it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# What Python and libraries read while they are started and imported.
_READ_AT_IMPORT = ("HOME", "LANG", "LC_", "MPL", "OMP_", "OPENBLAS_", "PYTHON", "TZ", "XDG_")
_MESSAGE_BYTES = 1 << 20
_PYTHON = sys.executable
# A variable of the environment: seconds by the full names of constants, as JSON, for tests that would wait for minutes.
SHORTER = "PROMPTLIFT_TESTS_SHORTER"
# A variable of the environment: the name of the fork server that a process of tests has for all that it starts.
_SHARED = "PROMPTLIFT_TESTS_FORK_SERVER"
_KERNEL = "ipykernel_launcher"
# The reader of pages (`main_text`) is not among them: it limits its own memory.
_FORKED = (
    "promptlift", "promptlift.service.insights.lexicon.process", "jupyterlab", "nbconvert", "support.local_user", _KERNEL,
)  # fmt: skip


class _Process(subprocess.Popen):
    """A process that is forked where it can be; its connection to the fork server tells its end."""

    _connection: socket.socket | None = None

    def _execute_child(  # type: ignore[override]
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, restore_signals, gid, gids, uid, umask,
        start_new_session, process_group,
    ):  # fmt: skip
        if _server.refuses:
            raise AssertionError(f"A test that starts a process is marked slow: {args}")
        plain = (
            executable is preexec_fn is gid is gids is uid is None
            and close_fds
            and umask == process_group == -1
        )
        environment = dict(os.environ if env is None else env)
        folder = os.fspath(cwd or Path.cwd())
        if not (
            plain
            and not shell
            and not pass_fds
            and os.access(folder, os.X_OK)
            and can_fork(args, environment)
        ):
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
                p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, restore_signals, gid, gids, uid, umask,
                start_new_session, process_group,
            )  # fmt: skip
            return
        order = {
            "arguments": [os.fspath(one) for one in args[1:]],
            "environment": environment,
            "folder": folder,
            "session": start_new_session,
        }
        streams = [own if given == -1 else given for own, given in enumerate((p2cread, c2pwrite, errwrite))]
        self._connection = _server.connection()
        socket.send_fds(self._connection, [json.dumps(order).encode()], streams)
        self.pid = int(self._connection.recv(_MESSAGE_BYTES))
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def _try_wait(self, wait_flags):
        if self._connection is None:
            return super()._try_wait(wait_flags)
        try:
            said = self._connection.recv(
                _MESSAGE_BYTES, socket.MSG_DONTWAIT if wait_flags & os.WNOHANG else 0
            )
        except BlockingIOError:
            return 0, 0
        self._connection.close()
        # An end that the server did not see is its own: it was killed.
        return self.pid, int(said or signal.SIGKILL)

    def _internal_poll(self, _deadstate=None, **inner):
        if self._connection is None:
            return super()._internal_poll(_deadstate, **inner)
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid:
                        self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


class _Server:
    """The fork server as those see it who ask it for processes; it starts with the first of them."""

    def __init__(self) -> None:
        shared = os.environ.pop(_SHARED, None)
        self.name = shared or f"promptlift-tests-{secrets.token_hex(8)}"
        self.environment = dict(os.environ)
        self.paths = set(sys.path)
        self._owner = None if shared else os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self.is_cold = False
        self.refuses = False

    def connection(self) -> socket.socket:
        with self._lock:
            self._start()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(f"\0{self.name}")
        return connection

    def _start(self) -> None:
        if self._owner == os.getpid() and self._process is None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(f"\0{self.name}")
                listener.listen(128)
                code = "from support.fork_server import main; main()"
                # It ends with its standard input: when these tests have.
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", code, str(listener.fileno()), self.name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    env=self.environment | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                    pass_fds=[listener.fileno()],
                )

    def share(self) -> None:
        if sys.platform == "linux":
            with self._lock:
                self._start()
            os.environ[_SHARED] = self.name

    def end(self) -> None:
        if self._process is not None:
            self._process.communicate()


_server = _Server()


def install() -> None:
    """Have the commands forked that this process starts from now on."""
    _server.paths = set(sys.path)
    subprocess.Popen = _Process  # type: ignore[misc]


def share() -> None:
    """Start the fork server for the processes of tests that this one starts."""
    _server.share()


def end() -> None:
    """End the fork server; what it forked stays."""
    _server.end()


@contextmanager
def no_starts() -> Iterator[None]:
    """Refuse to start processes of any kind."""
    fork, start = os.fork, BaseProcess.start
    _server.refuses, os.fork, BaseProcess.start = True, _refuse, _refuse
    try:
        yield
    finally:
        _server.refuses, os.fork, BaseProcess.start = False, fork, start


def _refuse(*_arguments: Any) -> NoReturn:
    raise AssertionError("A test that starts a process is marked slow")


@contextmanager
def cold_starts() -> Iterator[None]:
    """Start from nothing what is started now."""
    _server.is_cold = True
    try:
        yield
    finally:
        _server.is_cold = False


def can_fork(args: Any, environment: Mapping[str, str]) -> bool:
    """Whether a process that has imported everything would do the same."""
    if sys.platform != "linux" or _server.is_cold or isinstance(args, str | bytes | os.PathLike):
        return False
    command = [os.fspath(one) for one in args]
    options = 2 if command[1:2] == ["-P"] else 1
    if command[0] != _PYTHON or command[options : options + 1] != ["-m"]:
        return False
    if command[options + 1] not in _FORKED:
        return False
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    return set(paths) <= {"", *_server.paths} and _fixed(environment) == _fixed(_server.environment)


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_IMPORT) and name != "PYTHONPATH"
    }


def main() -> None:
    """Import everything, and fork on request; in a forked process run what was asked for."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    _import_everything()
    _serve_once()
    install()
    _server.name, _server.environment, _server._owner = sys.argv[2], dict(os.environ), None
    gc.collect()
    gc.freeze()
    order = _order(listener)
    code: Any = None
    try:
        _run(order)
    except SystemExit as ended:
        code = ended.code
        if isinstance(code, str):
            raise
    # The end of a process as always, without taking down module after module: that would take longer than the rest.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def _import_everything() -> None:
    import promptlift

    importlib.import_module("ipykernel.kernelapp")
    for module in pkgutil.walk_packages(promptlift.__path__, "promptlift."):
        if "__main__" not in module.name and ".migrations." not in module.name:
            importlib.import_module(module.name)


def _serve_once() -> None:
    """Have a service do each kind of work and end: what it makes the first time, such as mapped rows, the forked ones have then."""
    from promptlift.service.server import serve
    from promptlift.service.settings import ServiceSettings

    key = secrets.token_hex(20)
    ends = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with tempfile.TemporaryDirectory() as folder:
        settings = ServiceSettings(port=0, data=Path(folder), api_key=key)
        threads = []

        def on_ready(ready) -> None:
            threads.append(threading.Thread(target=_use, args=(ready.base_url, key)))
            threads[0].start()

        serve(settings, on_ready=on_ready)
        threads[0].join()
    for number, end in zip((signal.SIGINT, signal.SIGTERM), ends, strict=True):
        signal.signal(number, end)
    if threading.active_count() > 1:
        raise AssertionError(f"A process with threads cannot be forked: {threading.enumerate()}")


def _use(url: str, key: str) -> None:
    """Log a conversation and optimize its prompt; then end the service."""
    import httpx

    def ended(path: str) -> bool:
        return client.get(path).json().get("status") in ("completed", "failed")

    try:
        with httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=60
        ) as client:
            prompt = {"name": "Help", "content": "You help.", "llmModel": "gpt-4o-mini"}
            prompt_id = client.post("/prompts", json=prompt).json()["id"]
            asked = {"promptId": prompt_id, "content": "User: Hi\nAssistant: Hello", "variants": 1}
            client.post("/conversations", json=asked)
            path = f"/optimizations/{client.post('/optimizations', json=asked).json()['id']}"
            while not ended(path):
                time.sleep(0.02)
            client.get(f"/prompts/{prompt_id}/insights")
    finally:
        signal.raise_signal(signal.SIGTERM)


def _order(listener: socket.socket) -> dict[str, Any]:
    """Fork on request until the tests have ended; returns in the forked processes, with what each has to do."""
    # A descriptor for each process, which is readable when it has ended, and who is told then.
    asked: dict[int, tuple[int, socket.socket]] = {}
    watched = selectors.DefaultSelector()
    watched.register(0, selectors.EVENT_READ)
    watched.register(listener, selectors.EVENT_READ)
    while True:
        for number in [key.fd for key, _ in watched.select()]:
            if number == 0:
                os._exit(0)
            elif number in asked:
                watched.unregister(number)
                os.close(number)
                pid, connection = asked.pop(number)
                with connection:
                    _tell(connection, os.waitpid(pid, 0)[1])
            else:
                connection, message, streams = _asked(listener)
                if not message:
                    continue
                begun, begins = os.pipe()
                pid = os.fork()
                if pid == 0:
                    watched.close()
                    order = json.loads(message)
                    if order["session"]:
                        os.setsid()
                    _take(
                        streams,
                        [listener, connection, *(one for _, one in asked.values())],
                        [*asked, begun, begins],
                    )
                    return order
                os.close(begins)
                os.read(begun, 1)  # its end: who asked finds the process in a session of its own
                os.close(begun)
                for given in streams:
                    os.close(given)
                _tell(connection, pid)
                end = os.pidfd_open(pid)
                asked[end] = pid, connection
                watched.register(end, selectors.EVENT_READ)


def _asked(listener: socket.socket) -> tuple[socket.socket, bytes, list[int]]:
    """Return what one asks for; the message is empty where it was killed meanwhile."""
    connection, _ = listener.accept()
    message, streams = b"", []
    with suppress(ConnectionError):
        message, streams, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 3)
    if not message:
        connection.close()
    return connection, message, streams


def _take(streams: Sequence[int], sockets: Iterable[socket.socket], others: Iterable[int]) -> None:
    """Take standard streams, and close what is the fork server's."""
    for own, given in enumerate(streams):
        os.dup2(given, own)
    for one in sockets:
        one.close()
    for number in (*streams, *others):
        os.close(number)


def _tell(connection: socket.socket, number: int) -> None:
    with suppress(ConnectionError):  # who asked may have been killed
        connection.send(str(number).encode())


def _run(order: Mapping[str, Any]) -> None:
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    tempfile.tempdir = None
    for place, seconds in json.loads(os.environ.pop(SHORTER, "{}")).items():
        module, _, name = place.rpartition(".")
        setattr(sys.modules[module], name, seconds)
    arguments: Sequence[str] = order["arguments"]
    if arguments[0] == "-P":
        arguments = arguments[1:]
    else:
        sys.path.insert(0, order["folder"])
        _server.paths.add(order["folder"])
    _, name, *sys.argv[1:] = arguments
    if name == _KERNEL:
        _as_in_a_kernel()
    elif name != "promptlift":
        sys.modules.pop(name, None)  # it runs as the program
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _as_in_a_kernel() -> None:
    """Set what libraries that are imported already would have read of the kernel around them."""
    import matplotlib as mpl
    import pandas as pd

    mpl.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    pd.set_option("display.max_columns", 20)
