"""Conversations and the insights of one."""

from __future__ import annotations

from support.shapes import SENTIMENT, flag, listed, maybe, number, one_of, text, time

CONVERSATION_STATUS = one_of("completed", "abandoned", "in_progress")
INSIGHTS = {
    "conversationId": text,
    "sentiment": SENTIMENT,
    "sentimentScore": number,
    "taskCompleted": flag,
    "topics": listed(text),
    "summary": text,
    "issues": listed({"title": text, "severity": one_of("high", "medium", "low"), "evidence": maybe(text)}),
    "createdAt": time,
}
CONVERSATION_CREATED = {"id": text, "status": CONVERSATION_STATUS, "createdAt": time}
CONVERSATION_LISTED = {**CONVERSATION_CREATED, "promptId": text, "hasInsights": flag}
CONVERSATION_DELETED = {"id": text, "promptId": text, "agentId": text, "deletedAt": time}
CONVERSATION = {
    **CONVERSATION_LISTED,
    "content": text,
    "llmModel": maybe(text),
    "companyName": maybe(text),
    "insights": maybe(INSIGHTS),
}
