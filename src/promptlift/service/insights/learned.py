"""Judges of "task completed" that learned from labels: their input, and their verdicts.

The input are named numbers from a conversation's transcript and insights. Only the part of a transcript that the
built-in analyser reads is used, so that no transcript takes long.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from promptlift.errors import TranscriptError
from promptlift.schema.insights import issue_record
from promptlift.schema.transcript import parse_content, split_call
from promptlift.service.insights.lexicon.signals import RESULT, Signals, is_error, notice
from promptlift.service.insights.turns import read_turns
from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables.prompts import LearnedJudgeRow
from promptlift.stats.learned import TOOL, WORD, FittedJudge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.schema.insights import Insights
    from promptlift.schema.transcript import Transcript
    from promptlift.service.insights.turns import JudgedTurn
    from promptlift.service.store.database import Database
    from promptlift.service.store.judging import ToJudge

# Judges kept in memory.
_KEPT: Final = 32
TOOLS_MAX: Final = 60
# How many turns of either side count as its last ones.
_LAST: Final = 2
_WORD_CHARS: Final = range(3, 21)
_NAME_CHARS: Final = 60
_SIGNALS: Final = tuple(
    name
    for name in Signals.__dataclass_fields__
    if name not in ("upset", "last_sentiment", "assistant_turns")
)
# Logarithm, so that doubling a number of calls or characters always adds the same.
_log = math.log1p


def features_of(transcript: Transcript, insights: Insights | None, status: str | None) -> dict[str, float]:
    """Return the features of a conversation by name; a missing name means 0.

    Counts are logarithms. Signals of the word list are 0 or 1, whichever judge made the insights; sentiment,
    quality, severities and the verdict come from the insights.
    """
    turns = read_turns(transcript)
    user, assistant, tools = (
        [turn for turn in turns if turn.speaker == speaker] for speaker in ("user", "assistant", "tool")
    )
    results = [turn for turn in tools if turn.text.startswith(RESULT)]
    calls = [call for turn in tools if (call := split_call(turn.text)) is not None]
    counts = Counter(call.name[:_NAME_CHARS] for call in calls)
    errors = sum(map(is_error, results))
    signals = notice(turns, [0.0] * len(user))
    found = {
        "user turns": _log(len(user)),
        "assistant turns": _log(len(assistant)),
        "user characters": _log(_characters(user)),
        "assistant characters": _log(_characters(assistant)),
        "characters of the last user turn": _log(_characters(user[-1:])),
        "characters of the last assistant turn": _log(_characters(assistant[-1:])),
        "tool calls": _log(len(calls)),
        "distinct tools": _log(len(counts)),
        "most calls of a tool": _log(max(counts.values(), default=0)),
        "repeated calls": _log(len(calls) - len(set(calls))),
        "tool errors": _log(errors),
        "share of tool errors": errors / len(results) if results else 0.0,
        "abandoned": float(status == "abandoned"),
        "the user ends it": float(bool(turns) and turns[-1].speaker == "user"),
        "a tool ends it": float(bool(turns) and turns[-1].speaker == "tool"),
    }
    found |= {
        f"says: {name.replace('_', ' ')}": 1.0 for name in _SIGNALS if getattr(signals, name) is not None
    }
    found |= {f"{TOOL}{name}": 1.0 for name, _ in counts.most_common(TOOLS_MAX)}
    if calls:
        found[f"last {TOOL}{calls[-1].name[:_NAME_CHARS]}"] = 1.0
    found |= _words(user[-_LAST:], "user") | _words(assistant[-_LAST:], "assistant")
    return found | ({} if insights is None else _of_insights(insights))


def _of_insights(insights: Insights) -> dict[str, float]:
    severities = Counter(issue_record(issue)["severity"] for issue in insights.issues)
    return {
        "sentiment": insights.sentiment_score or 0.0,
        "quality": (insights.quality or 0.0) / 100,
        "called completed": float(bool(insights.first_verdict)),
        **{f"{name} issues": float(severities[name]) for name in ("low", "medium", "high")},
    }


def _words(turns: list[JudgedTurn], who: str) -> dict[str, float]:
    """Return the words of turns, weighted less the more there are."""
    words = {
        word for turn in turns for word in turn.vocabulary if word.isalpha() and len(word) in _WORD_CHARS
    }
    return {f"last {who} {WORD}{word}": 1.0 / math.sqrt(len(words)) for word in words}


def _characters(turns: list[JudgedTurn]) -> int:
    return sum(len(turn.text) for turn in turns)


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
