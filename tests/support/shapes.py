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


def flat(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values())


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
    "contentKnown": flag,
    "llmModel": text,
    "status": PROMPT_STATUS,
    "createdAt": time,
    "updatedAt": time,
}
PROMPT_LISTED = {**PROMPT_CREATED, "description": maybe(text), "tags": listed(text)}
PROMPT = {**PROMPT_LISTED, "temperature": maybe(number), "maxTokens": maybe(count), "objective": maybe(text)}
COMPLETION = {
    **dict.fromkeys(("conversations", "withInsights", "judged", "completed"), count),
    **dict.fromkeys(("rate", "rateLow", "rateHigh"), maybe(number)),
    "weeks": listed({"from": time, "judged": count, "completed": count}),
}
PROMPT_UPDATED = {"id": text, "name": text, "content": text, "updatedAt": time}
DONE = {"success": flag, "message": text}
STATUS_VIEW = {
    "id": text,
    "name": text,
    "status": PROMPT_STATUS,
    "optimizationState": one_of("idle", "queued", "running"),
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
                **dict.fromkeys(("rank", "rankLow", "rankHigh", "conversations", "failed"), count),
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
        "failuresPerWeek": number,
        **dict.fromkeys(("valuePerConversation", "costPerWeek", "cost"), maybe(number)),
        "currency": maybe(text),
        "firstIssue": maybe(
            {
                "issue": text,
                "conversations": count,
                **dict.fromkeys(
                    ("completionIfGone", "liftPoints", "liftPointsLow", "liftPointsHigh"), number
                ),
                "lift": maybe(number),
                "failuresAvoidedPerWeek": number,
                "valuePerWeek": maybe(number),
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
        # Beyond the specification:
        "verificationPasses": count,
        "search": one_of("on", "off"),
        "simulation": {
            "personaCount": count,
            "scenariosPerSimulation": count,
            "maxTurns": count,
            "confidenceMode": one_of("low", "moderate", "high"),
            "simulateTools": flag,
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
            "requestsPerMinute": maybe(count),
            "tokensPerMonth": maybe(count),
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
    "actionId": text,
}
OPTIMIZATION_STATUS = one_of("queued", "running", "completed", "failed", "stopped")
MODE = one_of("exploratory", "validation")
STAGE = one_of("preparing", "screen", "confirm", "verify", "done")
GAINED = dict.fromkeys(("points", "pointsLow", "pointsHigh"), maybe(number))
HEADROOM = {
    **dict.fromkeys(("conversations", "completed"), count),
    **GAINED,
    "level": number,
    "pointsFindable": maybe(number),
    "enough": maybe(flag),
    "text": maybe(text),
    "issues": listed({"title": text, "n": count, **GAINED}),
}
OPTIMIZATION_CREATED = {
    "id": text,
    "status": OPTIMIZATION_STATUS,
    "mode": MODE,
    "variantCount": count,
    "createdAt": time,
    # Beyond the specification:
    "rehearsal": flag,
}
OPTIMIZATION_ASKED_FOR = {**OPTIMIZATION_CREATED, "headroom": maybe(HEADROOM)}
PAIRS = dict.fromkeys(("n", "n11", "n10", "n01", "n00", "dropped"), count)
LOGGED_MIX = {
    "isHeadline": flag,
    **dict.fromkeys(
        (
            *(
                "lift",
                "liftLow",
                "liftHigh",
                "liftExpected",
                "liftVerified",
                "liftVerifiedLow",
                "liftVerifiedHigh",
            ),
        ),
        maybe(number),
    ),
    **dict.fromkeys(
        (
            *("liftPoints", "liftPointsLow", "liftPointsHigh", "liftPointsExpected", "standardErrorPoints"),
            *("taskCompletion", "originalTaskCompletion", "nEffective"),
            *("failedShareTested", "failedShareLogged"),
        ),
        number,
    ),
    "n": count,
}
EFFECT = {
    "lift": maybe(number),
    "confidence": maybe(number),
    # Beyond the specification:
    **dict.fromkeys(
        (
            *("liftLow", "liftHigh", "liftExpected"),
            *("liftPoints", "liftPointsLow", "liftPointsHigh", "liftPointsExpected", "standardErrorPoints"),
            *("intervalLevel", "logEValue"),
            *("liftVerified", "liftVerifiedLow", "liftVerifiedHigh"),
            *("liftPointsVerified", "liftPointsVerifiedLow", "liftPointsVerifiedHigh"),
        ),
        maybe(number),
    ),
    "verifiedPairs": maybe(PAIRS),
    "verifiedBy": maybe(one_of("verification", "regression-test")),
    "look": maybe(count),
    "maxLooks": maybe(count),
    "pairs": PAIRS,
    "loggedMix": maybe(LOGGED_MIX),
    "warnings": listed(text),
}
PROGRESS = {
    "stage": STAGE,
    **dict.fromkeys(("passesDone", "passesMax", "conversationsDone", "conversationsMax"), count),
    "fraction": number,
}
# Before there is a variant.
RESULTS_PREPARING = {
    "confidence": maybe(number),
    "trace": listed(number),
    "warnings": listed(text),
    "rehearsal": flag,
    "progress": PROGRESS,
}
RESULTS_MEASURED = {
    **EFFECT,
    **RESULTS_PREPARING,
    "winningVariantId": maybe(text),
    "finalistVariantId": maybe(text),
    "eValue": maybe(number),
    "liftTrace": listed(maybe(number)),
    "confidenceMethod": one_of("sequential-likelihood-ratio", "sequential-mixture"),
    "theta": maybe(number),
    "confidenceNeeded": number,
    "confidenceCalibrated": maybe(number),
    "estimand": one_of("population", "panel"),
    "reason": maybe(one_of("threshold", "futility", "budget", "guardrail", "stopped", "failed")),
    "explanation": maybe(text),
    "smallestFindablePoints": maybe(number),
    "pairsNeeded": maybe(count),
    "guardrails": listed(
        {
            "name": one_of("sentiment", "quality"),
            **dict.fromkeys(("difference", "low", "high"), maybe(number)),
            "verdict": one_of("harmed", "ok", "unknown"),
        }
    ),
    "variantsTested": count,
}
RESULTS = {**RESULTS_MEASURED, "winnerSelected": flag}
DEPLOYMENT_LISTED = {
    "id": text,
    "state": one_of("staged", "testing", "rejected", "live", "superseded", "rolled_back"),
}
OPTIMIZATION_LISTED = {
    **OPTIMIZATION_CREATED,
    "promptId": text,
    "completedAt": maybe(time),
    # Beyond the specification:
    "agentId": text,
    "results": RESULTS,
    "startedAt": maybe(time),
    "deployment": maybe(DEPLOYMENT_LISTED),
}
REGRESSION_TEST = {
    "passed": flag,
    "verdict": one_of("passed", "regressed", "inconclusive"),
    "summary": {"total": count, "passed": count, "regressed": count},
    "scenarios": listed({"name": text, "passed": flag, "delta": maybe(number), "n": count}),
    "pairs": PAIRS,
    **dict.fromkeys(("liftPoints", "liftPointsLow", "smallestDropFound", "confidenceWorse"), maybe(number)),
}
DEPLOYMENT = {
    **DEPLOYMENT_LISTED,
    "origin": one_of("manual", "approval", "auto"),
    "variantId": text,
    "appliedAt": maybe(time),
    "versionId": maybe(text),
    "previousVersionId": maybe(text),
    "regressionTest": maybe(REGRESSION_TEST),
    "production": maybe(
        {
            "since": time,
            "conversations": count,
            "completedRate": maybe(number),
            "conversationsBefore": count,
            "completedRateBefore": maybe(number),
            "metrics": listed(
                {
                    "metric": one_of(
                        "task_completion", "sentiment", "quality", "abandonment", "response_time", "length"
                    ),
                    **dict.fromkeys(("before", "after"), maybe(number)),
                    **dict.fromkeys(("conversationsBefore", "conversations"), count),
                    **dict.fromkeys(("p", "level"), number),
                    "regressed": flag,
                }
            ),
        }
    ),
    "verification": maybe(one_of("pending", "verified", "not_fixed", "regressed", "confounded")),
    "rolledBackAt": maybe(time),
    "reason": maybe(text),
}
OPTIMIZATION = {
    **OPTIMIZATION_LISTED,
    "intent": maybe(lambda value: isinstance(value, dict)),
    "personaIds": maybe(listed(text)),
    "seed": count,
    "settings": {
        **dict.fromkeys(
            (
                *("maxIterations", "variantsPerGeneration", "verificationPasses"),
                *("personaCount", "scenariosPerSimulation", "maxTurns"),
            ),
            count,
        ),
        "search": one_of("on", "off"),
        "confidenceMode": one_of("low", "moderate", "high"),
        "deploymentMode": one_of("manual", "semi-automatic"),
        "autoDeploy": {"enabled": flag, "requireRegressionPass": flag},
        "simulateTools": flag,
    },
    "failure": maybe(text),
    "stopReason": maybe(text),
    "deployment": maybe(DEPLOYMENT),
    "usage": dict.fromkeys(("modelCalls", "tokens", "conversations"), count),
    "headroom": maybe(HEADROOM),
    "searchPlan": maybe(
        {
            **{
                part: {"planned": count, "spent": count}
                for part in ("search", "confirmation", "verification")
            },
            "generationsMax": count,
            "generations": count,
        }
    ),
}
# "lift: present on non-original variants", "isWinner: present on the winner".
ORIGINAL = {
    "id": text,
    "name": text,
    "isOriginal": flag,
    "content": text,
    "metrics": dict.fromkeys(("taskCompletion", "sentiment", "quality"), maybe(number)),
    # Beyond the specification:
    "number": count,
    "rationale": maybe(text),
    "stage": maybe(one_of("screen", "confirm")),
    "n": count,
    "isStaged": flag,
    "rehearsal": flag,
}
VARIANT = {
    **ORIGINAL,
    **EFFECT,
    **dict.fromkeys(("originalTaskCompletion", "originalSentiment", "originalQuality"), maybe(number)),
    "isFinalist": flag,
    "screenedOutAfter": maybe(count),
    "goalPoints": maybe(number),
}
WINNER = {**VARIANT, "isWinner": flag}
SIMULATION = {
    "id": text,
    "optimizationId": text,
    "variantId": text,
    "variantNumber": count,
    "isOriginal": flag,
    "stage": one_of("screen", "confirm", "regression"),
    "pass": count,
    "cell": count,
    "persona": {"id": text, "name": text},
    "scenario": {
        "title": text,
        "opening": text,
        "goal": text,
        "source": one_of("conversation", "model"),
        "weight": maybe(number),
    },
    "status": one_of("completed", "dropped"),
    "taskCompleted": maybe(flag),
    "sentiment": maybe(SENTIMENT),
    "sentimentScore": maybe(number),
    "quality": maybe(number),
    "criteria": listed({"target": text, "met": flag}),
    "turns": count,
    "endedBy": maybe(one_of("persona", "turns")),
    "error": maybe(text),
    "createdAt": time,
}
APPLIED = {
    "success": flag,
    "promptId": text,
    "appliedVariantId": text,
    "message": text,
    # Beyond the specification:
    "agentId": text,
    "versionId": text,
    "previousVersionId": text,
    "changed": flag,
    "actionId": text,
}
STOPPED = {"success": flag, "status": one_of("stopped"), "actionId": text}
REVIEW = {
    "variantId": text,
    "verdict": maybe(one_of("keep", "reject")),
    "note": maybe(text),
    "updatedAt": time,
}
LABEL = {
    "id": text,
    "promptId": text,
    "agentId": text,
    "conversationId": text,
    "optimizationId": maybe(text),
    "question": text,
    "value": text,
    "labeller": text,
    "labelledAt": time,
    "chance": maybe(number),
    "drawId": maybe(text),
}
ACTION = {
    "id": text,
    "kind": one_of("apply", "stop", "restore", "undo"),
    "promptId": text,
    "agentId": text,
    "optimizationId": maybe(text),
    "variantId": maybe(text),
    "fromVersionId": maybe(text),
    "toVersionId": maybe(text),
    "note": maybe(text),
    "undoes": maybe(text),
    "undoneBy": maybe(text),
    "undoneAt": maybe(time),
    "createdAt": time,
}
UNDONE = {
    "success": flag,
    "promptId": text,
    "agentId": text,
    "actionId": text,
    "versionId": text,
    "previousVersionId": text,
    "message": text,
}

WEBHOOK_STATUS = one_of("active", "failing")
SYNC_CONTEXT = {
    "success": flag,
    "extracted": {"industry": text, "objectives": text, "kpis": text},
    "applied": listed(text),
    "analyser": text,
    "url": text,
    "problem": maybe(text),
}
WEBHOOK_CREATED = {
    "id": text,
    "url": text,
    "events": listed(text),
    "secret": text,
    "status": WEBHOOK_STATUS,
    "createdAt": time,
}
WEBHOOK_LISTED = {
    "id": text,
    "url": text,
    "events": listed(text),
    "description": maybe(text),
    "status": WEBHOOK_STATUS,
    "createdAt": time,
}
# Ours:
WEBHOOK_TESTED = {
    "success": flag,
    "eventId": text,
    "statusCode": maybe(count),
    "problem": maybe(text),
    "durationMs": count,
}
DELIVERY = {
    "id": text,
    "eventId": text,
    "eventType": text,
    "status": one_of("pending", "delivered", "failed"),
    "attempts": count,
    "nextAttemptAt": maybe(time),
    "attemptedAt": maybe(time),
    "statusCode": maybe(count),
    "problem": maybe(text),
    "deliveredAt": maybe(time),
    "createdAt": time,
}
EVENT = {"id": text, "type": text, "timestamp": time, "data": lambda value: isinstance(value, dict)}
PRICE = {"input": number, "output": number}
SCENARIO_SET = {
    "id": text,
    "version": count,
    "name": text,
    "source": one_of("conversations", "model", "both"),
    "count": count,
    "promptId": text,
    "createdAt": time,
}
LISTED_SCENARIO_SET = {**SCENARIO_SET, "ready": flag}
FIXED_SCENARIO = {
    "number": count,
    "title": text,
    "opening": text,
    "goal": text,
    "source": one_of("conversation", "model"),
    "persona": {"id": text, "name": text},
    "conversationId": maybe(text),
}
LISTED_ARM = {
    "number": count,
    "name": text,
    "promptId": text,
    "versionId": maybe(text),
    "variantId": maybe(text),
    "llmModel": maybe(text),
    "temperature": maybe(number),
    "maxTokens": maybe(count),
}
_SCORES = (
    "taskCompletion", "taskCompletionLow", "taskCompletionHigh", "sentiment", "quality", "turns", "inputTokens", "outputTokens",
)  # fmt: skip
BENCHMARK_RESULTS = {
    "arms": listed(
        {
            "number": count,
            "name": text,
            "llmModel": maybe(text),
            "n": count,
            "dropped": count,
            **dict.fromkeys(_SCORES, number),
            "tokensEstimated": flag,
            "costPerConversation": maybe(number),
            "costPerCompleted": maybe(number),
        }
    ),
    "comparisons": listed(
        {
            **dict.fromkeys(("number", "reference", "n", "n11", "n10", "n01", "n00"), count),
            **dict.fromkeys(("points", "pointsLow", "pointsHigh", "p", "pHolm", "notWorseP"), number),
            "verdict": one_of("better", "worse", "unclear"),
            "notWorse": flag,
            **dict.fromkeys(
                ("sentiment", "quality"), dict.fromkeys(("difference", "low", "high", "p"), maybe(number))
            ),
        }
    ),
    "reference": count,
    "margin": number,
    "level": number,
    "acceptable": listed(count),
    "cheapest": maybe(
        {
            "number": count,
            "name": text,
            "basis": one_of("price", "tokens"),
            "costPerConversation": maybe(number),
            "tokensPerConversation": number,
        }
    ),
    "final": flag,
    "warnings": listed(text),
    "rehearsal": flag,
}
LISTED_BENCHMARK = {
    "id": text,
    "name": text,
    "status": one_of("queued", "running", "completed", "failed", "stopped"),
    "rehearsal": flag,
    "scenarioSet": SCENARIO_SET,
    "arms": listed(LISTED_ARM),
    "progress": {"conversationsDone": count, "conversationsTotal": count, "fraction": number},
    "results": maybe(BENCHMARK_RESULTS),
    "failure": maybe(text),
    "createdAt": time,
    "startedAt": maybe(time),
    "completedAt": maybe(time),
}
BENCHMARK = {
    **LISTED_BENCHMARK,
    "arms": listed({**LISTED_ARM, "content": text}),
    "objective": maybe(text),
    "maxTurns": count,
    "prices": lambda value: not any(differences(price, PRICE) for price in value.values()),
    "seed": count,
    "stopReason": maybe(text),
    "usage": {"modelCalls": count, "tokens": count},
}
JUDGE = {
    "id": text,
    "name": text,
    "version": count,
    "question": text,
    "rubric": maybe(text),
    "examples": listed({"text": text, "answer": flag}),
    "llmModel": maybe(text),
    "origin": one_of("written", "aligned"),
    "versions": count,
    "verdicts": count,
    "createdAt": time,
}
JUDGE_PLAN = {
    "judgeId": text,
    "judge": text,
    "judgeVersion": count,
    **dict.fromkeys(
        (
            "conversations",
            "alreadyJudged",
            "withoutContent",
            "calls",
            "callsMax",
            "inputTokens",
            "outputTokens",
        ),
        count,
    ),
    "tokens": count,
    "cost": maybe(number),
    "model": maybe(text),
}
JUDGE_RUN = {
    "id": text,
    "kind": one_of("backfill", "alignment"),
    "judgeId": text,
    "judge": text,
    "judgeVersion": count,
    "status": one_of("queued", "running", "completed", "failed", "stopped"),
    "promptId": maybe(text),
    "since": maybe(time),
    "until": maybe(time),
    "maxConversations": maybe(count),
    "maxTokens": maybe(count),
    "maxCost": maybe(number),
    "progress": {"done": count, "failed": count, "total": count},
    "usage": {"modelCalls": count, "tokens": count, "cost": maybe(number)},
    "alignment": lambda value: value is None or isinstance(value, dict),
    "failure": maybe(text),
    "stopReason": maybe(text),
    "createdAt": time,
    "startedAt": maybe(time),
    "completedAt": maybe(time),
}
VERDICT = {
    "id": text,
    "conversationId": text,
    "promptId": text,
    "status": one_of("in_progress", "completed", "abandoned"),
    "judge": text,
    "judgeVersion": count,
    "verdict": maybe(flag),
    "reason": maybe(text),
    "analyser": text,
    "problem": maybe(text),
    "startedAt": time,
    "createdAt": time,
    "judgedAt": time,
}
BENCHMARK_CONVERSATION = {
    "id": text,
    "benchmarkId": text,
    "cell": count,
    "arm": count,
    "armName": text,
    "persona": {"id": text, "name": text},
    "scenario": {"title": text, "opening": text, "goal": text, "source": one_of("conversation", "model")},
    "status": one_of("completed", "dropped"),
    "taskCompleted": maybe(flag),
    "sentiment": maybe(SENTIMENT),
    "sentimentScore": maybe(number),
    "quality": maybe(number),
    "turns": count,
    "endedBy": maybe(one_of("persona", "turns")),
    "inputTokens": count,
    "outputTokens": count,
    "tokensEstimated": flag,
    "error": maybe(text),
    "createdAt": time,
}
