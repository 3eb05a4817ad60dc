"""Prompts, their versions and what insights make of them."""

from __future__ import annotations

from support.shapes import count, flag, listed, maybe, number, one_of, text, time

PROMPT_STATUS = one_of("active", "draft", "archived")
PROMPT_CREATED = {
    "id": text,
    "name": text,
    "content": text,
    "contentKnown": flag,
    "llmModel": text,
    "status": PROMPT_STATUS,
    "createdAt": time,
    "updatedAt": time,
}
PROMPT_LISTED = {**PROMPT_CREATED, "description": maybe(text), "tags": listed(text)}
PROMPT = {
    **PROMPT_LISTED,
    "temperature": maybe(number),
    "maxTokens": maybe(count),
    "objective": maybe(text),
    "outcome": maybe(text),
}
COMPLETION = {
    **dict.fromkeys(("conversations", "withInsights", "judged", "completed"), count),
    **dict.fromkeys(("rate", "rateLow", "rateHigh"), maybe(number)),
    "basis": maybe(text),
    "optimizing": listed(text),
    "weeks": listed({"from": time, "judged": count, "completed": count}),
}
PROMPT_UPDATED = {"id": text, "name": text, "content": text, "updatedAt": time}
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
    # Beyond the specification:
    "insights": {
        "ready": count,
        "waiting": count,
        "again": count,
        "failed": count,
        "reasons": listed({"reason": text, "count": count}),
    },
}
TOP_ISSUE = {
    "issue": text,
    "frequency": count,
    "impact": one_of("high", "medium", "low"),
    # Beyond the specification:
    "titles": listed(text),
    "judged": count,
    "failed": count,
    **dict.fromkeys(("share", "completionWith", "completionWithout"), maybe(number)),
    **dict.fromkeys(("impactPoints", "impactPointsLow", "impactPointsHigh"), maybe(number)),
    "quote": maybe(text),
    "conversationIds": listed(text),
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
        "taskCompletion": {
            "rate": maybe(number),
            "trend": text,
            # Beyond the specification:
            **dict.fromkeys(
                ("previousRate", "trendPoints", "trendPointsLow", "trendPointsHigh"), maybe(number)
            ),
        },
        "sentiment": {
            "average": maybe(number),
            "distribution": {"positive": count, "neutral": count, "negative": count},
            # Beyond the specification:
            "trend": text,
            **dict.fromkeys(
                ("previousAverage", "trendScore", "trendScoreLow", "trendScoreHigh"), maybe(number)
            ),
        },
        "avgResponseTime": maybe(number),
        "avgConversationLength": maybe(number),
    },
    "topIssues": listed(TOP_ISSUE),
    "recommendations": listed(text),
    # Beyond the specification:
    "analyser": maybe(one_of("lexicon", "llm", "mixed")),
    "basis": maybe(one_of("outcome", "model", "words")),
}
# "includes fleet intelligence, business impact, issues"; their shapes are ours.
AGENT_EXTRAS = {
    "fleetIntelligence": {
        "agents": count,
        **dict.fromkeys(("rank", "rankLow", "rankHigh"), maybe(count)),
        **dict.fromkeys(("taskCompletionRate", "conversationShare", "failureShare"), maybe(number)),
        "ranking": listed(
            {
                "id": text,
                "name": text,
                **dict.fromkeys(("rank", "rankLow", "rankHigh"), maybe(count)),
                **dict.fromkeys(("conversations", "failed"), count),
                **dict.fromkeys(("taskCompletionRate", "taskCompletionLow", "taskCompletionHigh"), number),
            }
        ),
        "sharedIssues": listed(
            {
                "issue": text,
                "agents": count,
                "agentNames": listed(text),
                "conversations": count,
                "ownConversations": count,
            }
        ),
    },
    "businessImpact": {
        "failedConversations": count,
        "failedRate": maybe(number),
        "abandonedConversations": count,
        "undated": maybe(text),
        "failuresPerWeek": maybe(number),
        **dict.fromkeys(("valuePerConversation", "costPerWeek", "cost"), maybe(number)),
        "currency": maybe(text),
        "firstIssue": maybe(
            {
                "issue": text,
                "conversations": count,
                **dict.fromkeys(("completionWithout", "points", "pointsLow", "pointsHigh"), number),
                "excessFailuresPerWeek": maybe(number),
                "excessCostPerWeek": maybe(number),
            }
        ),
    },
    "issues": listed({**TOP_ISSUE, "failedConversations": count}),
}
STEP_FAILURES = {
    "period": {"days": count, "from": time, "to": time},
    "conversations": count,
    "totalFailures": count,
    "analysed": count,
    "steps": listed(
        {
            "step": text,
            "reached": count,
            "failures": count,
            **dict.fromkeys(("failureRate", "failureRateLow", "failureRateHigh"), number),
            "kinds": lambda value: all(map(text, value)) and all(map(count, value.values())),
            "medianTurn": maybe(number),
            "quotes": listed(
                {"conversationId": text, "turn": count, "role": text, "kind": text, "quote": text}
            ),
        }
    ),
    "turns": listed({"turn": count, "reached": count, "failures": count, "failureRate": number}),
    "analyser": maybe(one_of("lexicon", "llm", "mixed")),
    "basis": maybe(text),
}
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
    "actionId": text,
}
