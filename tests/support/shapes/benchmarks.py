"""Benchmarks and their scenario sets."""

from __future__ import annotations

from support.shapes import SENTIMENT, count, differences, flag, listed, maybe, number, one_of, text, time

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
