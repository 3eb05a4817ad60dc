"""Judges of one's own, their runs and verdicts, and the labels of people."""

from __future__ import annotations

from support.shapes import count, flag, listed, maybe, number, one_of, text, time

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
LEARNED_JUDGE = {
    "version": count,
    "judges": flag,
    "sentence": text,
    "labels": count,
    "labelsLeftOut": count,
    "groups": count,
    **dict.fromkeys(
        ("accuracy", "accuracyLow", "accuracyHigh", "auc", "aucLow", "aucHigh", "majority"), number
    ),
    "analyser": maybe(text),
    "analyserAccuracy": maybe(number),
    "halfWidth": number,
    "halfWidthMore": number,
    "drift": maybe(
        {
            "drifted": flag,
            **dict.fromkeys(("auc", "aucLow", "aucHigh"), number),
            "differing": listed(text),
            "conversationIds": listed(text),
        }
    ),
    "createdAt": time,
}
