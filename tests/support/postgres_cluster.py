"""A PostgreSQL cluster of our own for tests: in a temporary folder, on a free port of loopback."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def binaries() -> Path | None:
    """Folder of the newest installed ``initdb`` and ``pg_ctl``, if there is one."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    found = debian[-1] if debian else shutil.which("initdb")
    return Path(found).parent if found else None


def reason_to_skip() -> str | None:
    """Why no cluster can be started here, if so."""
    if binaries() is None:
        return "PostgreSQL is not installed"
    if os.geteuid() == 0 and _server_user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


@contextmanager
def cluster() -> Iterator[str]:
    """Run a cluster; gives the address of its database ``postgres``."""
    folder = binaries()
    assert folder is not None, "PostgreSQL is not installed"
    home = Path(tempfile.mkdtemp(prefix="promptlift-pg-"))
    user = _server_user() if os.geteuid() == 0 else None
    if user is not None:
        os.chown(home, user.pw_uid, user.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -k {home} -h 127.0.0.1 -c fsync=off -c max_connections=200"
    control = [str(folder / "pg_ctl"), "-D", str(home / "data"), "-w"]
    try:
        _run([str(folder / "initdb"), "-D", str(home / "data"), "-U", "postgres", "-A", "trust"], user)
        _run([*control, "-l", str(home / "log"), "-o", options, "start"], user)
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            _run([*control, "-m", "immediate", "stop"], user)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def new_postgres_database(server: str, *, like: str = "template1") -> Iterator[str]:
    """Address of a new PostgreSQL database, a copy of ``like``; it is dropped at the end."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
    yield f"{server.rpartition('/')[0]}/{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _server_user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


def _run(command: list[str], user: pwd.struct_passwd | None) -> None:
    if user is not None:
        command = ["runuser", "-u", user.pw_name, "--", *command]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False, cwd="/"
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
