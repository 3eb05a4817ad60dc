"""Conversations and the insights of one."""

from __future__ import annotations

from support.shapes import SENTIMENT, count, flag, flat, listed, maybe, number, one_of, text, time

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
    # Beyond the specification:
    "quality": number,
    "analyser": text,
    "basis": one_of("outcome", "label", "model", "learned", "words"),
    "steps": listed(text),
    "failedStep": maybe({"step": text, "kind": text, "turn": count, "role": text, "quote": text}),
}
CONVERSATION_CREATED = {"id": text, "status": CONVERSATION_STATUS, "createdAt": time}
CONVERSATION_LISTED = {
    **CONVERSATION_CREATED,
    "promptId": text,
    "hasInsights": flag,
    "insightsError": maybe(text),
    # Beyond the specification:
    "agentId": text,
    "llmModel": maybe(text),
    "companyName": maybe(text),
    "sourceId": maybe(text),
    "startedAt": time,
    "endedAt": time,
    "title": maybe(text),
    "messageCount": count,
    "inputTokens": maybe(count),
    "outputTokens": maybe(count),
    "cost": maybe(number),
    "latencyMs": maybe(number),
    "toolCalls": maybe(count),
    "toolErrors": maybe(count),
    "metadata": maybe(flat),
}
CONVERSATION_DELETED = {"id": text, "promptId": text, "agentId": text, "deletedAt": time}
CONVERSATION_LOGGED_MANY = {
    "index": count,
    "id": text,
    "status": CONVERSATION_STATUS,
    "created": flag,
    "updated": flag,
    "createdAt": time,
    "error": lambda value: value is None,
}
CONVERSATION_KNOWN = {
    "id": text,
    "sourceId": maybe(text),
    "status": CONVERSATION_STATUS,
    "contentHash": maybe(text),
}
CONVERSATION = {
    **CONVERSATION_LISTED,
    "content": text,
    "insights": maybe(INSIGHTS),
    "idempotencyKey": maybe(text),
}
