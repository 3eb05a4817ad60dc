"""Put one version of a judge to logged conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service import clock
from promptlift.service.judges.question import JudgeText
from promptlift.service.judges.run import JudgeRun
from promptlift.service.store import judges, verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.judges.run import Tried
    from promptlift.service.store.tables import AnyRow

__all__ = ["Backfill"]

# Transcripts that are read at a time.
BATCH: Final = 64


class Backfill(JudgeRun):
    """Judge what a selection has and this version has not answered for, the newest first; see ``JudgeRun``.

    Each verdict is kept as it comes, so the run goes on after a kill with what is left.
    """

    def carry_on(self) -> None:
        """Judge what is left, and complete the run."""
        self.start()
        text = JudgeText.of(self.judge)
        most = self.settings.get("maxConversations")
        while (batch := self._next(most)) != []:
            generations = {row.id: row.generation for row in batch}

            def keep(tried: Sequence[Tried], generations: dict[str, int] = generations) -> None:
                self._keep(tried, generations)

            self.judge_all(text, [(row.id, row.content.decode("utf-8", "replace")) for row in batch], keep)
        with self.transaction() as connection:
            self.complete(connection)

    def _next(self, most: int | None) -> Sequence[AnyRow]:
        """Return the next conversations, as many as the run may still judge; none when it has come to its end."""
        with self.database.read() as connection:
            done, failed = verdicts.progress(connection, [self.row.id])[self.row.id]
            left = BATCH if most is None else min(BATCH, most - done - failed)
            if left <= 0:
                return []
            return verdicts.to_judge(
                connection, self.row.account_id, self.judge.id, self.settings["selection"], limit=left
            )

    def _keep(self, tried: Sequence[Tried], generations: dict[str, int]) -> None:
        rows = [
            {
                "account_id": self.row.account_id,
                "judge_row_id": self.judge.id,
                "conversation_id": one.id,
                "run_id": self.row.id,
                "verdict": one.verdict.answer if one.verdict else None,
                "reason": one.verdict.reason if one.verdict else None,
                "problem": one.problem,
                "analyser": self.analyser,
                "created_at": clock.now(),
                "generation": generations[one.id],
            }
            # What failed because the model is gone is tried again when the run is resumed.
            for one in tried
            if one.gone is None
        ]
        if not rows:
            return
        with self.transaction() as connection:
            # The judge may have been deleted meanwhile, and then so was the run.
            judges.get(connection, self.judge.id)
            verdicts.keep(connection, rows)
