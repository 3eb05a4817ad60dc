"""A conversation as a cell shows it, as text and as HTML: its verdict, what went wrong, and what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import TranscriptError
from promptlift.schema.inert import one_line, visible
from promptlift.schema.insights import issue_record
from promptlift.schema.static_html import badge, badges, element, facts, paragraph, root, transcript
from promptlift.schema.transcript import parse_content
from promptlift.schema.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markupsafe import Markup

    from promptlift.schema.conversations import Conversation
    from promptlift.schema.insights import Insights
    from promptlift.schema.static_html import Tone
    from promptlift.schema.transcript import Message

__all__ = ["conversation_html", "conversation_text"]

_TURN_CHARS: Final = 4_000
_TURNS: Final = 200
_VERDICTS: Final[Mapping[Any, tuple[str, Tone]]] = {
    True: ("task completed", "good"),
    False: ("task not completed", "bad"),
}


def conversation_html(conversation: Conversation) -> str:
    """Return a conversation as HTML without scripts; whatever it says is inert."""
    about = [
        ("status", conversation.status),
        ("model", one_line(conversation.llm_model, 60)),
        ("started", f"{conversation.started_at:%Y-%m-%d %H:%M} UTC" if conversation.started_at else None),
        ("id", one_line(conversation.id, 60)),
    ]
    title = one_line(conversation.title, 120)
    parts = [paragraph(element("b", title))] if title else []
    parts.append(facts(about))
    if conversation.insights is not None:
        parts += _insights(conversation.insights)
    elif conversation.insights_error:
        parts.append(paragraph("No insights: ", one_line(conversation.insights_error, 300), soft=True))
    return str(root(*parts, _said(conversation.content)))


def conversation_text(conversation: Conversation) -> str:
    """Return what was said as text, a message a line."""
    messages, problem = _messages(conversation.content)
    shown = [f"{one.role}: {visible(one.content)}" for one in messages[:_TURNS]]
    return "\n".join([*shown, *([problem] if problem else [])])


def _insights(insights: Insights) -> list[Markup]:
    verdict, tone = _VERDICTS.get(insights.task_completed, ("task unknown", "plain"))
    shown = [paragraph(badges([(verdict, tone), (insights.sentiment or "no sentiment", "plain")]))]
    if insights.summary:
        shown.append(paragraph(one_line(insights.summary, 600), soft=True))
    for issue in insights.issues or ():
        record = issue_record(issue)
        title, quote = one_line(record["title"], 120), one_line(record["quote"], 300)
        shown.append(
            paragraph(badge("issue", "warn"), " ", title, f": “{quote}”" if quote else "", soft=True)
        )
    return shown


def _said(content: str | None) -> Markup:
    messages, problem = _messages(content)
    turns = (Turn.of(one, _TURN_CHARS) for one in messages[:_TURNS])
    shown = transcript(turns, limit=_TURN_CHARS)
    return shown + paragraph(problem, soft=True) if problem else shown


def _messages(content: str | None) -> tuple[list[Message], str]:
    """Return the messages, and why not all of them can be shown."""
    if not content:
        return [], "The service sent no transcript."
    try:
        messages = parse_content(content).messages
    except TranscriptError as error:
        return [], f"The transcript cannot be read: {one_line(error, 300)}"
    more = len(messages) - _TURNS
    return messages, f"{more:,} more messages: lift.messages() has all." if more > 0 else ""
