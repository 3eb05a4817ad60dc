"""The background work of a process, assembled once, and the process that does nothing else."""

from __future__ import annotations

import logging
import signal
import threading
from typing import TYPE_CHECKING, Final

from promptlift.errors import ServiceStartError
from promptlift.service import clock
from promptlift.service.background.kind import SingletonJob
from promptlift.service.background.wake_ups import OtherWorkers
from promptlift.service.background.worker import Worker
from promptlift.service.benchmarks.run import BenchmarkJobs
from promptlift.service.deployments import completion_watch
from promptlift.service.deployments.regression_run import RegressionTests
from promptlift.service.deployments.watch import ProductionWatch
from promptlift.service.insights.issue_groups import EVERY_SECONDS as NAMING_SECONDS
from promptlift.service.insights.issue_groups import IssueNaming
from promptlift.service.insights.topics import TopicJob
from promptlift.service.insights.worker import InsightJobs
from promptlift.service.judges.worker import JudgeJobs
from promptlift.service.models import Models, choose_judge
from promptlift.service.net import GuardedClient
from promptlift.service.optimizations.run import OptimizationJobs
from promptlift.service.otlp.closing import TracedConversations, drop_closed
from promptlift.service.simulations.pool import SimulationPool
from promptlift.service.store import conversations, events
from promptlift.service.store.database import Database
from promptlift.service.throttled_log import ThrottledHandler
from promptlift.service.webhooks import Deliveries, Sender, load_secrets, trim_outbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.background.kind import Kind
    from promptlift.service.settings import ServiceSettings


_LOG = logging.getLogger(__name__)
_CLEAN_SECONDS: Final = 600.0


class BackgroundWork:
    """Every kind of background work of one process, over one worker.

    Parameters
    ----------
    database
        The database with the work.
    settings
        The operator's settings.

    Attributes
    ----------
    insights
        Judges conversations, and reports why they wait.
    models
        The language model of optimizations.
    served
        The models that the configured endpoint serves; ``None`` without an endpoint.
    net
        Sends requests to user-supplied addresses.
    secrets
        Secrets of the webhooks; ``None`` without a key for them.
    sender
        Sends events to webhooks.
    kinds
        All kinds of work.
    """

    def __init__(self, database: Database, settings: ServiceSettings) -> None:
        self._database = database
        self._worker = Worker(database, lease_seconds=settings.lease_seconds)
        self._others: OtherWorkers | None = None
        self._judge = choose_judge()
        self.served = self._judge.served
        self.models = Models.from_env(self._judge.client)
        self._pool = SimulationPool(database, at_a_time=self.models.conversations_at_a_time)
        self.insights = InsightJobs(
            database,
            self._judge.judge,
            worker=self._worker.id,
            at_a_time=self._judge.at_a_time,
            trial=self._judge.trial,
            probe=self._judge.client,
        )
        self._judges = JudgeJobs(database, self.models, worker=self._worker.id)
        self.net = GuardedClient(allow_private=settings.allow_private_networks)
        self.secrets = load_secrets(settings)
        self.sender = Sender(database, self.net, self.secrets)
        self.kinds: list[Kind] = [
            self.insights,
            OptimizationJobs(database, self.models, self._pool, worker=self._worker.id),
            BenchmarkJobs(database, self.models, self._pool, worker=self._worker.id),
            self._judges,
            RegressionTests(database, self.models, self._pool, worker=self._worker.id),
            ProductionWatch(database),
            TopicJob(database, self._judge.client),
            SingletonJob(
                "watch_completion",
                lambda: completion_watch.look(database),
                every_seconds=completion_watch.LOOK_SECONDS,
            ),
            TracedConversations(database, worker=self._worker.id),
            SingletonJob("clean_up", self._clean_up, every_seconds=_CLEAN_SECONDS),
        ]
        if self._judge.client is not None:
            client = self._judge.client
            naming = IssueNaming(database, client, client.settings.model)
            self.kinds.append(SingletonJob("name_issues", naming.step, every_seconds=NAMING_SECONDS))
        if self.secrets is not None:
            self.kinds.append(Deliveries(database, self.sender, worker=self._worker.id))

    def start(self) -> None:
        """Start working."""
        self._warn_of_other_keys()
        self._worker.start(self.kinds)

    def leave_to_others(self) -> None:
        """Do not work; read the reports of workers in other processes."""
        self._others = OtherWorkers(self._database)
        self.insights.others = self._others
        self._others.start()

    def stop(self) -> None:
        """Shut down in order; unfinished work continues in another process, or at the next start."""
        if self._others is None:
            self._worker.stop()
        else:
            self._others.stop()
        self.net.close()
        self._pool.close()
        self._judges.close()
        self._judge.close()

    def _clean_up(self) -> None:
        with self._database.write() as connection:
            conversations.drop_expired_keys(connection, now=clock.now())
            drop_closed(connection)
        trim_outbox(self._database)

    def _warn_of_other_keys(self) -> None:
        with self._database.read() as connection:
            others = events.webhooks_with_other_keys(connection, self.secrets.key_id if self.secrets else "")
        if others:
            _LOG.warning(
                "the deliveries of some webhooks (%d) wait: their secrets were made from another key. Set "
                "PROMPTLIFT_SECRET_KEY to it, or restore its file webhooks.key next to the database; "
                "otherwise delete and recreate them",
                others,
            )


def work(settings: ServiceSettings, *, on_ready: Callable[[], None]) -> None:
    """Work in the background, and do nothing else, until the process is interrupted or terminated.

    Parameters
    ----------
    settings
        The operator's settings.
    on_ready
        Called once, when the work starts.

    Raises
    ------
    ServiceStartError
        The database is SQLite, or cannot be used.
    """
    with Database(settings.resolved_database_url) as database:
        if database.is_sqlite:
            raise ServiceStartError(
                "On SQLite `promptlift serve` already does the background work: one process uses a data folder. "
                "For workers of their own set PROMPTLIFT_DATABASE_URL to a PostgreSQL database, for serve too."
            )
        database.migrate()
        logging.basicConfig(level=logging.WARNING, handlers=[ThrottledHandler()])
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        background = BackgroundWork(database, settings)
        background.start()
        try:
            on_ready()
            ended.wait()
        finally:
            background.stop()
