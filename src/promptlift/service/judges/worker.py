"""Run backfills and alignments in the background."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from promptlift.errors import PromptliftError
from promptlift.service.background.runs import Runs
from promptlift.service.judges import requests
from promptlift.service.judges.run import Backfill
from promptlift.service.store import judges, runs

if TYPE_CHECKING:
    from promptlift.service.judges.run import JudgeRunner
    from promptlift.service.models import Models
    from promptlift.service.store.database import Database


RUNS_AT_A_TIME: Final = 4


class JudgeJobs(Runs):
    """Run judges over conversations, and align them.

    Parameters
    ----------
    models
        Factory of each run's view of the language model.
    """

    name = "judge"
    threads = RUNS_AT_A_TIME

    def __init__(self, database: Database, models: Models, *, worker: str) -> None:
        super().__init__(runs.leases("backfill", "alignment"), database, worker=worker)
        self._models = models
        self.at_a_time = models.conversations_at_a_time
        self.pool = ThreadPoolExecutor(max_workers=self.at_a_time, thread_name_prefix="judge-run")

    def close(self) -> None:
        """Accept no more conversations."""
        self.pool.shutdown(wait=False, cancel_futures=True)

    def open(self, row_id: str) -> JudgeRunner:
        """Return a run, to be continued from its current state.

        Raises
        ------
        PromptliftError
            No language model is configured any longer.
        """
        with self.database.read() as connection:
            row = runs.get(connection, row_id)
            judge = judges.get(connection, row.subject_id)
        calls, model = self._models.calls(), judge.llm_model or self._models.model
        if calls is None or model is None:
            raise PromptliftError(requests.NO_MODEL)
        from promptlift.service.judges.align import Alignment  # noqa: PLC0415 - few align a judge

        kind = Backfill if row.kind == "backfill" else Alignment
        return kind(self, calls, row, judge, model)
