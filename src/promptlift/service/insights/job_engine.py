"""The durable job engine: submit in the transaction of the change, run in steps, go on after a kill.

The only module that knows DBOS. Its tables lie in the service's database, so a job and the rows that it is for
are kept together or not at all.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from dbos import DBOS, DBOSClient, DBOSConfig
from dbos._serialization import DBOSPortableJSONSerializer

from promptlift.service import clock
from promptlift.service.identifiers import new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from promptlift.service.store.database import Database

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["JobEngine", "job", "job_id", "step"]

# Changes only when the order of steps in a job changes: jobs of another version are not taken up.
STEPS_VERSION = "1"
POLL_SECONDS = 0.25
THREADS = 16
STOP_SECONDS = 0.2
KEEP_FINISHED_HOURS = 24
LIVING = ("ENQUEUED", "PENDING", "DELAYED")

Status = Literal["living", "ended", "unknown"]


def job(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as a job; everything that it does to the world must be inside steps."""
    return DBOS.workflow(name=name)


def job_id() -> str:
    """Name of the running job, the same after it was taken up again."""
    return DBOS.workflow_id or ""


def step(name: str, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run one step of a job. Its result is kept and not computed again; a killed step runs once more."""
    result: R = DBOS.run_step({"name": name}, function, *args, **kwargs)
    return result


class JobEngine:
    """Runs jobs of one process.

    Parameters
    ----------
    database
        Where jobs and rows are kept.
    executor
        Stable name of this process; after a restart it takes up the jobs of the same name.
    """

    def __init__(self, database: Database, *, executor: str) -> None:
        self._database = database
        self._executor = executor
        self._client: DBOSClient | None = None
        self._engine = database.engine_for_jobs()

    def start(self, queues: dict[str, int]) -> None:
        """Begin to run jobs; ``queues`` says how many of each queue run at a time in this process."""
        serializer = DBOSPortableJSONSerializer()
        config: DBOSConfig = {
            "name": "promptlift",
            "system_database_engine": self._engine,
            "application_version": STEPS_VERSION,
            "executor_id": self._executor,
            "serializer": serializer,
            "max_executor_threads": THREADS,
            "enable_otlp": False,
            "log_level": "WARNING",
        }
        DBOS(config=config)
        DBOS.launch()
        # The engine says at each start how to rent its console; that is not for our users.
        logging.getLogger("dbos").setLevel(logging.WARNING)
        for name, at_a_time in queues.items():
            DBOS.register_queue(name, worker_concurrency=at_a_time, polling_interval_sec=POLL_SECONDS)
        self._client = DBOSClient(system_database_engine=self._engine, serializer=serializer)

    def submit_in(
        self, connection: Connection, queue: str, name: str, *args: Any, job: str | None = None
    ) -> str:
        """Submit a job inside a transaction; it exists when that transaction is committed.

        Parameters
        ----------
        job
            Name of the job itself; a second one of the same name is the first one.
        """
        if self._client is None:
            raise RuntimeError("the job engine has not been started")
        chosen = job or new_id("job")
        self._client.enqueue_in_transaction(
            connection, {"queue_name": queue, "workflow_name": name, "workflow_id": chosen}, *args
        )
        return chosen

    def status(self, job: str) -> Status:
        """Whether a job will still do something."""
        found = DBOS.get_workflow_status(job)
        if found is None:
            return "unknown"
        return "living" if found.status in LIVING else "ended"

    def forget_finished(self) -> int:
        """Delete jobs that ended a day ago or earlier; gives how many."""
        before = clock.now() - KEEP_FINISHED_HOURS * clock.HOUR
        ended = DBOS.list_workflows(
            status=["SUCCESS", "ERROR", "CANCELLED"],
            end_time=clock.wire(before),
            limit=1_000,
            load_input=False,
            load_output=False,
        )
        ids = [workflow.workflow_id for workflow in ended]
        if ids:
            DBOS.delete_workflows(ids)
        return len(ids)

    def stop(self) -> None:
        """Stop taking jobs; what is under way goes on at the next start."""
        if self._client is not None:
            self._client.destroy()
            self._client = None
        # It waits for its own pollers, each of which sleeps for up to a second. Nothing depends on their end.
        ending = threading.Thread(
            target=DBOS.destroy,
            kwargs={"workflow_completion_timeout_sec": 0},
            name="job-engine-end",
            daemon=True,
        )
        ending.start()
        ending.join(timeout=STOP_SECONDS)
        self._engine.dispose()
