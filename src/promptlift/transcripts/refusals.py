"""Explanations for files without known conversations: what they are, and the step that helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.rows import Columns
from promptlift.transcripts.tables import SEPARATORS, csv_header

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["refuse_records", "refuse_text"]

_SHOWN: Final = 12
# What a record is by its fields, of which it has all, or has any of several, and the step that helps.
_BY_FIELDS: Final[tuple[tuple[tuple[set[str], ...], str], ...]] = (
    (
        ({"response_id", "response_status", "request_created_at"},),
        (
            "requests of Helicone without their answers, as its tables are. Export them again: "
            "npx @helicone/export --format jsonl --include-body"
        ),
    ),
    (
        ({"eval", "status"},),
        "the header of an evaluation log of Inspect AI without its samples. Give the .eval file itself",
    ),
    (
        ({"traceId", "startTime", "type"},),
        (
            "observations of Langfuse without messages. Also request the field group io from its API: "
            "GET /api/public/v2/observations?fields=basic,io,model,usage,prompt,metadata,trace_context"
        ),
    ),
    (({"resourceMetrics"},), "metrics of OpenTelemetry, which contain no conversations. Export the spans"),
    (
        (
            *({"comments_count"}, {"ticket_form_id"}, {"requester_id", "submitter_id"}),
            {"Requester", "Subject", "Status"},
        ),
        (
            "tickets of Zendesk without their comments. Add the result of GET /api/v2/tickets/ID/comments to "
            "each, as comments"
        ),
    ),
    (
        ({"custom_id"},),
        "lines of a batch of OpenAI without bodies. Put its input and output into one file",
    ),
    (
        ({"trace_id", "span_id"}, {"traceId", "spanId"}),
        "single spans of a tracing tool. Export them as OTLP JSON (resourceSpans), or with the attributes of OpenInference",
    ),
    (
        ({"run_id", "key", "score"},),
        "feedback of LangSmith, which rates runs. Import the runs; lift.labels.read(FILE, PROMPT) reads the feedback",
    ),
    (
        ({"annotation_name"}, {"annotator_kind", "name"}),
        "annotations of Phoenix, which rate spans. Import the spans; lift.labels.read(FILE, PROMPT) reads the annotations",
    ),
)
_OF_ASSISTANTS: Final = ("thread", "thread.run", "assistant")


def refuse_records(values: Iterable[Any]) -> str:
    """Return why records are not read.

    Parameters
    ----------
    values
        The first records.
    """
    first = next((value for value in values if isinstance(value, dict)), None)
    if first is None:
        return "the records are not objects. Write each conversation as an object with messages of role and content"
    if first.get("object") in _OF_ASSISTANTS:
        return "these are objects of OpenAI's Assistants API without messages. Export the messages of each thread"
    for kinds, what in _BY_FIELDS:
        if any(kind <= first.keys() for kind in kinds):
            return f"these are {what}"
    return _unknown_fields([str(name) for name in first])


def refuse_text(head: str) -> str:
    """Return why a text is not read.

    Parameters
    ----------
    head
        Its beginning.
    """
    columns = max((_columns(head, separator) for separator in SEPARATORS), key=len)
    if len(columns) > 1:
        return refuse_records([dict.fromkeys(columns, "")])
    return (
        "the format is not recognised. A text needs a label before each turn, such as User: and Assistant:, "
        "and each turn on its own line"
    )


def _columns(head: str, separator: str) -> list[str]:
    """Return the columns of a table, empty for prose that happens to contain the separator."""
    columns = csv_header(head, separator)
    first_row = csv_header(head.partition("\n")[2], separator)
    named = all(name.strip() for name in columns)
    return columns if named and len(first_row) in (0, len(columns)) else []


def _unknown_fields(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    found = Columns(names).of
    missing = [f"--column {what}=NAME" for what in ("role", "text", "conversation") if what not in found]
    return (
        f"the format is not recognised. The columns or fields are {shown}. If each row is a message, specify "
        f"their meaning: {' '.join(missing)}"
    )
