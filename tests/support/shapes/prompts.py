"""Prompts, their versions and what insights make of them."""

from __future__ import annotations

from support.shapes import count, flag, listed, maybe, number, one_of, text, time

PROMPT_STATUS = one_of("active", "draft", "archived")
PROMPT_UPDATED = {"id": text, "name": text, "content": text, "updatedAt": time}
PROMPT_CREATED = {**PROMPT_UPDATED, "llmModel": text, "status": PROMPT_STATUS, "createdAt": time}
PROMPT_LISTED = {**PROMPT_CREATED, "description": maybe(text), "tags": listed(text)}
PROMPT = {
    **PROMPT_LISTED,
    "temperature": maybe(number),
    "maxTokens": maybe(count),
    "objective": maybe(text),
}
STATUS_VIEW = {
    "id": text,
    "name": text,
    "status": PROMPT_STATUS,
    "optimizationState": one_of("idle", "queued", "running", "testing", "staged"),
    "metrics": {
        "conversationCount": count,
        "taskCompletionRate": maybe(number),
        "avgSentiment": maybe(number),
    },
    "lastOptimized": maybe(time),
}
INSIGHTS_VIEW = {
    "period": {"days": count, "from": time, "to": time},
    "summary": {
        "totalConversations": count,
        "completedConversations": count,
        "abandonedConversations": count,
        "completionRate": maybe(number),
    },
    "metrics": {
        "taskCompletion": {"rate": maybe(number), "trend": text},
        "sentiment": {
            "average": maybe(number),
            "distribution": {"positive": count, "neutral": count, "negative": count},
        },
        "avgResponseTime": maybe(number),
        "avgConversationLength": maybe(number),
    },
    "topIssues": listed({"issue": text, "frequency": count, "impact": one_of("high", "medium", "low")}),
    "recommendations": listed(text),
}


def group(value: object) -> bool:
    return isinstance(value, dict) and bool(value)


# "includes fleet intelligence, business impact, issues"; their shapes are ours.
AGENT_INSIGHTS_VIEW = {
    **INSIGHTS_VIEW,
    "agentId": text,
    "fleetIntelligence": group,
    "businessImpact": group,
    "issues": listed(group),
}
# Ours:
VERSION = {"id": text, "number": count, "content": text, "origin": text, "isLive": flag, "createdAt": time}
RESTORED = {
    **dict.fromkeys(("success", "changed"), flag),
    **dict.fromkeys(("versionId", "previousVersionId", "message", "actionId"), text),
}
