"""A database that is gone or full: requests are refused, and the log stays readable."""

from __future__ import annotations

import http.client
import io
import logging
import re
import resource
import sqlite3
from urllib.parse import urlsplit

import psycopg
import pytest

from promptlift.service.throttled_log import ThrottledHandler
from support.service_process import wait_until
from support.wire import Wire

SMALL = 100_000


def ask(service, path):
    connection = http.client.HTTPConnection(urlsplit(service.base_url).netloc, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def lines_of(service, sign):
    """Lines of the log with a sign."""
    return [line for line in service.log.read_text().splitlines() if sign in line]


def test_a_full_disk_refuses_writes_and_logs_one_line_a_second(start_service):
    service = start_service()
    wire = Wire(service.base_url, service.key)
    prompt_id = wire.add_prompt()
    body = {"promptId": prompt_id, "content": "User: hi\nAssistant: hello"}
    # A limit on the size of files stands in for a full disk: the database cannot grow, and the log still can.
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (SMALL, resource.RLIM_INFINITY))
    wait_until(lambda: wire.ask("POST", "/conversations", body).status == 503, what="the disk is full")
    answers = [wire.ask("POST", "/conversations", body) for _ in range(150)]
    answers += [wire.ask("PATCH", f"/prompts/{prompt_id}", {"name": "B"}) for _ in range(150)]
    assert {answer.status for answer in answers} == {503}
    assert {answer.error["code"] for answer in answers} == {"SERVICE_UNAVAILABLE"}
    assert wire.get(f"/prompts/{prompt_id}")["name"] == "Support"
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert wire.ask("POST", "/conversations", body).status == 201
    sign = "the database cannot be used"
    wait_until(lambda: counted(lines_of(service, sign)) >= 300, what="every refusal is counted")
    assert "Traceback" not in service.log.read_text()
    assert len(lines_of(service, sign)) < 60


def counted(lines):
    """How many lines these stand for."""
    return len(lines) + sum(int(more) - 1 for line in lines for more in re.findall(r"\((\d+) more", line))


def test_a_key_that_was_not_used_before_reads_while_the_disk_is_full(start_service):
    """When a key was last used is written down; that must not stand in the way of an answer."""
    service = start_service()
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (SMALL, resource.RLIM_INFINITY))
    assert Wire(service.base_url, service.key).get("/prompts")["data"] == []
    assert lines_of(service, "the database cannot be used")


def test_health_and_readiness_need_no_key(service):
    assert ask(service, "/healthz") == (200, b'{"status":"alive"}')
    assert ask(service, "/readyz") == (200, b'{"status":"ready"}')


def test_a_service_is_not_ready_when_the_tables_are_of_another_version(start_service):
    service = start_service()
    assert ask(service, "/readyz")[0] == 200
    with sqlite3.connect(service.data / "promptlift.db", timeout=30) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    wait_until(lambda: ask(service, "/readyz")[0] == 503, what="the service is not ready")
    assert b'"code":"SERVICE_UNAVAILABLE"' in ask(service, "/readyz")[1]
    assert ask(service, "/healthz")[0] == 200


def test_a_service_is_not_ready_when_its_database_is_gone(start_service, postgres_url):
    service = start_service(database=postgres_url)
    assert ask(service, "/readyz")[0] == 200
    server, _, name = postgres_url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        wait_until(lambda: ask(service, "/readyz")[0] == 503, what="the service is not ready")
        assert ask(service, "/healthz")[0] == 200
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        wait_until(lambda: ask(service, "/readyz")[0] == 200, what="the service is ready again")


@pytest.fixture
def log():
    """A log of its own with what was written to it."""
    stream = io.StringIO()
    handler = ThrottledHandler(stream, seconds=0.2)
    yield logger_with(handler), stream
    handler.close()


def logger_with(handler):
    logger = logging.getLogger(f"test.{id(handler)}")
    logger.propagate = False
    logger.addHandler(handler)
    return logger


def test_lines_of_different_kinds_are_all_written(log):
    logger, stream = log
    logger.warning("one")
    logger.warning("two")
    for fails in (lambda: int("x"), lambda: {}["x"]):
        try:
            fails()
        except (ValueError, KeyError):
            logger.exception("a request failed")
    assert [stream.getvalue().count(sign) for sign in ("one", "two", "ValueError", "KeyError")] == [1] * 4
