"""Optimizations with their variants, simulations and reviews, and what people did with them."""

from __future__ import annotations

from support.shapes import SENTIMENT, count, flag, listed, maybe, number, one_of, text, time
from support.shapes.deployments import DEPLOYMENT, DEPLOYMENT_LISTED, PAIRS

PERSONA = {"id": text, "name": text, "description": text, "builtIn": flag, "createdAt": maybe(time)}
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
LOGGED_MIX = {
    "isHeadline": flag,
    **dict.fromkeys(
        (
            *("lift", "liftLow", "liftHigh", "liftExpected", "liftExpectedLow", "liftExpectedHigh"),
            *("liftVerified", "liftVerifiedLow", "liftVerifiedHigh"),
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
            *("liftLow", "liftHigh", "liftExpected", "liftExpectedLow", "liftExpectedHigh"),
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
    "source": one_of("prompt", "model", "handed_in"),
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
        **dict.fromkeys(("title", "opening", "goal"), text),
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
