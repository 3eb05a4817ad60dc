"""Displays of API answers in a notebook: a conversation, and an optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.display.static_html import (
    Tone,
    badge,
    element,
    facts,
    paragraph,
    root,
    transcript,
)
from promptlift.display.turn import Turn
from promptlift.display.verdict import next_call, verdict_sentence
from promptlift.errors import TranscriptError
from promptlift.schema.conversations import Conversation
from promptlift.schema.inert import one_line, visible
from promptlift.schema.insights import issue_record
from promptlift.schema.transcript import parse_content

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markupsafe import Markup

    from promptlift.schema.insights import Insights
    from promptlift.schema.optimizations import Optimization
    from promptlift.schema.transcript import Message

_TURN_CHARS: Final = 4_000
_TURNS: Final = 200
_VERDICTS: Final[Mapping[Any, tuple[str, Tone]]] = {
    True: ("task completed", "good"),
    False: ("task not completed", "bad"),
}


def bundle(answer: Conversation | Optimization) -> dict[str, str]:
    """Return an answer as text, and as HTML without scripts; its content is inert."""
    if isinstance(answer, Conversation):
        return {"text/plain": _conversation_text(answer), "text/html": _conversation_html(answer)}
    said = one_line(verdict_sentence(answer), 800)
    return {"text/plain": said, "text/html": _optimization_html(answer, said)}


def _optimization_html(optimization: Optimization, said: str) -> str:
    results = optimization.results
    name = results.hypothesis.text if results and results.hypothesis else None
    asked = [paragraph("Asked for: ", one_line(name, 300), soft=True)] if name else []
    about = f"Optimization {one_line(optimization.id, 60)}, {optimization.status}. Next: "
    call = element("code", next_call(optimization))
    return str(root(paragraph(element("b", said)), *asked, paragraph(about, call, soft=True)))


def _conversation_html(conversation: Conversation) -> str:
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


def _conversation_text(conversation: Conversation) -> str:
    messages, problem = _messages(conversation.content)
    shown = [f"{one.role}: {visible(one.content)}" for one in messages[:_TURNS]]
    return "\n".join([*shown, *([problem] if problem else [])])


def _insights(insights: Insights) -> list[Markup]:
    verdict, tone = _VERDICTS.get(insights.task_completed, ("task unknown", "plain"))
    shown = [paragraph(badge(verdict, tone), " ", badge(insights.sentiment or "no sentiment"))]
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
    shown = transcript(
        Turn.said(one.role, one.content, _TURN_CHARS, how=(one.model_extra or {}).get("toolResult"))
        for one in messages[:_TURNS]
    )
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
