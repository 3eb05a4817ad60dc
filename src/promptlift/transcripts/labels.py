"""Labels by people or evaluators in other tools: scores of Langfuse, annotations of Phoenix, feedback of LangSmith."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.errors import TranscriptError
from promptlift.schema.boundary import Boundary, Unreadable
from promptlift.schema.insights import SENTIMENTS
from promptlift.transcripts.collector import is_something
from promptlift.transcripts.recognition import records_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from promptlift.transcripts.sources import Record

__all__ = ["Label", "read_labels"]

# Possible names of the rated run; a conversation is found by any of them.
_TARGETS: Final = (
    *("session_id", "sessionId", "thread_id", "trace_id", "traceId", "context.trace_id", "run_id", "span_id"),
    *("context.span_id", "observation_id", "observationId"),
)
_NAMES: Final = ("name", "annotation_name", "key")
# A Phoenix data frame has the result in separate columns.
_VALUES: Final = (
    *("string_value", "stringValue", "label", "result.label", "value", "score", "result.score"),
)
_YES: Final = (
    *("1", "1.0", "true", "yes", "pass", "passed", "correct", "completed", "success", "good", "👍"),
    *("thumbs-up", "thumbs up", "thumbs_up"),
)
_NO: Final = (
    *("0", "0.0", "false", "no", "fail", "failed", "incorrect", "not completed", "failure", "bad", "👎"),
    *("thumbs-down", "thumbs down", "thumbs_down"),
)


class Label(NamedTuple):
    """One label.

    Attributes
    ----------
    targets
        Ids of the rated items, widest first: session, trace, run.
    name
        Name of the rating in the tool.
    task_completed
        Whether the task was completed, ``None`` if the rating is not yes or no.
    sentiment
        The sentiment, if the rating is one.
    """

    targets: tuple[str, ...]
    name: str
    task_completed: bool | None
    sentiment: str | None


def read_labels(path: str | os.PathLike[str], *, name: str | None = None) -> list[Label]:
    """Read the labels of a file.

    Parameters
    ----------
    path
        Scores of Langfuse, annotations of Phoenix or feedback of LangSmith: JSON, JSON Lines, CSV or Parquet.
    name
        Rating to read; ``None`` for all.

    Raises
    ------
    TranscriptError
        If the file contains no labels, or none with that name; the message lists the names.
    """
    found = []
    for record in _records(path):
        with Boundary(lambda _: None):  # then it is not a label
            found += [label for label in [_label(record.value)] if label is not None]
    names = sorted({label.name for label in found})
    wanted = [label for label in found if name is None or label.name == name]
    wanted = [label for label in wanted if label.task_completed is not None or label.sentiment is not None]
    if wanted:
        return wanted
    if not found:
        raise TranscriptError(
            f"{path} contains no labels. Export the scores of Langfuse, the annotations of Phoenix or the "
            "feedback of LangSmith."
        )
    raise TranscriptError(
        f"{path} contains {', '.join(names)}, but no yes/no answers or sentiments"
        + (f" called {name!r}. Pass one of these names." if name else ". Export ratings of these kinds.")
    )


def _records(path: str | os.PathLike[str]) -> Iterable[Record]:
    try:
        return records_of(Path(path), "rows") or ()
    except FileNotFoundError as error:
        raise TranscriptError(f"There is no file {path}") from error
    except Unreadable:
        return ()


def _label(value: Any) -> Label | None:
    if not isinstance(value, dict):
        return None
    result = value.get("result")
    flat = {**value, **(result if isinstance(result, dict) else {})}
    targets = tuple(str(flat[name]) for name in _TARGETS if is_something(flat.get(name)))
    name = next((str(flat[key]) for key in _NAMES if is_something(flat.get(key))), None)
    if not targets or name is None:
        return None
    said = [str(flat[key]).strip().lower() for key in _VALUES if is_something(flat.get(key))]
    completed = next((word in _YES for word in said if word in (*_YES, *_NO)), None)
    sentiment = next((word for word in said if word in SENTIMENTS), None)
    return Label(targets, name, completed, sentiment)
