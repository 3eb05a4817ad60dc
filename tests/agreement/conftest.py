"""Accounts of their own on the shared service, and a client for each."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import promptlift
from promptlift.schema.naming import SCHEMES
from promptlift.service.store.database import Database
from support.answering_model import AnsweringModel, serving
from support.optimizing import Answering, win
from support.service_process import ServiceProcess
from support.wire import Wire, open_account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.client.api.client import Client
    from support.optimizing import Won


@pytest.fixture(scope="session")
def database(service: ServiceProcess) -> Iterator[Database]:
    """The database file of the shared service, opened beside it."""
    opened = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    yield opened
    opened.close()


@pytest.fixture
def new_account(service: ServiceProcess, database: Database) -> Callable[..., Wire]:
    """Make an account with a key of its own; nobody else's rows are in it."""

    def make(plan: str = "enterprise", scheme: str = "prompt") -> Wire:
        return open_account(service.base_url, database, plan=plan, scheme=scheme)

    return make


@pytest.fixture
def wire(request: pytest.FixtureRequest, new_account: Callable[..., Wire]) -> Wire:
    """A fresh account; once in each naming scheme where a test asks for ``both_schemes``."""
    return new_account(scheme=getattr(request, "param", "prompt"))


@pytest.fixture
def connect() -> Iterator[Callable[[Wire], Client]]:
    """The typed client of an account, in the same scheme."""
    with ExitStack() as ends:

        def make(wire: Wire) -> Client:
            workspace = promptlift.connect(wire.base_url, wire.key, scheme=wire.scheme.name, progress=False)
            return ends.enter_context(workspace).client

        yield make


@pytest.fixture
def client(wire: Wire, connect: Callable[[Wire], Client]) -> Client:
    return connect(wire)


@pytest.fixture(scope="package")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answering]:
    """A service over a model on a socket; its first variant is much better."""
    model = AnsweringModel(better=0.35)
    with serving(model) as environment:
        data = tmp_path_factory.mktemp("answering")
        running = ServiceProcess(
            data,
            env={**environment, "PROMPTLIFT_LLM_PATIENCE": "0", "PROMPTLIFT_ALLOW_PRIVATE_NETWORKS": "1"},
        ).start()
        opened = Database(f"sqlite:///{data / 'promptlift.db'}")
        try:
            yield Answering(running, opened, model)
        finally:
            opened.close()
            running.stop()


@pytest.fixture
def held_model(answering: Answering) -> Iterator[AnsweringModel]:
    """The model while it answers nothing; it answers again after the test."""
    answering.model.hold()
    yield answering.model
    answering.model.allow()


@pytest.fixture(scope="package")
def _won(answering: Answering) -> Won:
    return win(answering.account())


@pytest.fixture
def won(request: pytest.FixtureRequest, _won: Won) -> Won:
    """An optimization with a winner, as ``wire``. Tests may apply its variants."""
    return replace(_won, wire=replace(_won.wire, scheme=SCHEMES[getattr(request, "param", "prompt")]))
