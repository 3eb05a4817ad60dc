"""The tables of the specification as shapes: which fields an answer has, and of which type."""

from __future__ import annotations

import re
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def text(value: Any) -> bool:
    return isinstance(value, str)


def time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def maybe(kind: Any) -> Any:
    """The type, or null where the specification says nothing about absence."""
    return lambda value: value is None or not differences(value, kind)


def one_of(*values: str) -> Any:
    return lambda value: value in values


def listed(kind: Any) -> Any:
    return lambda value: isinstance(value, list) and not any(differences(item, kind) for item in value)


def differences(value: Any, shape: Any, path: str = "answer") -> list[str]:
    """What of a value is not as the shape says; a shape is a type check or a dict of exactly these fields."""
    if not isinstance(shape, dict):
        return [] if shape(value) else [f"{path} is {value!r}"]
    if not isinstance(value, dict):
        return [f"{path} is no object"]
    found = [f"{path}.{name} is missing" for name in shape.keys() - value.keys()]
    found += [f"{path}.{name} should not be there" for name in value.keys() - shape.keys()]
    for name in shape.keys() & value.keys():
        found += differences(value[name], shape[name], f"{path}.{name}")
    return sorted(found)


PROMPT_STATUS = one_of("active", "draft", "archived")
CONVERSATION_STATUS = one_of("completed", "abandoned", "in_progress")
SENTIMENT = one_of("positive", "neutral", "negative")

PAGINATION = {"total": count, "limit": count, "offset": count}
PROMPT_CREATED = {
    "id": text,
    "name": text,
    "content": text,
    "llmModel": text,
    "status": PROMPT_STATUS,
    "createdAt": time,
    "updatedAt": time,
}
PROMPT_LISTED = {**PROMPT_CREATED, "description": maybe(text), "tags": listed(text)}
PROMPT = {**PROMPT_LISTED, "temperature": maybe(number), "maxTokens": maybe(count), "objective": maybe(text)}
PROMPT_UPDATED = {"id": text, "name": text, "content": text, "updatedAt": time}
DONE = {"success": flag, "message": text}
STATUS_VIEW = {
    "id": text,
    "name": text,
    "status": PROMPT_STATUS,
    "optimizationState": one_of("idle"),
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
        "taskCompletion": {"rate": maybe(number), "trend": maybe(text)},
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
# "includes fleet intelligence, business impact, issues"; their shapes are ours.
AGENT_EXTRAS = {
    "fleetIntelligence": {"agents": count, "rank": maybe(count), "taskCompletionRate": maybe(number)},
    "businessImpact": {
        "failedConversations": count,
        "failedRate": maybe(number),
        "abandonedConversations": count,
    },
    "issues": listed({"issue": text, "frequency": count, "impact": text, "failedConversations": count}),
}
STEP_FAILURES = {
    "period": {"days": count, "from": time, "to": time},
    "totalFailures": count,
    "steps": listed({"step": count, "reached": count, "failures": count, "failureRate": maybe(number)}),
}
REGENERATED = {"success": flag, "message": text, "queued": count}
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
}
CONVERSATION_CREATED = {"id": text, "status": CONVERSATION_STATUS, "createdAt": time}
CONVERSATION_LISTED = {
    **CONVERSATION_CREATED,
    "promptId": text,
    "hasInsights": flag,
    # Beyond the specification:
    "agentId": text,
    "llmModel": maybe(text),
    "companyName": maybe(text),
    "startedAt": time,
    "endedAt": time,
}
CONVERSATION = {
    **CONVERSATION_LISTED,
    "content": text,
    "insights": maybe(INSIGHTS),
    "idempotencyKey": maybe(text),
}
SETTINGS = {
    "general": dict.fromkeys(
        (
            *("name", "industry", "preferredLLM", "objectives", "kpis"),
            *("insightRequirements", "excludedDataAndTopics"),
        ),
        text,
    ),
    "optimization": {
        "optimizationStrategy": one_of("exploratory", "validation"),
        "variantsPerGeneration": count,
        "deploymentMode": one_of("manual", "semi-automatic"),
        "autoDeploy": {"enabled": flag, "requireRegressionPass": flag},
        "maxIterations": count,
        "simulation": {
            "personaCount": count,
            "scenariosPerSimulation": count,
            "maxTurns": count,
            "confidenceMode": one_of("low", "moderate", "high"),
        },
    },
}
ACCOUNT = {
    "id": text,
    "name": text,
    "email": text,
    "plan": {
        "name": one_of("free", "pro", "enterprise"),
        "limits": {
            "prompts": maybe(count),
            "optimizationsPerMonth": maybe(count),
            "conversationsPerMonth": maybe(count),
        },
    },
    "createdAt": time,
}
USAGE = {
    "period": {"start": time, "end": time},
    "prompts": {"used": count, "limit": maybe(count)},
    "optimizations": {"used": count, "limit": maybe(count), "running": count},
    "conversations": {"used": count, "limit": maybe(count)},
    "tokens": {"used": count, "limit": maybe(count)},
}
PERSONA = {"id": text, "name": text, "description": text, "builtIn": flag, "createdAt": maybe(time)}
VERSION = {
    "id": text,
    "number": count,
    "content": text,
    "origin": one_of("created", "updated", "applied", "auto_deployed", "rolled_back", "restored"),
    "optimizationId": maybe(text),
    "variantId": maybe(text),
    "isLive": flag,
    "createdAt": time,
}
RESTORED = {
    "success": flag,
    "versionId": text,
    "previousVersionId": text,
    "changed": flag,
    "message": text,
}
