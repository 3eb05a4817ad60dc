"""Verdicts of judges that learned from labels."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from promptlift.errors import TranscriptError
from promptlift.schema.transcript import parse_content
from promptlift.service.insights.learned.features import features_of
from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables.prompts import LearnedJudgeRow
from promptlift.stats.learned import FittedJudge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.schema.insights import Insights
    from promptlift.service.store.database import Database
    from promptlift.service.store.judging import ToJudge

_KEPT: Final = 32


class _Judge(NamedTuple):
    name: str
    fitted: FittedJudge
    chances: Mapping[str, float]


class LearnedVerdict(NamedTuple):
    """The probability that a conversation completed its task, and the judge's version."""

    chance: float
    by: str


class LearnedJudges:
    """The learned judges of all prompts. A version never changes, so recently used ones are cached.

    Parameters
    ----------
    database
        The database with the judges.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read = lru_cache(_KEPT)(self._read_anew)

    def _read_anew(self, row_id: str) -> _Judge | None:
        with self._database.read() as connection:
            row = Rows(connection).find(wanted(LearnedJudgeRow, id=row_id))
            if row is None:
                return None
            name = f"learned:{row.prompt_id}@{row.version}"
            return _Judge(name, FittedJudge.from_dict(row.weights.model_dump()), row.chances)

    def verdicts(self, rows: Sequence[ToJudge], found: Sequence[Insights]) -> list[LearnedVerdict | None]:
        """Judge conversations with their insights; ``None`` if their prompt has no learned judge."""
        verdicts: list[LearnedVerdict | None] = [None] * len(rows)
        for row_id in {row.learned for row in rows if row.learned is not None}:
            judge = self._read(row_id)
            if judge is None:
                continue
            mine = [at for at, row in enumerate(rows) if row.learned == row_id]
            features = (features_of_content(rows[at].content, found[at], rows[at].status) for at in mine)
            for at, chance in zip(mine, judge.fitted.chances([*features]).tolist(), strict=True):
                # A labelled conversation keeps the verdict of the model that had not seen its label.
                verdicts[at] = LearnedVerdict(round(judge.chances.get(rows[at].id, chance), 4), judge.name)
        return verdicts


def features_of_content(content: bytes, insights: Insights | None, status: str) -> dict[str, float]:
    """Return the features of a stored conversation; empty if its transcript cannot be read."""
    try:
        transcript = parse_content(content.decode())
    except TranscriptError:
        return {}
    return features_of(transcript, insights, status)
